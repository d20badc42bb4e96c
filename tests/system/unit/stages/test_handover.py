"""A hand-over is taken as it was given or not at all, and then it is never the plugin's fault."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path

import pytest
from unit.samples import build

from ootci.errors import HostFailure
from ootci.model.build import Build, PluginBuild, Provenance, StageStatus
from ootci.model.plan import PlannedRun
from ootci.model.torch_build import TorchBuild
from ootci.model.workspace import Workspace
from ootci.stages.build import hand_over
from ootci.stages.build.commands import StepFailed
from ootci.stages.build.handover import Received, receive

WHEEL = "torch_dev-1.0-py3-none-any.whl"
PLACE = Provenance(runner="builder 7", machine="x86_64", os="Linux", ootci="0")


def _built(workspace: Workspace, content: bytes = b"a wheel") -> Build:
    file = workspace.wheels("dev") / "0123456789abcdef" / WHEEL
    file.parent.mkdir(parents=True)
    file.write_bytes(content)
    digest = hashlib.sha256(content).hexdigest()
    plugin = PluginBuild(package="torch-dev", version="1.0", source="dev", wheel=WHEEL, sha256=digest)
    return build(python="/there/bin/python").model_copy(update={"plugin": plugin})


def _run(run_id: str = "night000-dev") -> PlannedRun:
    made = build()
    return PlannedRun(
        run_id=run_id,
        device="dev",
        device_sha256="0" * 64,
        torch=made.torch_request,
        suites=(),
        runner=("ubuntu-latest",),
        timeout_minutes=1,
    )


@pytest.fixture
def handed(tmp_path: Path) -> tuple[Path, str]:
    workspace, target = Workspace(tmp_path / "there"), tmp_path / "artifacts" / "built-dev-1"
    (workspace.run("dev").logs).mkdir(parents=True)
    (workspace.run("dev").logs / "build.log").write_text("compiling", encoding="utf-8")
    return target, hand_over(_built(workspace), workspace, target, PLACE)


def test_what_was_handed_over_is_received(handed: tuple[Path, str]) -> None:
    folder, told = handed
    for place in (folder, folder.parent):
        received = receive(place, told, _run())
        assert received == Received(received.handover, folder)
        assert received.wheel is not None
        assert received.wheel.read_bytes() == b"a wheel"
        assert received.handover.build.python is None
        assert (received.folder / "logs" / "build.log").read_text(encoding="utf-8") == "compiling"


def _exchange(folder: Path) -> None:
    (folder / WHEEL).write_bytes(b"another wheel")


def _link(folder: Path) -> None:
    (folder / WHEEL).rename(folder / "elsewhere")
    (folder / WHEEL).symlink_to("elsewhere")


def _edit(old: str, new: str) -> Callable[[Path], None]:
    def change(folder: Path) -> None:
        file = folder / "handover.json"
        text = file.read_text(encoding="utf-8")
        assert old in text
        file.write_text(text.replace(old, new, 1), encoding="utf-8")

    return change


def _lose(name: str) -> Callable[[Path], None]:
    return lambda folder: (folder / name).unlink()


@pytest.mark.parametrize(
    ("change", "is_told", "reason"),
    [
        (_exchange, True, f"{WHEEL} is not what was handed over: its SHA-256 is "),
        (_exchange, False, f"{WHEEL} is not what was handed over: its SHA-256 is "),
        (_link, True, f"the hand-over has no {WHEEL}"),
        (_lose(WHEEL), True, f"the hand-over has no {WHEEL}"),
        (_edit("builder 7", "builder 8"), True, "handover.json is not what was handed over"),
        (_lose("handover.json"), True, "nothing was handed over by the machine that builds the plugin"),
        (_edit("{", "["), False, "what was handed over cannot be read"),
        (_edit(f'"name": "{WHEEL}"', f'"name": "../{WHEEL}"'), False, "what was handed over cannot be read"),
        (_edit("night000-dev", "night001-dev"), False, "what was handed over is of the run night001-dev"),
        (_edit('"name": "build"', '"name": "smoke"'), False, "lacks the results of fetching and building"),
        (_edit('"passed"', '"failed"'), False, r"on builder 7 \(x86_64, Linux\)"),
    ],
)
def test_what_is_not_whole_is_refused(
    handed: tuple[Path, str], change: Callable[[Path], None], is_told: bool, reason: str
) -> None:
    folder, told = handed
    change(folder)
    with pytest.raises(StepFailed, match=reason):
        receive(folder.parent, told if is_told else None, _run())


def test_another_torch_than_it_was_built_against_is_refused(handed: tuple[Path, str]) -> None:
    received = receive(*handed, _run())
    there = received.handover.build.torch
    received.require_torch(there)
    for here in (None, TorchBuild(version="2.13.0+cpu"), TorchBuild(version="2.14.0.dev20261101+cpu", git_version="a")):
        with pytest.raises(StepFailed, match="the plugin was built against torch"):
            received.require_torch(here)


def test_a_build_that_broke_is_handed_over_without_a_wheel(tmp_path: Path) -> None:
    made = build()
    broken = made.stages[1].model_copy(update={"status": StageStatus.FAILED, "reason": "no member named gone"})
    made = made.model_copy(update={"stages": (made.stages[0], broken)})
    told = hand_over(made, Workspace(tmp_path / "there"), tmp_path / "handed", PLACE)
    received = receive(tmp_path / "handed", told, _run())
    assert (received.wheel, received.handover.build.stages[1]) == (None, broken)


def test_a_wheel_of_before_does_not_stay(handed: tuple[Path, str], tmp_path: Path) -> None:
    folder, _ = handed
    hand_over(build(), Workspace(tmp_path / "there"), folder, PLACE)
    assert list(folder.glob("*.whl")) == []


def test_a_wheel_that_is_gone_is_said(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    made = _built(workspace)
    (next(workspace.wheels("dev").glob("*/*.whl"))).write_bytes(b"another")
    with pytest.raises(HostFailure, match="is gone"):
        hand_over(made, workspace, tmp_path / "handed", PLACE)
