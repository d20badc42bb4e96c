"""Addresses that stay: the site's own where it is known, the one that counts for each page, and the list of all."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from urllib.parse import quote, urlsplit
from xml.sax.saxutils import escape

from ootci.errors import BadOption

from .links import LATEST, web_address
from .publish import File

PAGE = "index.html"
SITEMAP = "sitemap.xml"
SITEMAP_PAGES = 50_000
"""A sitemap with more is not read."""


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


def with_sitemap(files: Iterable[File], address: str | None) -> Iterator[File]:
    """The files, and after them the list of all pages if the site's address is known: it must name them in full.

    What is shown at two addresses is listed once. Where pages are too many, those in the deepest folders are left out,
    which are pages of runs.
    """
    pages: list[str] = []
    for path, content in files:
        if path.endswith(PAGE) and path.split("/")[-2:-1] != [LATEST]:
            pages.append(path)
        yield path, content
    if address is None:
        return
    chosen = sorted(pages, key=lambda path: (path.count("/"), path))[:SITEMAP_PAGES]
    lines = (f"<url><loc>{escape(canonical(address, path) or '')}</loc></url>" for path in chosen)
    head = '<?xml version="1.0" encoding="UTF-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
    yield SITEMAP, "\n".join([head, *lines, "</urlset>", ""]).encode("utf-8")
