"""Whether a command may write to GitHub: of itself only on the main branch of the home repository."""

from __future__ import annotations

import os
import re

from ootci.errors import BadOption

HOME = "pytorch/pytorch-integration-tests"
"""The repository whose workflows write without being asked; another is named by ``OOTCI_HOME``."""
TOKEN_VARIABLE = "GITHUB_TOKEN"  # noqa: S105 - the name of a variable


def named_repository(given: str | None, where: str = "--repository") -> str:
    """The repository that is meant, ``GITHUB_REPOSITORY`` when none is given; empty when there is none.

    Raises:
        BadOption: it is no repository's name.

    """
    name = given or os.environ.get("GITHUB_REPOSITORY") or ""
    if name and not re.fullmatch(r"[A-Za-z0-9-]{1,39}/(?!\.\.?$)[A-Za-z0-9_.-]{1,100}", name):
        raise BadOption(f"`{name}` is no repository", where=where, fix="write it as owner/name")
    return name


def decided(wanted: bool | None, name: str) -> tuple[bool, str]:
    """Whether to write, and why: as it was asked for, else whether this runs on the home repository's main branch."""
    if wanted is not None:
        return wanted, "as asked for"
    home, ref = os.environ.get("OOTCI_HOME") or HOME, os.environ.get("GITHUB_REF", "")
    if os.environ.get("GITHUB_ACTIONS") != "true":
        return False, "this is no workflow; --apply does it all the same"
    if name != home or os.environ.get("GITHUB_REPOSITORY") != home:
        return False, f"it is not {home}; --apply does it all the same"
    if ref != "refs/heads/main":
        return False, f"this is {ref or 'no branch'} and not the main branch; --apply does it all the same"
    return True, "this is its main branch"


def token_to_write(really: bool, name: str, what: str) -> str | None:
    """The token, which has to be there if something is really written.

    Raises:
        BadOption: there is no token, or no repository to write to.

    """
    if really and not name:
        raise BadOption("no repository is named", where="--repository", fix="name one: --repository owner/name")
    token = os.environ.get(TOKEN_VARIABLE) or None
    if really and token is None:
        raise BadOption(
            f"there is no token to write {what} with",
            where=TOKEN_VARIABLE,
            fix=f"set it to a token that may write the repository's {what}, or ask for --dry-run",
        )
    return token
