"""The torch wheels that package indexes and folders list.

Indexes follow the simple repository API (PyPA specification, HTML form): one page per project with a link per wheel,
``#sha256=`` in its address, ``data-yanked`` on withdrawn files (PEP 592) and ``data-core-metadata`` on files whose
metadata can be downloaded without it (PEP 658 and 714). PyTorch's nightly wheels are under
``https://download.pytorch.org/whl/nightly/<variant>/``, its releases under
``https://download.pytorch.org/whl/<variant>/``.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from datetime import date
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import quote, urljoin, urlsplit
from urllib.request import url2pathname

from packaging.tags import Tag, compatible_tags, cpython_tags, sys_tags
from packaging.utils import InvalidWheelFilename, parse_wheel_filename
from packaging.version import Version

from ootci.adapters.download import DownloadProblem, file_name, read

NIGHTLY_INDEX = "https://download.pytorch.org/whl/nightly"
RELEASE_INDEX = "https://download.pytorch.org/whl"
CPU = "cpu"
"""The build variant for no accelerator."""
PAGE_SECONDS = 60.0
MAX_PAGE_BYTES = 32 * 1024 * 1024
"""PyTorch's longest project pages are under a megabyte; more than this is no index page."""


class IndexProblem(Exception):
    """The index cannot be reached, or answers with no list of torch wheels. Its text is a reason for people."""


class NothingFits(IndexProblem):
    """The index lists torch wheels, and none of them is for this Python and machine."""


@dataclass(frozen=True)
class TorchWheel:
    """A wheel that an index or a folder lists.

    Attributes:
        version: its exact version, local part included.
        url: its address without the fragment; of a file on this machine, its ``file:`` address.
        sha256: its checksum, where the index states one.
        index_url: the index of PyTorch that it was found on; None for one that was found where pip looks.
        withdrawn: the reason why the index withdrew it, may be empty; None for a usable one.
        metadata: whether its metadata can be downloaded without it, at its address and ``.metadata``.

    """

    version: Version
    url: str
    sha256: str | None
    index_url: str | None
    withdrawn: str | None = None
    metadata: bool = False

    @property
    def night(self) -> date | None:
        """The date of a nightly; None for any other version."""
        return night_of(self.version)

    @property
    def path(self) -> Path | None:
        """The file's path, when it is on this machine."""
        return _path(self.url)

    @property
    def name(self) -> str:
        """Its file name."""
        return file_name(self.url)


def night_of(version: Version) -> date | None:
    """The date that a nightly has in its version; None for any other version."""
    said = str(version.dev or "")
    try:
        return date(int(said[:4]), int(said[4:6]), int(said[6:])) if re.fullmatch("[0-9]{8}", said) else None
    except ValueError:
        return None


def is_version(found: Version, wanted: Version) -> bool:
    """Whether a version is the one that is wanted, whose local part may be left out."""
    return wanted in (found, Version(found.public))


def nightly_index(variant: str) -> str:
    """Address of the nightly index of a build variant; a mirror is named by ``OOTCI_NIGHTLY_INDEX``."""
    return f"{os.environ.get('OOTCI_NIGHTLY_INDEX', NIGHTLY_INDEX).rstrip('/')}/{variant}"


def release_index(variant: str) -> str:
    """Address of the release index of a build variant; a mirror is named by ``OOTCI_RELEASE_INDEX``."""
    return f"{os.environ.get('OOTCI_RELEASE_INDEX', RELEASE_INDEX).rstrip('/')}/{variant}"


def tags_of(python: str | None) -> frozenset[Tag]:
    """The tags of wheels that fit this machine and a CPython such as ``3.12``; None means the tool's own Python."""
    if python is None:
        return frozenset(sys_tags())
    version = tuple(int(part) for part in python.split("."))
    return frozenset((*cpython_tags(version), *compatible_tags(version, f"cp{python.replace('.', '')}")))


def nightlies(index_url: str, tags: frozenset[Tag] | None = None) -> tuple[TorchWheel, ...]:
    """Every development version of an index that fits, oldest first, each once, without withdrawn ones.

    Raises:
        IndexProblem: the index cannot be reached or has no nightly that fits.

    """
    usable = [wheel for wheel in listed(index_url, tags) if wheel.withdrawn is None and wheel.version.is_devrelease]
    if not usable:
        raise NothingFits(f"{index_url} has no nightly for this Python and machine")
    return tuple(sorted({wheel.version: wheel for wheel in usable}.values(), key=lambda wheel: wheel.version))


def nights(index_url: str, tags: frozenset[Tag] | None = None) -> tuple[TorchWheel, ...]:
    """The wheel of every night that fits, newest first, withdrawn ones too where there is no other.

    Raises:
        IndexProblem: the index cannot be reached or lists no nightly that fits.

    """
    wheels = sorted(listed(index_url, tags), key=lambda wheel: (wheel.withdrawn is None, wheel.version))
    found = {wheel.night: wheel for wheel in wheels if wheel.night is not None}
    if not found:
        raise NothingFits(f"{index_url} has no nightly for this Python and machine")
    return tuple(found[night] for night in sorted(found, reverse=True))


def listed(index_url: str, tags: frozenset[Tag] | None = None) -> list[TorchWheel]:
    """Every torch wheel of an index that fits, withdrawn ones too, in no order; ``tags_of`` gives the fitting tags.

    Raises:
        IndexProblem: the index cannot be reached or lists no torch wheel that fits.

    """
    return linked(f"{index_url}/torch/", tags, index_url)


def linked(page_url: str, tags: frozenset[Tag] | None = None, index_url: str | None = None) -> list[TorchWheel]:
    """The same of a page or folder that lists files, such as one in which pip looks."""
    supported = tags_of(None) if tags is None else tags
    # A page of a server must not name files of this machine.
    schemes = ("https://", "http://") if _path(page_url) is None else ("https://", "http://", "file://")
    wheels, others = [], 0
    for link in _links(page_url):
        try:
            url, _, fragment = urljoin(page_url, link["href"] or "").partition("#")
            project, version, _, wheel_tags = parse_wheel_filename(file_name(url))
        except (InvalidWheelFilename, ValueError):
            continue
        if project != "torch" or not url.startswith(schemes):
            continue
        if not wheel_tags & supported:
            others += 1
            continue
        sha256 = fragment.removeprefix("sha256=") if fragment.startswith("sha256=") else None
        withdrawn = (link["data-yanked"] or "") if "data-yanked" in link else None
        metadata = "data-core-metadata" in link or "data-dist-info-metadata" in link
        wheels.append(TorchWheel(version, url, sha256, index_url, withdrawn, metadata))
    if not wheels and not others:
        raise IndexProblem(f"{page_url} lists no torch wheel")
    if not wheels:
        raise NothingFits(f"{page_url} has no torch wheel for this Python and machine")
    return wheels


def _links(page_url: str) -> list[dict[str, str | None]]:
    path = _path(page_url)
    page = _Links()
    try:
        if path is None:
            page.feed(_get(page_url))
        elif path.is_dir() and not (path / "index.html").exists():
            return [{"href": f"{path.as_uri()}/{quote(name)}"} for name in sorted(file.name for file in path.iterdir())]
        else:
            file = path / "index.html" if path.is_dir() else path
            page.feed(file.read_text(encoding="utf-8", errors="replace"))
    except OSError as error:
        raise IndexProblem(f"{page_url} cannot be read ({error.strerror})") from error
    except AssertionError:
        return []  # of the parser, which knows no marked section but those of HTML
    return page.found


def _get(url: str) -> str:
    try:
        content, _ = read(url, at_most=MAX_PAGE_BYTES, seconds=PAGE_SECONDS, headers={"Accept": "text/html"})
    except DownloadProblem as problem:
        raise IndexProblem(str(problem)) from problem
    return content.decode("utf-8", "replace")


def _path(url: str) -> Path | None:
    return Path(url2pathname(urlsplit(url).path)) if url.startswith("file:") else None


class _Links(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.found: list[dict[str, str | None]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag == "a" and values.get("href"):
            self.found.append(values)
