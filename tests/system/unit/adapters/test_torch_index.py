"""PyTorch's package index, as a server on this machine plays it: complete, broken, hostile."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from loopback import Quiet, Server, running, serving
from packaging.tags import Tag
from packaging.version import Version

from ootci.adapters import download, torch_index
from ootci.adapters.torch_index import (
    IndexProblem,
    NothingFits,
    TorchWheel,
    is_version,
    linked,
    listed,
    nightlies,
    tags_of,
)

TAGS = frozenset({Tag("cp311", "cp311", "linux_x86_64"), Tag("py3", "none", "any")})
FITS = "cp311-cp311-linux_x86_64.whl"


@dataclass(frozen=True)
class Index:
    """An index with one page."""

    folder: Path
    url: str

    def page(self, *links: str) -> None:
        self.holds("".join(f"<a {link}>x</a>\n" for link in links).encode())

    def holds(self, content: bytes) -> None:
        (self.folder / "index.html").write_bytes(content)


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    folder = tmp_path / "whl" / "cpu" / "torch"
    folder.mkdir(parents=True)
    with running(serving(tmp_path)) as server:
        yield Index(folder, f"{server.url}/whl/cpu")


def _newest(index_url: str) -> TorchWheel:
    return max((wheel for wheel in listed(index_url, TAGS) if wheel.withdrawn is None), key=lambda wheel: wheel.version)


def test_the_newest_nightly_is_the_highest_version_and_not_the_last_link(index: Index) -> None:
    index.page(
        f'href="/whl/nightly/torch-2.14.0.dev20261120%2Bcpu-{FITS}#sha256=aa"',
        f'href="/whl/nightly/torch-2.15.0.dev20261121%2Bcpu-{FITS}#sha256=bb"',
        f'href="/whl/nightly/torch-2.15.0.dev20261119%2Bcpu-{FITS}"',
    )
    found = nightlies(index.url, TAGS)[-1]
    assert found.version == Version("2.15.0.dev20261121+cpu")
    assert found.url == f"{index.url.removesuffix('/whl/cpu')}/whl/nightly/torch-2.15.0.dev20261121%2Bcpu-{FITS}"
    assert found.sha256 == "bb"
    assert found.index_url == index.url


def test_relative_links_start_at_the_page(index: Index) -> None:
    index.page(f'href="torch-2.0-{FITS}"')
    found = _newest(index.url)
    assert found.url == f"{index.url}/torch/torch-2.0-{FITS}"
    assert found.sha256 is None


def test_withdrawn_files_and_wheels_for_others_are_passed_over(index: Index) -> None:
    index.page(
        f'href="torch-9.0-{FITS}" data-yanked="broken"',
        f'href="torch-8.0-{FITS}" data-yanked',
        'href="torch-7.0-cp39-cp39-linux_x86_64.whl"',
        'href="torch-7.0-cp311-cp311-win_amd64.whl"',
        f'href="torchvision-7.0-{FITS}"',
        'href="torch-7.0.tar.gz"',
        f'href="torch-1.0-{FITS}"',
    )
    assert _newest(index.url).version == Version("1.0")


def test_the_nightlies_are_in_order_each_once_and_without_releases_and_what_was_withdrawn(index: Index) -> None:
    index.page(
        *(f'href="torch-2.15.0.dev202611{day}%2Bcpu-{FITS}"' for day in ("21", "03", "21", "19")),
        f'href="torch-2.15.0.dev20261120%2Bcpu-{FITS}" data-yanked',
        f'href="torch-2.14.0.dev20261010%2Bcpu-{FITS}"',
        f'href="torch-2.14.0-{FITS}"',
    )
    versions = [str(wheel.version) for wheel in nightlies(index.url, TAGS)]
    assert versions == [
        "2.14.0.dev20261010+cpu",
        "2.15.0.dev20261103+cpu",
        "2.15.0.dev20261119+cpu",
        "2.15.0.dev20261121+cpu",
    ]


@pytest.mark.parametrize(
    ("found", "wanted", "is_it"),
    [
        ("2.13.0+cpu", "2.13.0", True),
        ("2.13.0+cpu", "2.13", True),
        ("2.13.0+cpu", "2.13.0+cpu", True),
        ("2.12.0", "2.12.0", True),
        ("2.13.0+cpu", "2.13.0+rocm", False),
        ("2.12.0", "2.12.0+cpu", False),
        ("2.13.1", "2.13.0", False),
    ],
)
def test_a_version_is_wanted_with_or_without_its_local_part(found: str, wanted: str, is_it: bool) -> None:
    assert is_version(Version(found), Version(wanted)) is is_it


@pytest.mark.parametrize(
    ("attribute", "beside"),
    [("", False), ('data-core-metadata="sha256=aa"', True), ('data-dist-info-metadata="true"', True)],
)
def test_it_is_known_whether_the_metadata_lies_beside_a_wheel(index: Index, attribute: str, beside: bool) -> None:
    index.page(f'href="torch-1.0-{FITS}" {attribute}')
    assert _newest(index.url).metadata is beside


def test_a_page_that_lists_torch_for_others_is_told_from_one_that_lists_none(index: Index) -> None:
    index.page('href="torch-7.0-cp39-cp39-linux_x86_64.whl"')
    with pytest.raises(NothingFits, match="has no torch wheel for this Python and machine"):
        listed(index.url, TAGS)
    index.page(f'href="torchvision-7.0-{FITS}"')
    with pytest.raises(IndexProblem, match="lists no torch wheel") as caught:
        listed(index.url, TAGS)
    assert not isinstance(caught.value, NothingFits)


def test_the_python_of_a_device_has_tags_of_its_own() -> None:
    assert Tag("cp312", "cp312", "any") not in tags_of("3.12")
    assert {tag.interpreter for tag in tags_of("3.12") if tag.abi == "cp312"} == {"cp312"}
    assert Tag("py3", "none", "any") in tags_of("3.12")
    assert not any(tag.interpreter == "cp313" for tag in tags_of("3.12"))


def test_wheels_lie_in_folders_too(tmp_path: Path) -> None:
    folder = tmp_path / "an index" / "torch"
    folder.mkdir(parents=True)
    for name in (f"torch-1.0+cpu-{FITS}", "torch-2.0.tar.gz", f"torchvision-3.0-{FITS}"):
        (folder / name).touch()
    (wheel,) = linked(folder.as_uri(), TAGS)
    assert (wheel.path, str(wheel.version), wheel.index_url) == (folder / f"torch-1.0+cpu-{FITS}", "1.0+cpu", None)
    (folder / "index.html").write_text(f'<a href="../files/torch-1.5-{FITS}">x</a>', encoding="utf-8")
    (wheel,) = listed(folder.parent.as_uri(), TAGS)
    assert wheel.path == folder.parent / "files" / f"torch-1.5-{FITS}"
    with pytest.raises(IndexProblem, match="cannot be read"):
        linked((tmp_path / "gone").as_uri(), TAGS)


def test_a_refused_connection_is_said_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with Server(Quiet) as server:
        port = server.server_address[1]
    with pytest.raises(IndexProblem, match=r"cannot be reached \(connection refused\)"):
        _newest(f"http://127.0.0.1:{port}/whl/cpu")


def test_a_name_that_nobody_knows_is_said_in_words() -> None:
    with pytest.raises(IndexProblem, match="cannot be reached"):
        _newest("http://index.invalid/whl/cpu")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\x00\xff\xfe" * 1000,
        b"<a href=",
        b"<" * 50_000,
        b'<a href="http://[bad/torch-9.0-py3-none-any.whl">x</a>',
        b'<a href="file:///etc/torch-9.0-py3-none-any.whl">x</a>',
        b'<a href="javascript:torch-9.0-py3-none-any.whl">x</a>',
        b'<a href="torch-9.0-py3-none-any.whl.exe">x</a>',
        b'<a href="torch-not.a.version!-py3-none-any.whl">x</a>',
        b'<a href="torch--py3-none-any.whl">x</a>',
        b"<a href>x</a>",
        b'<a href="%ff%fe.whl#sha256=">x</a>',
        b"<![x<",
        b"\x00\xff<![\x00[",
    ],
)
def test_a_hostile_page_is_a_page_without_a_wheel(index: Index, body: bytes) -> None:
    index.holds(body)
    with pytest.raises(IndexProblem, match="lists no torch wheel"):
        _newest(index.url)


def test_a_page_without_end_is_given_up(index: Index, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch_index, "MAX_PAGE_BYTES", 1 << 20)
    monkeypatch.setattr(download, "PAUSES", ())  # which would be asked for if it were tried again
    index.holds(b'<a href="torch-9.0-py3-none-any.whl">x</a>' + b" " * (3 << 20))
    with pytest.raises(IndexProblem, match="more than 1 MiB"):
        _newest(index.url)


def test_a_mirror_can_be_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert torch_index.nightly_index("cpu") == "https://download.pytorch.org/whl/nightly/cpu"
    assert torch_index.release_index("cpu") == "https://download.pytorch.org/whl/cpu"
    monkeypatch.setenv("OOTCI_NIGHTLY_INDEX", "http://mirror/n/")
    monkeypatch.setenv("OOTCI_RELEASE_INDEX", "http://mirror/r")
    assert torch_index.nightly_index("cu130") == "http://mirror/n/cu130"
    assert torch_index.release_index("cu130") == "http://mirror/r/cu130"
