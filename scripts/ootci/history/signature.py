"""The name of a failure.

The origin of an exception decides the name. An exception of torch or of the plugin is named by its text: a missing
operator is the same failure in three hundred tests, and on two devices. An assertion's text, such as "these are not
close", is the same in all tests, so it is named by the test: two devices that fail the same test in the same manner
share a name, two tests do not. Errors that can come from anywhere, such as an index out of range or a dead process, are
named by their origin in torch, else by the test. A plugin's functions and files are in no name: no other device has
them.
"""

from __future__ import annotations

import hashlib
import re

from ootci.history.normalise import MAX_LINE, normalise
from ootci.history.stack import place_in_torch, source_line
from ootci.model.build import StageStatus
from ootci.model.cluster import Signature
from ootci.model.outcome import FAILURES, OutcomeName

MAX_ID = 110
"""Characters of a test's id; a longer one is cut and keeps a checksum of all of it."""

_TYPE = re.compile(r"(?:[A-Za-z_]\w*\.)*([A-Z]\w*)(?:: |\Z)")
_OF_THE_TEST = frozenset({"AssertionError", "Failed", "Differs"})
_SAYS_LITTLE = frozenset(
    {"IndexError", "KeyError", "StopIteration", "RecursionError", "ZeroDivisionError", "OverflowError", "MemoryError"}
)
"""Exceptions of Python whose text does not say what was looked for."""

_SAMPLES = re.compile(r"\d+ of \d+ samples differ from the cpu, first sample \d+: ")
RAISED = "the cpu computes it, the device raised "
"""With what the suite of operators begins to tell of an exception."""
_NOT_CLOSE = re.compile(r"(?:Tensor-likes|Scalars) are not (?:close|equal)!.*")
_NUMBER = r"(?:True|False|[-+(]?(?:\d|inf|nan)[^\s,]{0,80})"
_FIRST_DIFFERENCE = re.compile(
    rf"expected (?:[^,]{{1,200}}(?:, [^,]{{1,80}}){{0,8}} at index .*|{_NUMBER}, got {_NUMBER}(?:\. .*|\Z))"
)
_ENDING = re.compile(r"killed by (SIG[A-Z0-9]+|signal \d+)|(exit code \d+)")
_WORD = re.compile(r"(?<![<\w])[A-Za-z_]\w+")

_ERROR_SIGN = re.compile(r"(?<!\w)(?:fatal error|error): ")
_UNRESOLVED = re.compile(r"undefined (?:symbol|reference)[: ].*")
_PROCESS_ENDING = re.compile(r" \((?:exit code \d+|killed by [^()]{1,30}|timed out after \d+ s)\)\Z")


def signature_of(
    device: str, outcome: OutcomeName, message: str | None, text: str | None, *, test_id: str
) -> Signature | None:
    """The name of a test's failure; see the module's text.

    A test that fails as expected is named by the defect of PyTorch that the suites give as the reason.

    Args:
        device: name of the device, which the signature does not keep.
        message: first line of the failure.
        text: its traceback, or the stacks of its process; head and tail suffice.

    Returns:
        The signature; None where nothing failed, or where there is no text.

    """
    if outcome is OutcomeName.XFAILED:
        reason = _first_line(message).partition(" Seen: ")[0]
        return Signature.of(normalise(reason, device)) if reason else None
    if outcome not in FAILURES:
        return None
    told = _first_line(message) or _told_by(text or "")
    if told.endswith(":"):
        told = f"{told} {_line_after(told, text or '')}".rstrip()
    if outcome is OutcomeName.CRASHED:
        ending = _ENDING.search(told)
        return _placed(f"crashed ({ending[1] or ending[2]})" if ending else "crashed", text, test_id)
    if outcome is OutcomeName.TIMED_OUT:
        return _placed("timed out", text, test_id)
    return _named(device, told, text, test_id) if told else None


def signature_of_stage(
    device: str, stage: str, status: StageStatus, reason: str | None, excerpt: str | None
) -> Signature | None:
    """The name of a stage's failure; None where it did not fail.

    In errors of a compiler or a linker the name of the failing file is left out: it is the plugin's own, and one
    function that torch no longer has is missed by each plugin in another file.
    """
    if status in (StageStatus.PASSED, StageStatus.NOT_RUN):
        return None
    told = _PROCESS_ENDING.sub("", _first_line(reason) or _told_by(excerpt or ""))
    if not told or status is StageStatus.TIMED_OUT:
        return Signature.of(f"{stage}: {status.value}")
    sign = _ERROR_SIGN.search(told)
    unresolved = _UNRESOLVED.search(told)
    if unresolved is not None:
        told = unresolved.group()
    elif sign is not None:
        told = told[sign.start() :]
    return Signature.of(f"{stage}: {normalise(told, device)}")


def _named(device: str, told: str, text: str | None, test_id: str) -> Signature:
    kind, rest = _type_of(told)
    if kind in _OF_THE_TEST and (samples := _SAMPLES.match(rest)) is not None:
        rest = rest[samples.end() :].partition("): ")[2] or rest
        if rest.startswith(RAISED):
            # The suite of operators caught what the device raised. Its traceback is gone, and the test is the operator.
            told, text = rest.removeprefix(RAISED), None
            kind, rest = _type_of(told)
    if kind is None or kind in _OF_THE_TEST:
        place = place_in_torch(text) if text else None
        said = _assertion(device, rest, text)
        return Signature.of(": ".join(filter(None, [place or short(test_id), kind, said])))
    said = normalise(rest, device)
    if kind in _SAYS_LITTLE or len(_WORD.findall(said)) < 2:
        return _placed(f"{kind}: {said}" if said else kind, text, test_id)
    return Signature.of(f"{kind}: {said}")


def _type_of(told: str) -> tuple[str | None, str]:
    """The class of the exception without its module, and its message."""
    found = _TYPE.match(told)
    return (found[1], told[found.end() :]) if found is not None else (None, told)


def _assertion(device: str, said: str, text: str | None) -> str:
    """A test's assertion, without the values, which differ from device to device."""
    if said.startswith("assert ") and text:
        # pytest shows the values; the line of source shows what was compared.
        return normalise(source_line(text) or said, device)
    said = _FIRST_DIFFERENCE.sub("values differ", _NOT_CLOSE.sub("values differ", said))
    return normalise(said, device)


def _placed(what: str, text: str | None, test_id: str) -> Signature:
    place = place_in_torch(text) if text else None
    return Signature.of(f"{what} in {place}" if place else f"{short(test_id)}: {what}")


def short(test_id: str) -> str:
    """A test's id as names of failures have it."""
    if len(test_id) <= MAX_ID:
        return test_id
    return f"{test_id[: MAX_ID - 9]}~{hashlib.sha256(test_id.encode('utf-8', 'replace')).hexdigest()[:8]}"


def _first_line(text: str | None) -> str:
    return next((line.strip() for line in (text or "")[: 2 * MAX_LINE].splitlines() if line.strip()), "")


def _line_after(told: str, text: str) -> str:
    """The line of a text that follows the one which ends in a colon, such as what a compiler's back end raised."""
    marked = (line[1:].strip() for line in text[-8 * MAX_LINE :].splitlines() if line.startswith("E "))
    lines = [line for line in marked if line]
    at = next((number for number, line in enumerate(lines) if line.endswith(told[-80:])), None)
    return "".join(lines[at + 1 : at + 2]) if at is not None else ""


def _told_by(text: str) -> str:
    """The exception in a text without a message: pytest's last marked block, else the last line that names one."""
    lines = text[-4 * MAX_LINE :].splitlines()
    marked = [number for number, line in enumerate(lines) if line.startswith("E ")]
    for number in reversed(marked):
        if number - 1 not in marked:
            return lines[number][1:].strip()
    named = [line.strip() for line in lines if _TYPE.match(line) and ": " in line]
    return named[-1] if named else _first_line(text)
