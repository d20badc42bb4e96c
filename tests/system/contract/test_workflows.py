"""Our workflow files keep their rules: those that no linter knows, and those of the linters."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from contract import workflow_calls, workflow_rules, workflow_secrets
from contract.good_workflows import CHECKS, GOOD
from contract.workflow_file import File, Rule, read_files
from contract.workflow_mistakes import MISTAKES
from contract.workflow_rules import NOT_THE_TOOL

ROOT = Path(__file__).parents[3]
GITHUB = ROOT / ".github"
INSTALL = GITHUB / "actions" / "setup-ootci" / "install"

RULES: tuple[Rule, ...] = (
    workflow_rules.starts_with_no_permission,
    workflow_rules.has_a_timeout,
    workflow_rules.has_names,
    workflow_rules.keeps_logic_out,
    workflow_rules.names_its_shell,
    workflow_rules.calls_the_tool,
    workflow_rules.pins_actions,
    workflow_rules.shares_no_cache,
    workflow_rules.installs_with_checksums,
    workflow_rules.leaves_no_credentials,
    workflow_rules.checks_out_its_own_commit,
    workflow_rules.finishes_every_leg,
    workflow_rules.swallows_no_failure,
    workflow_rules.gives_vendor_code_nothing,
    workflow_rules.asks_for_what_it_needs,
    workflow_rules.identifies_itself_only_where_asked,
    workflow_secrets.gives_tokens_to_one_step,
    workflow_secrets.pulls_public_images_too,
    workflow_secrets.hands_on_what_it_was_given,
    workflow_secrets.gives_no_secret_to_proposals,
    workflow_rules.publishes_from_home_only,
    workflow_rules.takes_any_repository,
    workflow_rules.is_safe_for_forks,
    workflow_rules.looks_at_proposals_with_our_own_tool,
    workflow_rules.takes_a_strangers_run_for_data,
    workflow_calls.waits_for_no_device,
    workflow_calls.local_calls_lead_somewhere,
    workflow_calls.calls_fit,
    workflow_calls.plans_and_jobs_go_together,
    workflow_calls.callers_grant_enough,
    workflow_calls.reports_in_every_case,
    workflow_calls.interfaces_are_described,
)


def _parse(texts: dict[str, str]) -> dict[str, File]:
    return {path: File.parse(path, text) for path, text in texts.items()}


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_our_files_keep_the_rule(rule: Rule) -> None:
    assert list(rule(read_files(GITHUB))) == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.__name__)
def test_a_rule_has_nothing_against_good_files(rule: Rule) -> None:
    assert list(rule(_parse(GOOD))) == []


@pytest.mark.parametrize(
    ("name", "path", "old", "new"),
    [pytest.param(*mistake, id=f"{mistake[0]}-{number}") for number, mistake in enumerate(MISTAKES, 1)],
)
def test_a_rule_finds_a_single_mistake(name: str, path: str, old: str, new: str) -> None:
    mistaken = GOOD[path].replace(old, new, 1)
    assert mistaken != GOOD[path], "the mistake is not made"
    rule = next(rule for rule in RULES if rule.__name__ == name)
    assert list(rule(_parse({**GOOD, path: mistaken}))) != []


def test_a_workflow_in_a_folder_of_its_own_is_found() -> None:
    moved = {"workflows/deep/nightly.yml": CHECKS}
    assert list(workflow_calls.local_calls_lead_somewhere(_parse(moved))) != []


def test_every_rule_is_shown_to_find_something() -> None:
    assert {name for name, *_ in MISTAKES} == {rule.__name__ for rule in RULES}


def test_the_exceptions_are_still_needed() -> None:
    names = {step.get("name") for file in read_files(GITHUB).values() for step in file.steps if "run" in step}
    assert names >= set(NOT_THE_TOOL)


def _tool(name: str, *arguments: str, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name(name)
    command = [str(program), *arguments]
    return subprocess.run(command, input=stdin, capture_output=True, text=True, check=False)


def _zizmor(folder: Path) -> set[str]:
    done = _tool("zizmor", "--offline", "--pedantic", "--strict-collection", "--format=json", str(folder))
    assert done.stdout, done.stderr
    return {finding["ident"] for finding in json.loads(done.stdout)}


def test_zizmor_finds_nothing() -> None:
    assert _zizmor(GITHUB) == set()


def test_every_exception_of_zizmor_has_its_reason_and_is_still_needed(tmp_path: Path) -> None:
    text = (GITHUB / "zizmor.yml").read_text(encoding="utf-8")
    rules = yaml.safe_load(text)["rules"]
    shutil.copytree(GITHUB, tmp_path / "ours" / ".github", ignore=shutil.ignore_patterns("zizmor.yml"))
    shutil.copytree(ROOT / "workflows", tmp_path / "callers" / ".github" / "workflows")
    assert _zizmor(tmp_path) == set(rules)
    for settings in re.findall(r"^    +(?:disable: true|- [\w.-]+|example/.*)$", text, re.M):
        assert re.search(rf"^ +# [A-Z].*\.\n{re.escape(settings)}$", text, re.M), settings


def test_zizmor_would_find_something(repository_of_mistakes: Path) -> None:
    mistakes = {"excessive-permissions", "undocumented-permissions", "template-injection"}
    assert _zizmor(repository_of_mistakes / ".github") >= mistakes


@pytest.mark.parametrize(
    "new", ["    groups:\n", "    cooldown:\n      default-days: 2\n    groups:\n"], ids=["no cool-down", "a short one"]
)
def test_taking_an_action_or_a_package_on_its_first_days_is_found(new: str, tmp_path: Path) -> None:
    text = (GITHUB / "dependabot.yml").read_text(encoding="utf-8")
    old = "    cooldown:\n      default-days: 14\n    groups:\n"
    assert text.count(old) == text.count("package-ecosystem") > 0
    (tmp_path / ".github").mkdir()
    (tmp_path / ".github" / "dependabot.yml").write_text(text.replace(old, new, 1), encoding="utf-8")
    assert _zizmor(tmp_path) == {"dependabot-cooldown"}


@pytest.mark.parametrize(
    ("schema", "pattern"),
    [
        ("github-workflows", "workflows/*.yml"),
        ("github-actions", "actions/*/action.yml"),
        ("github-actions", "../action.yml"),
        ("dependabot", "dependabot.yml"),
    ],
)
def test_files_follow_their_schema(schema: str, pattern: str) -> None:
    paths = [str(path) for path in GITHUB.glob(pattern)]
    done = _tool("check-jsonschema", "--builtin-schema", f"vendor.{schema}", *paths)
    assert paths
    assert done.returncode == 0, done.stdout


def _shellcheck(script: str) -> str:
    return _tool("shellcheck", "--shell=bash", "-", stdin=script).stdout


def test_shellcheck_finds_nothing_in_what_is_run() -> None:
    scripts = [step["run"] for file in read_files(GITHUB).values() for step in file.steps if "run" in step]
    assert scripts
    scripts.append(INSTALL.read_text(encoding="utf-8"))
    assert [_shellcheck(script) for script in scripts] == [""] * len(scripts)


def test_the_tool_is_installed_with_checksums() -> None:
    found = {"runs": {"steps": [{"name": "Install ootci", "run": INSTALL.read_text(encoding="utf-8")}]}}
    assert list(workflow_rules.installs_with_checksums({"install": File("install", "", found)})) == []
    found["runs"]["steps"][0]["run"] = "python3 -m pip install ootci"
    assert list(workflow_rules.installs_with_checksums({"install": File("install", "", found)})) != []


def test_shellcheck_would_find_something() -> None:
    assert "SC2086" in _shellcheck("ootci build $DEVICE")


@pytest.fixture
def repository_of_mistakes(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / ".github" / "workflows"
    folder.mkdir(parents=True)
    text = CHECKS.replace("permissions: {}", "permissions: write-all").replace("timeout-minutes", "timeout")
    text = text.replace(".ci/run", "echo ${{ github.event.pull_request.title }}")
    text = text.replace("contents: read # to check out", "contents: write")
    (folder / "ci.yml").write_text(text, encoding="utf-8")
    yield tmp_path
    shutil.rmtree(tmp_path)
