"""``ootci torch fetch``: the wheel of PyTorch's own CI, against servers that play GitHub and the CI's store."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from commands import Tool
from deliveries import HEAD, event_file, pull_request
from fake_github import TOKEN
from misbehaving import write_device
from pytorch_ci import BUILD, PyTorchCi, pytorch_ci

from ootci.adapters import download as downloads
from ootci.adapters import pytorch_ci as module
from ootci.adapters.github_rest import GithubRest
from ootci.adapters.progress import Progress
from ootci.errors import TorchNotBuilt
from ootci.model.device import load_device
from ootci.model.plan import Plan, Proposal
from ootci.model.record import read, write
from ootci.model.workspace import Workspace
from ootci.stages.torch_from_ci import PAUSE, Taker

OLDER = "4" * 40
NOW = datetime(2026, 11, 27, 12, tzinfo=timezone.utc)


@pytest.fixture
def ci() -> Iterator[PyTorchCi]:
    with pytorch_ci() as found:
        yield found


class World:
    """A work folder with the plan of a delivered pull request."""

    def __init__(self, folder: Path, ootci: Tool, ci: PyTorchCi) -> None:
        self.folder, self.ootci, self.ci = folder, ootci, ci
        self.env = {**ci.environment, "GITHUB_TOKEN": TOKEN}

    def device(self, name: str, extra: str = "") -> None:
        write_device(self.folder / "devices", name, "passes", extra=f"pull_requests: true\n{extra}")

    def plan(self) -> None:
        file = event_file(self.folder / "event.json", pull_request())
        ran = self.ootci(
            "plan", "--pull-request", "delivered", cwd=self.folder, env={**self.env, "GITHUB_EVENT_PATH": str(file)}
        )
        assert ran.code == 0, ran.err

    def fetch(self, *options: str) -> tuple[int, str, dict[str, str]]:
        """The exit code, what was said, and the outputs for a workflow."""
        outputs = self.folder / "outputs"
        outputs.unlink(missing_ok=True)
        options = ("--minutes=0", f"--github-output={outputs}", *options)
        ran = self.ootci("torch", "fetch", *options, cwd=self.folder, env=self.env)
        lines = outputs.read_text(encoding="utf-8").splitlines() if outputs.exists() else []
        return ran.code, ran.out + ran.err, dict(line.split("=", 1) for line in lines)

    def torch(self, device: str = "one") -> dict[str, Any]:
        plan = json.loads((self.folder / ".ootci" / "plan.json").read_text(encoding="utf-8"))
        found: dict[str, Any] = next(run["torch"] for run in plan["runs"] if run["device"] == device)
        return found


@pytest.fixture
def world(tmp_path: Path, ootci: Tool, ci: PyTorchCi) -> World:
    made = World(tmp_path, ootci, ci)
    made.device("one")
    made.plan()
    return made


def test_the_wheel_of_the_commit_is_taken_and_who_built_it_is_told(world: World, tmp_path: Path) -> None:
    run = world.ci.built(tmp_path / "built", HEAD)
    code, said, outputs = world.fetch()
    assert (code, outputs) == (0, {"found": "yes", "python": "3.10"}), said
    torch = world.torch()
    assert (torch["channel"], torch["version"], torch["commit"]) == ("source", f"2.15.0a0+git{HEAD[:7]}", HEAD)
    page = f"https://github.com/pytorch/pytorch/actions/runs/{run}"
    assert torch["origin"] == f"built by PyTorch's CI, {page}"
    assert (torch["fallback_reason"], torch["unavailable_reason"]) == (None, None)
    assert torch["wanted"] == f"pull request 4711 of pytorch/pytorch at {HEAD[:10]}"
    source = json.loads((tmp_path / ".ootci" / "torch" / "torch.json").read_text(encoding="utf-8"))
    assert (source["ci_run"], source["python_version"], source["sha256"]) == (page, "3.10", torch["sha256"])
    assert world.ci.store.asked == [_archive(run)]
    assert not world.ci.store.leaked, "the store was shown the token"
    assert TOKEN not in said


def test_the_newest_run_counts_and_a_build_of_a_device_s_python_is_preferred(world: World, tmp_path: Path) -> None:
    world.device("two", 'python: "3.11"\n')
    world.plan()
    world.ci.built(tmp_path / "a", HEAD)
    for build in ("linux-jammy-py3.11-gcc11", "linux-noble-py3.13-gcc14", "linux-jammy-cuda12.8-py3.11-gcc11"):
        world.ci.built(tmp_path / "b", HEAD, build=build)
    code, said, outputs = world.fetch()
    assert (code, outputs.get("python")) == (0, "3.11"), said


def test_what_pytorchs_ci_put_together_of_two_commits_is_taken_and_told(world: World, tmp_path: Path) -> None:
    world.ci.built(tmp_path / "built", HEAD, binaries=OLDER)
    code, said, _ = world.fetch()
    assert code == 0, said
    torch = world.torch()
    assert torch["commit"] == OLDER, "what is installed says this commit"
    assert torch["fallback_reason"] == (
        f"PyTorch's CI put the Python files of {HEAD[:10]} into its build of {OLDER[:10]}, "
        "because nothing else had changed"
    )


@pytest.mark.parametrize(
    ("extra", "why"),
    [
        ('python: "3.12"\n', "has it for Python 3.10, the device file requires 3.12 (`python`)"),
        ("torch:\n  variant: cu130\n", "has it for the CPU, the device file requires cu130 (`torch.variant`)"),
    ],
)
def test_a_device_that_it_does_not_fit_says_so_and_the_others_are_tested(
    world: World, tmp_path: Path, extra: str, why: str
) -> None:
    world.device("two", extra)
    world.plan()
    world.ci.built(tmp_path / "built", HEAD)
    code, said, _ = world.fetch()
    assert code == 0, said
    assert world.torch("one")["version"] == f"2.15.0a0+git{HEAD[:7]}"
    assert world.torch("two")["unavailable_reason"] == f"PyTorch's CI {why}"
    assert world.torch("two")["version"] is None
    (tmp_path / "devices" / "one.yaml").unlink()
    world.plan()
    code, said, outputs = world.fetch()
    assert (code, outputs) == (3, {"found": "no"}), said
    assert why in world.torch("two")["unavailable_reason"]


def _archive(run: int) -> str:
    return f"/pytorch/pytorch/{run}/{BUILD}/artifacts.zip"


def _wheel(ci: PyTorchCi, folder: Path, commit: str) -> dict[str, bytes]:
    run = ci.built(folder, commit)
    content = ci.store.objects[_archive(run)]
    del ci.runs[run]
    archive = folder / "artifacts.zip"
    archive.write_bytes(content)
    with zipfile.ZipFile(archive) as found:
        return {name: found.read(name) for name in found.namelist() if name.startswith("dist/torch-")}


State = Callable[[PyTorchCi, Path], object]
STATES: dict[str, tuple[State, str]] = {
    "nothing": (lambda ci, folder: ci.built(folder, OLDER), "there is no run of pull.yml for 1111111111"),
    "failed": (lambda ci, _: ci.job(ci.run(HEAD), conclusion="failure"), "it did not build there"),
    "cancelled": (
        lambda ci, _: ci.job(ci.run(HEAD, conclusion="cancelled"), conclusion="cancelled"),
        "it did not build there",
    ),
    "running": (
        lambda ci, _: ci.job(ci.run(HEAD, "in_progress", None), status="in_progress", conclusion=None),
        "it is being built",
    ),
    "waiting": (lambda ci, _: ci.run(HEAD, "completed", "action_required"), "it is being built"),
    "not built": (lambda ci, _: ci.run(HEAD, conclusion="success"), "nothing was built for the CPU"),
    "expired": (lambda ci, folder: ci.store.objects.pop(_archive(ci.built(folder, HEAD))), "answered 403"),
    "of another": (
        lambda ci, folder: ci.upload(ci.built(folder, HEAD), _wheel(ci, folder, OLDER)),
        f"was built from {OLDER}, and not from {HEAD}",
    ),
    "of no commit": (lambda ci, folder: ci.built(folder, HEAD, binaries="unknown"), "was built from no commit"),
    "of another Python": (
        lambda ci, folder: ci.built(folder, HEAD, tag="cp312-cp312-any"),
        "is not for Python 3.10",
    ),
    "no wheel": (
        lambda ci, folder: ci.upload(ci.built(folder, HEAD), {"torch-1.0-py3-none-any.whl": b""}),
        "holds 0 wheels of torch, not one",
    ),
    "two wheels": (
        lambda ci, folder: ci.upload(ci.built(folder, HEAD), {**_wheel(ci, folder, HEAD), **_wheel(ci, folder, OLDER)}),
        "holds 2 wheels of torch, not one",
    ),
    "out of the folder": (
        lambda ci, folder: ci.upload(
            ci.built(folder, HEAD), {"dist/torch-../../../../pwned.whl": next(iter(_wheel(ci, folder, HEAD).values()))}
        ),
        "holds 0 wheels of torch, not one",
    ),
    "no archive": (
        lambda ci, folder: ci.store.objects.update({_archive(ci.built(folder, HEAD)): b"hello"}),
        "is no whole archive",
    ),
    "broken wheel": (
        lambda ci, folder: ci.upload(
            ci.built(folder, HEAD), {f"dist/torch-2.15.0a0+git{HEAD[:7]}-cp310-none-any.whl": b"PK"}
        ),
        "is no whole wheel",
    ),
}


@pytest.mark.parametrize(("state", "why"), STATES.values(), ids=STATES)
def test_what_cannot_be_used_is_not_and_the_plan_says_why(world: World, tmp_path: Path, state: State, why: str) -> None:
    state(world.ci, tmp_path / "built")
    code, said, outputs = world.fetch()
    assert (code, outputs) == (3, {"found": "no"}), said
    assert "TORCH-004" in said
    reason = world.torch()["unavailable_reason"]
    assert reason.startswith("PyTorch's CI has no wheel of pull request 4711 of pytorch/pytorch at 1111111111: ")
    assert why in reason
    assert not list((tmp_path / ".ootci").glob("torch/*"))


def test_a_refused_token_is_told_and_nothing_is_taken(world: World) -> None:
    world.env["GITHUB_TOKEN"] = "another"  # noqa: S105
    code, _, outputs = world.fetch()
    assert (code, outputs) == (3, {"found": "no"})
    assert "GitHub answered 401: Bad credentials" in world.torch()["unavailable_reason"]


def test_without_a_wheel_the_runner_that_builds_it_is_to_be_a_list_of_labels(world: World) -> None:
    code, said, outputs = world.fetch("--runner", '["self-hosted", "large"]')
    assert (code, outputs) == (0, {"found": "no"}), said
    for wrong in ("large", '["self-hosted", large]', "[]", "[1]"):
        code, said, outputs = world.fetch("--runner", wrong)
        assert (code, outputs) == (2, {}), said
        assert "OOTCI_TORCH_RUNNER, on the page Settings > Secrets and variables > Actions" in said


def test_a_plan_of_a_nightly_is_refused(world: World) -> None:
    file = world.folder / ".ootci" / "plan.json"
    plan = json.loads(file.read_text(encoding="utf-8"))
    del plan["trigger"]["proposal"]
    file.write_text(json.dumps(plan), encoding="utf-8")
    code, said, _ = world.fetch()
    assert code == 2
    assert "the plan is for no pull request and no push" in said


def test_torch_is_to_be_there_before_the_relay_gives_up_on_the_devices(world: World) -> None:
    file = world.folder / ".ootci" / "plan.json"
    plan = read(Plan, file)
    (run,) = plan.runs
    assert run.timeout_minutes == 120
    assert plan.torch_deadline == plan.created_at + timedelta(minutes=360 - 15 - 120)
    nightly = plan.model_copy(update={"trigger": plan.trigger.model_copy(update={"event": "schedule"})})
    assert nightly.torch_deadline is None
    # Built before that, in a job of its own.
    world.device("two", "runner: {labels: [card], shares: 2}\n")
    world.plan()
    plan = read(Plan, file)
    assert plan.torch_deadline == plan.created_at + timedelta(minutes=360 - 15 - 120 - 60)
    write(plan.model_copy(update={"created_at": plan.created_at - timedelta(minutes=160)}), file)
    ran = world.ootci("torch", "build", "--planned", cwd=world.folder, env=world.env)
    assert ran.code == 3
    reason = world.torch()["unavailable_reason"]
    assert reason == "there is no time left to build torch: PyTorch's relay takes no result after 6 hours"
    assert reason in ran.err


@pytest.fixture
def taker(ci: PyTorchCi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Taker:
    """One whose clock a wait puts on; at 12:10 the build is there, if it is to come."""
    for name, value in ci.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(downloads, "PAUSES", (0.0, 0.0))
    waited: list[float] = []

    def wait(seconds: float) -> None:
        waited.append(seconds)
        if len(waited) == 2:
            ci.built(tmp_path / "built", HEAD)

    device = load_device(write_device(tmp_path / "devices", "one", "passes")).device
    what = Proposal(repository="pytorch/pytorch", commit=HEAD, ref="refs/heads/main")
    return Taker(
        what,
        (device,),
        Workspace(tmp_path / "work"),
        GithubRest(TOKEN),
        until=NOW + timedelta(hours=1),
        clock=lambda: NOW + timedelta(seconds=sum(waited)),
        wait=wait,
        progress=Progress(),
    )


def test_a_build_that_has_not_ended_is_waited_for(taker: Taker) -> None:
    source, unfit = taker.take()
    assert (source.commit, dict(unfit)) == (HEAD, {})
    assert taker.clock() == NOW + 2 * PAUSE


def test_it_is_not_waited_longer_than_the_devices_can_still_report(taker: Taker) -> None:
    with pytest.raises(TorchNotBuilt, match=r"at 12:05 UTC, and longer is not waited"):
        replace(taker, until=NOW + PAUSE).take()


@pytest.mark.parametrize(("limit", "why"), [("MAX_ARCHIVE", "is larger than"), ("MAX_WHEEL", "is larger than")])
def test_what_is_too_large_is_not_kept(
    taker: Taker, ci: PyTorchCi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, limit: str, why: str
) -> None:
    ci.built(tmp_path / "large", HEAD)
    monkeypatch.setattr(module, limit, 1000)
    with pytest.raises(TorchNotBuilt, match=why):
        taker.take()
    assert not [path for path in (tmp_path / "work").rglob("*") if path.is_file()]
