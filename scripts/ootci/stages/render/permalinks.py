"""Addresses that stay: the site's own where it is known, and the one that counts for each page."""

from __future__ import annotations

from urllib.parse import quote, urlsplit

from ootci.errors import BadOption

from .links import web_address

PAGE = "index.html"


def site_address(value: str) -> str:
    """The address under which the site is published, with a slash at its end.

    Raises:
        BadOption: it is no plain http(s) address of a folder.

    """
    parts = urlsplit(value) if web_address(value) else None
    if parts is None or parts.query or parts.fragment:
        raise BadOption(
            f"`{value}` is not the address of a site",
            where="--address (variable OOTCI_ADDRESS, on the page Settings > Secrets and variables > Actions)",
            fix="give the front page's, such as https://example.github.io/tests/",
        )
    return value.rstrip("/") + "/"


def canonical(address: str | None, path: str) -> str | None:
    """The absolute address of a page, without the name of its file; None where the site's is not known."""
    return f"{address}{quote(path.removesuffix(PAGE))}" if address else None
