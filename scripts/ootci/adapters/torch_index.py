"""Finding a torch wheel on PyTorch's package indexes.

The indexes follow the simple repository API (PyPA specification, HTML form): one page per project with a link per
wheel, ``#sha256=`` in its address and ``data-yanked`` on withdrawn files. Nightly wheels lie under
``https://download.pytorch.org/whl/nightly/<variant>/``, releases under ``https://download.pytorch.org/whl/<variant>/``.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from html.parser import HTMLParser
from urllib.parse import unquote, urljoin, urlsplit

import requests
from packaging.tags import Tag, sys_tags
from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import Version

NIGHTLY_INDEX = "https://download.pytorch.org/whl/nightly"
RELEASE_INDEX = "https://download.pytorch.org/whl"
TIMEOUT_SECONDS = (10, 30)
ATTEMPTS = 3
MAX_PAGE_BYTES = 32 * 1024 * 1024
"""PyTorch's longest project pages are under a megabyte; more than this is no index page."""


class IndexProblem(Exception):
    """The index cannot be reached, or has no wheel that fits. Its text is a reason for people."""


@dataclass(frozen=True)
class TorchWheel:
    """A wheel on an index.

    Attributes:
        version: its exact version, local part included.
        url: its address without the fragment.
        sha256: its checksum, where the index states one.
        index_url: the index that it was found on.

    """

    version: Version
    url: str
    sha256: str | None
    index_url: str


def nightly_index(variant: str) -> str:
    """Address of the nightly index of a build variant; a mirror is named by ``OOTCI_NIGHTLY_INDEX``."""
    return f"{os.environ.get('OOTCI_NIGHTLY_INDEX', NIGHTLY_INDEX).rstrip('/')}/{variant}"


def release_index(variant: str) -> str:
    """Address of the release index of a build variant; a mirror is named by ``OOTCI_RELEASE_INDEX``."""
    return f"{os.environ.get('OOTCI_RELEASE_INDEX', RELEASE_INDEX).rstrip('/')}/{variant}"


def newest(index_url: str, tags: frozenset[Tag] | None = None) -> TorchWheel:
    """The newest wheel of an index that fits this interpreter.

    Raises:
        IndexProblem: the index cannot be reached or has no such wheel.

    """
    return max(_fitting(index_url, tags), key=lambda wheel: wheel.version)


def exact(index_url: str, version: str, tags: frozenset[Tag] | None = None) -> TorchWheel:
    """The wheel of that version (its local part may be left out) that fits this interpreter.

    Raises:
        IndexProblem: the index cannot be reached or has no such wheel.

    """
    wanted = Version(version)
    for wheel in _fitting(index_url, tags):
        if wheel.version == wanted or (wanted.local is None and Version(wheel.version.public) == wanted):
            return wheel
    raise IndexProblem(f"{index_url} has no torch {version} for this Python and machine")


def nightlies(index_url: str, tags: frozenset[Tag] | None = None) -> tuple[TorchWheel, ...]:
    """Every development version of an index that fits this interpreter, oldest first, each once.

    Raises:
        IndexProblem: the index cannot be reached or has no torch wheel that fits.

    """
    found = {wheel.version: wheel for wheel in _fitting(index_url, tags) if wheel.version.is_devrelease}
    return tuple(found[version] for version in sorted(found))


def _fitting(index_url: str, tags: frozenset[Tag] | None) -> list[TorchWheel]:
    supported = frozenset(sys_tags()) if tags is None else tags
    page_url = f"{index_url}/torch/"
    page = _Links()
    page.feed(_get(page_url))
    wheels = []
    for href in page.found:
        try:
            url, _, fragment = urljoin(page_url, href).partition("#")
            name = unquote(urlsplit(url).path.rpartition("/")[2])
            project, version, _, wheel_tags = parse_wheel_filename(name)
        except (InvalidWheelFilename, ValueError):
            continue
        if project == "torch" and url.startswith(("https://", "http://")) and wheel_tags & supported:
            sha256 = fragment.removeprefix("sha256=") if fragment.startswith("sha256=") else None
            wheels.append(TorchWheel(version, url, sha256, index_url))
    if not wheels:
        raise IndexProblem(f"{index_url} has no torch wheel for this Python and machine")
    return wheels


def _get(url: str) -> str:
    reason = ""
    for _ in range(ATTEMPTS):
        try:
            status, page = _page(url)
        except requests.exceptions.ConnectionError as error:
            raise IndexProblem(f"{url} cannot be reached ({_cause(error)})") from error
        except requests.exceptions.RequestException as error:
            reason = f"{url} did not answer ({type(error).__name__})"
            continue
        if status < 400:
            return page
        reason = f"{url} answered {status}"
        if status < 500:
            break
    raise IndexProblem(reason)


def _page(url: str) -> tuple[int, str]:
    """Status and text of a page.

    Raises:
        IndexProblem: it is longer than an index page can be.
        requests.exceptions.RequestException: there was no answer, or it broke off.

    """
    with requests.get(url, timeout=TIMEOUT_SECONDS, headers={"Accept": "text/html"}, stream=True) as response:
        content = b""
        for chunk in response.iter_content(1 << 20):
            content += chunk
            if len(content) > MAX_PAGE_BYTES:
                raise IndexProblem(f"{url} answered with more than {MAX_PAGE_BYTES >> 20} MiB, which is no index page")
        return response.status_code, content.decode("utf-8", "replace")


def _cause(error: requests.exceptions.ConnectionError) -> str:
    text = str(error)
    for sign, meaning in (
        ("NameResolution", "its name is not known here"),
        ("refused", "connection refused"),
        ("SSL", "TLS failed"),
        ("timed out", "timed out"),
        ("unreachable", "network unreachable"),
    ):
        if sign in text:
            return meaning
    return "no connection"


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag == "a" and "data-yanked" not in values and (href := values.get("href")):
            self.found.append(href)
