"""Downloads over HTTP from servers that may be slow, disconnect or answer wrongly; each within a time limit.

Server errors and broken connections are retried, and a broken download is resumed (RFC 9110, "Range requests"). A file
appears only when it is complete and has the stated checksum.
"""

from __future__ import annotations

import contextlib
import hashlib
import re
import shutil
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    import requests  # its import takes a quarter of a command's start, so the functions that use it import it

TIMEOUT_SECONDS = (10, 30)
"""For connecting, and between two pieces of an answer."""
PAUSES = (1.0, 4.0)
"""Seconds before each further attempt."""
ATTEMPTS = len(PAUSES) + 1
PIECE = 1 << 18
KEPT = 5
"""Downloads that stay in a folder: wheels of torch have up to a gigabyte each."""

_PLAIN = {"Accept-Encoding": "identity"}
_PERMANENT = (("NameResolution", "host name not resolved"), ("refused", "connection refused"), ("SSL", "TLS failed"))
_TEMPORARY = (("timed out", "timed out"), ("unreachable", "network unreachable"))


class DownloadProblem(Exception):
    """The download failed. Its text is a reason for people."""


class _Retry(Exception):
    """An attempt failed for a reason that may be temporary."""


@dataclass(frozen=True)
class _Answer:
    status: int
    headers: Mapping[str, str]
    pieces: Iterator[bytes]
    addresses: tuple[str, ...]


def read(
    url: str, *, at_most: int, seconds: float, headers: Mapping[str, str] | None = None, private: bool = False
) -> tuple[bytes, str]:
    """The content of a page, or with a ``Range`` header a part of a file; and its ``Content-Range``.

    Both are empty if the server does not support ranges.

    Args:
        at_most: bytes; a longer answer is a problem.
        seconds: the time for each of the attempts.
        headers: sent along.
        private: refuse redirects to addresses without TLS, except on this machine.

    Raises:
        DownloadProblem: there is no such page, it is too long, or the server stays broken.

    """
    for last in _attempts():
        try:
            with _get(url, headers or {}, time.monotonic() + seconds) as answer:
                content = b""
                if private and not all(map(is_private, answer.addresses)):
                    raise DownloadProblem(f"{url} leads to an address without TLS")
                if headers and "Range" in headers and answer.status != 206:
                    return b"", ""
                for piece in answer.pieces:
                    content += piece
                    if len(content) > at_most:
                        raise DownloadProblem(f"{url} answered with more than {at_most >> 20} MiB")
                return content, answer.headers.get("Content-Range", "")
        except _Retry as again:
            if last:
                raise DownloadProblem(str(again)) from again
    raise AssertionError("the last attempt returns or raises")


def download(url: str, file: Path, *, sha256: str | None, seconds: float, at_most: int | None = None) -> None:
    """Download a file, which appears when it is complete and has the checksum.

    Args:
        file: the target; a file with ``.part`` appended to its name is overwritten.
        sha256: the checksum that it must have, if one was stated.
        seconds: the time for all attempts together.
        at_most: bytes; a longer file is a problem.

    Raises:
        DownloadProblem: it is not complete in that time, is too long, or has another checksum.

    """
    part = file.with_name(f"{file.name}.part")
    part.unlink(missing_ok=True)
    until, tag = time.monotonic() + seconds, ""
    for last in _attempts():
        have = part.stat().st_size if part.exists() else 0
        # If the file has changed in between, the server sends all of it (RFC 9110, "If-Range").
        headers = {**_PLAIN, **({"Range": f"bytes={have}-", "If-Range": tag} if have and tag else {})}
        try:
            with _get(url, headers, until) as answer:
                tag = answer.headers.get("ETag", "")
                goes_on = answer.status == 206 and answer.headers.get("Content-Range", "").startswith(f"bytes {have}-")
                with part.open("ab" if goes_on else "wb") as stream:
                    for piece in answer.pieces:
                        stream.write(piece)
                        if at_most is not None and stream.tell() > at_most:
                            raise DownloadProblem(f"{url} is larger than {at_most >> 20} MiB")
            if sha256 is not None and (got := checksum(part)) != sha256:
                part.unlink()
                raise _Retry(f"{url} is not the file that was promised: its SHA-256 is {got}, stated is {sha256}")
        except DownloadProblem:
            part.unlink(missing_ok=True)
            raise
        except _Retry as again:
            if last or time.monotonic() >= until:
                part.unlink(missing_ok=True)
                raise DownloadProblem(str(again)) from again
            continue
        part.replace(file)
        return


def downloaded(url: str, folder: Path, *, sha256: str | None, seconds: float) -> Path:
    """A file in a folder of downloads, where it is fetched once if its checksum is known; the oldest ones are removed.

    Raises:
        DownloadProblem: as by :func:`download`.

    """
    file = folder / hashlib.sha256(f"{url} {sha256}".encode()).hexdigest()[:16] / file_name(url)
    if sha256 is not None and file.is_file() and checksum(file) == sha256:
        file.touch()
        return file
    file.parent.mkdir(parents=True, exist_ok=True)
    download(url, file, sha256=sha256, seconds=seconds)
    for old in sorted(folder.glob("*/*.whl"), key=lambda path: path.stat().st_mtime)[:-KEPT]:
        shutil.rmtree(old.parent)
    return file


def file_name(url: str) -> str:
    """The file name at the end of an address."""
    return unquote(urlsplit(url).path.rpartition("/")[2])


def checksum(file: Path) -> str:
    """SHA-256 of a file."""
    digest = hashlib.sha256()
    with file.open("rb") as stream:
        while piece := stream.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


def _attempts() -> Iterator[bool]:
    """Whether this is the last attempt, for each, with a pause before all but the first."""
    for number, pause in enumerate((0.0, *PAUSES), start=1):
        time.sleep(pause)
        yield number == ATTEMPTS


@contextlib.contextmanager
def _get(url: str, headers: Mapping[str, str], until: float) -> Iterator[_Answer]:
    import requests
    import urllib3

    try:
        with requests.get(url, timeout=TIMEOUT_SECONDS, headers=dict(headers), stream=True) as response:
            status = response.status_code
            if status >= 500 or status in (408, 425, 429):
                raise _Retry(f"{url} answered {status}")
            if status >= 400:
                raise DownloadProblem(f"{url} answered {status}")
            addresses = (*(earlier.url for earlier in response.history), response.url)
            yield _Answer(status, response.headers, pieces(response, until), addresses)
    except TooSlow as error:
        raise _Retry(f"{url} is too slow") from error
    except requests.exceptions.ConnectionError as error:
        for sign, meaning in _PERMANENT:
            if sign in str(error):
                raise DownloadProblem(f"{url} cannot be reached ({meaning})") from error
        cause = next((meaning for sign, meaning in _TEMPORARY if sign in str(error)), "no connection")
        raise _Retry(f"{url} cannot be reached ({cause})") from error
    except requests.exceptions.TooManyRedirects as error:
        raise DownloadProblem(f"{url} is redirected in a circle") from error
    except ValueError as error:  # requests derives its errors about addresses from it
        raise DownloadProblem(f"{url} is no address of a page, or leads to none") from error
    except (requests.exceptions.RequestException, urllib3.exceptions.HTTPError) as error:
        raise _Retry(f"{url} did not answer whole ({type(error).__name__})") from error


def is_private(address: str) -> bool:
    """Whether nobody on the way can read or change what an address answers: it has TLS, or is on this machine."""
    try:
        parts = urlsplit(address)
        host = parts.hostname
    except ValueError:
        return False
    on_this_machine = parts.scheme == "http" and host in ("localhost", "127.0.0.1", "::1")
    return bool(host) and (parts.scheme == "https" or on_this_machine)


class TooSlow(Exception):
    """An answer has not ended within its time."""


def pieces(response: requests.Response, until: float) -> Iterator[bytes]:
    """The content of an answer, piece by piece as they come: waiting for a full one, a trickle would go on for ever.

    Raises:
        TooSlow: it has not ended at a time (monotonic).

    """
    if response.is_redirect:
        yield response.content  # requests has read it, to find out where it leads
    while piece := response.raw.read1(PIECE, decode_content=True):
        yield piece
        if time.monotonic() >= until:
            raise TooSlow


TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]{1,20000}")
"""A token that can be sent in a header; an error about any other would print it."""


class Bearer:
    """Sends a token, or with None nothing; without it, requests would send a password that it finds in ``.netrc``."""

    def __init__(self, token: str | None) -> None:
        self._token = token

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """Add the header."""
        if self._token:
            request.headers["Authorization"] = f"Bearer {self._token}"
        return request


LINK_TIMEOUT_SECONDS = (10, 20)
MAX_REDIRECTS = 10
GONE = (404, 410)
"""Statuses of a missing page; servers give any other also when they are busy or refuse programs."""


class LinkUnclear(Exception):
    """It is unclear whether the address exists. Its text is the reason."""


def leads_somewhere(address: str) -> bool:
    """Whether an address exists.

    Raises:
        LinkUnclear: there is no connection, or the response does not tell.

    """
    import requests

    try:
        with requests.Session() as session:  # noqa: TID251
            session.max_redirects = MAX_REDIRECTS
            # GET and not HEAD, which some servers refuse; the content is not read.
            headers = {"User-Agent": "ootci", "Accept": "*/*"}
            # No password is sent to an address that a stranger wrote down.
            with session.get(
                address, timeout=LINK_TIMEOUT_SECONDS, headers=headers, auth=Bearer(None), stream=True
            ) as response:
                status = response.status_code
    except requests.exceptions.TooManyRedirects:
        raise LinkUnclear(f"it is redirected more than {MAX_REDIRECTS} times") from None
    except (requests.exceptions.RequestException, ValueError) as error:
        raise LinkUnclear(f"it cannot be asked ({type(error).__name__})") from error
    if status in GONE:
        return False
    if status >= 400:
        raise LinkUnclear(f"it answered {status}")
    return True
