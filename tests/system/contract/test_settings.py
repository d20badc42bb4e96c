"""The list of settings is complete: what workflows and code read stands in it, and nothing else does."""

from __future__ import annotations

import ast
import json
import re
import sys
from pathlib import Path

import pytest
import yaml
from fake_settings import NEEDS

from ootci.flows.setup import CHECKS, OTHERS_ACTION, SCHEDULED
from ootci.model.setting import SETTINGS, Kind, of_kind

ROOT = Path(__file__).parents[3]
WORKFLOWS = [*sorted((ROOT / ".github").rglob("*.yml")), *sorted((ROOT / "workflows").glob("*.yml"))]
GUIDE = (ROOT / "docs" / "guides" / "operate.md").read_text(encoding="utf-8")


def _names(kind: Kind) -> set[str]:
    return {setting.name for setting in of_kind(kind)}


def _in_workflows(pattern: str) -> set[str]:
    return {name for path in WORKFLOWS for name in re.findall(pattern, path.read_text(encoding="utf-8"))}


def test_every_repository_variable_is_listed() -> None:
    assert _in_workflows(r"\bvars\.(\w+)") == _names(Kind.VARIABLE)


def test_every_secret_is_listed() -> None:
    """Those of a called workflow are named by its caller; a lookup by name is one that a device file names."""
    called = {"registry"} | _in_workflows(r"^      (registry-\w+):\n        description")
    named = _in_workflows(r"\bsecrets\.([\w-]+)") - {"registry-username", "registry-password"} - called
    looked_up = {
        f"<DEVICE>_..._{part.upper()}"
        for part in _in_workflows(r"secrets\[fromJSON\(inputs\.job\)\.credentials\.(\w+)\]")
    }
    own = {"GITHUB_TOKEN"} if _in_workflows(r"\bgithub\.(token)\b") else set()
    assert named | looked_up | own == _names(Kind.SECRET)


def test_every_environment_is_listed() -> None:
    found = {
        place["name"] if isinstance(place, dict) else place
        for path in WORKFLOWS
        for job in (yaml.safe_load(path.read_text(encoding="utf-8")).get("jobs") or {}).values()
        if (place := job.get("environment"))
    }
    assert found == _names(Kind.ENVIRONMENT)


def _strings(path: Path) -> set[str]:
    return {
        node.value
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }


def test_every_environment_variable_is_listed() -> None:
    """`environ.get('X')` within an f-string is a string of the source, too."""
    code = {name for path in (ROOT / "scripts").rglob("*.py") if path.name != "setting.py" for name in _strings(path)}
    ours = {name for name in code if re.fullmatch(r"OOTCI_[A-Z_]+", name)} - {"OOTCI_COMMAND_RUN"}  # set for children
    set_in_workflows = _in_workflows(r"\b(OOTCI_[A-Z_]+): ") - {"OOTCI_TORCH_WHEELS"}
    listed = {name for name in _names(Kind.PROCESS) if name.startswith("OOTCI_")} - {"OOTCI_TORCH_WHEELS"}
    assert ours == listed
    assert set_in_workflows <= listed


def test_each_is_listed_once_and_in_words() -> None:
    keys = [(setting.kind, setting.name) for setting in SETTINGS]
    assert len(keys) == len(set(keys))
    assert all(setting.default and setting.purpose.endswith(".") for setting in SETTINGS)


def test_the_page_names_who_reads_each(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, str(ROOT / "docs" / "machinery")])
    import reference_settings  # type: ignore[import-not-found]

    page = reference_settings.page(ROOT)
    for setting in SETTINGS:
        assert reference_settings.readers(setting, ROOT), setting.name
        assert f"| `{setting.name}` |" in page


def test_the_page_names_every_job_that_may_write(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [*sys.path, str(ROOT / "docs" / "machinery")])
    import reference_workflows  # type: ignore[import-not-found]

    workflows = [path for path in WORKFLOWS if path.parent == ROOT / ".github" / "workflows"]
    may_write = [
        (f"`{path.name}`", f"`{job}`", f"`{scope}: write`")
        for path in workflows
        for job, content in yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].items()
        for scope, level in content.get("permissions", {}).items()
        if level != "read"
    ]
    assert [row[:3] for row in reference_workflows.writing(ROOT)] == may_write
    assert all(" | ".join(row) in reference_workflows.page(ROOT) for row in may_write)


def test_the_guide_names_what_a_token_of_the_check_has_to_read() -> None:
    (said,) = re.findall(r"token needs read access to ([\w\s,]+);", GUIDE)
    assert {name.lower() for name in re.split(r",\s+|\s+and\s+", said)} == set(NEEDS.values())


def test_the_guide_says_what_each_job_means_when_it_is_red() -> None:
    """Those of a reusable workflow are in the run of its caller."""
    section = GUIDE.partition("## What a red job means")[2].partition("\n## ")[0]
    files = [
        (path.name, yaml.safe_load(path.read_text(encoding="utf-8"))) for path in WORKFLOWS if ".github" in path.parts
    ]
    jobs = [(name, job) for name, file in files for job in file.get("jobs", ()) if "workflow_call" not in file[True]]
    assert sorted(re.findall(r"^\| `([\w.-]+)` \| `([\w-]+)` \|", section, re.M)) == sorted(jobs)


def _shown(path: Path) -> set[str]:
    """The names under which GitHub shows a workflow's jobs: those of a called workflow come after the caller's."""
    found = set()
    for job in yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"].values():
        name = "NAME" if "device" in job["name"] and "{{" in job["name"] else job["name"]
        called = job.get("uses")
        found |= {f"{name} / {inner}" for inner in _shown(ROOT / called)} if called else {name}
    return found


def test_the_guide_tells_how_github_shows_jobs_that_call_a_workflow() -> None:
    callers = [path for path in WORKFLOWS if path.parent.name == "workflows" and path.parent.parent.name == ".github"]
    shown = {name for path in callers if not path.name.startswith("_") for name in _shown(path)}
    said = set(re.findall(r"`([\w-]+(?: / [\w-]+)+)`", GUIDE))
    assert said <= shown
    assert {name.partition(" / ")[0] for name in said} == {name.partition(" / ")[0] for name in shown if " / " in name}


def test_the_guide_names_every_setting_of_the_repository() -> None:
    for setting in SETTINGS:
        if setting.kind is Kind.VARIABLE or setting.kind is Kind.ENVIRONMENT:
            assert f"`{setting.name}`" in GUIDE, setting.name
    assert set(re.findall(r"\bOOTCI_\w+", GUIDE)) <= _names(Kind.VARIABLE)


def test_the_workflows_that_the_guide_names_are_there() -> None:
    assert set(re.findall(r"[\w-]+\.yml\b", GUIDE)) <= {path.name for path in WORKFLOWS if ".github" in path.parts}


def test_the_check_reads_what_the_guide_sets() -> None:
    said = set(re.findall(r"gh api --method \w+ \"repos/\$REPO(/[\w/-]+)\"", GUIDE))
    assert len(said) > 4
    assert {path for path in said if path not in NEEDS} == {"/rulesets"}  # read as the rules of each branch


def test_schedules_that_github_disables_are_checked_and_the_guide_enables_them() -> None:
    parsed = {
        path.name: yaml.safe_load(path.read_text(encoding="utf-8")) for path in WORKFLOWS if ".github" in path.parts
    }
    scheduled = sorted(name for name, file in parsed.items() if "schedule" in (file.get(True) or ()))
    assert sorted(SCHEDULED) == scheduled
    assert sorted(re.findall(r"^gh workflow enable ([\w.]+) ", GUIDE, re.M)) == scheduled


def test_the_check_knows_the_actions_that_are_not_githubs_own() -> None:
    used = _in_workflows(r"\buses: ([\w-]+/[\w/-]+)@")
    assert {name for name in used if not name.startswith(("actions/", "example/"))} == {OTHERS_ACTION}


def test_the_default_branch_takes_what_ci_has_tested() -> None:
    ci = yaml.safe_load((ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8"))["jobs"]["test"]
    assert (ci["name"], set(ci["strategy"]["matrix"]["part"])) == ("${{ matrix.part }}", CHECKS)
    ruleset = json.loads((ROOT / ".github" / "rulesets" / "default-branch.json").read_text(encoding="utf-8"))
    assert ruleset["conditions"]["ref_name"]["include"] == ["~DEFAULT_BRANCH"]
    (checked,) = (rule["parameters"] for rule in ruleset["rules"] if rule["type"] == "required_status_checks")
    assert {one["context"] for one in checked["required_status_checks"]} == CHECKS
    assert ".github/rulesets/default-branch.json" in GUIDE


def test_the_ruleset_protects_the_history_and_lets_the_nightly_push() -> None:
    ruleset = json.loads((ROOT / ".github" / "rulesets" / "data.json").read_text(encoding="utf-8"))
    assert ruleset["conditions"]["ref_name"]["include"] == ["refs/heads/data"]
    assert {rule["type"] for rule in ruleset["rules"]} == {"deletion", "non_fast_forward"}
    assert ".github/rulesets/data.json" in GUIDE
