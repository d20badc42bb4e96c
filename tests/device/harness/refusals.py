"""Refusals: exceptions that say that the device has not got what was asked for, so that it computed nothing.

torch has no class for them. Without a kernel its dispatcher raises NotImplementedError and its macro AT_DISPATCH
RuntimeError; a hook that a plugin did not register raises what its author chose. So a refusal is known by its class
where that says it, else by what it says.
"""

from __future__ import annotations

import re
import sys
import traceback
from pickle import UnpicklingError

from harness.device import CONTROL
from harness.text import first_line

_NO_KERNEL = re.compile(r"Could not run '([\w:.]+)' with arguments from the")
"""How torch's dispatcher begins (aten/src/ATen/core/dispatch/OperatorEntry.cpp, reportError)."""
_WORDS = re.compile(
    r"\bnot (?:yet |currently )?(?:been )?(?:implemented|supported)\b|\b(?:does not|doesn't) (?:yet )?support\b"
    r"|\bunsupported\b(?! (?:operand|format))|\bno kernel\b|\b(?:should|please|must) register\b"
    r"|\bis not a DeviceAllocator\b",
    re.IGNORECASE,
)


def refusal(error: BaseException, device: str) -> str | None:
    """What the device under test refuses, and in which words, in a line; None where an exception says something else.

    An assertion of a test is no refusal, whatever it quotes, nor is a file that torch cannot load; and the control
    refuses nothing. An assertion of torch may be one: autocast asserts that the device tells its precisions.
    """
    if device == CONTROL or not isinstance(error, Exception) or isinstance(error, UnpicklingError):
        return None
    if isinstance(error, AssertionError) and not _raised_by_torch(error):
        return None
    module = getattr(sys.modules["torch"], device, None)
    if isinstance(error, AttributeError) and error.name is not None and module is not None and error.obj is module:
        return f"torch.{device}.{error.name} is missing"
    if isinstance(error, AttributeError) and error.name in (device, f"is_{device}"):
        owner = type(error.obj).__name__
        return f"{owner}.{error.name} is missing: torch.utils.generate_methods_for_privateuse1_backend makes it"
    text = _text(error)
    operator = _NO_KERNEL.search(text)
    if operator is not None:
        return f"blocked by {operator[1]}: {first_line(text)}"
    if isinstance(error, NotImplementedError) or _WORDS.search(text):
        return f"{type(error).__name__}: {first_line(text) or 'without a message'}"
    return None


def _raised_by_torch(error: BaseException) -> bool:
    """Whether an exception comes from torch, without what torch compares with for tests."""
    frames = [frame.f_globals.get("__name__", "") for frame, _ in traceback.walk_tb(error.__traceback__)]
    return bool(frames) and frames[-1].startswith("torch.") and not frames[-1].startswith("torch.testing.")


def _text(error: Exception) -> str:
    try:
        return str(error)
    except Exception:
        return ""
