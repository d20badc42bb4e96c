"""The outcome of the checks of device files, in sentences: for a terminal, a step's summary and a comment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ootci.model.review import LONGEST, Change, CheckState, FileReview, Problem, Review, score

from .markdown import MARKS, Sheet, safe
from .text import one_line

LIMIT_BYTES = 60_000
"""A comment on GitHub holds 65,536 characters; the job that posts it adds lines."""

_CHANGES = {
    Change.ADDED: "new",
    Change.CHANGED: "changed",
    Change.RENAMED: "renamed",
    Change.REMOVED: "removed",
    Change.OTHER: "other files",
}
_NO_MENTIONS: Mapping[str, Sequence[str]] = {}


def review_lines(review: Review) -> list[str]:
    """What was found in each file, in lines of text: the score, and each problem on a line."""
    lines: list[str] = []
    for file in review.files:
        lines.append(one_line(f"{file.path}: {_how(file)}", LONGEST))
        lines += [f"  {_line(check.check, item)}" for check in file.checks for item in check.problems]
        lines += [f"  {one_line(text)}" for text in (*file.notes, *file.dry_run)]
    lines += [one_line(text) for text in review.notes]
    if review.checks and len(review.files) > 1:
        lines.append(f"{score(review.checks)}, in {len(review.files)} files")
    return lines


def review_answer(
    review: Review, mentions: Mapping[str, Sequence[str]] = _NO_MENTIONS, foot: Sequence[str] = (), before: str = ""
) -> str:
    """The same in markdown.

    Args:
        review: what was found; every text in it may be a stranger's.
        mentions: whom to mention for a file, by its path: GitHub handles that somebody else than the file vouches for.
        foot: our own last lines, however much is cut.
        before: our own first line.

    """
    sheet = Sheet(LIMIT_BYTES, "\n".join(["", *foot]) if foot else "")
    if before:
        sheet.add(before)
    mark = MARKS["good"] if review.is_good else MARKS["bad"]
    said = score(review.checks) if review.checks else "nothing to check"
    sheet.add(f"### {mark} Device files: {said}", "")
    sheet.groups((list(_file(file, mentions.get(file.path, ()))) for file in review.files), "file")
    sheet.groups(([safe(text, 1000), ""] for text in review.notes), "note")
    return sheet.text()


def _line(check: str, item: Problem) -> str:
    level = "warning: " if item.state is CheckState.WARNING else ""
    error = f" ({item.error})" if item.error else ""
    return one_line(f"{item.where}: {level}{check}{error}: {item.what}; {item.fix}", 3 * LONGEST)


def _how(file: FileReview) -> str:
    name = f" ({_CHANGES[file.change]})" if file.change else ""
    return (f"{score(file.checks)}{name}" if file.checks else f"no checks{name}").strip()


def _file(file: FileReview, mentions: Sequence[str]) -> Iterator[str]:
    yield f"**{safe(file.path)}**: {safe(_how(file))}."
    yield ""
    amiss = [(check.check, item) for check in file.checks for item in check.problems]
    if amiss and mentions:
        yield f"{' '.join(mentions)}: how to mend it:"
        yield ""
    yield from (_sentence(check, item) for check, item in amiss)
    if amiss:
        yield ""
    yield from (f"{safe(text, 1000)}\n" for text in file.notes)
    if file.dry_run:
        yield "A nightly would run:"
        yield ""
        yield from (f"- {safe(text, 1000)}" for text in file.dry_run)
        yield ""


def _sentence(check: str, item: Problem) -> str:
    mark = MARKS["bad"] if item.state is CheckState.FAILED else MARKS["warn"]
    error = f" ({safe(item.error)})" if item.error else ""
    what, fix = safe(item.what, 1000), safe(item.fix, 1000)
    return f"- {mark} {safe(check)}{error}, {safe(item.where)}: {what}. What to do: {fix}."
