"""What a device declares to PyTorch's own tests, handed to PyTorch's mechanism where the installed torch has it.

The mechanism is ``set_test_configs`` of the test base of PrivateUse1, since torch 2.13
(``torch/testing/_internal/common_device_type.py``): tests of operators and classes that the device does not support are
not made at all. A torch without it makes them.
"""

from __future__ import annotations

import ast
import difflib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from harness.options import usage_error

OPTION = "--upstream-config"
WHOLE = "*"
"""Excludes every test of a class."""
MAX_BYTES = 4_000_000
DECLARATION = pytest.StashKey[str]()
"""The declaration because of which a test is not made."""


@dataclass(frozen=True)
class Config:
    """What a device declares.

    Attributes:
        operators: full names of the operators for which tests are made; all when empty.
        exclusions: by class, ``"*"`` or the names of methods of which no tests are made.
        bypass: also run what PyTorch restricts to other devices (``@onlyCUDA`` and such).

    """

    operators: tuple[str, ...] = ()
    exclusions: Mapping[str, str | list[str]] = field(default_factory=dict)
    bypass: bool = False


def read_config(path: Path | None) -> Config:
    """The declarations in a file; none without a file.

    Raises:
        pytest.UsageError: the file cannot be read, or is not such an object.

    """
    if path is None:
        return Config()
    try:
        with path.open("rb") as stream:
            found = json.loads(stream.read(MAX_BYTES + 1))
        known = {"operators": list, "exclusions": dict, "bypass_device_restrictions": bool}
        wrong = [key for key, value in found.items() if not isinstance(value, known.get(key, ()))]
        if wrong:
            raise ValueError(f"the key `{wrong[0]}` is unknown or has a wrong value")
    except (OSError, ValueError, AttributeError, RecursionError) as error:
        raise usage_error(
            f"the declarations cannot be read: {error}",
            f"the option {OPTION}={path}",
            "give a JSON object with `operators`, `exclusions` and `bypass_device_restrictions`",
        ) from error
    return Config(
        tuple(found.get("operators", ())),
        found.get("exclusions", {}),
        found.get("bypass_device_restrictions", False),
    )


def hand_over(config: Config) -> None:
    """Give the declarations to PyTorch, to be called before a file of tests is imported.

    ``set_test_configs`` replaces all that was set before, so what the plugin itself has set is passed again.
    """
    from torch.testing._internal.common_device_type import PrivateUse1TestBase as Base

    if (config.operators or config.exclusions) and hasattr(Base, "set_test_configs"):
        Base.set_test_configs(
            op_overrides=Base.op_overrides,
            op_allowlist=config.operators or Base.op_allowlist,
            test_exclusions=dict(config.exclusions) or Base.test_exclusions,
        )
    if config.bypass:
        Base.bypass_device_restrictions = True


def may_declare(config: Config, file: Path) -> bool:
    """Whether a file may have tests that are not made because of a declaration."""
    text = file.read_text(encoding="utf-8", errors="replace")
    return (bool(config.operators) and "@ops" in text) or any(f"class {name}" in text for name in config.exclusions)


def declaration_of(config: Config, name: str, test: object) -> str | None:
    """The declaration because of which a test is not made; None where it is made.

    Args:
        config: the declarations.
        name: the test's class, without the device.
        test: the function that PyTorch made, with the method's name and, as a default, the test's parameters.

    """
    excluded, method = config.exclusions.get(name, ()), getattr(test, "__name__", "")
    if excluded == WHOLE:
        return f"exclusions: {name}"
    if method in excluded:
        return f"exclusions: {name}.{method}"
    parameters = next(iter(getattr(test, "__defaults__", None) or ()), None)
    operator = parameters.get("op") if isinstance(parameters, dict) else None
    full_name = getattr(operator, "full_name", None)
    listed = not config.operators or full_name is None or full_name in config.operators
    return None if listed else f"operators: {full_name}"


def problems(config: Config, tests: Path, files: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Declarations that mean nothing: where each is, and what is wrong with it and what to do.

    Args:
        config: the declarations.
        tests: PyTorch's folder ``test``.
        files: its device-generic files.

    """
    known = _operators() if config.operators else set()
    for name in config.operators:
        if name not in known:
            yield (
                f"operators::{name}",
                f"`operators` names {name}, which no list of operators of this torch has{_nearest(name, known)}\n"
                "  what to do: use OpInfo.full_name, or take the name out",
            )
    classes = _methods(tests, files, frozenset(config.exclusions))
    for name, excluded in config.exclusions.items():
        missing = name not in classes
        if missing:
            what = f"{name}, a class that no device-generic file of this checkout has"
            yield f"exclusions::{name}", f"`exclusions` names {what}\n  what to do: rename it, or take it out"
        for method in () if missing or excluded == WHOLE else excluded:
            if method not in classes[name]:
                what = f"{name}.{method}, which the class does not have{_nearest(method, classes[name])}"
                yield (
                    f"exclusions::{name}::{method}",
                    f"`exclusions` names {what}\n  what to do: rename it, or take it out",
                )


def _nearest(name: str, known: set[str]) -> str:
    near = difflib.get_close_matches(name, known, n=1)
    return f"; did you mean {near[0]}?" if near else ""


def _operators() -> set[str]:
    from torch.testing._internal import common_methods_invocations as lists

    found = (value for name, value in vars(lists).items() if name.endswith("_db") and isinstance(value, list))
    return {op.full_name for value in found for op in value if hasattr(op, "full_name")}


def _methods(tests: Path, files: Sequence[str], classes: frozenset[str]) -> dict[str, set[str]]:
    """The methods that each of the classes has in its source, since an excluded class is never made."""
    found: dict[str, set[str]] = {}
    for file in files if classes else ():
        text = (tests / file).read_text(encoding="utf-8", errors="replace")
        if not any(f"class {name}" in text for name in classes):
            continue
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError):
            continue
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and node.name in classes:
                methods = (item.name for item in ast.walk(node) if isinstance(item, ast.FunctionDef))
                found.setdefault(node.name, set()).update(methods)
    return found
