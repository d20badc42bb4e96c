"""Exit codes: 0 fine, 1 the device or the gate, 2 the input, 3 infrastructure; stdout for data, stderr for people."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from datetime import datetime, timezone
from pathlib import Path

import pytest
from unit.samples import DEVICE_YAML, build, night, plan, register, run

from ootci import __version__
from ootci.cli.main import COMMANDS
from ootci.model.record import write
from ootci.model.verdict import Answer, Gate, Verdicts

from commands import OFFLINE, Tool, run_command  # isort: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    register(tmp_path, extra="tier: gating\n")
    return tmp_path


def _verdicts(folder: Path, gate: Gate) -> None:
    write(Verdicts(judged_at=night(0), summary="x", gate=gate, devices=()), folder / ".ootci" / "verdicts.json")


def test_version_and_help_are_fine(ootci: Tool, tmp_path: Path) -> None:
    assert ootci("--version", cwd=tmp_path).out == f"ootci, version {__version__}\n"
    text = ootci("--help", cwd=tmp_path).out
    assert "Exit codes: 0 fine, 1 the device failed" in text
    listed = [line for line in text.partition("Options:")[2].splitlines() if line]
    headings = [line for line in listed if not line.startswith(" ")]
    assert headings[:3] == ["Run it here:", "Bring a device:", "Find what broke:"]
    assert sorted(line.split()[0] for line in listed if re.match("  [a-z]", line)) == sorted(COMMANDS)


@pytest.mark.parametrize(
    "arguments",
    [("nonsense",), ("plan", "--nonsense"), ("gate", "--format", "yaml"), ("build",), ("device", "show")],
)
def test_a_wrong_command_line_is_an_input_error(ootci: Tool, tmp_path: Path, arguments: Sequence[str]) -> None:
    ran = ootci(*arguments, cwd=tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error CLI-002: ")
    assert f"\n  where: ootci {' '.join(arguments)}\n" in ran.err
    assert "--help` " in ran.err or "--help`\n" in ran.err


@pytest.mark.parametrize(
    ("arguments", "meant"),
    [
        (("nigthly",), "`ootci nightly`"),
        (("device", "chek"), "`ootci device check`"),
        (("qurey",), "`ootci history query`"),
        (("device", "nightly"), "`ootci nightly`"),
        (("nightly", "--torhc", "2.13.0"), "`--torch`"),
    ],
)
def test_the_command_or_option_that_was_probably_meant_is_suggested(
    ootci: Tool, tmp_path: Path, arguments: Sequence[str], meant: str
) -> None:
    assert f"did you mean {meant}? " in ootci(*arguments, cwd=tmp_path).err


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("build", "dev"), "error FILE-001: plan.json cannot be read: No such file or directory"),
        (("test", "dev"), "error FILE-001: build.json cannot be read: No such file or directory"),
        (("collect", "dev"), "error FILE-001: plan.json cannot be read"),
        (("test", "dev", "--suites", "devices"), "error"),
    ],
)
def test_input_that_is_missing_or_wrong_is_told_in_three_parts(
    ootci: Tool, folder: Path, arguments: Sequence[str], error: str
) -> None:
    ran = ootci(*arguments, cwd=folder, env=OFFLINE)
    assert (ran.code, ran.out) == (2, "")
    assert error in ran.err
    assert "\n  where: " in ran.err
    assert "\n  what to do: " in ran.err
    assert "Traceback" not in ran.err


TEST = "smoke/test_x.py::test_it"


@pytest.mark.parametrize(
    "arguments",
    [
        *(("plan", "--device", name) for name in ("nobody", "nobody.yaml")),
        *((command, "nobody") for command in ("nightly", "compat", "build", "test", "collect")),
        ("bisect", "nobody", TEST),
        ("gate", "--device", "nobody"),
        *(("plan", "--torch", torch) for torch in ("2..1", "gone.whl", "nightly@monday")),
        *(("nightly", "dev", "--torch", torch) for torch in ("2..1", "gone.whl", "nightly@monday")),
        *(("compat", "dev", "--torch", torch) for torch in ("2..1", "gone.whl", "nightly@monday")),
        ("compat", "dev", "--between", "2.13.0", "2..1"),
        ("compat", "gone.whl"),
        ("bisect", "dev", TEST, "--good", "monday"),
        ("bisect", "dev", TEST, "--bad", "2026-11-20"),
        ("plan", "--pull-request", "monday"),
        ("plan", "--pull-request", "delivered"),
    ],
    ids=" ".join,
)
def test_a_mistake_is_the_one_thing_that_is_told_before_anything_is_looked_for(
    ootci: Tool, folder: Path, arguments: Sequence[str]
) -> None:
    """No line of progress comes before it, and no index is asked, which would be another error: none answers."""
    ran = ootci(*arguments, cwd=folder, env=OFFLINE)
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("error "), ran.err
    assert len(ran.err.splitlines()) == 3


def test_a_machine_that_refuses_is_infrastructure(ootci: Tool, folder: Path) -> None:
    ran = ootci("plan", "--github-output", "gone/output", cwd=folder, env=OFFLINE)
    assert ran.code == 3
    assert "error HOST-002" in ran.err
    assert "Traceback" not in ran.err


def test_the_plan_is_told_to_people_and_to_github(ootci: Tool, folder: Path) -> None:
    output = folder / "output"
    output.write_text("before=1\n", encoding="utf-8")
    ran = ootci(
        "plan", "--github-output", "output", cwd=folder, env={**OFFLINE, "GITHUB_ACTIONS": "true", "GITHUB_RUN_ID": "7"}
    )
    assert ran.code == 0
    assert ran.out == "dev: torch 2.13.0 (release)\n"
    assert "torch: release 2.13.0 instead of nightly" in ran.err
    lines = dict(line.split("=", 1) for line in output.read_text(encoding="utf-8").splitlines())
    assert list(lines) == ["before", "matrix", "plan-id", "count", "device", "job"]
    (row,) = json.loads(lines["matrix"])["include"]
    assert row == {
        "device": "dev",
        "change": False,
        "runner": ["ubuntu-latest"],
        "python": "",
        "timeout-minutes": 120,
        "container": {"image": "", "options": "", "credentials": False},
        "credentials": None,
        "build": None,
        "shares": [{"index": 1, "count": 1}],
    }
    assert (lines["device"], json.loads(lines["job"])) == ("dev", row)
    assert lines["plan-id"].endswith("-7")
    assert lines["count"] == "1"


def test_a_devices_machine_is_told_to_github_as_its_file_says(ootci: Tool, folder: Path) -> None:
    """The file lies in somebody else's repository, beside other YAML. Who names it asks for its device."""
    other = folder / "other"
    other.mkdir()
    (other / "config.yaml").write_text("no: device\n", encoding="utf-8")
    text = DEVICE_YAML.format(name="card") + (
        "limits: {job_minutes: 90}\n"
        "runner:\n"
        "  labels: [self-hosted, card]\n"
        "  shares: 3\n"
        "  container:\n"
        "    image: registry.example.com/sdk:8\n"
        "    options: --device /dev/card0\n"
        "    volumes: ['/opt/sdk:/sdk:ro']\n"
        "    credentials: {username: CARD_REGISTRY_USERNAME, password: CARD_REGISTRY_TOKEN}\n"
        "build: {runner: {labels: [large]}}\n"
        "cadence: weekly\n"
        "python: '3.12'\n"
    )
    (other / "card.yaml").write_text(text, encoding="utf-8")
    ran = ootci("plan", "--github-output", "output", cwd=folder, env={**OFFLINE, "OOTCI_DEVICES": "other/card.yaml"})
    assert (ran.code, ran.out) == (0, "card: torch 2.13.0 (release)\n")
    lines = dict(line.split("=", 1) for line in (folder / "output").read_text(encoding="utf-8").splitlines())
    assert json.loads(lines["matrix"])["include"] == [
        {
            "device": "card",
            "change": False,
            "runner": ["self-hosted", "card"],
            "python": "3.12",
            "timeout-minutes": 90,
            "container": {
                "image": "registry.example.com/sdk:8",
                "options": "--device /dev/card0 --volume /opt/sdk:/sdk:ro",
                "credentials": True,
            },
            "credentials": {"username": "CARD_REGISTRY_USERNAME", "password": "CARD_REGISTRY_TOKEN"},
            "build": {"runner": ["large"], "container": {"image": "", "options": "", "credentials": False}},
            "shares": [{"index": index, "count": 3} for index in (1, 2, 3)],
        }
    ]


@pytest.mark.parametrize("group", ["", "group: our cards, "])
def test_a_runner_may_be_of_a_group_and_bring_its_own_python(ootci: Tool, folder: Path, group: str) -> None:
    runner = f"{{{group}labels: [card], system_python: true}}"
    (folder / "card.yaml").write_text(f"{DEVICE_YAML.format(name='card')}runner: {runner}\n", encoding="utf-8")
    ran = ootci("plan", "--github-output", "output", cwd=folder, env={**OFFLINE, "OOTCI_DEVICES": "card.yaml"})
    assert ran.code == 0, ran.err
    lines = dict(line.split("=", 1) for line in (folder / "output").read_text(encoding="utf-8").splitlines())
    job = json.loads(lines["job"])
    wanted = {"group": "our cards", "labels": ["card"]} if group else ["card"]
    assert (job["runner"], job["python"]) == (wanted, "system")


def test_a_file_alone_that_is_paused_is_not_run_and_the_run_says_so(ootci: Tool, folder: Path) -> None:
    text = f"{DEVICE_YAML.format(name='card')}paused: {{reason: Its machine is being moved.}}\n"
    (folder / "card.yaml").write_text(text, encoding="utf-8")
    environment = {**OFFLINE, "OOTCI_DEVICES": "card.yaml", "GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": "summary"}
    ran = ootci("plan", "--github-output", "output", cwd=folder, env=environment)
    assert (ran.code, ran.out) == (0, "card: left out, Its machine is being moved.\n")
    assert "::notice title=not run::card is paused: Its machine is being moved." in ran.err
    assert "card is paused: Its machine is being moved." in (folder / "summary").read_text(encoding="utf-8")
    lines = dict(line.split("=", 1) for line in (folder / "output").read_text(encoding="utf-8").splitlines())
    assert (lines["count"], "job" in lines) == ("0", False)


def test_a_variant_has_a_job_of_its_own_and_a_file_alone_means_its_device(ootci: Tool, folder: Path) -> None:
    file = folder / "devices" / "dev.yaml"
    with file.open("a", encoding="utf-8") as stream:
        stream.write('variants: [{name: py312, python: "3.12"}, {name: sdk9, runner: {container: {image: "sdk:9"}}}]\n')

    def jobs(*arguments: str, devices: str = "devices") -> list[tuple[str, str, str]]:
        (folder / "output").unlink(missing_ok=True)
        ran = ootci(
            "plan", "--github-output", "output", *arguments, cwd=folder, env={**OFFLINE, "OOTCI_DEVICES": devices}
        )
        assert ran.code == 0, ran.err
        lines = dict(line.split("=", 1) for line in (folder / "output").read_text(encoding="utf-8").splitlines())
        entries = json.loads(lines["matrix"])["include"]
        assert ("job" in lines) == (len(entries) == 1)
        return [(entry["device"], entry["python"], entry["container"]["image"]) for entry in entries]

    own, python, sdk = ("dev", "", ""), ("dev_py312", "3.12", ""), ("dev_sdk9", "", "sdk:9")
    assert jobs() == [own, python, sdk]
    assert jobs(devices="devices/dev.yaml") == [own]
    assert jobs("--device", "dev_sdk9", devices="devices/dev.yaml") == [sdk]


def test_a_rerun_of_a_whole_workflow_is_a_plan_of_its_own(ootci: Tool, folder: Path) -> None:
    ids = []
    for attempt in ("1", "2"):
        github = {"GITHUB_ACTIONS": "true", "GITHUB_RUN_ID": "99", "GITHUB_RUN_ATTEMPT": attempt}
        assert ootci("plan", cwd=folder, env={**OFFLINE, **github}).code == 0
        ids.append(json.loads((folder / ".ootci" / "plan.json").read_text(encoding="utf-8"))["id"].partition("-")[2])
    assert ids == ["99", "99-2"]


@pytest.mark.parametrize(
    ("answer", "code", "mark", "word"),
    [("yes", 0, "✅", "yes"), ("no", 1, "❌", "no"), ("cannot_say", 3, "⚪", "cannot say")],
)
def test_the_gate_answers_in_every_format(
    ootci: Tool, folder: Path, answer: Answer, code: int, mark: str, word: str
) -> None:
    _verdicts(folder, Gate(answer=answer, reason="because"))
    text = ootci("gate", cwd=folder)
    assert (text.code, text.out) == (code, f"may one merge: {word} (because)\n")
    machine = ootci("gate", "--format", "json", cwd=folder)
    assert (machine.code, json.loads(machine.out)["answer"]) == (code, answer)
    markdown = ootci("gate", "--format", "markdown", cwd=folder)
    assert markdown.out == f"### {mark} May one merge: {word}\n\nbecause\n"


@pytest.mark.parametrize(
    ("reported", "said"),
    [
        (False, (3, "may one merge: cannot say (the device's job was cancelled, or ran out of time)")),
        (True, (1, "may one merge: no (blocked by 1 of 1 gating device: A device (IMPORT_BROKEN))")),
    ],
)
def test_a_cancelled_job_without_a_report_is_no_verdict_on_its_device(
    ootci: Tool, folder: Path, reported: bool, said: tuple[int, str]
) -> None:
    fresh = plan().model_copy(update={"created_at": datetime.now(timezone.utc)})
    write(fresh, folder / ".ootci" / "plan.json")
    if reported:
        times = {"started_at": fresh.created_at, "finished_at": fresh.created_at}
        made = run(0, stages={"import": "failed"}).model_copy(update=times)
        write(made, folder / ".ootci" / "runs" / "dev" / "run.json")
    for command in (("history", "append"), ("judge",)):
        assert ootci(*command, cwd=folder).code == 0
    ran = ootci("gate", "--device", "dev", "--cancelled", cwd=folder)
    assert (ran.code, ran.out.splitlines()[0]) == said


def test_judging_prints_a_line_for_each_device_and_no_control_character(ootci: Tool, folder: Path) -> None:
    fresh = plan().model_copy(update={"created_at": datetime.now(timezone.utc)})
    write(fresh, folder / ".ootci" / "plan.json")
    record = run(0, stages={"import": "failed"})
    stages = [
        stage.model_copy(update={"reason": "\x1b[2Jgone\n::error::made up"}) if stage.name == "import" else stage
        for stage in record.stages
    ]
    times = {"started_at": fresh.created_at, "finished_at": fresh.created_at}
    made = record.model_copy(update={"stages": tuple(stages), **times})
    write(made, folder / ".ootci" / "runs" / "dev" / "run.json")
    assert ootci("history", "append", cwd=folder).out == "runs appended: 1; there already: 0\n"
    ran = ootci("judge", cwd=folder)
    assert ran.code == 0
    assert ran.out.splitlines()[0] == "dev: IMPORT_BROKEN: import: gone ::error::made up"
    assert len(ran.out.splitlines()) == 2
    assert "\x1b" not in ran.out
    assert not [line for line in ran.out.splitlines() if line.startswith("::")]


def test_a_build_of_another_plan_is_not_collected(ootci: Tool, folder: Path) -> None:
    write(plan(1), folder / ".ootci" / "plan.json")
    write(build(0), folder / ".ootci" / "runs" / "dev" / "build.json")
    ran = ootci("collect", "dev", cwd=folder)
    assert ran.code == 2
    assert "error FILE-002: build.json is of the run night000-dev, but the plan expects night001-dev" in ran.err


def test_a_process_of_its_own_says_and_ends_the_same(folder: Path) -> None:
    """Everything else here calls the tool in the process of the tests."""
    plan_, gate, debug = (
        run_command([sys.executable, "-m", "ootci", *arguments], folder, OFFLINE)
        for arguments in (("plan", "--torch", "newest"), ("--version",), ("--debug", "doctor"))
    )
    assert (plan_.code, plan_.out) == (2, "")
    assert plan_.err.endswith("or the path of a .whl\n")
    assert gate.out == f"ootci, version {__version__}\n"
    assert "git --version" in debug.err
    assert "exit code 0" in debug.err
