"""The steps of the operator's guide: asks GitHub for each setting that a nightly, a page or a report needs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from fnmatch import fnmatchcase
from functools import partial
from urllib.parse import quote

from ootci.adapters.download import is_private
from ootci.adapters.github_repository import GithubRepository, GithubSettings, NotReadable
from ootci.model.device import Device
from ootci.model.setting import PUBLISH, Form, Kind, Setting, labels_of, of_kind
from ootci.stages.onboard.checks import HOSTED

HISTORY = "data"
SCHEDULED = ("nightly.yml", "publish.yml", "deep.yml")
PROTECTING = frozenset({"deletion", "non_fast_forward"})
"""Rules with which nobody can delete or rewrite the history."""
HINDERING = frozenset({"pull_request", "update", "required_status_checks", "required_signatures", "merge_queue"})
"""Rules with which a nightly cannot push to it."""
CHECKS = frozenset({"fast", "openreg", "workflows", "browser"})
"""Jobs of `ci.yml` that decide whether a change is merged."""
OTHERS_ACTION = "pypa/gh-action-pypi-publish"
"""The one action of a workflow that is not GitHub's own."""
OPTIONAL = "optional"


class State(str, Enum):
    """The state of a step."""

    DONE = "done"
    NOT_DONE = "not done"
    CANNOT_TELL = "cannot tell"
    OFF = "off"


@dataclass(frozen=True)
class Step:
    """One step of the guide.

    Attributes:
        detail: what was found, or what to do.
        page: the page of GitHub on which it is set; empty where nothing is left to do.

    """

    state: State
    detail: str
    name: str = ""
    page: str = ""


_done, _open, _off, _unclear = (
    partial(Step, state) for state in (State.DONE, State.NOT_DONE, State.OFF, State.CANNOT_TELL)
)


def steps(
    name: str, repository: GithubRepository, settings: GithubSettings, devices: tuple[Device, ...], server: str
) -> list[Step]:
    """Every step, in the order of the guide.

    Args:
        name: ``owner/name``.
        devices: those that are not paused.
        server: address of GitHub's pages.

    """
    checks: tuple[tuple[str, str, Callable[[], Step]], ...] = (
        ("repository", "settings", partial(_repository, repository)),
        ("issues", "settings", partial(_issues, repository)),
        ("Actions", "settings/actions", partial(_actions, settings)),
        ("token of workflows", "settings/actions", partial(_token, settings)),
        ("runs of forks", "settings/actions", partial(_forks, repository, settings)),
        ("private reports", "settings/security_analysis", partial(_reports, settings)),
        ("Pages", "settings/pages", partial(_pages, settings)),
        ("branch data", "actions/workflows/nightly.yml", partial(_history, settings)),
        ("rules for data", "settings/rules", partial(_rules, settings)),
        ("rules for the default branch", "settings/rules", partial(_reviewed, repository, settings)),
        ("environment release", "settings/environments", partial(_environment, repository, settings)),
        *((f"schedule {file}", f"actions/workflows/{file}", partial(_scheduled, settings, file)) for file in SCHEDULED),
        ("unknown variables", "settings/variables/actions", partial(_unknown, settings)),
        *(
            (one.name, "settings/variables/actions", partial(_variable, repository, settings, one))
            for one in of_kind(Kind.VARIABLE)
        ),
        *((secret, "settings/secrets/actions", partial(_secret, settings, secret)) for secret in _secrets(devices)),
        *(
            (f"runner {', '.join(labels)}", "settings/actions/runners", partial(_runner, repository, settings, labels))
            for labels in _machines(devices)
        ),
        ("PyPI", "settings/environments", partial(_elsewhere, repository, settings, PUBLISH, _PUBLISHER)),
        ("relay", "settings/installations", partial(_elsewhere, repository, settings, "OOTCI_RELAY_URL", _ALLOW_LIST)),
    )
    found = []
    for what, page, check in checks:
        try:
            step = check()
        except NotReadable as reason:
            step = _unclear(f"{reason}; open the page")
        is_left = step.state not in (State.DONE, State.OFF)
        found.append(replace(step, name=what, page=f"{server}/{name}/{page}" if is_left else ""))
    return found


def _repository(repository: GithubRepository) -> Step:
    if repository.fork:
        return _open("it is a fork, and forks publish nothing; create a repository that is none")
    if repository.archived:
        return _open("it is archived, so that no workflow runs; unarchive it")
    return _done(f"default branch {repository.default_branch}")


def _issues(repository: GithubRepository) -> Step:
    return _done("on") if repository.has_issues else _open("off, so that alerts cannot be written; turn them on")


def _actions(settings: GithubSettings) -> Step:
    found = settings.one("/actions/permissions") or {}
    if found.get("enabled") is not True:
        return _open("off; allow GitHub Actions")
    allowed = found.get("allowed_actions")
    if allowed == "selected":
        chosen = settings.one("/actions/permissions/selected-actions") or {}
        allowed = "all" if chosen.get("github_owned_allowed") is True else "local_only"
        patterns = chosen.get("patterns_allowed")
        names = [str(one).partition("@")[0] for one in patterns] if isinstance(patterns, list) else []
        if allowed == "all" and not any(fnmatchcase(OTHERS_ACTION, name) for name in names):
            return _open(f"{OTHERS_ACTION} of release.yml is not allowed; allow it")
    if allowed == "local_only":
        return _open("actions of GitHub's own are not allowed; allow them")
    return _done("on") if allowed == "all" else _unclear(f"unknown policy {allowed}")


def _token(settings: GithubSettings) -> Step:
    found = (settings.one("/actions/permissions/workflow") or {}).get("default_workflow_permissions")
    if found == "read":
        return _done("read-only by default")
    return _open("may write by default; choose read-only") if found == "write" else _unclear("no default is given")


def _forks(repository: GithubRepository, settings: GithubSettings) -> Step:
    if repository.private:
        return _off("a private repository; strangers cannot open pull requests")
    found = (settings.one("/actions/permissions/fork-pr-contributor-approval") or {}).get("approval_policy")
    if found == "all_external_contributors":
        return _done("every run of an outsider's pull request waits for approval")
    return _open(f"the policy is {found}; require approval for all external contributors")


def _reports(settings: GithubSettings) -> Step:
    found = (settings.one("/private-vulnerability-reporting") or {}).get("enabled")
    return _done("on") if found is True else _open("off, but SECURITY.md points there; turn it on")


def _pages(settings: GithubSettings) -> Step:
    found = settings.one("/pages")
    if found is None:
        return _open('off; choose the source "GitHub Actions"')
    if found.get("build_type") != "workflow":
        return _open('it is built from a branch; choose the source "GitHub Actions"')
    return _done(f"at {found.get('html_url') or 'its address'}")


def _history(settings: GithubSettings) -> Step:
    if settings.one(f"/branches/{HISTORY}", public=True) is None:
        return _open("there is none; run the workflow nightly once")
    return _done("there is a history")


def _rules(settings: GithubSettings) -> Step:
    found = {str(rule.get("type")) for rule in settings.listed(f"/rules/branches/{HISTORY}")}
    if missing := sorted(PROTECTING - found):
        return _open(f"no rule {' and '.join(missing)}; import .github/rulesets/data.json")
    if hindering := sorted(HINDERING & found):
        return _unclear(f"the rule {', '.join(hindering)} keeps the nightly from pushing, unless it may bypass it")
    return _done("nobody can delete or rewrite it")


def _reviewed(repository: GithubRepository, settings: GithubSettings) -> Step:
    branch = quote(repository.default_branch)
    rules = {str(rule.get("type")): rule.get("parameters") for rule in settings.listed(f"/rules/branches/{branch}")}
    listed = _within(rules.get("required_status_checks"), "required_status_checks")
    checks = {_within(one, "context") for one in listed} if isinstance(listed, list) else set()
    if "pull_request" in rules and checks >= CHECKS:
        return _done("changes are reviewed and tested before the merge")
    if _within(settings.one(f"/branches/{branch}", public=True), "protected") is True:
        return _unclear("a branch protection rule may do it; see the page Settings > Branches")
    return _open("changes are merged without review or tests; import .github/rulesets/default-branch.json")


def _environment(repository: GithubRepository, settings: GithubSettings) -> Step:
    found = settings.one("/environments/release")
    if found is None:
        return _open("there is none; create it, with reviewers")
    rules = found.get("protection_rules")
    kinds = {_within(rule, "type") for rule in rules} if isinstance(rules, list) else set()
    if "required_reviewers" not in kinds:
        return _open("it has no reviewers; add some")
    policy, allowed = found.get("deployment_branch_policy"), list[dict[str, object]]()
    if policy is None:
        return _done("with reviewers")
    if _within(policy, "custom_branch_policies") is True:
        allowed = settings.listed("/environments/release/deployment-branch-policies", "branch_policies")
    # Tags are none of the protected branches that the other policy allows.
    branch = repository.default_branch
    for kind, name, what in (("branch", branch, f"on {branch}"), ("tag", "v1.2.3", "by tags v*")):
        patterns = [str(one.get("name")) for one in allowed if one.get("type", "branch") == kind]
        if not any(fnmatchcase(name, pattern) for pattern in patterns):
            return _open(f"releases are started {what}, which may not use it; allow it")
    return _done("with reviewers")


def _scheduled(settings: GithubSettings, file: str) -> Step:
    found = settings.one(f"/actions/workflows/{file}", public=True)
    if found is None:
        return _open("the workflow is not on the default branch; push it")
    state = found.get("state")
    return _done("active") if state == "active" else _open(f"{state}; enable the workflow")


def _variables(settings: GithubSettings) -> dict[str, str]:
    """The variables of the organization and the repository; the repository's win."""
    found = settings.listed("/actions/organization-variables", "variables")
    found += settings.listed("/actions/variables", "variables")
    return {str(one.get("name")): str(one.get("value")) for one in found}


def _unknown(settings: GithubSettings) -> Step:
    known = {one.name for one in of_kind(Kind.VARIABLE)}
    found = sorted(name for name in _variables(settings) if name.startswith("OOTCI_") and name not in known)
    if found:
        return _open(f"nothing reads {', '.join(found)}; correct the name, or delete it")
    return _done("none")


def _variable(repository: GithubRepository, settings: GithubSettings, setting: Setting) -> Step:
    value = _variables(settings).get(setting.name, "").strip()
    if not value:
        return _off(f"{OPTIONAL}; not set: {setting.default}")
    labels = labels_of(value) if setting.form is Form.LABELS else ()
    # GitHub's expressions compare in any case.
    amiss = {Form.ADDRESS: not is_private(value), Form.INDEX: value.lower() != "pypi"}
    if labels is None or amiss.get(setting.form):
        return _open(f"it is not {setting.form.value}; correct it")
    return _done("set") if _is_hosted(labels) else _runner(repository, settings, labels)


def _secrets(devices: tuple[Device, ...]) -> list[str]:
    pairs = [device.credentials for device in devices if device.credentials]
    return sorted({name for pair in pairs for name in (pair.username, pair.password)})


def _secret(settings: GithubSettings, name: str) -> Step:
    found = settings.listed("/actions/secrets", "secrets")
    found += settings.listed("/actions/organization-secrets", "secrets")
    if name in {str(one.get("name")) for one in found}:
        return _done("set; GitHub shows nobody its value")
    if name.endswith("USERNAME") and _variables(settings).get(name):
        return _done("set, as a variable")
    return _open("a device file names it, and it is not set; create it")


def _machines(devices: tuple[Device, ...]) -> list[tuple[str, ...]]:
    """The runners that have to be registered: each set of labels once."""
    asked = [device.runner.labels for device in devices if device.external is None]
    asked += [device.build.runner.labels for device in devices if device.build.runner and device.external is None]
    return sorted({labels for labels in asked if not _is_hosted(labels)})


def _is_hosted(labels: Sequence[str]) -> bool:
    return all(HOSTED.fullmatch(label) for label in labels)


def _runner(repository: GithubRepository, settings: GithubSettings, labels: Sequence[str]) -> Step:
    fitting = [one for one in settings.listed("/actions/runners", "runners") if _has(one, labels)]
    if any(one.get("status") == "online" for one in fitting):
        return _done("online")
    if fitting:
        return _open("offline; start it")
    if repository.organization:
        return _unclear("not among the repository's runners; see those that the organization shares with it")
    return _open("no runner has these labels; register one")


def _has(runner: dict[str, object], labels: Sequence[str]) -> bool:
    found = runner.get("labels")
    names = {str(_within(label, "name")).lower() for label in found} if isinstance(found, list) else set()
    return {label.lower() for label in labels} <= names


def _within(found: object, key: str) -> object:
    return found.get(key) if isinstance(found, dict) else None


_PUBLISHER = "see on PyPI whether release.yml is a trusted publisher of the project, with the environment pypi"
_ALLOW_LIST = "ask the relay's maintainers whether this repository is on their allow list; see its GitHub App"


def _elsewhere(repository: GithubRepository, settings: GithubSettings, variable: str, unclear: str) -> Step:
    """What a variable turns on, and somebody else has to allow."""
    (setting,) = (one for one in of_kind(Kind.VARIABLE) if one.name == variable)
    is_on = _variable(repository, settings, setting).state is State.DONE
    return _unclear(unclear) if is_on else _off(f"{OPTIONAL}; see {variable}")
