"""Times, ages, numbers and claims as people read them; without a clock in the browser, times are absolute and UTC."""

from __future__ import annotations

import math
from datetime import datetime, timezone
from functools import lru_cache

from ootci.model.verdict import Answer, ExpectationReview, ExpectationState, KnownFailureReview, KnownFailureState
from ootci.model.words import many

from .text import one_line


def commit_count(commits: int | None) -> str:
    """How many commits a range has, after the range: ``, 8 commits``, which no line end parts; empty if not known."""
    return f", {many(commits, 'commit')}".replace(" commit", "\u00a0commit") if commits else ""


def moment(value: datetime) -> str:
    """A time to the minute: ``2026-11-21 04:10 UTC``."""
    return value.astimezone(timezone.utc).strftime("%Y-%m-%d %H:%M UTC")


@lru_cache(maxsize=2_000)
def day(value: datetime) -> str:
    """A date: ``2026-11-21``."""
    return value.astimezone(timezone.utc).strftime("%Y-%m-%d")


def short_day(value: datetime) -> str:
    """A date in words: ``21 Nov 2026``."""
    return f"{value.day} {value:%b %Y}"


def day_of_year(value: datetime, now: datetime) -> str:
    """A date beside others: ``21 Nov``, with its year where that is not this year."""
    return f"{value.day} {value:%b}" if value.year == now.year else short_day(value)


def age(seconds: float) -> str:
    """How long ago something was: ``12 m``, ``36 h``, ``2.5 days``; a clock that is ahead gives ``0 m``."""
    minutes = max(0, round(seconds / 60))
    if minutes < 60:
        return f"{minutes} m"
    if minutes < 48 * 60:
        hours, rest = divmod(minutes, 60)
        return f"{hours} h {rest:02d} m" if rest else f"{hours} h"
    return f"{minutes / 60 / 24:.1f}".removesuffix(".0") + " days"


def ago(value: datetime, now: datetime) -> str:
    """How long before another time a time was."""
    return age((now - value).total_seconds())


def ulp_words(error: float | None) -> str:
    """An error in units in the last place: ``0.5``, ``37``, ``1.3e8``; ``∞`` for an infinity or NaN."""
    if error is None or math.isinf(error):
        return "∞"
    if error < 1_000_000:
        return f"{error:,.0f}" if error >= 10 else f"{error:.2g}"
    return f"{error:.1e}".replace("e+0", "e").replace("e+", "e")


def new_failures(count: int, *, is_first: bool) -> str:
    """How many tests newly fail; a first run has a wording of its own."""
    return f"{count:,} (first run)" if count and is_first else f"{count:,}"


def spoken(answer: Answer) -> str:
    """The gate's answer: ``yes``, ``no``, ``cannot say``."""
    return answer.replace("_", " ")


def changed(value: bool | None) -> str:
    """Whether something changed: ``yes``, ``no``, ``not known``."""
    return "not known" if value is None else "yes" if value else "no"


def known_note(review: KnownFailureReview) -> str:
    """The state of an entry of the known failures, in words."""
    failing = many(review.failing, "failing test")
    if review.state is KnownFailureState.EXPIRED:
        return f"names {failing}, which count as failures again" if review.failing else "no longer fails: remove it"
    if review.state is KnownFailureState.PASSES:
        first = one_line(review.passes[0], 200) if review.passes else "unknown"
        also = f" and {failing}" if review.failing else ""
        remedy = "let it name fewer tests" if review.failing else "remove it"
        return f"names {many(review.passing, 'passing test')}, first {first}{also}: {remedy}"
    return {
        KnownFailureState.COVERS: f"names {failing}",
        KnownFailureState.UNMATCHED: "matches no test: remove it, or correct its id",
        KnownFailureState.OTHER_TORCH: "does not count on this torch",
    }.get(review.state, "none of its tests ran")


def expectation_note(review: ExpectationReview) -> str:
    """The state of a declaration that something is unsupported, in words."""
    tests = f"{review.passing} of {many(review.seen, 'test')} passed"
    is_operator = review.declared.startswith("operators: ")
    remedy = "add it to `operators`" if is_operator else "remove the declaration"
    return {
        ExpectationState.WORKS: f"declared unsupported, but works: {remedy} ({tests})",
        ExpectationState.PARTLY: f"declared unsupported, but works in part ({tests})",
        ExpectationState.HOLDS: tests,
    }.get(review.state, "none of its tests ran")
