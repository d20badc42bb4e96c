"""What a device run says is printed as text: it begins no line, hides nothing, and is no command of a workflow."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from unit.samples import changed, outcomes, plan, register, run, with_runs

from ootci.adapters.progress import Progress
from ootci.model.build import PluginBuild
from ootci.model.outcome import Attempt, OutcomeName
from ootci.model.plan import Plan
from ootci.model.record import write
from ootci.model.run import Environment, Links, Run
from ootci.model.torch_build import TorchBuild

from commands import OFFLINE, Ran, Tool  # isort: skip

EVIL = (
    "x\n::error::pwned\r\n::add-mask::x\x0b::a\x0c::b\x1c::c\x85::d\u2028::e\u2029::f ##[error]pwned\nFORGED: OK "
    "\x1b[2J\x1b]0;t\x07\x9b2J\u202etxt\u2066\u200b\u200d\ufeff\u00ad\U000e0041"
)
HIDDEN = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\U000e0000-\U000e0fff]"
)


BEGUN = re.compile(r"^\s*(::|FORGED)|##\[", re.MULTILINE)


def _hostile(number: int, *, failed: bool) -> Run:
    honest = run(number, stages={"check": "failed"} if not failed else None)
    word = "failed" if failed else "passed"
    tests = outcomes("smoke", **{f"a{index}{EVIL}": word for index in range(3)})
    hostile = honest.model_copy(
        update={
            "torch": TorchBuild(version=f"2.14.0{EVIL}", git_version=EVIL),
            "torch_request": honest.torch_request.model_copy(
                update={"wanted": EVIL, "version": EVIL, "fallback_reason": EVIL, "unavailable_reason": EVIL}
            ),
            "plugin": PluginBuild(package=EVIL, version=EVIL, source=EVIL, commit=EVIL),
            "environment": Environment(
                python=EVIL, os=EVIL, machine=EVIL, compiler=EVIL, runner=EVIL, image=EVIL, device_facts={EVIL: EVIL}
            ),
            "links": Links(plugin_commit=EVIL, report=EVIL, log=EVIL),
            "url": EVIL,
            "stages": tuple(
                stage.model_copy(update={"reason": EVIL, "excerpt": EVIL, "log": EVIL}) for stage in honest.stages
            ),
            "suites": tuple(suite.model_copy(update={"detail": EVIL}) for suite in honest.suites),
            "outcomes": tuple(item.model_copy(update={"title": EVIL}) for item in tests),
        }
    )
    attempts = (Attempt(outcome=OutcomeName.FAILED, message=EVIL),)
    return changed(hostile, message=EVIL, text=EVIL, attempts=attempts).recounted()


def _planned(number: int) -> Plan:
    made = plan(number)
    torch = made.runs[0].torch.model_copy(update={"version": EVIL, "fallback_reason": EVIL, "wanted": EVIL})
    trigger = made.trigger.model_copy(update={"url": EVIL, "event": EVIL})
    return with_runs(made, torch=torch, external=None).model_copy(update={"trigger": trigger})


@pytest.fixture
def work(ootci: Tool, tmp_path: Path) -> Path:
    """Two hostile nights of a device, in the history and in the work folder."""
    register(tmp_path, extra="tier: gating\n")
    for number in (0, 1):
        write(_planned(number), tmp_path / ".ootci" / "plan.json")
        write(_hostile(number, failed=number == 1), tmp_path / ".ootci" / "runs" / "dev" / "run.json")
        assert _is_plain(ootci("history", "append", cwd=tmp_path))
    (tmp_path / "data" / "tests" / "odd\n::error::x\u202e").write_text("", encoding="utf-8")
    assert _is_plain(ootci("judge", cwd=tmp_path))
    return tmp_path


def _is_plain(ran: Ran) -> bool:
    """Whether nothing that was printed is hidden, is a command, or begins a line of its own."""
    said = ran.out + "\n" + ran.err
    assert not HIDDEN.search(said), HIDDEN.findall(said)
    assert not BEGUN.search(said), said
    return ran.code in (0, 1, 2, 3) and "Traceback" not in said


COMMANDS: Sequence[tuple[str, ...]] = (
    ("judge",),
    ("gate",),
    ("watch",),
    ("alert", "--dry-run"),
    ("diff", "dev@previous", "dev@latest"),
    ("diff", "--all", "dev@previous", "dev@latest"),
    ("history", "append"),
    ("history", "query", "dev", "smoke/*"),
    ("history", "query", "dev", "smoke/*a0*"),
    ("history", "query", "nobody" + EVIL.replace("\x00", ""), EVIL.replace("\x00", "")),
    ("history", "verify"),
    ("history", "gc", "--dry-run"),
    ("history", "export", "tables.sqlite"),
    ("history", "withdraw", "night000", "--reason", EVIL),
    ("render",),
    ("bisect", "dev", EVIL),
    ("external",),
    ("device", "list"),
)


@pytest.mark.parametrize("output_format", ["text", "json", "markdown"])
@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command)[:24])
def test_no_text_of_a_device_run_is_more_than_text(
    ootci: Tool, work: Path, command: tuple[str, ...], output_format: str
) -> None:
    assert _is_plain(ootci(*command, "--format", output_format, cwd=work, env=OFFLINE))


@pytest.mark.parametrize("debug", [True, False])
def test_a_hostile_key_of_a_report_begins_no_line(ootci: Tool, work: Path, debug: bool) -> None:
    text = (work / ".ootci" / "runs" / "dev" / "run.json").read_text(encoding="utf-8")
    (work / ".ootci" / "runs" / "dev" / "run.json").write_text(
        '{"\\n::error::x\\nFORGED": 1, ' + text[1:], encoding="utf-8"
    )
    write(_planned(2), work / ".ootci" / "plan.json")
    ran = ootci(*(["--debug"] if debug else []), "history", "append", cwd=work)
    assert "not taken" in ran.err
    assert _is_plain(ran)


def test_the_torch_of_a_plan_is_printed_on_one_line(ootci: Tool, work: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def planned(*_: Any, **__: Any) -> Plan:
        return _planned(3)

    monkeypatch.setattr("ootci.cli.plan.make_plan", planned)
    ran = ootci("plan", cwd=work, env=OFFLINE)
    assert ran.out.startswith("dev: torch x ")
    assert len(ran.out.splitlines()) == 1
    assert _is_plain(ran)


def test_progress_says_foreign_text_on_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    progress = Progress()
    progress.say(EVIL)
    with progress.step(EVIL):
        progress.update(EVIL)
    assert _is_plain(Ran(0, *capsys.readouterr()))


def test_under_github_actions_an_error_is_one_command_of_ours(ootci: Tool, work: Path) -> None:
    ran = ootci("history", "query", EVIL, "x", cwd=work, env={"GITHUB_ACTIONS": "true"})
    assert [line[:8] for line in ran.err.splitlines() if re.match(r"\s*::", line)] == ["::error "]
    assert not HIDDEN.search(ran.err)
