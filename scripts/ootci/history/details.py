"""Details of a run: texts of failures, durations, operator counts and accuracy, kept for a while."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import Field, ValidationError

from ootci.errors import HistoryCorrupt
from ootci.model.accuracy import Accuracy
from ootci.model.outcome import Attempt, Outcome
from ootci.model.record import Record, compact_record
from ootci.model.run import OperatorCount, Run
from ootci.model.training import Training

from .layout import RESTORE
from .run_file import in_order
from .states import outcome_of, way_of
from .stored import StoredRun

MAX_BYTES = 512 * 1024 * 1024
"""No file of details is longer than this when it is unpacked."""


@compact_record
class FailureText:
    """The text of one test. Hostile until escaped."""

    message: str | None = None
    """One line."""
    text: str | None = None
    """Head and tail."""


class Texts(Record):
    """The texts of failures. Tests are named by their index in the run's file."""

    excerpts: dict[int, str] = Field(default_factory=dict)
    """The ends of the logs of stages that did not pass, by the stage's place."""
    tests: dict[int, FailureText] = Field(default_factory=dict)
    """The texts of tests, by index."""
    attempts: dict[int, tuple[Attempt, ...]] = Field(default_factory=dict)
    """Later attempts, by place."""

    def fits(self, tests: int, stages: int) -> bool:
        """Whether a run of so many tests and stages can have them."""
        places = (*self.tests, *self.attempts)
        return all(place in range(tests) for place in places) and all(
            number in range(stages) for number in self.excerpts
        )


class Measures(Record):
    """The measurements of every test."""

    order: Annotated[tuple[int, ...] | None, Field(exclude_if=lambda order: order is None)] = None
    """Places in the order in which the run had its tests; null where that is ascending."""
    durations: tuple[float, ...] = ()
    """Seconds of each test, by place."""
    operators: tuple[OperatorCount, ...] = ()
    """Operators that the suites used."""
    trainings: dict[int, Training] = Field(default_factory=dict)
    """Throughput and memory of a test's training, by place."""

    def fits(self, tests: int, _: int) -> bool:
        """Whether a run of so many tests can have them."""
        ordered = self.order is None or sorted(self.order) == list(range(tests))
        return ordered and len(self.durations) in (0, tests) and all(place in range(tests) for place in self.trainings)


class Accuracies(Record):
    """The errors of results. Where nothing changed the file is the one of the night before, byte by byte."""

    tests: dict[int, Accuracy] = Field(default_factory=dict)
    """The errors of a test's results, by place."""

    def fits(self, tests: int, _: int) -> bool:
        """Whether a run of so many tests can have them."""
        return all(place in range(tests) for place in self.tests)


D = TypeVar("D", bound=Record)


def details_of(run: Run) -> tuple[Texts, Measures, Accuracies]:
    """The details of a run."""
    outcomes = in_order(run)
    place = {item.id: number for number, item in enumerate(outcomes)}
    order = tuple(place[item.id] for item in run.outcomes)
    texts = Texts(
        excerpts={number: stage.excerpt for number, stage in enumerate(run.stages) if stage.excerpt is not None},
        tests={
            number: FailureText(message=item.message, text=item.text)
            for number, item in enumerate(outcomes)
            if item.message is not None or item.text is not None
        },
        attempts={number: item.attempts for number, item in enumerate(outcomes) if item.attempts},
    )
    measures = Measures(
        order=None if order == tuple(range(len(order))) else order,
        durations=tuple(item.duration for item in outcomes),
        operators=run.operators,
        trainings={number: item.training for number, item in enumerate(outcomes) if item.training is not None},
    )
    measured = {number: item.accuracy for number, item in enumerate(outcomes) if item.accuracy is not None}
    return texts, measures, Accuracies(tests=measured)


def whole(
    run: StoredRun,
    texts: Texts | None,
    measures: Measures | None,
    accuracies: Accuracies | None = None,
    only: Iterable[int] | None = None,
) -> Run:
    """The run as it was reported, as far as its details are still kept; without measures in the order of its file.

    It has only the tests of the given rows, all when absent; all are counted.
    """
    said, measured, errors = texts or Texts(), measures or Measures(), accuracies or Accuracies()
    rows = run.places.rows
    durations = measured.durations or (0.0,) * len(rows)
    wanted = range(len(rows)) if only is None else sorted(map(run.places.place, only))
    outcomes = {
        place: _outcome(
            run,
            rows[place],
            said.tests.get(place),
            duration=durations[place],
            attempts=said.attempts.get(place),
            accuracy=errors.tests.get(place),
            training=measured.trainings.get(place),
        )
        for place in wanted
    }
    stages = tuple(
        stage.model_copy(update={"excerpt": said.excerpts[number]}) if number in said.excerpts else stage
        for number, stage in enumerate(run.head.stages)
    )
    places = outcomes if measured.order is None else (place for place in measured.order if place in outcomes)
    return run.head.model_copy(
        update={
            "outcomes": tuple(outcomes[place] for place in places),
            "capabilities": run.capabilities,
            "stages": stages,
            "operators": measured.operators,
        }
    )


def _outcome(
    run: StoredRun,
    row: int,
    said: FailureText | None,
    *,
    duration: float,
    attempts: tuple[Attempt, ...] | None,
    accuracy: Accuracy | None,
    training: Training | None,
) -> Outcome:
    test = run.tests[row]
    kept = tuple(Attempt(outcome=outcome) for outcome in run.attempts.get(row, ()))
    outcome = outcome_of(run.states[row])
    if outcome is None:
        raise ValueError(f"row {row} is not in the run")
    return Outcome(
        id=test.id,
        suite=test.suite,
        outcome=outcome,
        capability=test.capability,
        title=test.title,
        duration=duration,
        message=said.message if said else None,
        text=said.text if said else None,
        ran=way_of(run.states[row]),
        attempts=attempts or kept,
        accuracy=accuracy,
        training=training,
    )


def packed(details: Texts | Measures | Accuracies) -> bytes | None:
    """The file of details; None where they are not worth one."""
    if details == type(details)():
        return None
    # A seventh of the time of the highest level, for 3 % more bytes.
    return gzip.compress(details.model_dump_json(exclude_defaults=True).encode(), compresslevel=6, mtime=0)


def read_details(kind: type[D], path: Path) -> D | None:
    """The details in a file; None where there are none any more.

    Raises:
        HistoryCorrupt: the file cannot be read back.

    """
    try:
        with gzip.open(path) as stream:
            text = stream.read(MAX_BYTES)
        return kind.model_validate_json(text)
    except FileNotFoundError:
        return None
    except (OSError, EOFError, zlib.error, ValidationError) as error:
        raise HistoryCorrupt(f"the details cannot be read back: {error}", where=str(path), fix=RESTORE) from error
