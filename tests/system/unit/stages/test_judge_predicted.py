"""What predictions mean: since when a part is missing, whose plugins need it, and that no verdict rests on them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from unit.samples import device, night, plan, run, stored

from ootci.history.store import History
from ootci.model.commits import NewCommits
from ootci.model.compat import (
    Compat,
    ExportChanges,
    Finding,
    FindingKind,
    Forecast,
    Parts,
    Predicted,
    Prediction,
    SourceCheck,
)
from ootci.model.plan import Plan
from ootci.model.run import Run
from ootci.model.torch_build import TorchBuild
from ootci.model.verdict import VerdictName, Verdicts
from ootci.stages.judge import judge

NAMES = ("one", "two", "three")
REGISTRY = tuple(device(name) for name in NAMES)
REPORT, OTHER = "_ZN3c106reportEv", "_ZN3c105otherEv"
BASE = "2.13.0"


def _finding(name: str, kind: FindingKind = FindingKind.SYMBOL) -> Finding:
    return Finding(kind=kind, name=name, text=name, needed_by=("x.so",))


def _broken(name: str, *missing: str, version: str = "1.0", baseline: str | None = BASE) -> Prediction:
    """The prediction for a wheel, broken where something is missing."""
    return Prediction(
        plugin=name,
        forecast=Forecast.BREAK if missing else Forecast.NO_BREAK,
        why="why",
        torch="",
        wheel="w.whl",
        version=version,
        baseline=baseline,
        findings=tuple(map(_finding, missing)),
    )


def _unchecked(name: str) -> Prediction:
    return Prediction(plugin=name, forecast=Forecast.UNCHECKED, why="no answer", torch="")


def _compiled(name: str, forecast: Forecast, *missing: str, error: str = "no 'f'", version: str = "1.0") -> Prediction:
    """The same for a plugin whose source was compiled, too."""
    place = "k.cpp:3" if forecast is Forecast.BREAK else None
    source = SourceCheck.model_validate({"forecast": forecast, "why": "why", "place": place, "error": place and error})
    return _broken(name, *missing, version=version).with_source(source)


def _compat(number: int, *predictions: Prediction) -> Compat:
    torch = _torch(number)
    found = tuple(item.model_copy(update={"torch": torch.version}) for item in predictions)
    released = tuple(item.model_copy(update={"torch": BASE, "findings": ()}) for item in predictions)
    both = (torch, TorchBuild(version=BASE))
    return Compat(plan_id=f"night{number:03d}", torches=both, predictions=found + released)


def _torch(number: int) -> TorchBuild:
    return TorchBuild(version=f"2.15.0.dev{number}", git_version=f"{number:040x}")


def _removes(
    before: int, after: int, *symbols: str, name: str | None = None, schema: str | None = None
) -> ExportChanges:
    names, nothing = (name,) if name else (), Parts(symbols=(), names=(), operators=())
    removed = Parts(symbols=symbols, names=names, operators=())
    schemas = (schema,) if schema else ()
    return ExportChanges(before=_torch(before), after=_torch(after), removed=removed, added=nothing, schemas=schemas)


def _plan(number: int) -> Plan:
    """The plan of a night, which has as many new commits of PyTorch as its number says."""
    since, until = (f"{max(at, 0):040x}" for at in (number - 1, number))
    new = NewCommits(since=since, until=until, count=number) if number else None
    return plan(number, NAMES).model_copy(update={"new_commits": new})


def _judged(
    folder: Path,
    nights: Mapping[int, tuple[Prediction, ...]],
    *runs: Run,
    exports: Mapping[int, ExportChanges] | None = None,
) -> Verdicts:
    history: History = stored(folder, *(_plan(number) for number in range(max(nights) + 1)), *runs)
    for number, predictions in nights.items():
        changes = (exports or {}).get(number)
        history.append_compat(_compat(number, *predictions).model_copy(update={"exports": changes}))
    return judge(REGISTRY, history, night(max(nights)))


def _predicted(folder: Path, nights: Mapping[int, tuple[Prediction, ...]]) -> Predicted:
    found = _judged(folder, nights).predicted
    assert found is not None
    return found


def test_one_symbol_that_several_plugins_need_is_one_break_with_its_commits(tmp_path: Path) -> None:
    before, after = (
        (_broken("one"), _broken("two"), _broken("three")),
        (
            _broken("one", REPORT),
            _broken("two", REPORT, OTHER),
            _broken("three"),
        ),
    )
    found = _predicted(tmp_path, {0: before, 1: before, 2: after, 3: after})
    shared, single = found.breaks
    assert [(item.devices, [part.name for part in item.parts]) for item in found.breaks] == [
        (("one", "two"), [REPORT]),
        (("two",), [OTHER]),
    ]
    assert (shared.since.plan_id, shared.last_present and shared.last_present.version) == ("night002", "2.15.0.dev1")
    assert shared.commits_url == f"https://github.com/pytorch/pytorch/compare/{1:040x}...{2:040x}"
    assert shared.commits_count == 2
    assert (single.since.plan_id, found.checked, found.broken) == ("night002", 3, ("one", "two"))
    assert [item.torch for item in found.devices[0].predictions] == ["2.15.0.dev3", BASE]


def test_what_was_always_missing_has_no_last_night(tmp_path: Path) -> None:
    (item,) = _predicted(tmp_path, {0: (_broken("one", REPORT),), 1: (_broken("one", REPORT),)}).breaks
    assert (item.since.plan_id, item.last_present, item.commits) == ("night000", None, None)


@pytest.mark.parametrize(("before", "since"), [((), "night001"), ((_broken("one"),), "night003")])
def test_a_streak_of_unknown_beginning_begins_with_the_first_removal(
    tmp_path: Path, before: tuple[Prediction, ...], since: str
) -> None:
    nights = {1: (), 2: before, 3: (_broken("one", REPORT, OTHER),)}
    exports = {1: _removes(0, 1, REPORT), 2: _removes(1, 2, OTHER)}
    found = _judged(tmp_path, nights, exports=exports).predicted
    assert found is not None
    assert found.devices[0].since is not None
    assert found.devices[0].since.plan_id == since


def _breaks(
    folder: Path, nights: Mapping[int, tuple[Prediction, ...]], exports: Mapping[int, ExportChanges]
) -> list[tuple[str, str | None, str | None, str | None]]:
    found = _judged(folder, nights, exports=exports).predicted
    assert found is not None
    return [
        (item.since.plan_id, item.last_present and item.last_present.version, item.commits, item.since.torch_version)
        for item in found.breaks
    ]


def test_when_a_part_was_removed_is_known_of_a_plugin_that_was_registered_later(tmp_path: Path) -> None:
    """And of each kind of part: the first night with the torch that no longer has it."""
    lacking = _broken("one", REPORT).model_copy(
        update={
            "findings": (
                _finding(REPORT),
                _finding("torch.x.f", FindingKind.NAME),
                _finding("add.Tensor", FindingKind.SCHEMA),
            )
        }
    )
    # The name was removed with its module.
    changes = _removes(0, 1, REPORT, name="torch.x", schema="add.Tensor")
    found = _breaks(tmp_path, {0: (), 1: (), 2: (), 3: (lacking,)}, {1: changes, 2: changes, 3: _removes(1, 3)})
    assert found == [("night001", "2.15.0.dev0", "0000000...0000000", "2.15.0.dev1")]


def test_the_last_removal_of_a_part_that_came_back_counts(tmp_path: Path) -> None:
    exports = {1: _removes(0, 1, REPORT), 3: _removes(2, 3, REPORT)}
    found = _breaks(tmp_path, {1: (), 3: (_broken("one", REPORT), _broken("two", REPORT))}, exports)
    assert found == [("night003", "2.15.0.dev2", "0000000...0000000", "2.15.0.dev3")]


def test_when_a_part_was_removed_is_not_known_from_a_night_before_it_came_back(tmp_path: Path) -> None:
    nothing = Parts(symbols=(), names=(), operators=())
    added = _removes(1, 2).model_copy(update={"added": nothing.model_copy(update={"symbols": (REPORT,)})})
    found = _breaks(tmp_path, {1: (), 2: (), 3: (_broken("one", REPORT),)}, {1: _removes(0, 1, REPORT), 2: added})
    assert found == [("night003", None, None, "2.15.0.dev3")]


def test_the_exports_tell_a_tighter_range_than_nights_on_which_a_plugin_was_read(tmp_path: Path) -> None:
    nights = {0: (_broken("one"),), 1: (), 2: (), 3: (_broken("one", REPORT),)}
    assert _breaks(tmp_path / "without", nights, {})[0][:2] == ("night003", "2.15.0.dev0")
    assert _breaks(tmp_path / "with", nights, {2: _removes(1, 2, REPORT)})[0][:2] == ("night002", "2.15.0.dev1")


@pytest.mark.parametrize(
    "between",
    [
        (),
        (_unchecked("one"),),
        (_broken("one", version="0.9"),),
        (_broken("one", baseline=None),),
    ],
    ids=["not looked at", "cannot be checked", "another version", "another baseline"],
)
def test_a_night_that_tells_nothing_of_a_part_does_not_end_its_streak(
    tmp_path: Path, between: tuple[Prediction, ...]
) -> None:
    nights = {0: (_broken("one"),), 1: (_broken("one", REPORT),), 2: between, 3: (_broken("one", REPORT),)}
    (item,) = _predicted(tmp_path, nights).breaks
    assert (item.since.plan_id, item.last_present and item.last_present.version) == ("night001", "2.15.0.dev0")


def test_a_device_s_streak_goes_on_over_nights_on_which_it_cannot_be_checked(tmp_path: Path) -> None:
    nights = {0: (_broken("one"),), 1: (_broken("one", OTHER),), 2: (_unchecked("one"),), 3: (_broken("one", REPORT),)}
    (item,) = _predicted(tmp_path, nights).devices
    assert item.since is not None
    assert item.since.plan_id == "night001"


BREAK, FINE, UNKNOWN = Forecast.BREAK, Forecast.NO_BREAK, Forecast.UNCHECKED


@pytest.mark.parametrize(
    ("nights", "since", "last"),
    [
        ((_compiled("one", FINE), _compiled("one", BREAK), _compiled("one", BREAK)), "night001", "2.15.0.dev0"),
        # Another commit of the plugin fails at another error, and its wheel has another version.
        (
            (_compiled("one", FINE), _compiled("one", BREAK, error="no 'g'", version="0.9"), _compiled("one", BREAK)),
            "night001",
            "2.15.0.dev0",
        ),
        (
            (_compiled("one", FINE), _compiled("one", BREAK), _compiled("one", UNKNOWN), _compiled("one", BREAK)),
            "night001",
            "2.15.0.dev0",
        ),
        ((_compiled("one", FINE), _compiled("one", BREAK), _broken("one"), _compiled("one", BREAK)), "night001", None),
        ((_compiled("one", BREAK), _compiled("one", FINE), _compiled("one", BREAK)), "night002", "2.15.0.dev1"),
        ((_compiled("one", BREAK),), "night000", None),
    ],
    ids=["begins", "another error", "not checked", "not tried", "again", "always"],
)
def test_a_compile_error_has_its_first_night_and_the_last_on_which_the_source_compiled(
    tmp_path: Path, nights: tuple[Prediction, ...], since: str, last: str | None
) -> None:
    found = _predicted(tmp_path, {number: (item,) for number, item in enumerate(nights)})
    (item,), (whole,) = found.breaks, found.devices
    assert [part.kind for part in item.parts] == [FindingKind.COMPILE_ERROR]
    assert whole.since is not None
    assert (item.since.plan_id, whole.since.plan_id) == (since, since)
    if last is not None:
        assert item.last_present is not None
        assert item.last_present.version == last


def test_one_compile_error_of_several_plugins_is_one_break(tmp_path: Path) -> None:
    fine = (_compiled("one", FINE), _compiled("two", FINE), _compiled("three", FINE))
    broken = (_compiled("one", BREAK), _compiled("two", BREAK, OTHER), _compiled("three", BREAK, error="no 'g'"))
    found = _predicted(tmp_path, {0: fine, 1: broken})
    assert [(item.devices, [part.name for part in item.parts]) for item in found.breaks] == [
        (("one", "two"), ["no 'f'"]),
        (("three",), ["no 'g'"]),
        (("two",), [OTHER]),
    ]
    assert found.breaks[0].commits_url == f"https://github.com/pytorch/pytorch/compare/{0:040x}...{1:040x}"


def test_a_wheel_s_streak_does_not_go_on_over_nights_on_which_only_its_source_is_unknown(tmp_path: Path) -> None:
    nights = {0: (_broken("one", REPORT),), 1: (_compiled("one", UNKNOWN),), 2: (_compiled("one", UNKNOWN, REPORT),)}
    (item,) = _predicted(tmp_path, nights).devices
    assert item.since is not None
    assert item.since.plan_id == "night002"


def test_a_device_that_left_the_registry_is_left_out(tmp_path: Path) -> None:
    found = _predicted(tmp_path, {0: (_broken("gone", REPORT), _broken("one"))})
    assert ([item.device for item in found.devices], found.breaks) == (["one"], ())


def test_the_newest_nightly_with_predictions_counts(tmp_path: Path) -> None:
    history = stored(tmp_path, *(plan(number, NAMES) for number in range(3)))
    history.append_compat(_compat(1, _broken("one")))
    found = judge(REGISTRY, history, night(2)).predicted
    assert found is not None
    assert found.plan_id == "night001"
    assert judge(REGISTRY, stored(tmp_path / "none", plan(0)), night(0)).predicted is None


def test_many_findings_are_cut_and_counted(tmp_path: Path) -> None:
    names = [f"_ZN3c10{number}" for number in range(120)]
    found = _predicted(tmp_path, {0: (_broken("one", *names),)})
    (item,), (whole,) = found.breaks, found.devices
    assert (len(item.parts) + item.more, len(whole.nightly.findings) + whole.more) == (120, 120)
    assert item.more == whole.more > 0


def test_what_a_prediction_does_not_keep_is_counted_too(tmp_path: Path) -> None:
    broken = _broken("one", "gone").model_copy(update={"more": 7})
    (whole,) = _predicted(tmp_path, {0: (broken,)}).devices
    assert len(whole.nightly.findings) + whole.more == 8


def _import_broken(number: int, said: str) -> Run:
    made = run(number, "one", stages={"import": "failed"}, smoke={}, integration={})
    stages = tuple(item.model_copy(update={"reason": said}) if item.name == "import" else item for item in made.stages)
    return made.model_copy(update={"stages": stages})


@pytest.mark.parametrize(
    ("said", "missing", "is_explained"),
    [
        (f"ImportError: /x/_C.so: undefined symbol: {REPORT}", _finding(REPORT), True),
        (f"ImportError: /x/_C.so: undefined symbol: {REPORT}Kc", _finding(REPORT), False),
        ("ImportError: cannot import name 'f' from 'torch.x' (/t.py)", _finding("torch.x.f", FindingKind.NAME), True),
        ("ModuleNotFoundError: No module named 'torch.x'", _finding("torch.x", FindingKind.NAME), True),
        ("ImportError: cannot import name 'g' from 'torch.x' (/t.py)", _finding("torch.x.f", FindingKind.NAME), False),
        ("RuntimeError: no card", _finding(REPORT), False),
    ],
)
def test_a_broken_import_is_explained_where_its_error_names_what_is_missing(
    tmp_path: Path, said: str, missing: Finding, is_explained: bool
) -> None:
    prediction = _broken("one", "x").model_copy(update={"findings": (missing,)})
    found = _judged(tmp_path, {0: (prediction,)}, _import_broken(0, said))
    assert found.devices[0].verdict is VerdictName.IMPORT_BROKEN
    assert found.predicted is not None
    explains = found.predicted.devices[0].explains
    assert (explains is not None and explains.name == missing.name) is is_explained


def test_no_verdict_and_no_gate_rests_on_a_prediction(tmp_path: Path) -> None:
    runs = [run(0, name) for name in NAMES]
    with_it = _judged(tmp_path / "with", {0: tuple(_broken(name, REPORT) for name in NAMES)}, *runs)
    without = _judged(tmp_path / "without", {0: tuple(map(_broken, NAMES))}, *runs)
    assert with_it.devices == without.devices
    assert (with_it.clusters, with_it.summary) == (without.clusters, without.summary)
    assert (with_it.gate.answer, with_it.gate.blocking) == (without.gate.answer, without.gate.blocking)
    assert with_it.gate.reason == f"{without.gate.reason}; predicted to break, not counted: One, Two, Three"
    assert (with_it.gate.predicted, without.gate.predicted) == (NAMES, ())
