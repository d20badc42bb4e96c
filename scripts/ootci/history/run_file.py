"""A run's file: what is known of the run, and a letter for each test of the lists that it names.

Suites are in the order in which they ran, and the tests of a suite in the order of their ids. A test's place is the
number of tests before it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar

from pydantic import ValidationError

from ootci.errors import HistoryCorrupt
from ootci.model.cluster import Signature
from ootci.model.outcome import FAILURES, Outcome, OutcomeName
from ootci.model.record import check_version, time_of, utc_text
from ootci.model.run import Run

from .layout import RESTORE, late_file, load, pack, run_file, tests_file, unpack
from .signature import signature_of
from .states import letters_of, state_of, states_of
from .stored import Late, StoredRun, head_of
from .tables import Places, TestTable, list_digest, read_list, write_list

K = TypeVar("K")

_NAMED = FAILURES | {OutcomeName.XFAILED}
"""The outcomes of tests that have a signature, if they have a text."""


def in_order(run: Run) -> list[Outcome]:
    """The outcomes of a run in the order of its file."""
    suites = {suite: number for number, suite in enumerate(dict.fromkeys(item.suite for item in run.outcomes))}
    return sorted(run.outcomes, key=lambda item: (suites[item.suite], item.id))


def write_run(run: Run, late: datetime | None = None) -> tuple[bytes, dict[str, bytes]]:
    """The file of a run, and the lists of tests that it names, by digest; ``late`` is when a late report arrived."""
    outcomes = in_order(run)
    tests, lists = [], {}
    for suite, items in groupby(outcomes, key=attrgetter("suite")):
        group = list(items)
        content = write_list(group)
        digest = list_digest(content)
        lists[digest] = content
        tests.append((suite, digest, bytes(state_of(item.outcome, item.ran) for item in group)))
    named = signatures_of(run)
    attempts = {item.id: " ".join(again.outcome.value for again in item.attempts) for item in outcomes if item.attempts}
    return pack_run(head_of(run), tests, _places(outcomes, attempts), _places(outcomes, named), late), lists


def signatures_of(run: Run) -> dict[str, Signature]:
    """The errors of a run's failing tests, by id; tests without a text have none."""
    found = {
        item.id: signature_of(run.device, item.outcome, item.message, item.text, test_id=item.id)
        for item in run.outcomes
        if item.outcome in _NAMED
    }
    return {test_id: signature for test_id, signature in found.items() if signature is not None}


def pack_run(
    head: Run,
    tests: Sequence[tuple[str, str, bytes]],
    attempts: Mapping[str, Sequence[int]],
    signatures: Mapping[Signature, Sequence[int]],
    late: datetime | None = None,
) -> bytes:
    """The content of a run's file.

    Args:
        head: the run without its tests.
        tests: each suite, the digest of the list of its tests, and their states.
        attempts: the places of tests that were retried, by the later outcomes.
        signatures: the places of tests that failed, by signature.
        late: when the report arrived, if it was late.

    """
    return pack(
        {
            "tests": [[suite, digest, *letters_of(states)] for suite, digest, states in tests],
            "run": json.loads(head.model_dump_json(exclude_defaults=True)) | {"schema_version": Run.VERSION},
            "attempts": attempts,
            "signatures": [[signature.id, signature.text, places] for signature, places in signatures.items()],
            **({"late": utc_text(late)} if late is not None else {}),
        }
    )


def _places(outcomes: Sequence[Outcome], keys: Mapping[str, K]) -> dict[K, list[int]]:
    """The places of tests by what they have in common; tests without it are left out."""
    found: dict[K, list[int]] = {}
    for place, item in enumerate(outcomes):
        if item.id in keys:
            found.setdefault(keys[item.id], []).append(place)
    return found


class RunReader:
    """Reads the files of a history's runs, and each list of tests once; the tests get rows in ``table``."""

    def __init__(self, folder: Path) -> None:
        self.table = TestTable()
        self._folder = folder
        self._lists: dict[str, Places] = {}
        self._places: dict[tuple[str, ...], Places] = {}

    def list(self, digest: str) -> Places:
        """The places of the tests of a list."""
        if digest not in self._lists:
            tests = read_list(tests_file(self._folder, digest))
            self._lists[digest] = Places.of(self.table.rows_of(tests))
        return self._lists[digest]

    def read(self, path: Path) -> StoredRun:
        """The run in a file.

        Raises:
            HistoryCorrupt: it cannot be read back.
            StageFileVersion: a newer version of the tool wrote it.

        """
        record = load(path)
        try:
            check_version(Run, record["run"]["schema_version"], where=str(path))
            places = self._places_of(tuple(digest for _, digest, _, _ in record["tests"]))
            letters = b"".join(
                states_of(outcomes, ways, self.list(digest).size) for _, digest, outcomes, ways in record["tests"]
            )
            states = bytearray(len(self.table))
            for row, place, size in places.spans:
                states[row : row + size] = letters[place : place + size]
            head = Run.model_validate(record["run"])
            in_time, late = run_file(path.parent, head.device, head.attempt), None
            if "late" in record:
                instead = self.read(in_time) if in_time.exists() else None
                late = Late(time_of(record["late"]), instead)
                in_time = late_file(path.parent, head.device, head.attempt)
            if (head.plan_id, in_time) != (path.parent.name, path):
                raise ValueError(f"it is the run {head.id}, attempt {head.attempt}")
            return StoredRun(
                head,
                self.table,
                bytes(states),
                dict(_attempts(record["attempts"], places)),
                dict(_by_row(record["signatures"], places)),
                places,
                late,
            )
        except (ValueError, KeyError, TypeError, IndexError, AttributeError, ValidationError) as error:
            raise HistoryCorrupt(f"the run cannot be read back: {error}", where=str(path), fix=RESTORE) from error

    def _places_of(self, digests: tuple[str, ...]) -> Places:
        if digests not in self._places:
            self._places[digests] = Places.joined(map(self.list, digests))
        return self._places[digests]


def _attempts(record: Mapping[str, list[int]], places: Places) -> Iterator[tuple[int, tuple[OutcomeName, ...]]]:
    for names, found in record.items():
        later = tuple(OutcomeName(name) for name in names.split())
        for place in found:
            yield places.rows[place], later


def _by_row(record: list[list[Any]], places: Places) -> Iterator[tuple[int, Signature]]:
    for name, text, found in record:
        signature = _signature(name, text)
        for place in found:
            yield places.rows[place], signature


@lru_cache(maxsize=4096)
def _signature(name: str, text: str) -> Signature:
    """The same failures are named night after night."""
    return Signature(id=name, text=text)


def lists_of(path: Path) -> list[str]:
    """The digests of the lists of tests that a run names, which are on the first line of its file.

    Raises:
        HistoryCorrupt: they cannot be read back.

    """
    try:
        with path.open("rb") as stream:
            line = stream.readline()
        return [digest for _, digest, _, _ in json.loads(line.rstrip(b",\n") + b"}")["tests"]]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise HistoryCorrupt(f"the run cannot be read back: {error}", where=str(path), fix=RESTORE) from error


def is_same(one: bytes, other: bytes, where: Path) -> bool:
    """Whether two files say the same of a run, whenever it arrived, and whatever version named its failures.

    Raises:
        HistoryCorrupt: one of them cannot be read back.

    """
    apart = {"signatures": (), "late": None}
    return one == other or unpack(one, where) | apart == unpack(other, where) | apart
