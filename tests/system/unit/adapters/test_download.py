"""Downloading from a server on loopback that breaks off, trickles, lies, is busy, or says nothing."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from loopback import Quiet, Server, running
from torch_server import Fault, TorchServer, serve_torch_index

from ootci.adapters import download as module
from ootci.adapters.download import ATTEMPTS, KEPT, DownloadProblem, download, downloaded, read

NAME = "torch-1.0-py3-none-any.whl"
PATH = f"/nightly/cpu/torch/{NAME}"
CONTENT = bytes(range(256)) * 4096
DIGEST = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TorchServer]:
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(module, "PAUSES", (0.0, 0.0))
    with serve_torch_index(tmp_path / "index") as found:
        found.files[PATH] = CONTENT
        yield found


def _download(server: TorchServer, folder: Path, sha256: str | None = DIGEST, seconds: float = 60) -> Path:
    file = folder / NAME
    try:
        download(server.address + PATH, file, sha256=sha256, seconds=seconds)
    finally:
        left = {path.name for path in folder.iterdir()} - {"index"}
    assert left == {NAME}
    return file


def _expect_refusal(
    server: TorchServer, folder: Path, why: str, sha256: str | None = DIGEST, seconds: float = 60
) -> None:
    with pytest.raises(DownloadProblem, match=why):
        download(server.address + PATH, folder / NAME, sha256=sha256, seconds=seconds)
    assert {path.name for path in folder.iterdir()} - {"index"} == set(), "a file that cannot be used was left"


def test_a_file_comes_whole_and_is_asked_for_once(server: TorchServer, tmp_path: Path) -> None:
    assert _download(server, tmp_path).read_bytes() == CONTENT
    assert [asked.part for asked in server.asked] == [None]


def test_a_folder_of_downloads_asks_once_and_keeps_the_last(server: TorchServer, tmp_path: Path) -> None:
    server.files |= {f"/{number}{PATH}": CONTENT for number in range(KEPT + 1)}
    folder, urls = tmp_path / "torch", [f"{server.address}/{number}{PATH}" for number in range(KEPT + 1)]
    files = [downloaded(url, folder, sha256=DIGEST, seconds=60) for url in [*urls[:KEPT], urls[0], urls[KEPT]]]
    assert len(server.asked) == KEPT + 1
    assert files[0] == files[KEPT]
    assert sorted(folder.glob("*/*")) == sorted({*files} - {files[1]})


def test_half_a_download_goes_on_where_it_broke_off(server: TorchServer, tmp_path: Path) -> None:
    server.faults[NAME] = [Fault.HALF, Fault.HALF]
    assert _download(server, tmp_path).read_bytes() == CONTENT
    half = len(CONTENT) // 2
    assert [asked.part for asked in server.asked] == [None, f"bytes={half}-", f"bytes={half + half // 2}-"]


def test_a_server_that_hands_out_whole_files_only_begins_anew(server: TorchServer, tmp_path: Path) -> None:
    server.faults[NAME], server.parts = [Fault.HALF], False
    assert _download(server, tmp_path, None).read_bytes() == CONTENT


def test_halves_of_two_files_are_never_put_together(
    server: TorchServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.faults[NAME] = [Fault.HALF]
    other = CONTENT[::-1]
    monkeypatch.setattr(module.time, "sleep", lambda _: server.files.update({PATH: other if server.asked else CONTENT}))
    assert _download(server, tmp_path, None).read_bytes() == other
    assert server.asked[1].part is not None


def test_a_download_that_always_breaks_off_at_the_start_is_given_up(server: TorchServer, tmp_path: Path) -> None:
    server.stays[NAME], server.parts = Fault.HALF, False
    _expect_refusal(server, tmp_path, "did not answer whole", None)
    assert len(server.asked) == ATTEMPTS


def test_a_wrong_checksum_is_refused_with_both(server: TorchServer, tmp_path: Path) -> None:
    _expect_refusal(server, tmp_path, f"its SHA-256 is {DIGEST}, stated is {'0' * 64}", "0" * 64)


def test_a_trickle_is_given_up_when_the_time_is_over(server: TorchServer, tmp_path: Path) -> None:
    server.stays[NAME] = Fault.TRICKLE
    _expect_refusal(server, tmp_path, "is too slow", seconds=0.3)
    assert len(server.asked) == 1
    with pytest.raises(DownloadProblem, match="is too slow"):
        read(server.address + PATH, at_most=1 << 30, seconds=0.1)


def test_a_server_that_says_nothing_is_given_up(
    server: TorchServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "TIMEOUT_SECONDS", (5, 0.1))
    server.stays[NAME] = Fault.SILENT
    _expect_refusal(server, tmp_path, "did not answer|cannot be reached")


def test_a_busy_server_is_asked_again(server: TorchServer, tmp_path: Path) -> None:
    server.faults[NAME] = [Fault.BUSY, Fault.BUSY]
    assert _download(server, tmp_path).read_bytes() == CONTENT


@pytest.mark.parametrize(("fault", "why", "times"), [(Fault.BUSY, "503", ATTEMPTS), (Fault.GONE, "404", 1)])
def test_a_server_that_stays_busy_is_given_up_and_what_is_gone_at_once(
    server: TorchServer, tmp_path: Path, fault: Fault, why: str, times: int
) -> None:
    server.stays[NAME] = fault
    _expect_refusal(server, tmp_path, f"answered {why}")
    assert len(server.asked) == times


def test_the_rest_of_an_earlier_download_is_not_trusted(server: TorchServer, tmp_path: Path) -> None:
    (tmp_path / f"{NAME}.part").write_bytes(b"x" * 100)
    assert _download(server, tmp_path).read_bytes() == CONTENT


def test_half_a_page_is_asked_for_again(server: TorchServer) -> None:
    server.faults["torch"] = [Fault.HALF]
    content, _ = read(f"{server.address}/nightly/cpu/torch/", at_most=1 << 20, seconds=60)
    assert content == server.page("/nightly/cpu/torch/")


class _Circle(Quiet):
    """Redirects every address to itself."""

    def do_GET(self) -> None:
        self.answer(302, b"", {"Location": self.path})


def test_a_redirect_in_a_circle_is_not_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PAUSES", ())  # which would be asked for, and is not there
    with running(Server(_Circle)) as server, pytest.raises(DownloadProblem, match="is redirected in a circle"):
        read(f"{server.url}/torch/", at_most=9, seconds=60)


@pytest.mark.parametrize("address", ["download.pytorch.org/whl", "ftp://127.0.0.1/whl", "http://[/whl"])
def test_what_is_no_address_is_not_tried_again(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    monkeypatch.setattr(module, "PAUSES", ())
    with pytest.raises(DownloadProblem, match="is no address of a page"):
        read(address, at_most=9, seconds=60)
