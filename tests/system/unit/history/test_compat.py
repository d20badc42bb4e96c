"""Predictions for a nightly are kept beside its plan, once, and read back."""

from __future__ import annotations

from pathlib import Path

import pytest
from unit.samples import plan

from ootci.errors import HistoryConflict, HistoryCorrupt
from ootci.flows.reports import append_workspace
from ootci.history.store import History
from ootci.history.verify import verify
from ootci.model.compat import (
    Compat,
    ExportChanges,
    Finding,
    FindingKind,
    Forecast,
    Needs,
    Parts,
    Prediction,
    SourceCheck,
)
from ootci.model.record import write
from ootci.model.torch_build import TorchBuild
from ootci.model.workspace import Workspace

FINDING = Finding(kind=FindingKind.SYMBOL, name="_ZN3c101fEv", text="c10::f()", needed_by=("x/_C.so",))
PREDICTION = Prediction(
    plugin="dev", forecast=Forecast.BREAK, why="binary: 1 of 9 symbols gone", torch="2.15.0", findings=(FINDING,)
)


def _compat(plan_id: str) -> Compat:
    return Compat(plan_id=plan_id, predictions=(PREDICTION,))


def test_what_was_predicted_is_read_back(tmp_path: Path) -> None:
    history, planned = History(tmp_path), plan()
    history.append_plan(planned)
    assert history.compat(planned.id) is None
    assert history.append_compat(_compat(planned.id))
    assert not history.append_compat(_compat(planned.id))
    assert History(tmp_path).compat(planned.id) == _compat(planned.id)
    report = verify(tmp_path)
    assert (report.problems, report.notes) == ((), ())


def test_a_damaged_file_is_a_problem(tmp_path: Path) -> None:
    history, planned = History(tmp_path), plan()
    history.append_plan(planned)
    history.append_compat(_compat(planned.id))
    (path,) = tmp_path.rglob("compat.json")
    path.write_bytes(path.read_bytes().replace(b"binary", b"Binary"))
    with pytest.raises(HistoryCorrupt):
        History(tmp_path).compat(planned.id)
    assert [problem.where for problem in verify(tmp_path).problems] == [str(path)]


def test_what_compiling_a_source_predicted_may_come_later(tmp_path: Path) -> None:
    history, planned = History(tmp_path), plan()
    history.append_plan(planned)
    torches = (TorchBuild(version="2.15.0"), TorchBuild(version="2.14.0"))
    release = PREDICTION.model_copy(update={"torch": "2.14.0"})
    kept = Compat(plan_id=planned.id, torches=torches, predictions=(PREDICTION, release))
    history.append_compat(kept)
    source = SourceCheck(forecast=Forecast.NO_BREAK, why="source compiles")
    assert not history.holds_source(planned.id, "dev", 10)
    for attempt, why in ((9, "older"), (10, source.why)):
        history.append_source(planned.id, "dev", attempt, source.model_copy(update={"why": why}))
    assert history.holds_source(planned.id, "dev", 10)
    found = History(tmp_path).compat(planned.id)
    assert found == kept.model_copy(update={"predictions": (PREDICTION.with_source(source), release)})
    report = verify(tmp_path)
    assert (report.problems, report.notes) == ((), ())
    for text in (b"compiles", b"older"):
        (path,) = (path for path in tmp_path.rglob("dev.*.source.json") if text in path.read_bytes())
        content = path.read_bytes()
        path.write_bytes(content.replace(text, text.upper()))
        assert [problem.where for problem in verify(tmp_path).problems] == [str(path)]
        path.write_bytes(content)


NEEDS = Needs(symbols=("c10::f()",), names=("torch.x",), operators=("add.Tensor",))


def _with_needs(plan_id: str) -> Compat:
    prediction = PREDICTION.model_copy(update={"needs": NEEDS.digest})
    return Compat(plan_id=plan_id, predictions=(prediction,), needs=(NEEDS,))


def test_what_plugins_need_is_kept_once_for_all_nights(tmp_path: Path) -> None:
    history = History(tmp_path)
    for number in range(2):
        history.append_plan(plan(number))
        history.append_compat(_with_needs(plan(number).id))
    assert [path.stem for path in (tmp_path / "needs").iterdir()] == [NEEDS.digest]
    again = History(tmp_path)
    found = again.compat(plan(1).id)
    assert found is not None
    assert (found.needs, found.predictions[0].needs) == ((), NEEDS.digest)
    assert again.needs(NEEDS.digest) == NEEDS
    report = verify(tmp_path)
    assert (report.problems, report.notes) == ((), ())


@pytest.mark.parametrize("how", ["gone", "another"])
def test_needs_that_are_missing_or_not_what_their_name_says_are_a_problem(tmp_path: Path, how: str) -> None:
    history = History(tmp_path)
    history.append_plan(plan())
    history.append_compat(_with_needs(plan().id))
    (path,) = (tmp_path / "needs").iterdir()
    path.unlink()
    if how == "another":
        other = NEEDS.model_copy(update={"names": ()})
        history.append_plan(plan(1))
        history.append_compat(Compat(plan_id=plan(1).id, predictions=(PREDICTION,), needs=(other,)))
        (written,) = (tmp_path / "needs").iterdir()
        written.rename(path)
    with pytest.raises(HistoryCorrupt):
        History(tmp_path).needs(NEEDS.digest)
    assert [problem.where for problem in verify(tmp_path).problems] == [str(path)]


def test_what_a_nightly_changed_of_pytorch_s_exports_is_a_file_of_its_own(tmp_path: Path) -> None:
    old, new = (TorchBuild(version=f"2.15.0.dev{number}", git_version=f"{number:040x}") for number in range(2))
    removed = Parts(symbols=(FINDING.name,), names=(), operators=("full.names",))
    nothing = Parts(symbols=(), names=(), operators=())
    changes = ExportChanges(before=old, after=new, removed=removed, added=nothing, schemas=("add.Tensor",))
    history, planned = History(tmp_path), plan()
    history.append_plan(planned)
    assert history.exports(planned.id) is None
    history.append_compat(_compat(planned.id).model_copy(update={"exports": changes}))
    again = History(tmp_path)
    assert (again.exports(planned.id), again.compat(planned.id)) == (changes, _compat(planned.id))
    report = verify(tmp_path)
    assert (report.problems, report.notes) == ((), ())
    (path,) = tmp_path.rglob("exports.json")
    path.write_bytes(path.read_bytes().replace(b"full.names", b"null.names"))
    assert [problem.where for problem in verify(tmp_path).problems] == [str(path)]


def test_predictions_of_no_nightly_are_refused(tmp_path: Path) -> None:
    with pytest.raises(HistoryConflict):
        History(tmp_path).append_compat(_compat("20260101-nobody"))


@pytest.mark.parametrize("same", [True, False])
def test_the_work_folder_s_predictions_are_added_with_their_plan(tmp_path: Path, same: bool) -> None:
    workspace, planned = Workspace(tmp_path / "work"), plan()
    write(planned, workspace.plan)
    write(_compat(planned.id if same else "another"), workspace.compat)
    history = History(tmp_path / "data")
    append_workspace(workspace, history, lambda _: None)
    assert (history.compat(planned.id) is not None) is same
