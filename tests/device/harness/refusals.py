"""Refusals: exceptions by which a device refuses a request, so that it computed nothing.

torch has no class for them. Without a kernel its dispatcher raises NotImplementedError and its macro AT_DISPATCH
RuntimeError; a hook that a plugin did not register raises what its author chose. So a refusal is known by its class
where the type is enough, else by its message.
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
    r"|\bis not a DeviceAllocator\b|\bis not linked with support for\b",
    re.IGNORECASE,
)

_RESTRICTED = re.compile(r"(?:aten::)?(\w+): (?:(\w+) is required|\w+ must be contiguous)\b")
"""How kernels refuse what the operator's schema permits: to leave out an argument, or strides of any kind."""


class Refused(Exception):
    """A refusal that another process was told, in the words of that process."""


def refusal(error: BaseException, device: str) -> str | None:
    """What the device under test refuses, and in which words, in a line; None for any other exception.

    An assertion of a test is no refusal, whatever it quotes, nor is a file that torch cannot load; and the control
    refuses nothing. An assertion of torch may be one: autocast asserts that the device tells its precisions. So may be
    the cause of an exception of torch, which `torch.library.opcheck` raises from whatever it met.
    """
    if device == CONTROL or not isinstance(error, Exception) or isinstance(error, UnpicklingError):
        return None
    if isinstance(error, AssertionError) and not _raised_by_torch(error):
        return None
    if isinstance(error, Refused):
        return str(error)
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
    if isinstance(error, NotImplementedError) or _WORDS.search(text) or _is_restricted(text):
        return f"{type(error).__name__}: {first_line(text) or 'without a message'}"
    if error.__cause__ is not None and _last_module(error).startswith("torch."):
        return refusal(error.__cause__, device)
    return None


def no_kernel(said: str) -> str | None:
    """The refusal that ended another process, by the line of its exception; None where it ended of something else."""
    operator = _NO_KERNEL.match(said.partition(": ")[2])
    return f"blocked by {operator[1]}: {said}" if operator else None


def _is_restricted(text: str) -> bool:
    """Whether a kernel of an operator refuses a call that leaves out an argument with a default, or its strides."""
    found = _RESTRICTED.match(text)
    operator = getattr(sys.modules["torch"].ops.aten, found[1], None) if found else None
    if found is None or operator is None:
        return False
    schemas = [getattr(operator, name)._schema for name in operator.overloads()]
    optional = {item.name for schema in schemas for item in schema.arguments if item.has_default_value()}
    return found[2] is None or found[2] in optional


def _raised_by_torch(error: BaseException) -> bool:
    """Whether an exception comes from torch, without what torch compares with for tests."""
    module = _last_module(error)
    return module.startswith("torch.") and not module.startswith("torch.testing.")


def _last_module(error: BaseException) -> str:
    """The module that raised an exception, empty where none did."""
    frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
    return str(frames[-1].f_globals.get("__name__", "")) if frames else ""


def _text(error: Exception) -> str:
    try:
        return str(error)
    except Exception:
        return ""
