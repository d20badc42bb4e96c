"""One run as one line of JSON, as what differs from a run before it, and back.

A line holds what a run says besides its tests (values that are the same in many runs by their number in a table), the
states of its tests as the changes against an earlier line of the same file, and a checksum of all that.
"""

from __future__ import annotations

import contextlib
import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from pydantic import ValidationError

from ootci.errors import HistoryCorrupt
from ootci.model.outcome import OutcomeName
from ootci.model.record import check_version, utc_text
from ootci.model.run import Run
from ootci.model.signature import Signature

from .states import decode, encode, row_text, rows_of
from .stored import StoredRun
from .tables import RESTORE, UNSEALED, TestTable, ValueTable, compact

_OWN = (
    "schema_version",
    "id",
    "plan_id",
    "device",
    "attempt",
    "queued_at",
    "started_at",
    "finished_at",
    "stages",
    "suites",
)


def write_line(run: StoredRun, tests: TestTable, values: ValueTable, bases: Mapping[int, bytes]) -> bytes:
    """The line of a run.

    Args:
        run: the run.
        tests: the table of tests.
        values: the table of the month.
        bases: the states of those lines before, by number, of which the one that differs least is taken.

    """
    head = json.loads(run.head.model_dump_json(exclude_defaults=True))
    line: dict[str, Any] = {"plan": run.head.plan_id, "attempt": run.head.attempt, "id": run.head.id}
    line["at"] = utc_text(run.head.started_at)
    line["ms"] = _milliseconds(run.head.finished_at - run.head.started_at)
    if run.head.queued_at is not None:
        line["queued"] = _milliseconds(run.head.started_at - run.head.queued_at)
    line["version"] = run.head.schema_version
    line["values"] = {key: values.number_of(value) for key, value in head.items() if key not in _OWN}
    line["stages"], line["times"] = _stages(run.head, head.get("stages", []), values)
    line["suites"] = values.number_of(
        [{k: v for k, v in suite.items() if k != "counts"} for suite in head.get("suites", [])]
    )
    line["counts"] = [suite.get("counts", {}) for suite in head.get("suites", [])]
    line |= _tests(run, values, bases)
    return _sealed(compact(line), line, run.states, tests, values)


def _stages(run: Run, stages: list[dict[str, Any]], values: ValueTable) -> tuple[int, list[list[float | None]]]:
    times: list[list[float | None]] = []
    for stage, record in zip(stages, run.stages, strict=True):
        start = _milliseconds(record.started_at - run.started_at) if record.started_at else None
        times.append([start, stage.get("duration", 0)])
    fixed = [{k: v for k, v in stage.items() if k not in ("started_at", "duration")} for stage in stages]
    return values.number_of(fixed), times


def _tests(run: StoredRun, values: ValueTable, bases: Mapping[int, bytes]) -> dict[str, Any]:
    best: dict[str, Any] = {"tests": encode(b"", run.states)}
    for number, states in sorted(bases.items()):
        found: dict[str, Any] = {"base": number, "tests": encode(states, run.states)}
        if len(compact(found)) < len(compact(best)):
            best = found
    again: dict[str, list[int]] = {}
    for row, later in sorted(run.attempts.items()):
        again.setdefault(" ".join(outcome.value for outcome in later), []).append(row)
    signed: dict[str, list[int]] = {}
    for row, signature in sorted(run.signatures.items()):
        signed.setdefault(str(values.number_of(signature.model_dump())), []).append(row)
    if again:
        best["again"] = {key: row_text(rows) for key, rows in again.items()}
    if signed:
        best["signatures"] = {key: row_text(rows) for key, rows in signed.items()}
    return best


@dataclass(frozen=True)
class Line:
    """A line whose checksum is right: what it says, and the states of the run's tests."""

    says: dict[str, Any]
    states: bytes


def open_line(text: bytes, tests: TestTable, values: ValueTable, earlier: Sequence[bytes], where: str) -> Line:
    """What a line says.

    Args:
        text: the line.
        tests: the table of tests.
        values: the table of the month.
        earlier: the states of the file's lines before, oldest first.
        where: the line's place, for errors.

    Raises:
        HistoryCorrupt: the line cannot be read back.
        StageFileVersion: a newer version of the tool wrote it.

    """
    with _told(where):
        line = json.loads(text)
        check_version(Run, line["version"], where=where)
        base = earlier[line["base"]] if "base" in line else b""
        states = decode(base, line["tests"], len(tests))
        # As it stands there, because writing it again takes as long as reading it.
        if _sealed(text[:UNSEALED] + b"}", line, states, tests, values) != text:
            raise ValueError("the checksum is wrong")
        return Line(line, states)


def read_line(device: str, line: Line, tests: TestTable, values: ValueTable, where: str) -> StoredRun:
    """The run of a line of a device's file.

    Raises:
        HistoryCorrupt: the line cannot be read back.

    """
    with _told(where):
        attempts = {
            row: tuple(OutcomeName(name) for name in key.split())
            for key, rows in line.says.get("again", {}).items()
            for row in rows_of(rows)
        }
        signatures = {
            row: signature
            for key, rows in line.says.get("signatures", {}).items()
            for signature in (values.record(Signature, int(key)),)
            for row in rows_of(rows)
        }
        return StoredRun(_head(device, line.says, values, where), tests, line.states, attempts, signatures)


@contextlib.contextmanager
def _told(where: str) -> Iterator[None]:
    try:
        yield
    except (ValueError, KeyError, IndexError, TypeError, AttributeError, OverflowError, ValidationError) as error:
        raise HistoryCorrupt(f"the run cannot be read back: {error}", where=where, fix=RESTORE) from error


def _head(device: str, line: dict[str, Any], values: ValueTable, where: str) -> Run:
    started = datetime.fromisoformat(line["at"].replace("Z", "+00:00"))
    stages = [
        {
            **stage,
            "duration": duration,
            **({} if start is None else {"started_at": started + timedelta(milliseconds=start)}),
        }
        for stage, (start, duration) in zip(values.value(line["stages"]), line["times"], strict=True)
    ]
    suites = [
        {**suite, "counts": counts} for suite, counts in zip(values.value(line["suites"]), line["counts"], strict=True)
    ]
    head = {
        **{key: values.value(number) for key, number in line["values"].items()},
        "schema_version": line["version"],
        "id": line["id"],
        "plan_id": line["plan"],
        "device": device,
        "attempt": line["attempt"],
        "queued_at": started - timedelta(milliseconds=line["queued"]) if "queued" in line else None,
        "started_at": started,
        "finished_at": started + timedelta(milliseconds=line["ms"]),
        "stages": stages,
        "suites": suites,
    }
    return Run.model_validate(head)


def _sealed(text: bytes, line: dict[str, Any], states: bytes, tests: TestTable, values: ValueTable) -> bytes:
    """The text of a line with a checksum of itself, of its tests and of the values that it names."""
    # Rows that came into the table later are absent from the run, and do not change its checksum.
    own = states.rstrip(b"\0")
    numbers = [*line["values"].values(), line["stages"], line["suites"], *map(int, line.get("signatures", {}))]
    found = values.checksum(numbers, zlib.crc32(own, zlib.crc32(text, tests.checksum(len(own)))))
    return text[:-1] + b',"crc":"%08x"}' % found


def _milliseconds(span: timedelta) -> int:
    return round(span / timedelta(milliseconds=1))
