"""GitHub's API of a repository's settings as a server on this machine plays it, with a token that may read some.

Each address wants its permission, as GitHub's REST API documentation states for fine-grained tokens. A parameter that
an address does not have, and a missing header, are mistakes of the client and answered 400.
"""

from __future__ import annotations

import json
from contextlib import AbstractContextManager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from fake_github import REPOSITORY, TOKEN, FakeGithub, Handler
from loopback import running

PLACE = f"/repos/{REPOSITORY}"
NEEDS = {
    "": "metadata",
    "/actions/permissions": "administration",
    "/actions/permissions/selected-actions": "administration",
    "/actions/permissions/workflow": "administration",
    "/actions/permissions/fork-pr-contributor-approval": "administration",
    "/private-vulnerability-reporting": "administration",
    "/pages": "pages",
    "/branches/data": "contents",
    "/rules/branches/data": "metadata",
    "/branches/main": "contents",
    "/rules/branches/main": "metadata",
    "/environments/release": "actions",
    "/environments/release/deployment-branch-policies": "actions",
    "/actions/workflows/nightly.yml": "actions",
    "/actions/workflows/publish.yml": "actions",
    "/actions/workflows/deep.yml": "actions",
    "/actions/variables": "variables",
    "/actions/organization-variables": "variables",
    "/actions/secrets": "secrets",
    "/actions/organization-secrets": "secrets",
    "/actions/runners": "administration",
}
"""Which permission a token needs to read each, all of them read-only."""
LISTS = {"variables": 30, "secrets": 100, "runners": 100, "branch_policies": 100}
"""What is counted and comes in pages: the most on one of them."""


def _imported(name: str) -> list[dict[str, object]]:
    """The rules of a branch for which a ruleset of ours was imported."""
    path = Path(__file__).parents[2] / ".github" / "rulesets" / name
    rules: list[dict[str, object]] = json.loads(path.read_text(encoding="utf-8"))["rules"]
    return rules


class FakeSettings(FakeGithub):
    """The server, and a repository that is set up as the guide says.

    Attributes:
        granted: permissions of the token.
        settings: what is set, by the address after the repository's; None answers 404.

    """

    def __init__(self) -> None:
        super().__init__(SettingsHandler)
        self.granted = set(NEEDS.values())
        self.facts |= {
            "private": False,
            "archived": False,
            "has_issues": True,
            "permissions": {"admin": True},
            "owner": {"login": "example", "type": "User"},
        }
        self.settings: dict[str, object] = {
            "/actions/permissions": {"enabled": True, "allowed_actions": "all"},
            "/actions/permissions/workflow": {"default_workflow_permissions": "read"},
            "/actions/permissions/fork-pr-contributor-approval": {"approval_policy": "all_external_contributors"},
            "/private-vulnerability-reporting": {"enabled": True},
            "/pages": {"build_type": "workflow", "html_url": "https://example.github.io/repository/"},
            "/branches/data": {"name": "data"},
            "/rules/branches/data": _imported("data.json"),
            "/branches/main": {"name": "main", "protected": False},
            "/rules/branches/main": _imported("default-branch.json"),
            "/environments/release": {
                "name": "release",
                "protection_rules": [{"type": "required_reviewers"}],
                "deployment_branch_policy": {"protected_branches": False, "custom_branch_policies": True},
            },
            "/environments/release/deployment-branch-policies": [{"name": "main"}, {"name": "v*", "type": "tag"}],
            "/actions/workflows/nightly.yml": {"state": "active"},
            "/actions/workflows/publish.yml": {"state": "active"},
            "/actions/workflows/deep.yml": {"state": "active"},
            "/actions/variables": [],
            "/actions/organization-variables": [],
            "/actions/secrets": [],
            "/actions/organization-secrets": [],
            "/actions/runners": [],
        }


class SettingsHandler(Handler):
    """Answers as GitHub does."""

    server: FakeSettings

    def list(self) -> None:
        parts = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(parts.query, keep_blank_values=True).items()}
        path = parts.path.removeprefix(PLACE)
        headers = ("application/vnd.github+json", "2022-11-28")
        if (self.headers.get("Accept"), self.headers.get("X-GitHub-Api-Version")) != headers:
            self.say(400, {"message": "a header is missing"})
        elif not parts.path.startswith(PLACE) or path not in NEEDS:
            self.say(400, {"message": f"there is no such address: {parts.path}"})
        elif self.headers.get("Authorization") != f"Bearer {TOKEN}":
            self.say(401, {"message": "Requires authentication"})
        elif NEEDS[path] not in self.server.granted:
            self.say(403, {"message": "Resource not accessible by personal access token"})
        elif path == "":
            self.say(200, self.server.facts)
        elif self.server.settings.get(path) is None:
            self.say(404, {"message": "Not Found"})
        else:
            self.tell(path, query)

    def tell(self, path: str, query: dict[str, str]) -> None:
        found = self.server.settings[path]
        key = path.rpartition("/")[2].removeprefix("organization-").replace("deployment-branch-", "branch_")
        size = int(query.get("per_page", "30"))
        if (
            query.keys() - {"per_page", "page"}
            or size > LISTS.get(key, 100)
            or (not isinstance(found, list) and "per_page" in self.path)
        ):
            self.say(400, {"message": "there is no such parameter"})
        elif key in LISTS and isinstance(found, list):
            self.paged(found, key)
        else:
            self.say(200, found)


def fake_settings() -> AbstractContextManager[FakeSettings]:
    """Run the server on a free port."""
    return running(FakeSettings())
