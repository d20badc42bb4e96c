"""The tests of the invented world: ids, capabilities and titles such as the suites have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path

FIRST_OF_FILE = 3
"""So many tests of a file are there from the beginning; the others are added later, if at all."""

PARAMETERS = {
    "test_binary_operator_equals_cpu": ("add", "sub", "mul", "div"),
    "test_round_trip": ("float32", "float16", "bfloat16", "int64", "bool"),
    "test_view_shares_memory": ("transpose", "select", "narrow", "expand", "unfold", "view_as_real"),
    "test_every_dtype_survives": ("float32", "bfloat16", "complex64", "int8"),
    "test_gradient_equals_cpu": ("linear", "conv2d", "layer_norm"),
    "test_collective_equals_cpu": ("all_reduce", "all_gather", "broadcast", "reduce_scatter"),
}
VARIANTS = ("", "_out_of_place", "_broadcast", "_empty", "_strided")
DTYPES = ("float32", "float16", "bfloat16", "complex64", "int64", "bool")
FLOATS = DTYPES[:4]
KINDS = (
    (
        "test_forward",
        DTYPES,
        "An operator gives the cpu's results for every sample in PyTorch's own list.",
    ),
    (
        "test_backward",
        FLOATS,
        "An operator gives the cpu's gradients for every sample in PyTorch's own list.",
    ),
    ("test_out", DTYPES, "An operator writes to `out` as on the cpu, whatever its strides, shape and dtype."),
)


@dataclass(frozen=True)
class Case:
    """A test."""

    id: str
    suite: str
    capability: str
    title: str


def catalogue(size: int) -> tuple[Case, ...]:
    """The tests that are there from the beginning, smoke first, then integration, then ops.

    Raises:
        ValueError: there are not so many, or so few that a suite would have none.

    """
    early, _ = _listed()
    cases = list(early)
    if size <= len(cases):
        raise ValueError(f"{size} tests are too few, the suites smoke and integration have {len(cases)}")
    operators = _operators()
    while len(cases) < size:
        case = next(operators, None)
        if case is None:
            raise ValueError(f"there are {len(cases)} tests, not {size}")
        cases.append(case)
    return tuple(cases)


def later() -> tuple[Case, ...]:
    """Tests that somebody may add some day."""
    return _listed()[1]


def renamed(case: Case, name: str = "as_the_cpu_does") -> Case:
    """The same test under the name that it gets some day."""
    stem, bracket, parameters = case.id.partition("[")
    return replace(case, id=f"{stem}_{name}{bracket}{parameters}")


def in_another_file(case: Case, number: int) -> Case:
    """The same test after its file was renamed."""
    return replace(case, id=case.id.replace(".py::", f"_{number}.py::"))


@cache
def _listed() -> tuple[tuple[Case, ...], tuple[Case, ...]]:
    early: list[Case] = []
    late: list[Case] = []
    seen: Counter[str] = Counter()
    for line in Path(__file__).with_name("cases.tsv").read_text(encoding="utf-8").splitlines():
        file, capability, name, title = line.split("\t")
        seen[file] += 1
        group = early if seen[file] <= FIRST_OF_FILE else late
        for parameter in PARAMETERS.get(name, ("",)):
            shown = f"[{parameter}]" if parameter else ""
            group.append(Case(f"{file}::{name}{shown}", file.partition("/")[0], capability, title))
    return tuple(early), tuple(late)


def _operators() -> Iterator[Case]:
    """Tests of the suite ops, the most important kinds first, so that any number of them is plausible."""
    operators = Path(__file__).with_name("operators.txt").read_text(encoding="utf-8").split()
    for variant in VARIANTS:
        for dtype in DTYPES:
            for kind, dtypes, title in KINDS:
                if dtype in dtypes:
                    for operator in operators:
                        file = f"ops/{kind}.py::{kind}"
                        yield Case(f"{file}[{operator}{variant}-{dtype}]", "ops", "ops", title)
