"""Whether a command writes to GitHub: by default only on the default branch of a repository that is no fork."""

from __future__ import annotations

import os
import re

from ootci.adapters.github_repository import repository
from ootci.adapters.github_rest import GithubRest
from ootci.errors import BadOption

TOKEN_VARIABLE = "GITHUB_TOKEN"  # noqa: S105 - the name of a variable


def named_repository(given: str | None, where: str = "--repository") -> str:
    """The repository that was named, or else ``GITHUB_REPOSITORY``; empty if there is neither.

    Raises:
        BadOption: it is no repository's name.

    """
    name = given or os.environ.get("GITHUB_REPOSITORY") or ""
    if name and not re.fullmatch(r"[A-Za-z0-9-]{1,39}/(?!\.\.?$)[A-Za-z0-9_.-]{1,100}", name):
        raise BadOption(f"`{name}` is no repository", where=where, fix="write it as owner/name")
    return name


def required_repository(given: str | None) -> str:
    """The same; an error where there is none.

    Raises:
        BadOption: none is given, or it is no repository's name.

    """
    name = named_repository(given)
    if not name:
        raise BadOption("no repository is named", where="--repository", fix="name one: --repository owner/name")
    return name


def decided(wanted: bool | None, name: str) -> tuple[bool, str]:
    """Whether to write, and why: as it was requested, else whether this is the default branch of no fork.

    GitHub is asked, because the event of a schedule does not name a fork. Source: GitHub's documentation,
    "Events that trigger workflows", ``schedule``.

    Raises:
        GithubUnreachable, GithubRefused: GitHub cannot be asked.

    """
    if wanted is not None:
        return wanted, "as requested"
    if os.environ.get("GITHUB_ACTIONS") != "true":
        return False, "this is no workflow; --apply does it nevertheless"
    if name != os.environ.get("GITHUB_REPOSITORY"):
        return False, "it is not the repository of this workflow; --apply does it nevertheless"
    home = repository(GithubRest(os.environ.get(TOKEN_VARIABLE) or None), name)
    if home.fork:
        return False, "it is a fork; --apply does it nevertheless"
    ref = os.environ.get("GITHUB_REF", "")
    if ref != f"refs/heads/{home.default_branch}":
        return False, f"this is {ref or 'no branch'}, not the default branch; --apply does it nevertheless"
    return True, "this is its default branch"


def token_to_write(really: bool, name: str, what: str) -> str | None:
    """The token, which is required to write.

    Raises:
        BadOption: there is no token, or no repository to write to.

    """
    if really:
        required_repository(name)
    token = os.environ.get(TOKEN_VARIABLE) or None
    if really and token is None:
        raise BadOption(
            f"there is no token to write {what} with",
            where=TOKEN_VARIABLE,
            fix=f"set it to a token that may write the repository's {what}, or ask for --dry-run",
        )
    return token
