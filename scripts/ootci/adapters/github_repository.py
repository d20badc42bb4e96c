"""What GitHub says of a repository, and of its settings as far as a token may read them.

Source of the addresses and of what each needs: GitHub's REST API documentation, "Actions", "Pages", "Rules" and
"Environments".
"""

from __future__ import annotations

from collections.abc import Mapping
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
PAGE_SIZE = 30
"""The most that GitHub lists of variables at once."""
MAX_PAGES = 50


class NotReadable(Exception):
    """The token may not read a setting, or GitHub's answer cannot be used; the text says why."""


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
        found = self._asked(path, {})
        if found is None and not public and not self._admin:
            raise NotReadable("GitHub shows it to administrators of the repository only")
        if found is not None and not isinstance(found, dict):
            raise NotReadable("GitHub's answer is no object")
        return found

    def rules(self, branch: str) -> frozenset[str]:
        """Types of the rules that apply to a branch."""
        found = self._asked(f"/rules/branches/{quote(branch, safe='')}", {"per_page": "100"})
        if not isinstance(found, list) or not all(isinstance(rule, dict) for rule in found):
            raise NotReadable("GitHub's answer is no list of rules")
        return frozenset(str(rule.get("type")) for rule in found)

    def listed(self, path: str, key: str) -> list[Found]:
        """All entries of a list that GitHub counts, such as variables."""
        entries: list[Found] = []
        for page in range(1, MAX_PAGES + 1):
            found = self._asked(path, {"per_page": str(PAGE_SIZE), "page": str(page)})
            part = found.get(key) if isinstance(found, dict) else None
            count = found.get("total_count") if isinstance(found, dict) else None
            if not isinstance(part, list) or not isinstance(count, int):
                reason = "GitHub shows it to administrators of the repository only" if found is None else "no list"
                raise NotReadable(reason)
            entries += [entry for entry in part if isinstance(entry, dict)]
            if page * PAGE_SIZE >= count:
                return entries
        raise NotReadable(f"there are more than {MAX_PAGES * PAGE_SIZE} entries")

    def _asked(self, path: str, parameters: Mapping[str, str]) -> object:
        try:
            return self._rest.find(self._place + path, parameters)
        except GithubRefused as refused:
            raise NotReadable(refused.what) from refused
