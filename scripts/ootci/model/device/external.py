"""Where the results of a device are that is not run here."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator

from ootci.model.record import Record

from .values import Url


def _private(address: str) -> str:
    try:
        parts = urlsplit(address)
    except ValueError:
        parts = urlsplit("")
    if not parts.hostname or parts.username:
        raise ValueError("it is no address of a file on the web")
    # Who can change the report in transit can change the verdict.
    if parts.scheme != "https" and parts.hostname not in ("localhost", "127.0.0.1", "::1"):
        raise ValueError("results are fetched from addresses that begin with https:// only")
    return address


class External(Record):
    """The device is run elsewhere, by its vendor, and nightlies take its results from there."""

    run: Annotated[Url, AfterValidator(_private)]
    """Address of the newest run.json, such as that of a release's asset; public, and the same every night."""
