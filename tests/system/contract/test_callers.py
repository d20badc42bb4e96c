"""What a vendor copies from ``workflows/`` keeps our rules, fits what it calls, and is short."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import yaml
from contract.test_workflows import RULES
from contract.workflow_calls import calls_from_elsewhere
from contract.workflow_file import File, Rule, read_files

ROOT = Path(__file__).parents[3]
FOLDER = ROOT / "workflows"
MAX_LINES = 50
VENDORS = "Prepare the environment"
"""The step that is left to the vendor."""
TEXTS = {path.name: path.read_text(encoding="utf-8") for path in sorted(FOLDER.glob("*.yml"))}


def _with_ours(texts: Mapping[str, str]) -> dict[str, File]:
    """Callers as workflows of ours, beside what they call."""
    callers = {f"workflows/caller-{name}": calls_from_elsewhere(text) for name, text in texts.items()}
    return {**read_files(ROOT / ".github"), **{path: File.parse(path, text) for path, text in callers.items()}}


def _problems(rules: tuple[Rule, ...], texts: Mapping[str, str]) -> Iterator[str]:
    files = _with_ours(texts)
    return (problem for rule in rules for problem in rule(files) if "caller-" in problem and VENDORS not in problem)


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_callers_keep_the_rules_of_our_own_workflows(rule: Rule) -> None:
    assert list(_problems((rule,), TEXTS)) == []


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("      device-file:", "      device_file:"),
        ("device.yml@main", "devices.yml@main"),
        ("      contents: read # to", "      actions: read # to"),
        ("    with:\n", "    secrets: inherit\n    with:\n"),
        ("    with:\n", "    secrets:\n      token: x\n    with:\n"),
        ("permissions: {}\n", ""),
    ],
)
def test_a_mistake_in_a_caller_is_found(old: str, new: str) -> None:
    text = TEXTS["on-push.yml"]
    assert old in text
    assert list(_problems(RULES, {"on-push.yml": text.replace(old, new, 1)})) != []


@pytest.mark.parametrize("name", TEXTS)
def test_a_caller_is_short_and_calls_only_us(name: str) -> None:
    assert len(TEXTS[name].splitlines()) <= MAX_LINES
    used = re.findall(r"uses: (\S+)", TEXTS[name])
    ours = r"example/pytorch-integration-tests(/\.github/workflows/[a-z-]+\.yml)?@main"
    others = [uses for uses in used if not re.fullmatch(ours, uses)]
    assert used
    # A job of one's own begins with a checkout.
    assert others == ["actions/checkout@" + "3d3c42e5aac5ba805825da76410c181273ba90b1"] * len(others)
    assert len(others) < len(used)


@pytest.mark.parametrize("name", TEXTS)
def test_no_caller_lets_a_strangers_pull_request_in(name: str) -> None:
    file = File.parse(f"workflows/{name}", TEXTS[name])
    assert file.content["on"].keys() <= {"push", "schedule", "workflow_dispatch", "repository_dispatch"}


@pytest.mark.parametrize("name", TEXTS)
def test_a_nightly_looks_each_hour_of_the_window_and_tests_once_per_nightly(name: str) -> None:
    """As our own does: PyTorch's wheels land hours after 07:30 UTC."""
    file = File.parse(f"workflows/{name}", TEXTS[name])
    schedule = file.content["on"].get("schedule", [])
    asked = [job["with"].get("if-due") for job in file.jobs.values() if "/device.yml@" in str(job.get("uses"))]
    if not schedule:
        assert asked in ([], [None])
        return
    ours = read_files(ROOT / ".github")["workflows/nightly.yml"].content["on"]["schedule"]
    # At another minute than ours.
    assert [entry["cron"].split()[1:] for entry in schedule] == [entry["cron"].split()[1:] for entry in ours]
    assert asked == ["${{ github.event_name == 'schedule' }}"]


def test_the_readme_calls_as_the_caller_for_pushes_does() -> None:
    blocks = re.findall(r"```yaml\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    (shown,) = (found["test"] for block in blocks if (found := yaml.safe_load(block).get("jobs")))
    copied = yaml.safe_load(TEXTS["on-push.yml"])["jobs"]["test"]
    assert shown == {key: value for key, value in copied.items() if key not in ("name", "if")}


def test_every_caller_is_run_and_described() -> None:
    run = (ROOT / "tests" / "system" / "e2e" / "test_vendor_workflows_act.py").read_text(encoding="utf-8")
    described = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert TEXTS
    assert [name for name in TEXTS if f'"{name}"' not in run or f"[`{name}`]({name})" not in described] == []


def test_zizmor_finds_nothing_in_callers() -> None:
    paths = [str(FOLDER / name) for name in TEXTS]
    options = ["--offline", "--pedantic", "--strict-collection", f"--config={ROOT / '.github' / 'zizmor.yml'}"]
    program = str(Path(sys.executable).with_name("zizmor"))
    done = subprocess.run([program, *options, *paths], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
