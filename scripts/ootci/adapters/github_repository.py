"""A repository on GitHub, and those of its settings that a token may read.

Source of the addresses and of what each needs: GitHub's REST API documentation, "Actions", "Pages", "Rules" and
"Environments".
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

from ootci.adapters.github_rest import GithubRest, odd
from ootci.errors import GithubRefused


@dataclass(frozen=True)
class GithubRepository:
    """A repository.

    Attributes:
        private: whether only its members see it.
        archived: whether it is read-only.
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
        raise odd(f"GET {place}", "it is no repository")
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


Found = dict[str, object]
_ADMINISTRATORS = "GitHub shows it to administrators of the repository only"


class NotReadable(Exception):
    """The token may not read a setting, or GitHub's answer cannot be used; the text has the reason."""


class GithubSettings:
    """Reads the settings of one repository, ``owner/name``; raises NotReadable where the token may not."""

    def __init__(self, rest: GithubRest, name: str, repository: GithubRepository) -> None:
        self._rest = rest
        self._place = f"/repos/{quote(name)}"
        self._admin = repository.admin

    def one(self, path: str, *, public: bool = False) -> Found | None:
        """One setting; None where there is no such thing.

        Args:
            path: after the repository's.
            public: whether everybody who sees the repository may read it. Other things answer 404 also to those who
                may not read them, so of them it is believed to an administrator only.

        """
        try:
            found = self._rest.find(self._place + path)
        except GithubRefused as refused:
            raise NotReadable(refused.what) from refused
        if found is None and not public and not self._admin:
            raise NotReadable(_ADMINISTRATORS)
        if found is not None and not isinstance(found, dict):
            raise NotReadable("GitHub's answer is no object")
        return found

    def listed(self, path: str, key: str = "") -> list[Found]:
        """All entries of a list; ``key`` is where an answer has it, unless the answer is the list itself."""
        try:
            # GitHub lists no more variables than that at once.
            entries = list(self._rest.pages(self._place + path, {"per_page": "30"}, within=key))
        except GithubRefused as refused:
            raise NotReadable(_ADMINISTRATORS if "404" in refused.what else refused.what) from refused
        return [entry for entry in entries if isinstance(entry, dict)]
