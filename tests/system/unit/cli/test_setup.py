"""``ootci home``: whether a workflow run publishes. ``ootci setup --check``: what of the guide is done."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_github import REPOSITORY, TOKEN, FakeGithub
from fake_settings import NEEDS, FakeSettings, fake_settings
from unit.samples import register

from ootci.model.setting import Kind, of_kind

from commands import Tool  # isort: skip


@pytest.mark.parametrize(
    ("facts", "answer", "why"),
    [
        ({}, "yes", "this is its default branch"),
        ({"fork": True}, "no", "it is a fork"),
        ({"default_branch": "trunk"}, "no", "this is refs/heads/main, not the default branch"),
    ],
)
def test_a_run_publishes_on_the_default_branch_of_no_fork(
    ootci: Tool, tmp_path: Path, hub: FakeGithub, facts: dict[str, object], answer: str, why: str
) -> None:
    hub.facts |= facts
    files = ("--github-output", "outputs", "--summary", "summary")
    ran = ootci("home", *files, "--format", "json", cwd=tmp_path, env=hub.job)
    assert (ran.code, json.loads(ran.out)) == (0, {"home": answer == "yes", "reason": why})
    assert (tmp_path / "outputs").read_text(encoding="utf-8") == f"home={answer}\n"
    assert (tmp_path / "summary").exists() == (answer == "no")
    if answer == "no":
        assert (tmp_path / "summary").read_text(encoding="utf-8") == f"This run publishes nothing: {why}.\n\n"


LOGIN = "credentials: {username: PRIVATE_REGISTRY_USERNAME, password: PRIVATE_REGISTRY_PASSWORD}"


@pytest.fixture
def operated() -> Iterator[FakeSettings]:
    with fake_settings() as server:
        yield server


def _checked(ootci: Tool, folder: Path, hub: FakeSettings, code: int = 3) -> dict[str, tuple[str, str, str]]:
    """State, detail and page of each step."""
    if not (folder / "devices").exists():
        register(folder)
    call = ("setup", "--check", "--repository", REPOSITORY, "--format", "json")
    ran = ootci(*call, cwd=folder, env={**hub.environment, "GITHUB_TOKEN": f"{TOKEN}\n"})
    assert ran.code == code, ran.out + ran.err
    assert TOKEN not in ran.out + ran.err
    return {row["step"]: (row["state"], row["detail"], row["page"]) for row in json.loads(ran.out)}


def test_everything_that_is_set_up_is_done_or_off(ootci: Tool, tmp_path: Path, operated: FakeSettings) -> None:
    told = _checked(ootci, tmp_path, operated, code=0)
    off = {one.name for one in of_kind(Kind.VARIABLE)} | {"relay", "PyPI"}
    assert {step: state for step, (state, _, _) in told.items() if state != "done"} == dict.fromkeys(off, "off")
    assert {page for _, _, page in told.values()} == {""}
    assert {asked.partition(" ")[0] for asked in operated.asked} == {"GET"}


@pytest.mark.parametrize(
    ("where", "what", "step", "told"),
    [
        ("fork", True, "repository", "it is a fork"),
        ("archived", True, "repository", "it is archived"),
        ("has_issues", False, "issues", "turn them on"),
        ("/actions/permissions", {"enabled": False}, "Actions", "allow GitHub Actions"),
        ("/actions/permissions", {"enabled": True, "allowed_actions": "local_only"}, "Actions", "allow them"),
        ("/actions/permissions/workflow", {"default_workflow_permissions": "write"}, "token of workflows", "read-only"),
        (
            "/actions/permissions/fork-pr-contributor-approval",
            {"approval_policy": "first_time_contributors"},
            "runs of forks",
            "first_time_contributors; require approval",
        ),
        ("/private-vulnerability-reporting", {"enabled": False}, "private reports", "SECURITY.md"),
        ("/pages", None, "Pages", 'choose the source "GitHub Actions"'),
        ("/pages", {"build_type": "legacy"}, "Pages", "it is built from a branch"),
        ("/branches/data", None, "branch data", "run the workflow nightly once"),
        ("/rules/branches/data", [], "rules for data", "no rule deletion and non_fast_forward"),
        ("/rules/branches/data", [{"type": "deletion"}], "rules for data", "no rule non_fast_forward"),
        ("/environments/release", None, "environment release", "create it"),
        ("/environments/release", {"protection_rules": []}, "environment release", "it has no reviewers"),
        (
            "/environments/release/deployment-branch-policies",
            [{"name": "v*", "type": "tag"}],
            "environment release",
            "releases are started on main, which may not use it",
        ),
        (
            "/environments/release/deployment-branch-policies",
            [{"name": "*", "type": "branch"}],
            "environment release",
            "releases are started by tags v*, which may not use it",
        ),
        (
            "/environments/release",
            {
                "protection_rules": [{"type": "required_reviewers"}],
                "deployment_branch_policy": {"protected_branches": True, "custom_branch_policies": False},
            },
            "environment release",
            "which may not use it",
        ),
        ("/rules/branches/main", [], "rules for the default branch", "import .github/rulesets/default-branch.json"),
        ("/rules/branches/main", [{"type": "pull_request"}], "rules for the default branch", "without review or tests"),
        (
            "/actions/variables",
            [{"name": "OOTCI_TORCH_RUNNER", "value": '["self-hosted", "large"]'}],
            "OOTCI_TORCH_RUNNER",
            "no runner has these labels",
        ),
        ("/actions/workflows/nightly.yml", {"state": "disabled_inactivity"}, "schedule nightly.yml", "enable"),
        ("/actions/workflows/publish.yml", None, "schedule publish.yml", "push it"),
        ("/actions/workflows/deep.yml", {"state": "disabled_inactivity"}, "schedule deep.yml", "enable"),
        ("/actions/variables", [{"name": "OOTCI_ADRESS", "value": "x"}], "unknown variables", "OOTCI_ADRESS"),
        ("/actions/variables", [{"name": "OOTCI_ADDRESS", "value": "ci.example"}], "OOTCI_ADDRESS", "https address"),
        ("/actions/variables", [{"name": "OOTCI_PUBLISH", "value": "yes"}], "OOTCI_PUBLISH", "it is not `pypi`"),
        ("/actions/variables", [{"name": "OOTCI_TORCH_RUNNER", "value": "big"}], "OOTCI_TORCH_RUNNER", "JSON list"),
    ],
)
def test_what_is_not_set_up_is_said_with_the_page_to_open(
    ootci: Tool, tmp_path: Path, operated: FakeSettings, where: str, what: object, step: str, told: str
) -> None:
    (operated.settings if where.startswith("/") else operated.facts)[where] = what
    found = _checked(ootci, tmp_path, operated)
    state, detail, page = found.pop(step)
    assert state == "not done"
    assert told in detail
    assert page.startswith(f"https://github.com/{REPOSITORY}/")
    assert {state for state, _, _ in found.values()} <= {"done", "off"}


@pytest.mark.parametrize("permission", sorted(set(NEEDS.values()) - {"metadata"}))
def test_what_the_token_may_not_read_is_never_done(
    ootci: Tool, tmp_path: Path, operated: FakeSettings, permission: str
) -> None:
    register(tmp_path, "private", f"runner: {{labels: [card], container: {{image: x, {LOGIN}}}}}\n")
    operated.settings["/actions/runners"] = [{"labels": [{"name": "card"}], "status": "online"}]
    operated.settings["/actions/secrets"] = [
        {"name": name} for name in ("PRIVATE_REGISTRY_USERNAME", "PRIVATE_REGISTRY_PASSWORD")
    ]
    before = _checked(ootci, tmp_path, operated, code=0)
    operated.granted.remove(permission)
    found = _checked(ootci, tmp_path, operated)
    unclear = {step for step, (state, _, _) in found.items() if state == "cannot tell"}
    assert unclear
    for step in unclear:
        _, detail, page = found[step]
        assert "403: Resource not accessible" in detail
        assert page.startswith("https://github.com/")
    assert all(found[step] == before[step] for step in found.keys() - unclear)


def test_absence_is_believed_to_an_administrator_only(ootci: Tool, tmp_path: Path, operated: FakeSettings) -> None:
    operated.facts["permissions"] = {"admin": False}
    operated.settings |= dict.fromkeys(
        ("/pages", "/environments/release", "/actions/permissions", "/actions/runners", "/actions/variables")
    )
    found = _checked(ootci, tmp_path, operated)
    for step in ("Pages", "environment release", "Actions", "unknown variables", "OOTCI_RELAY_URL", "relay"):
        assert found[step][:2] == (
            "cannot tell",
            "GitHub shows it to administrators of the repository only; open the page",
        )


def test_a_rule_that_may_keep_the_nightly_out_is_not_taken_for_done(
    ootci: Tool, tmp_path: Path, operated: FakeSettings
) -> None:
    operated.settings["/rules/branches/data"] = [
        {"type": kind} for kind in ("deletion", "non_fast_forward", "pull_request")
    ]
    assert _checked(ootci, tmp_path, operated)["rules for data"][:1] == ("cannot tell",)


def test_an_older_protection_of_the_default_branch_cannot_be_told(
    ootci: Tool, tmp_path: Path, operated: FakeSettings
) -> None:
    operated.settings |= {"/rules/branches/main": [], "/branches/main": {"name": "main", "protected": True}}
    assert _checked(ootci, tmp_path, operated)["rules for the default branch"][0] == "cannot tell"


@pytest.mark.parametrize(
    ("variable", "value", "step"),
    [("OOTCI_RELAY_URL", "https://relay.example/", "relay"), ("OOTCI_PUBLISH", "pypi", "PyPI")],
)
def test_what_somebody_else_has_to_allow_cannot_be_told(
    ootci: Tool, tmp_path: Path, operated: FakeSettings, variable: str, value: str, step: str
) -> None:
    address = {"name": variable, "value": value}
    others = [{"name": f"V{number}", "value": ""} for number in range(40)]
    operated.settings["/actions/organization-variables"] = [*others, address]
    found = _checked(ootci, tmp_path, operated)
    assert (found[variable][0], found[step][0]) == ("done", "cannot tell")


@pytest.mark.parametrize(
    ("github", "patterns", "told"),
    [
        (True, ["pypa/gh-action-pypi-publish@*"], "on"),
        (True, ["pypa/*"], "on"),
        (True, [], "pypa/gh-action-pypi-publish of release.yml is not allowed; allow it"),
        (False, ["pypa/*"], "actions of GitHub's own are not allowed; allow them"),
    ],
)
def test_of_actions_that_are_allowed_one_by_one_all_are_that_workflows_use(
    ootci: Tool, tmp_path: Path, operated: FakeSettings, github: bool, patterns: list[str], told: str
) -> None:
    operated.settings["/actions/permissions"] = {"enabled": True, "allowed_actions": "selected"}
    chosen = {"github_owned_allowed": github, "verified_allowed": False, "patterns_allowed": patterns}
    operated.settings["/actions/permissions/selected-actions"] = chosen
    state, detail, _ = _checked(ootci, tmp_path, operated, code=0 if told == "on" else 3)["Actions"]
    assert (state, detail) == ("done" if told == "on" else "not done", told)


def test_runners_and_secrets_are_those_that_the_device_files_name(
    ootci: Tool, tmp_path: Path, operated: FakeSettings
) -> None:
    register(tmp_path, "private", f"runner: {{labels: [self-hosted, Card], container: {{image: x, {LOGIN}}}}}\n")
    register(tmp_path, "away", "runner: {labels: [other]}\npaused: {reason: Its machine is away.}\n")
    register(tmp_path, "hosted")
    machine = {"labels": [{"name": "self-hosted"}, {"name": "card"}], "status": "offline"}

    def states() -> dict[str, str]:
        found = _checked(ootci, tmp_path, operated)
        return {step: state for step, (state, _, _) in found.items() if step.startswith(("runner", "PRIVATE"))}

    runner, name, word = "runner self-hosted, Card", "PRIVATE_REGISTRY_USERNAME", "PRIVATE_REGISTRY_PASSWORD"
    assert states() == dict.fromkeys((runner, name, word), "not done")
    operated.settings["/actions/runners"] = [machine]
    operated.settings["/actions/secrets"] = [{"name": word}]
    operated.settings["/actions/variables"] = [{"name": name, "value": "me"}]
    assert states() == {runner: "not done", name: "done", word: "done"}
    operated.facts["owner"] = {"type": "Organization"}
    operated.settings["/actions/runners"] = []
    assert states()[runner] == "cannot tell"
    operated.settings["/actions/runners"] = [{**machine, "status": "online"}]
    assert set(_checked(ootci, tmp_path, operated, code=0)) > {runner, name, word}


def test_the_text_ends_with_the_count_of_each_state(ootci: Tool, tmp_path: Path, operated: FakeSettings) -> None:
    register(tmp_path)
    env = {**operated.environment, "GITHUB_TOKEN": TOKEN, "GITHUB_REPOSITORY": REPOSITORY}
    ran = ootci("setup", "--check", cwd=tmp_path, env=env)
    assert ran.out.splitlines()[-1] == "15 done, 0 not done, 0 cannot tell, 7 off"


@pytest.mark.parametrize(
    ("arguments", "token", "code", "told"),
    [
        ((), TOKEN, 2, "--check"),
        (("--check",), "", 2, "there is no token to read the settings with"),
        (("--check", "--repository", "a b"), TOKEN, 2, "`a b` is no repository"),
        (("--check", "--repository", ""), TOKEN, 2, "no repository is named"),
        (("--check",), "another", 3, "GitHub answered 401"),
        (("--check",), f"{TOKEN}\nand more", 2, "what should be a token is none"),
    ],
)
def test_bad_input_is_one_error(
    ootci: Tool, tmp_path: Path, operated: FakeSettings, arguments: tuple[str, ...], token: str, code: int, told: str
) -> None:
    register(tmp_path)
    named = () if "--repository" in arguments else ("--repository", REPOSITORY)
    ran = ootci("setup", *arguments, *named, cwd=tmp_path, env={**operated.environment, "GITHUB_TOKEN": token})
    assert (ran.code, ran.out) == (code, "")
    assert told in ran.err
    assert TOKEN not in ran.err
