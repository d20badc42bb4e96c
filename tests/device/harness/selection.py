"""Which tests run, and the rules that each of them keeps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import pytest

from harness.capabilities import CAPABILITIES
from harness.options import Options, usage_error
from harness.text import first_line
from harness.upstream_config import DECLARATION

TITLE = pytest.StashKey[str]()
"""The title of a test of PyTorch's own, which has no docstring of ours and proves no capability of ours."""


@dataclass(frozen=True)
class Described:
    """A collected test: its id, suite (first folder of the id), capability, and title (first line of its docstring).

    Only a test of PyTorch's own has no capability, and may have the declaration because of which it is not made.
    """

    id: str
    suite: str
    capability: str | None
    title: str
    declaration: str | None = None

    def record(self) -> dict[str, str]:
        """The test as the event ``collected`` lists it."""
        more = {"capability": self.capability, "declaration": self.declaration}
        told = {key: value for key, value in more.items() if value is not None}
        return {"id": self.id, "suite": self.suite, **told, "title": self.title}


def describe(item: pytest.Item) -> Described:
    """Describe a test.

    Raises:
        ValueError: the test breaks a rule, which the message names.

    """
    suite = item.nodeid.split("/", 1)[0]
    if (given := item.stash.get(TITLE, None)) is not None:
        return Described(item.nodeid, suite, None, given, item.stash.get(DECLARATION, None))
    named = {str(argument) for marker in item.iter_markers("capability") for argument in marker.args}
    if len(named) != 1:
        found = ", ".join(sorted(named)) or "none"
        raise ValueError(f"a test has exactly one capability marker; found {found}")
    capability = named.pop()
    if capability not in CAPABILITIES:
        raise ValueError(f"no such capability: {capability}; known are {', '.join(CAPABILITIES)}")
    function = getattr(item, "function", None)
    title = first_line(getattr(function, "__doc__", None) or "")
    if title is None:
        raise ValueError("a test has a docstring whose first line a vendor understands")
    return Described(item.nodeid, suite, capability, title)


def asked_by(item: pytest.Item) -> str | None:
    """The sentence of a test's docstring that cites where PyTorch asks a device for it, on one line; smoke has it."""
    said = " ".join((getattr(getattr(item, "function", None), "__doc__", None) or "").split())
    _, begins, cited = said.partition(" Asked by ")
    return f"Asked by {cited}" if begins else None


@dataclass(frozen=True)
class Selection:
    """The result of a selection.

    Attributes:
        chosen: tests to run, in the order of collection.
        dropped: the others.
        unknown_ids: ids that were requested and match no test.

    """

    chosen: tuple[pytest.Item, ...]
    dropped: tuple[pytest.Item, ...]
    unknown_ids: tuple[str, ...]


def select(tests: Sequence[tuple[pytest.Item, Described]], options: Options) -> Selection:
    """Choose by id and by capability."""
    chosen: list[pytest.Item] = []
    dropped: list[pytest.Item] = []
    wanted = None if options.ids is None else frozenset(options.ids)
    for item, described in tests:
        right_id = wanted is None or described.id in wanted
        right_capability = not options.capabilities or described.capability in options.capabilities
        (chosen if right_id and right_capability else dropped).append(item)
    known = {described.id for _, described in tests}
    unknown = tuple(test_id for test_id in options.ids or () if test_id not in known)
    return Selection(tuple(chosen), tuple(dropped), unknown)


def check_rules(problems: Iterable[tuple[str, str]]) -> None:
    """Refuse to run tests that break a rule.

    Raises:
        pytest.UsageError: there are problems, as pairs of test id and reason.

    """
    lines = [f"{test_id}: {reason}" for test_id, reason in problems]
    if lines:
        raise usage_error(
            f"{len(lines)} test(s) break the rules of the suites",
            "\n    ".join(lines),
            "see the rules in README.md beside pytest.ini",
        )


def check_unknown_ids(selection: Selection) -> None:
    """Refuse to run when ids were requested that match no test.

    Raises:
        pytest.UsageError: there are such ids.

    """
    if selection.unknown_ids:
        raise usage_error(
            f"{len(selection.unknown_ids)} test id(s) match no test",
            "\n    ".join(("the option --ids-from", *selection.unknown_ids)),
            "`python -m pytest --collect-only -q` lists the ids that there are",
        )


def check_capabilities(selection: Selection, options: Options) -> None:
    """Refuse to run when no collected test has a requested capability.

    Raises:
        pytest.UsageError: tests were collected, and the option ``--capability`` leaves none.

    """
    if options.capabilities and options.ids is None and selection.dropped and not selection.chosen:
        raise usage_error(
            f"none of {len(selection.dropped)} test(s) has the capability {' or '.join(options.capabilities)}",
            "the option --capability",
            "its tests are in another suite; without a folder, all suites are searched",
        )


def check_count(selection: Selection, minimum: int) -> None:
    """Refuse to call too few tests a run.

    Raises:
        pytest.UsageError: fewer tests than the minimum are left.

    """
    if len(selection.chosen) < minimum:
        raise usage_error(
            f"{len(selection.chosen)} test(s) are left to run, expected at least {minimum}",
            "the option --min-tests",
            "find out where the others went; tests that vanish are not tests that pass",
        )
