"""judge: PyTorch's own tests count against a device from the day on which they pass there, and no list says which."""

from __future__ import annotations

from pathlib import Path

import pytest
from unit.samples import device, plan
from unit.stages.judging import judged
from unit.upstream_nights import SUITES, upstream_nights

from ootci.history.parity import Ledger, Parity
from ootci.history.store import History
from ootci.model.build import PluginBuild
from ootci.model.cluster import Cause
from ootci.model.run import Run
from ootci.model.torch_build import TorchBuild
from ootci.model.verdict import ChangeName, DeviceVerdict, VerdictName, Verdicts

ONE, TWO = "test_a.py::TestA::test_one", "test_a.py::TestA::test_two"
PASSES = {"test_a.py::TestA::test_sound": "p" * 7}


def _verdict(folder: Path, nights: int = 7, **letters: str) -> DeviceVerdict:
    rows = {f"test_a.py::TestA::test_{name}": row for name, row in letters.items()}
    (found,) = judged(
        folder, *upstream_nights({"test_a.py::TestA::test_sound": "p" * nights, **rows}), registry=(device(),)
    ).devices
    return found


def test_a_test_that_never_passed_is_counted_and_not_red(tmp_path: Path) -> None:
    found = _verdict(tmp_path, one="f" * 7, two="f" * 7)
    assert found.verdict is VerdictName.OK
    assert found.reason == "2 of 4 tests passed; 2 of PyTorch's own tests not yet supported"
    assert (found.new_failures, found.changes, found.counts.failed) == (0, (), 2)


def test_a_test_that_passed_on_three_of_five_nights_is_held_to_it(tmp_path: Path) -> None:
    for name, row, verdict in (
        ("two", "fffppff", VerdictName.OK),
        ("three", "ffpppff", VerdictName.FAILING),
        ("in-five", "fpfpfpf", VerdictName.REGRESSED),
        ("in-six", "pffpfpf", VerdictName.OK),
    ):
        assert _verdict(tmp_path / name, one=row).verdict is verdict, row


def test_a_regression_is_one_however_long_ago_it_passed(tmp_path: Path) -> None:
    found = _verdict(tmp_path, one="pppffff")
    assert found.verdict is VerdictName.FAILING
    assert found.streaks[0].first_failed.plan_id == "night003"
    found = _verdict(tmp_path / "skipped", one="pppssff")
    assert found.verdict is VerdictName.FAILING


def test_a_new_regression_is_told_and_nothing_else_is(tmp_path: Path) -> None:
    found = _verdict(tmp_path, one="p" * 6 + "f", two="f" * 6 + "p", three="fpfffff")
    assert found.verdict is VerdictName.REGRESSED
    assert found.reason == ("1 test started failing; 1 of PyTorch's own tests not yet supported")
    assert {(item.id.rpartition("_")[2], item.change) for item in found.changes} == {
        ("one", ChangeName.REGRESSION),
        ("two", ChangeName.FIXED),
    }


def test_a_required_suite_without_a_passed_test_is_never_as_expected(tmp_path: Path) -> None:
    rows = {ONE: "fff", TWO: "fff"}
    (found,) = judged(tmp_path, *upstream_nights(rows), registry=(device(),)).devices
    assert (found.verdict, found.reason.partition(";")[0]) == (VerdictName.FAILING, "no test of upstream passed")


@pytest.mark.parametrize("row", ["pppppp", "pppppps"], ids=["gone", "skipped"])
def test_pytorch_removes_tests_of_its_own_and_a_class_that_runs_no_more_is_told(tmp_path: Path, row: str) -> None:
    assert _verdict(tmp_path, one=row).verdict is VerdictName.OK
    rows = {**PASSES, "test_a.py::TestB::test_one": row}
    (found,) = judged(tmp_path / "class", *upstream_nights(rows), registry=(device(),)).devices
    assert found.verdict is VerdictName.LOST_TESTS
    assert found.reason.endswith("first upstream/test_a.py::TestB::test_one")


def test_the_five_nights_are_those_on_which_the_test_ran(tmp_path: Path) -> None:
    assert _verdict(tmp_path, 10, one="pssspspssf").verdict is VerdictName.REGRESSED
    assert _verdict(tmp_path / "two", 10, one="pssspssssf").verdict is VerdictName.OK


def test_the_numbers_of_a_night_add_up(tmp_path: Path) -> None:
    history = History(tmp_path)
    letters = {"sound": "ppppx", "one": "pppff", "two": "fpfff", "three": "fffff", "four": "sssss", "five": "ppppn"}
    ledger = Ledger()
    for record in upstream_nights({f"test_a.py::TestA::test_{name}": row for name, row in letters.items()}):
        (history.append_run if isinstance(record, Run) else history.append_plan)(record)  # type: ignore[operator]
    *before, tonight = history.stored_runs("dev")
    for night in before:
        ledger.add(night)
    said = ledger.night(tonight)
    found = said.parity
    assert found == Parity(asked=5, passed=1, regressed=1, sometimes=1, not_yet=1, left_out=1)
    assert (found.others, found.share) == (1, "20.0 %")
    assert {tonight.tests[row].id.rpartition("_")[2] for row in said.unsettled} == {"two", "three"}


def _two_devices(folder: Path, **letters: str) -> Verdicts:
    """The last of seven nights, each with a PyTorch of its own, of the reference device and another one."""
    rows = {"reference": letters["reference"], "dev": letters["dev"]}
    runs = (
        record.model_copy(
            update={
                "torch": TorchBuild(
                    version=f"2.15.0.dev{record.plan_id[-3:]}", git_version=f"{int(record.plan_id[-3:]) + 1:x}" * 40
                ),
                "plugin": PluginBuild(package=f"torch-{name}", version="1", source=name, commit="1" * 40),
            }
        )
        for name, row in rows.items()
        for record in upstream_nights({**PASSES, ONE: row}, name)
        if isinstance(record, Run)
    )
    plans = (plan(number, tuple(rows), suites=SUITES) for number in range(7))
    registry = (device("reference", tier="reference"), device("dev"))
    return judged(folder, *plans, *runs, registry=registry)


def test_the_reference_device_tells_pytorch_s_own_breakage(tmp_path: Path) -> None:
    (cluster,) = _two_devices(tmp_path / "both", reference="ppppppf", dev="ppppppf").clusters
    assert cluster.cause is Cause.UPSTREAM
    assert "the reference among them: probably upstream" in cluster.reason
    assert cluster.commits == f"{'6' * 7}...{'7' * 7}"
    # A test that never passed on a device is no evidence about PyTorch.
    for name, rows in (
        ("reference", {"reference": "fffffff", "dev": "ppppppf"}),
        ("dev", {"reference": "ppppppf", "dev": "fffffff"}),
    ):
        found = _two_devices(tmp_path / name, **rows)
        assert [cluster.cause is Cause.UPSTREAM for cluster in found.clusters] == [False]
        assert {item.device: item.verdict for item in found.devices}[name] is VerdictName.OK
