"""Lines of Python that show a failure again without pytest: the test is a function, called with what it was given.

They are for a debugger, a bisection, or a report to somebody who has no wish to learn these suites. Where a test was
given something that cannot be written in a line, the lines call pytest instead: they are always true.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from types import FunctionType, ModuleType

import pytest
from _pytest.mark import ParameterSet

from harness.device import CONTROL, can_wait
from harness.reproduce import ARGUMENTS, arguments_of

PLAIN = (bool, int, str, bytes, type(None))
TORCH_CONSTANTS = ("dtype", "layout", "memory_format")


class _Unwritable(Exception):
    """A value that has no expression."""


@dataclass(frozen=True)
class _Expression:
    """An expression and what it needs: whole modules, and names of the test's own module."""

    text: str
    modules: tuple[str, ...] = ()
    names: tuple[str, ...] = ()


def python_lines(item: pytest.Item, device: str) -> tuple[str, ...]:
    """The lines, to be run in the suites folder.

    Args:
        item: the test.
        device: the name in ``torch.device(name)``.

    """
    try:
        if ARGUMENTS in item.stash or not isinstance(item, pytest.Function) or item.cls is not None:
            raise _Unwritable
        return _call(item, device)
    except _Unwritable:
        words = [*arguments_of(item), "--device", device]
        return ("import pytest", f"raise SystemExit(pytest.main({words!r}))")


def _call(item: pytest.Function, device: str) -> tuple[str, ...]:
    given = {name: _argument(item, name, device) for name in item._fixtureinfo.argnames}
    path = item.nodeid.partition("::")[0]
    names = sorted({item.originalname, *(name for value in given.values() for name in value.names)})
    modules = sorted({"torch", *(module for value in given.values() for module in value.modules)})
    call = ", ".join(f"{name}={value.text}" for name, value in given.items())
    return (
        f"import {', '.join(modules)}",
        f"from {path.removesuffix('.py').replace('/', '.')} import {', '.join(names)}",
        f"{item.originalname}({call})",
        *(("torch.accelerator.synchronize()",) if can_wait(device) else ()),
    )


def _argument(item: pytest.Function, name: str, device: str) -> _Expression:
    parameters: Mapping[str, object] = item.callspec.params if hasattr(item, "callspec") else {}
    if name in parameters:
        return _value(item.module, parameters[name])
    fixtures = {
        "device": _Expression(f"torch.device({device!r})" if device == CONTROL else f"torch.device({device!r}, 0)"),
        "device_name": _Expression(repr(device)),
        "plugin_device": _Expression(repr(device)),
        "privateuse1_device": _Expression(repr(device)),
        "device_module": _Expression(f"torch.get_device_module({device!r})"),
        "tmp_path": _Expression("pathlib.Path(tempfile.mkdtemp())", ("pathlib", "tempfile")),
    }
    if name not in fixtures:
        raise _Unwritable
    return fixtures[name]


def _value(module: ModuleType, value: object) -> _Expression:
    if isinstance(value, PLAIN) or (isinstance(value, float) and math.isfinite(value)):
        return _Expression(repr(value))
    if isinstance(value, float):
        return _Expression(f"float({str(value)!r})")
    if type(value).__module__ == "torch" and type(value).__name__ in TORCH_CONSTANTS:
        return _Expression(str(value))
    if isinstance(value, FunctionType) and _is_found(value):
        return _Expression(f"{value.__module__}.{value.__qualname__}", (value.__module__,))
    return _parameter(module, value)


def _is_found(function: FunctionType) -> bool:
    """Whether a function can be imported from its module by its name."""
    module = sys.modules.get(function.__module__)
    return module is not None and getattr(module, function.__qualname__, None) is function


def _parameter(module: ModuleType, value: object) -> _Expression:
    """What finds a value again among those with an id that the test's module lists."""
    for name, listed in vars(module).items():
        for case in listed if isinstance(listed, (list, tuple)) else ():
            if isinstance(case, ParameterSet) and len(case.values) == 1 and case.values[0] is value:
                return _Expression(f"next(case.values[0] for case in {name} if case.id == {case.id!r})", names=(name,))
    raise _Unwritable
