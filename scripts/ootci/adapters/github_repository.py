"""What GitHub says of a repository: whether it is a fork, and which branch is its default."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

from ootci.adapters.github_rest import GithubRest
from ootci.errors import GithubRefused


@dataclass(frozen=True)
class GithubRepository:
    """A repository.

    Attributes:
        fork: whether it is a fork of another one.
        default_branch: the name of its default branch.
        private: whether only its members see it.
        archived: whether it is read-only.
        has_issues: whether issues can be written.
        admin: whether the token's user is one of its administrators.
        organization: whether an organization owns it.

    """

    fork: bool
    default_branch: str
    private: bool = False
    archived: bool = False
    has_issues: bool = True
    admin: bool = False
    organization: bool = False


def repository(rest: GithubRest, name: str) -> GithubRepository:
    """Ask for a repository.

    Args:
        rest: the client.
        name: ``owner/name``.

    Raises:
        GithubUnreachable, GithubRefused: see the client; also where the token does not see the repository.

    """
    place = f"/repos/{quote(name)}"
    found = rest.find(place)
    if found is None:
        raise GithubRefused(
            f"there is no repository {name}, or the token does not see it",
            where=f"GET {place}",
            fix="name it as it is called now (--repository), with a token that may read it (GITHUB_TOKEN)",
        )
    if not isinstance(found, dict) or not isinstance(found.get("fork"), bool) or not found.get("default_branch"):
        raise GithubRefused(
            "GitHub's answer is not as it should be: it is no repository",
            where=f"GET {place}",
            fix="see what answers there",
        )
    owner, permissions = found.get("owner"), found.get("permissions")
    return GithubRepository(
        found["fork"],
        str(found["default_branch"]),
        private=found.get("private") is True,
        archived=found.get("archived") is True,
        has_issues=found.get("has_issues") is True,
        admin=isinstance(permissions, dict) and permissions.get("admin") is True,
        organization=isinstance(owner, dict) and owner.get("type") == "Organization",
    )
