"""Our workflow files keep their rules: those that no linter knows, and those of the linters."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from contract import workflow_calls, workflow_rules
from contract.workflow_rules import NOT_THE_TOOL, File, Rule, read_files

ROOT = Path(__file__).parents[3]
GITHUB = ROOT / ".github"

RULES: tuple[Rule, ...] = (
    workflow_rules.starts_with_no_permission,
    workflow_rules.says_why_it_widens,
    workflow_rules.has_a_timeout,
    workflow_rules.has_names,
    workflow_rules.keeps_logic_out,
    workflow_rules.names_its_shell,
    workflow_rules.runs_no_expression,
    workflow_rules.calls_the_tool,
    workflow_rules.pins_actions,
    workflow_rules.leaves_no_credentials,
    workflow_rules.finishes_every_leg,
    workflow_rules.swallows_no_failure,
    workflow_rules.gives_vendor_code_nothing,
    workflow_rules.gives_tokens_to_one_step,
    workflow_rules.is_safe_for_forks,
    workflow_calls.local_calls_lead_somewhere,
    workflow_calls.calls_fit,
    workflow_calls.callers_grant_enough,
    workflow_calls.interfaces_are_described,
    workflow_calls.references_lead_somewhere,
)

PIN = "actions/checkout@0123456789abcdef0123456789abcdef01234567 # v1.2.3"

CALLER = f"""\
name: nightly
on:
  workflow_dispatch:
    inputs:
      torch: {{type: string, description: Which torch.}}
permissions: {{}}
jobs:
  plan:
    name: plan
    runs-on: ubuntu-latest
    timeout-minutes: 5
    permissions:
      contents: write # to push
    outputs:
      matrix: ${{{{ steps.plan.outputs.matrix }}}}
    steps:
      - name: Check out
        uses: {PIN}
        with:
          persist-credentials: false
      - name: Set up
        uses: ./.github/actions/setup
        with:
          python-version: "3.11"
      - name: Plan
        id: plan
        shell: bash
        env:
          TOKEN: ${{{{ github.token }}}}
          TORCH: ${{{{ inputs.torch }}}}
        run: ootci plan --torch "$TORCH"
  device:
    name: device
    needs: plan
    strategy:
      fail-fast: false
      matrix: ${{{{ fromJSON(needs.plan.outputs.matrix) }}}}
    permissions:
      contents: read # the callee needs it
    uses: ./.github/workflows/device.yml
    with:
      device-name: ${{{{ matrix.device }}}}
      minutes: 5
      shared: true
"""

CALLEE = f"""\
name: device
on:
  workflow_call:
    inputs:
      device-name: {{type: string, required: true, description: Its name.}}
      minutes: {{type: number, default: 3, description: Its time.}}
      shared: {{type: boolean, default: false, description: Whether others use it.}}
    outputs:
      artifact: {{description: Its artifact., value: "${{{{ jobs.device.outputs.artifact }}}}"}}
permissions: {{}}
jobs:
  device:
    name: device
    runs-on: ubuntu-latest
    timeout-minutes: ${{{{ inputs.minutes }}}}
    permissions:
      contents: read # to check out
    outputs:
      artifact: run
    steps:
      - name: Check out
        uses: {PIN}
        with:
          persist-credentials: false
      - name: Build
        if: inputs.shared
        shell: bash
        run: |
          ootci build
"""

CHECKS = """\
name: ci
on:
  pull_request:
permissions: {}
jobs:
  test:
    name: test
    runs-on: ubuntu-latest
    timeout-minutes: 5
    permissions:
      contents: read # to check out
    steps:
      - name: Test
        shell: bash
        run: .ci/run
"""

ACTION = """\
name: setup
inputs:
  python-version: {description: Which Python., required: true}
runs:
  using: composite
  steps:
    - name: Install ootci
      shell: bash
      run: python -m pip install .
"""

GOOD = {
    "workflows/nightly.yml": CALLER,
    "workflows/device.yml": CALLEE,
    "workflows/ci.yml": CHECKS,
    "actions/setup/action.yml": ACTION,
}

NIGHTLY, DEVICE, CI, SETUP = GOOD

MISTAKES: tuple[tuple[str, str, str, str], ...] = (
    ("starts_with_no_permission", NIGHTLY, "permissions: {}", "permissions: {contents: read}"),
    ("starts_with_no_permission", DEVICE, "permissions: {}\n", ""),
    ("says_why_it_widens", NIGHTLY, "contents: write # to push", "contents: write"),
    ("says_why_it_widens", CI, "permissions:\n      contents: read # to check out", "permissions: read-all"),
    ("has_a_timeout", NIGHTLY, "    timeout-minutes: 5\n", ""),
    ("has_names", NIGHTLY, "      - name: Plan\n        id: plan\n", "      - id: plan\n"),
    ("has_names", CI, "    name: test\n", ""),
    ("has_names", SETUP, "name: setup\n", ""),
    ("keeps_logic_out", DEVICE, "          ootci build\n", "          ootci build\n" + "          ootci test\n" * 3),
    ("names_its_shell", DEVICE, "        shell: bash\n", ""),
    ("names_its_shell", SETUP, "shell: bash", "shell: sh"),
    ("runs_no_expression", NIGHTLY, 'ootci plan --torch "$TORCH"', "ootci plan --torch ${{ inputs.torch }}"),
    ("calls_the_tool", CI, ".ci/run", "make test"),
    ("pins_actions", DEVICE, PIN, "actions/checkout@v1"),
    ("pins_actions", DEVICE, PIN, PIN.partition(" #")[0]),
    ("pins_actions", DEVICE, PIN, PIN.replace("01234567 #", "0123456 #")),
    ("pins_actions", DEVICE, PIN, PIN.replace("v1.2.3", "v1.2.4")),
    ("pins_actions", DEVICE, PIN, "actions/checkout@" + "f" * 40 + " # v1.2.3"),
    ("leaves_no_credentials", DEVICE, "persist-credentials: false", "fetch-depth: 1"),
    ("leaves_no_credentials", NIGHTLY, "persist-credentials: false", "persist-credentials: true"),
    ("finishes_every_leg", NIGHTLY, "      fail-fast: false\n", ""),
    ("swallows_no_failure", DEVICE, "        if: inputs.shared\n", "        continue-on-error: true\n"),
    ("gives_vendor_code_nothing", DEVICE, "run: |\n", "env: {TOKEN: '${{ github.token }}'}\n        run: |\n"),
    ("gives_vendor_code_nothing", DEVICE, "    outputs:\n      artifact: run\n", "    environment: lab\n"),
    ("gives_vendor_code_nothing", NIGHTLY, 'ootci plan --torch "$TORCH"', "ootci test"),
    ("gives_tokens_to_one_step", NIGHTLY, "permissions: {}", "permissions: {}\nenv: {TOKEN: '${{ github.token }}'}"),
    ("gives_tokens_to_one_step", NIGHTLY, "      shared: true\n", "      shared: true\n    secrets: inherit\n"),
    ("is_safe_for_forks", CI, "pull_request:", "pull_request_target:"),
    ("is_safe_for_forks", CI, "runs-on: ubuntu-latest", "runs-on: [self-hosted, npu]"),
    ("is_safe_for_forks", CI, "contents: read", "contents: write"),
    ("is_safe_for_forks", CI, "run: .ci/run", "env: {TOKEN: '${{ secrets.TOKEN }}'}\n        run: .ci/run"),
    ("local_calls_lead_somewhere", NIGHTLY, "uses: ./.github/actions/setup", "uses: ./.github/actions/set-up"),
    ("local_calls_lead_somewhere", NIGHTLY, "workflows/device.yml", "workflows/devices.yml"),
    ("calls_fit", NIGHTLY, "      device-name: ${{ matrix.device }}\n", ""),
    ("calls_fit", NIGHTLY, "      shared: true", "      sharing: true"),
    ("calls_fit", NIGHTLY, "      shared: true", "      shared: 'true'"),
    ("calls_fit", NIGHTLY, "      minutes: 5", "      minutes: five"),
    ("calls_fit", NIGHTLY, "      minutes: 5", "      minutes: ${{ inputs.torch }}"),
    ("calls_fit", NIGHTLY, "      minutes: 5", "      minutes: ${{ toJSON(matrix.minutes) }}"),
    ("calls_fit", NIGHTLY, 'python-version: "3.11"', "python-version: 3.11"),
    ("calls_fit", NIGHTLY, 'python-version: "3.11"', 'python: "3.11"'),
    ("callers_grant_enough", NIGHTLY, "contents: read # the", "actions: read # the"),
    ("callers_grant_enough", DEVICE, "contents: read # to", "contents: write # to"),
    ("interfaces_are_described", NIGHTLY, "type: string, description: Which torch.", "type: string"),
    ("interfaces_are_described", NIGHTLY, "torch: {", "which_torch: {"),
    ("interfaces_are_described", DEVICE, "description: Its artifact., ", ""),
    ("interfaces_are_described", DEVICE, "minutes: {type: number, ", "minutes: {"),
    ("interfaces_are_described", SETUP, "description: Which Python., ", ""),
    ("references_lead_somewhere", NIGHTLY, "inputs.torch", "inputs.tourch"),
    ("references_lead_somewhere", NIGHTLY, "        id: plan\n", ""),
    ("references_lead_somewhere", NIGHTLY, "    needs: plan\n", ""),
    ("references_lead_somewhere", NIGHTLY, "needs.plan.outputs.matrix", "needs.plan.outputs.martix"),
    ("references_lead_somewhere", DEVICE, "jobs.device.outputs.artifact", "jobs.devices.outputs.artifact"),
    ("references_lead_somewhere", DEVICE, "if: inputs.shared", "if: inputs.share"),
)
"""One mistake each: the rule that finds it, the file, the text to be replaced and what it becomes."""


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


def test_there_are_files_to_check() -> None:
    assert {NIGHTLY, DEVICE, CI, "actions/setup-ootci/action.yml"} <= set(read_files(GITHUB))


def _tool(name: str, *arguments: str, cwd: Path = ROOT, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name(name)
    command = [str(program), *arguments]
    return subprocess.run(command, cwd=cwd, input=stdin, capture_output=True, text=True, check=False)


def _zizmor(folder: Path) -> set[str]:
    done = _tool("zizmor", "--offline", "--pedantic", "--strict-collection", "--format=json", str(folder))
    assert done.stdout, done.stderr
    return {finding["ident"] for finding in json.loads(done.stdout)}


def test_zizmor_finds_nothing() -> None:
    assert _zizmor(GITHUB) == set()


def test_zizmor_would_find_something(repository_of_mistakes: Path) -> None:
    assert _zizmor(repository_of_mistakes / ".github") >= {"excessive-permissions", "template-injection"}


@pytest.mark.parametrize(
    ("schema", "pattern"),
    [
        ("github-workflows", "workflows/*.yml"),
        ("github-actions", "actions/*/action.yml"),
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
    assert [_shellcheck(script) for script in scripts] == [""] * len(scripts)


def test_shellcheck_would_find_something() -> None:
    assert "SC2086" in _shellcheck("ootci build $DEVICE")


def test_act_takes_the_files() -> None:
    done = _tool("act", "--validate", "--strict")
    assert done.returncode == 0, done.stderr


def test_act_would_refuse_a_file(repository_of_mistakes: Path) -> None:
    assert _tool("act", "--validate", "--strict", cwd=repository_of_mistakes).returncode != 0


@pytest.fixture
def repository_of_mistakes(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / ".github" / "workflows"
    folder.mkdir(parents=True)
    text = CHECKS.replace("permissions: {}", "permissions: write-all").replace("timeout-minutes", "timeout")
    text = text.replace(".ci/run", "echo ${{ github.event.pull_request.title }}")
    (folder / "ci.yml").write_text(text, encoding="utf-8")
    yield tmp_path
    shutil.rmtree(tmp_path)
