"""Errors of the operators of invented devices, in the sample site only: the verdicts of the year do without them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from random import Random

from ootci.history.operators import operator_of
from ootci.model.accuracy import Accuracy
from ootci.model.outcome import Outcome, OutcomeName
from ootci.model.run import Run

DTYPES = ("float32", "float16", "bfloat16", "complex64")
ROUNDED = frozenset(Path(__file__).with_name("rounded_operators.txt").read_text(encoding="utf-8").split())
"""Operators whose results are rounded: on a real CPU the others have exact ones, or none that can have errors."""
LIKE_THE_CPU = ("openreg",)
ENDING = 6
"""The last nights, on which some errors of borealis are larger than before."""
GREW = {("borealis", "exp"): 40.0, ("borealis", "nn.functional.gelu"): 9.0}


def with_accuracy(run: Run, night: int, nights: int) -> Run:
    """A run with the errors of its operators' results."""
    late = nights - night <= ENDING
    return run.model_copy(update={"outcomes": tuple(_measured(run.device, item, late) for item in run.outcomes)})


def _measured(device: str, item: Outcome, late: bool) -> Outcome:
    named = operator_of(item.id) if item.outcome is OutcomeName.PASSED else None
    if named is None or named[0] not in ROUNDED or named[1] not in DTYPES:
        return item
    return item.model_copy(update={"accuracy": _errors(device, *named, late)})


@cache
def _errors(device: str, operator: str, dtype: str, late: bool) -> Accuracy:
    random = Random(f"{operator}/{dtype}")  # noqa: S311 - nothing secret
    results, typical, largest = (
        random.randint(20, 4000),
        random.uniform(0.0, 0.6),
        10 ** random.triangular(-0.4, 4, -0.2),
    )
    random = Random(f"{device}/{operator}/{dtype}")  # noqa: S311 - nothing secret
    times = 1.0 if device in LIKE_THE_CPU else max(1.0, random.lognormvariate(0.0, 0.6))
    grew = GREW.get((device, operator), 1.0) if late else 1.0
    sizes = (largest * times * grew, typical * times * grew, largest, typical)
    return Accuracy(results, *(float(f"{size:.2g}") for size in sizes))
