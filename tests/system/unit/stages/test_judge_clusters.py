"""judge: what fails on several devices on one nightly is told once, with whose it probably is and since when."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import repeat
from pathlib import Path

import pytest
from unit.samples import changed, device, night, on_torch, plan, run, stored

from ootci.model.build import PluginBuild
from ootci.model.cluster import Cause
from ootci.model.outcome import FAILURES
from ootci.model.run import Run
from ootci.model.verdict import VerdictName, Verdicts
from ootci.stages.judge import clusters, judge
from ootci.stages.judge.clusters import CLUSTERS

SUITES = ("smoke", "integration")
NAMES = ("oak", "elm", "ref")
REGISTRY = (device("oak"), device("elm"), device("ref", tier="reference"))
TWO = "integration/test_x.py::two"


def _commit(number: int) -> str:
    return f"{number + 1:x}" * 40


def _run(
    number: int,
    name: str,
    outcome: str = "passed",
    *,
    smoke: str = "passed",
    plugin: int = 0,
    stages: Mapping[str, str] | None = None,
) -> Run:
    """A run on the night's own PyTorch, whose tests say the same on each device, in the device's words."""
    made = run(number, name, smoke={"one": smoke}, integration={"two": outcome}, stages=stages)
    made = _saying(made, f"RuntimeError: {name} is on fire", "smoke")
    made = _saying(made, f"RuntimeError: {name}:0 has no such thing at 0x7f{number:04x}", "integration")
    built = PluginBuild(package=f"torch-{name}", version="1", source=name, commit=f"{plugin + 1:040x}")
    return on_torch(made, f"2.15.0.dev{number}", _commit(number)).model_copy(update={"plugin": built})


def _saying(made: Run, message: str, *suites: str) -> Run:
    return changed(made, lambda item: item.is_failure and item.suite in (suites or SUITES), message=message)


def _judged(tmp_path: Path, *nights: Mapping[str, Run]) -> Verdicts:
    """What the judge says of nights, each with the runs that were reported."""
    plans = [plan(number, NAMES) for number in range(len(nights))]
    history = stored(tmp_path / "data", *plans, *(made for runs in nights for made in runs.values()))
    return judge(REGISTRY, history, night(len(nights) - 1))


def _night(number: int, **runs: Run) -> dict[str, Run]:
    """A night on which every other device is well."""
    return {name: runs.get(name) or _run(number, name) for name in NAMES}


def test_what_breaks_alike_on_two_devices_is_told_once(tmp_path: Path) -> None:
    said = _judged(tmp_path, _night(0), _night(1, oak=_run(1, "oak", "failed"), elm=_run(1, "elm", "error", plugin=1)))
    (cluster,) = said.clusters
    assert (cluster.cause, cluster.plan_id, cluster.is_new, cluster.tests) == (Cause.UPSTREAM, said.plan_id, True, 2)
    assert cluster.signature.text == "RuntimeError: <device> has no such thing at <address>"
    assert [(item.device, item.first, item.plugin_changed) for item in cluster.devices] == [
        ("elm", (TWO,), True),
        ("oak", (TWO,), False),
    ]
    assert f" · 2 devices broke together, probably upstream, {cluster.commits}" in said.summary
    assert cluster.commits_url == f"https://github.com/pytorch/pytorch/compare/{_commit(0)}...{_commit(1)}"


def test_a_failing_test_says_its_cluster_and_since_when(tmp_path: Path) -> None:
    nights = [_night(0), _night(1, oak=_run(1, "oak", "failed")), _night(2, oak=_run(2, "oak", "crashed"))]
    said = _judged(tmp_path, *nights)
    oak, elm, _ = said.devices
    (change,) = oak.changes
    assert change.signature not in {cluster.signature.id for cluster in _judged(tmp_path / "b", *nights[:2]).clusters}
    assert change.signature == said.clusters[0].signature.id
    assert change.streak is not None
    streak = oak.streaks[change.streak]
    assert (streak.first_failed.date, streak.last_passed and streak.last_passed.date) == (night(1), night(0))
    assert (streak.torch_changed, streak.plugin_changed) == (True, False)
    assert said.clusters[0].cause is Cause.SUSPECTED_UPSTREAM
    assert not said.clusters[0].is_new
    assert elm.streaks == ()


def test_what_is_not_new_or_of_one_device_is_not_in_the_sentence(tmp_path: Path) -> None:
    broken = [_night(0), _night(1, oak=_run(1, "oak", "failed"), elm=_run(1, "elm", "failed"))]
    again = _night(2, oak=_run(2, "oak", "failed"), elm=_run(2, "elm", "failed"))
    assert "upstream" not in _judged(tmp_path / "a", *broken, again).summary
    assert "upstream" not in _judged(tmp_path / "b", _night(0), _night(1, oak=_run(1, "oak", "failed"))).summary
    reference = _judged(tmp_path / "c", _night(0), _night(1, ref=_run(1, "ref", "failed")))
    assert ("upstream" in reference.summary, reference.clusters[0].cause) == (False, Cause.UNKNOWN)
    assert reference.clusters[0].reason == "only the reference device; PyTorch or the reference: unclear"


@pytest.mark.parametrize(
    ("stage", "cause"), [("build", Cause.UPSTREAM), ("import", Cause.UPSTREAM), ("check", Cause.INFRASTRUCTURE)]
)
def test_stages_break_together_too(tmp_path: Path, stage: str, cause: Cause) -> None:
    broken = {name: _run(1, name, stages={stage: "failed"}) for name in NAMES}
    said = _judged(tmp_path, _night(0), broken)
    (cluster,) = (item for item in said.clusters if item.signature.text.startswith(stage))
    assert cluster.cause is cause
    assert [(item.device, item.first) for item in cluster.devices] == [(name, (stage,)) for name in sorted(NAMES)]


def _unfetched(number: int, name: str, *, by_device_file: bool) -> Run:
    found = _run(number, name, stages={"fetch": "failed"})
    stages = [item.model_copy(update={"by_device_file": by_device_file}) for item in found.stages]
    return found.model_copy(update={"stages": tuple(stages)})


def test_a_repository_that_does_not_exist_is_the_vendor_s_to_mend(tmp_path: Path) -> None:
    said = _judged(tmp_path, _night(0), {name: _unfetched(1, name, by_device_file=True) for name in NAMES})
    (cluster,) = said.clusters
    assert cluster.cause is Cause.PLUGIN
    assert cluster.reason == f"a repository or ref named in the device file does not exist, on all {len(NAMES)} devices"
    assert {(item.verdict, item.broke_at) for item in said.devices} == {(VerdictName.BUILD_BROKEN, "fetch")}
    # Nothing of PyTorch was tested, so that nobody may say no, or yes.
    assert (said.gate.answer, set(said.gate.without_result)) == ("cannot_say", set(NAMES))


def test_it_began_on_its_own_first_night_and_not_on_one_without_a_network(tmp_path: Path) -> None:
    nights = [_night(number, oak=_unfetched(number, "oak", by_device_file=number > 1)) for number in (1, 2)]
    said = _judged(tmp_path, _night(0), *nights)
    (cluster,) = said.clusters
    assert (cluster.cause, cluster.since.date, cluster.devices[0].new) == (Cause.PLUGIN, night(2), 1)
    assert (said.gate.answer, list(said.gate.without_result)) == ("yes", ["oak"])


def test_what_is_new_is_told_apart_from_what_goes_on(tmp_path: Path) -> None:
    one = [_run(1, name, "failed") for name in ("oak", "elm")]
    two = [_run(2, name, "failed", smoke="failed") for name in ("oak", "elm")]
    said = _judged(tmp_path, _night(0), _night(1, oak=one[0], elm=one[1]), _night(2, oak=two[0], elm=two[1]))
    new, old = said.clusters
    assert (new.is_new, new.commits) == (True, "2222222...3333333")
    assert (old.is_new, old.commits) == (False, "1111111...2222222")
    assert said.summary.endswith(" · 2 devices broke together, probably upstream, 2222222...3333333.")
    oak = said.devices[0]
    began = {item.id: oak.streaks[item.streak].first_failed.date for item in oak.changes if item.streak is not None}
    assert began == {"smoke/test_x.py::one": night(2), TWO: night(1)}


def test_a_device_that_tonight_was_not_asked_is_in_no_cluster(tmp_path: Path) -> None:
    records = plan(0, NAMES), _run(0, "oak", "failed"), plan(1, ("elm",)), _run(1, "elm")
    assert judge(REGISTRY, stored(tmp_path / "data", *records), night(1)).clusters == ()


def test_of_a_device_that_was_silent_nothing_is_in_a_cluster(tmp_path: Path) -> None:
    before = _night(0, oak=_run(0, "oak", "failed"))
    assert [item.device for item in _judged(tmp_path / "a", before).clusters[0].devices] == ["oak"]
    tonight = _night(1)
    del tonight["oak"]
    assert _judged(tmp_path / "b", before, tonight).clusters == ()


def test_without_a_nightly_there_is_no_cluster(tmp_path: Path) -> None:
    assert _judged(tmp_path).clusters == ()


def test_one_fault_on_two_devices_one_of_which_was_silent_first_is_one_cluster_with_the_tighter_range(
    tmp_path: Path,
) -> None:
    first = _night(1, oak=_run(1, "oak", "failed"))
    del first["elm"]
    second = _night(2, oak=_run(2, "oak", "failed"), elm=_run(2, "elm", "failed"))
    (cluster,) = _judged(tmp_path, _night(0), first, second).clusters
    assert (cluster.cause, cluster.commits) == (Cause.UPSTREAM, "1111111...2222222")
    assert [(item.device, item.since.date) for item in cluster.devices] == [("elm", night(2)), ("oak", night(1))]


def test_vendors_with_their_own_texts_for_the_same_test_share_a_cluster_that_each_of_them_names(tmp_path: Path) -> None:
    texts = {name: f"{name.title()}Error: nothing like that on {name} chips" for name in ("oak", "elm")}
    tonight = {name: _saying(_run(1, name, "failed"), text) for name, text in texts.items()}
    said = _judged(tmp_path, _night(0), _night(1, **tonight))
    (cluster,) = said.clusters
    assert (cluster.cause, len(cluster.also)) == (Cause.UPSTREAM, 1)
    assert {change.signature for item in said.devices for change in item.changes} == {cluster.signature.id}


def test_a_refused_connection_is_infrastructure_for_a_night_and_a_failure_when_it_lasts(tmp_path: Path) -> None:
    text = "ConnectionRefusedError: [Errno 111] Connection refused"
    nights = [_night(0)] + [_night(number, oak=_saying(_run(number, "oak", "failed"), text)) for number in (1, 2)]
    first = _judged(tmp_path / "a", *nights[:2])
    oak = first.devices[0]
    assert (oak.verdict, oak.new_failures, oak.broken_since) == (VerdictName.INFRA, 0, None)
    assert oak.reason == f"1 test could not reach a host, first {TWO}: {text.replace('111', '<n>')}"
    assert [item.cause for item in first.clusters] == [Cause.INFRASTRUCTURE]
    second = _judged(tmp_path / "b", *nights)
    assert (second.devices[0].verdict, second.devices[0].broken_since) == (VerdictName.FAILING, night(2))
    assert [item.cause for item in second.clusters] == [Cause.SUSPECTED_UPSTREAM]


def test_a_refused_connection_hides_no_other_failure(tmp_path: Path) -> None:
    both = _saying(_run(1, "oak", "failed", smoke="failed"), "OSError: Could not resolve host: pypi.example.org")
    said = _judged(tmp_path, _night(0), _night(1, oak=_saying(both, "RuntimeError: wrong result", "smoke")))
    assert said.devices[0].verdict is VerdictName.SMOKE_BROKEN
    assert said.devices[0].reason.endswith("; 1 test could not reach a host")
    assert said.gate.blocking == ("oak",)


def test_a_test_that_flaked_twice_in_a_row_is_nobody_s_regression(tmp_path: Path) -> None:
    outcomes = (*3 * ("passed", "passed", "failed"), *3 * ("passed",), "failed", "failed")
    nights = [
        _night(number, oak=_run(number, "oak", outcome, smoke="passed")) for number, outcome in enumerate(outcomes)
    ]
    for count in (13, 14):
        said = _judged(tmp_path / str(count), *nights[:count])
        assert said.devices[0].new_failures == 0
        assert [item.cause for item in said.clusters] == [Cause.FLAKY]
        assert "regress" not in said.devices[0].reason


def _very_many(number: int, name: str, said: Iterator[str]) -> Run:
    made = run(number, name, integration={f"t{test}": "failed" for test in range(CLUSTERS + 5)})
    return made.model_copy(
        update={
            "outcomes": tuple(
                item.model_copy(update={"message": next(said)}) if item.outcome in FAILURES else item
                for item in made.outcomes
            )
        }
    )


def test_of_very_many_clusters_and_names_the_first_are_kept_and_the_others_counted(tmp_path: Path) -> None:
    before = {name: _run(0, name) for name in NAMES}
    each = (f"RuntimeError: {'x' * (test // 26)}{chr(97 + test % 26)}" for test in range(CLUSTERS + 5))
    runs = {"elm": _very_many(1, "elm", each)}
    verdicts = _judged(tmp_path / "alone", before, runs)
    assert (len(verdicts.clusters), verdicts.more_clusters) == (CLUSTERS, 5)
    runs["oak"] = _very_many(1, "oak", repeat("OSError: the same of all"))
    (cluster,) = _judged(tmp_path / "both", before, runs).clusters
    assert (len(cluster.also), cluster.tests) == (clusters.NAMES, 2 * (CLUSTERS + 5))
