"""Finding a torch wheel on PyTorch's package indexes.

The indexes follow the simple repository API (PyPA specification, HTML form): one page per project with a link per
wheel, ``#sha256=`` in its address and ``data-yanked`` on withdrawn files. Nightly wheels lie under
``https://download.pytorch.org/whl/nightly/<variant>/``, releases under ``https://download.pytorch.org/whl/<variant>/``.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from datetime import date
from html.parser import HTMLParser
from urllib.parse import unquote, urljoin, urlsplit

from packaging.tags import Tag, sys_tags
from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import Version

from ootci.adapters.download import DownloadProblem, read

NIGHTLY_INDEX = "https://download.pytorch.org/whl/nightly"
RELEASE_INDEX = "https://download.pytorch.org/whl"
PAGE_SECONDS = 60.0
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
        withdrawn: why the index says not to use it, empty where it does not say why; None for one to use.

    """

    version: Version
    url: str
    sha256: str | None
    index_url: str
    withdrawn: str | None = None

    @property
    def night(self) -> date | None:
        """The date of a nightly; None for any other version."""
        said = str(self.version.dev or "")
        try:
            return date(int(said[:4]), int(said[4:6]), int(said[6:])) if re.fullmatch("[0-9]{8}", said) else None
        except ValueError:
            return None


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


def nights(index_url: str, tags: frozenset[Tag] | None = None) -> tuple[TorchWheel, ...]:
    """The wheel of every night that fits this interpreter, newest first, withdrawn ones too where there is no other.

    Raises:
        IndexProblem: the index cannot be reached or lists no nightly that fits.

    """
    listed = sorted(_listed(index_url, tags), key=lambda wheel: (wheel.withdrawn is None, wheel.version))
    found = {wheel.night: wheel for wheel in listed if wheel.night is not None}
    if not found:
        raise IndexProblem(f"{index_url} has no nightly for this Python and machine")
    return tuple(found[night] for night in sorted(found, reverse=True))


def _fitting(index_url: str, tags: frozenset[Tag] | None) -> list[TorchWheel]:
    wheels = [wheel for wheel in _listed(index_url, tags) if wheel.withdrawn is None]
    if not wheels:
        raise IndexProblem(f"{index_url} has no torch wheel for this Python and machine")
    return wheels


def _listed(index_url: str, tags: frozenset[Tag] | None) -> list[TorchWheel]:
    supported = frozenset(sys_tags()) if tags is None else tags
    page_url = f"{index_url}/torch/"
    page = _Links()
    page.feed(_get(page_url))
    wheels = []
    for href, withdrawn in page.found:
        try:
            url, _, fragment = urljoin(page_url, href).partition("#")
            name = unquote(urlsplit(url).path.rpartition("/")[2])
            project, version, _, wheel_tags = parse_wheel_filename(name)
        except (InvalidWheelFilename, ValueError):
            continue
        if project == "torch" and url.startswith(("https://", "http://")) and wheel_tags & supported:
            sha256 = fragment.removeprefix("sha256=") if fragment.startswith("sha256=") else None
            wheels.append(TorchWheel(version, url, sha256, index_url, withdrawn))
    return wheels


def _get(url: str) -> str:
    try:
        content, _ = read(url, at_most=MAX_PAGE_BYTES, seconds=PAGE_SECONDS, headers={"Accept": "text/html"})
    except DownloadProblem as problem:
        raise IndexProblem(str(problem)) from problem
    return content.decode("utf-8", "replace")


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag == "a" and (href := values.get("href")):
            withdrawn = (values["data-yanked"] or "") if "data-yanked" in values else None
            self.found.append((href, withdrawn))
