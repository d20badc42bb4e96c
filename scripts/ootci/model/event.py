"""events.jsonl: what happened during a device run, one JSON object a line, readable up to the last whole line.

The suites' harness writes the events of pytest (``tests/device/README.md`` has the protocol); the stage ``test`` adds
the stages' beginnings and ends, and the ends of tests that could not report their own.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from ootci.model.accuracy import Accuracy
from ootci.model.build import AnyStage, StageResult, StageStatus
from ootci.model.outcome import OutcomeName, Way, way
from ootci.model.record import Time, open_plain
from ootci.model.run import ReportState
from ootci.model.training import Training

MAX_LINE_BYTES = 16 * 1024 * 1024
"""The longest event lists every test of a suite; a longer line is ignored."""

Seconds = Annotated[float, Field(ge=0, le=1e7)]
Attempt = Annotated[int, Field(ge=1, le=100)]
"""1 unless a test was retried."""
Count = Annotated[int, Field(ge=0, le=10**9)]


class _Event(BaseModel):
    # Events come from the device's process, which may run a newer harness: unknown keys are ignored.
    model_config = ConfigDict(frozen=True, extra="ignore", allow_inf_nan=False, defer_build=True)

    time: Time | None = None


@dataclass(slots=True, unsafe_hash=True)
class CollectedTest:
    """One test that pytest collected. One event lists thousands, so it is as compact as an outcome."""

    __pydantic_config__ = ConfigDict(extra="ignore")

    id: str
    suite: str | None = None
    capability: str | None = None
    title: str | None = None
    declaration: str | None = None
    shard: int | None = None


class SessionStart(_Event):
    """A pytest process began."""

    event: Literal["session_start"] = "session_start"
    pid: int | None = None


class Collected(_Event):
    """What a pytest process is going to run."""

    event: Literal["collected"] = "collected"
    tests: tuple[CollectedTest, ...] = ()


class Sharded(_Event):
    """Which of a suite's tests belong to a share of the run: all of them are told, so that none can be lost."""

    event: Literal["shard"] = "shard"
    index: int
    count: int
    tests: tuple[CollectedTest, ...] = ()


class Dealt(_Event):
    """Which workers import which files of PyTorch's own tests: another one can name the files of one that died."""

    event: Literal["dealt"] = "dealt"
    files: dict[str, tuple[int, ...]] = Field(default_factory=dict)
    """The workers of each file, from 1, by the file's part of its tests' ids."""


class CollectError(_Event):
    """A file that could not be collected."""

    event: Literal["collect_error"] = "collect_error"
    id: str
    message: str | None = None
    text: str | None = None


class ImportStart(_Event):
    """A file of PyTorch's own tests is about to be imported, which may end or hang the process."""

    event: Literal["import_start"] = "import_start"
    id: str
    """The test that stands for the import."""


_MEASURED: TypeAdapter[Accuracy | Training] = TypeAdapter(Accuracy | Training, config=ConfigDict(defer_build=True))


def _measured(said: object) -> Accuracy | Training | None:
    """What a test measured; None where it is not valid: that costs no outcome."""
    try:
        return _MEASURED.validate_python(said)
    except ValidationError:
        return None


class TestStart(_Event):
    """A test began."""

    event: Literal["test_start"] = "test_start"
    id: str
    attempt: Attempt = 1


class TestEnd(_Event):
    """A test ended, or was ended."""

    event: Literal["test_end"] = "test_end"
    id: str
    outcome: OutcomeName
    attempt: Attempt = 1
    duration: Seconds = 0.0
    message: str | None = None
    text: str | None = None
    output: str | None = None
    ran: Annotated[Way | None, BeforeValidator(way)] = None
    measured: Annotated[Accuracy | Training | None, BeforeValidator(_measured)] = None


class UnknownIds(_Event):
    """Ids that were requested and match no test."""

    event: Literal["unknown_ids"] = "unknown_ids"
    ids: tuple[str, ...] = ()


class SessionEnd(_Event):
    """A pytest process ended in an orderly way."""

    event: Literal["session_end"] = "session_end"
    exit_status: int = 0


class OperatorUse(_Event):
    """How often one operator ran."""

    native: int = 0
    fallback: int = 0


class Operators(_Event):
    """Which operators a session used, as the device counted them."""

    event: Literal["operators"] = "operators"
    counts: dict[str, OperatorUse] = Field(default_factory=dict)


class DeclarationTried(_Event):
    """The tests that PyTorch does not make for the device because of one declaration, run separately."""

    passed: Count = 0
    seen: Count = 0
    """Those that passed and those that did not."""


class Declarations(_Event):
    """Declarations of the suite `upstream` that were tried again."""

    event: Literal["declarations"] = "declarations"
    tried: dict[str, DeclarationTried] = Field(default_factory=dict)


class Reported(_Event):
    """The state of the report of a suite that the vendor brings; its tests are reported as those of our suites."""

    event: Literal["report"] = "report"
    suite: AnyStage
    state: ReportState
    detail: str | None = None


class StageStart(_Event):
    """A stage of the run began."""

    event: Literal["stage_start"] = "stage_start"
    stage: AnyStage


class StageEnd(_Event):
    """A stage of the run ended."""

    event: Literal["stage_end"] = "stage_end"
    stage: AnyStage
    status: StageStatus
    duration: Seconds = 0.0
    reason: str | None = None
    excerpt: str | None = None
    log: str | None = None
    only_tests: bool = False
    facts: dict[str, str] = Field(default_factory=dict)
    """Versions of driver, firmware, runtime and SDK that the check command printed."""

    def result(self, started_at: datetime | None) -> StageResult:
        """The stage's result, once it is known when the stage began."""
        return StageResult(
            name=self.stage,
            status=self.status,
            started_at=started_at,
            duration=round(self.duration, 3),
            reason=self.reason,
            excerpt=self.excerpt,
            log=self.log,
            only_tests=self.only_tests,
        )


Event = Annotated[
    SessionStart
    | Collected
    | Sharded
    | Dealt
    | CollectError
    | ImportStart
    | TestStart
    | TestEnd
    | UnknownIds
    | SessionEnd
    | Operators
    | Declarations
    | Reported
    | StageStart
    | StageEnd,
    Field(discriminator="event"),
]

_EVENT: TypeAdapter[Event] = TypeAdapter(Event, config=ConfigDict(defer_build=True))


class Tail:
    """The whole lines of a log that others append to, from a position on."""

    def __init__(self, path: Path, position: int = 0) -> None:
        self._path = path
        self._position = position
        self._skipping = False

    def lines(self) -> Iterator[bytes]:
        """The lines appended since the last call; an unfinished last line waits for the next call."""
        try:
            stream = open_plain(self._path)
        except OSError:
            return
        with stream:
            stream.seek(self._position)
            while line := stream.readline(MAX_LINE_BYTES):
                whole = line.endswith(b"\n")
                if not whole and len(line) < MAX_LINE_BYTES:
                    return
                self._position += len(line)
                # The end of a line that was too long is not a line.
                if whole and not self._skipping:
                    yield line
                self._skipping = not whole


def read_events(path: Path) -> Iterator[Event]:
    """The events of a log. A missing log has none; lines that are no event, cut off or hostile, are passed over."""
    return (event for line in Tail(path).lines() if (event := parse_event(line)) is not None)


def parse_event(line: bytes) -> Event | None:
    """One event, or None when the line is none."""
    try:
        return _EVENT.validate_json(line)
    except ValidationError:
        return None


def append_event(path: Path, event: _Event, now: datetime) -> None:
    """Add one event to a log with a single write, on a line of its own even after one that was cut off."""
    append_events(path, (event,), now)


def append_events(path: Path, events: Iterable[_Event], now: datetime) -> None:
    """Add events to a log, as :func:`append_event`."""
    lines = "".join(
        [event.model_copy(update={"time": now}).model_dump_json(exclude_none=True) + "\n" for event in events]
    )
    if os.path.lexists(path) and (path.is_symlink() or not path.is_file()):
        # A device's process exchanged it: a pipe would be waited for, a link could lead anywhere.
        path.unlink()
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o644)
    try:
        size = os.fstat(descriptor).st_size
        begin = "\n" if size and os.pread(descriptor, 1, size - 1) != b"\n" else ""
        os.write(descriptor, (begin + lines).encode("utf-8", "replace"))  # noqa: TID251
    finally:
        os.close(descriptor)
