"""The tests of the device suites, read from their files."""

from __future__ import annotations

import ast
from functools import cache
from pathlib import Path


def _named(decorators: list[ast.expr]) -> str | None:
    """The argument of the mark ``capability`` among decorators or marks."""
    for node in decorators:
        for call in ast.walk(node):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "capability":
                argument = call.args[0]
                assert isinstance(argument, ast.Constant)
                return str(argument.value)
    return None


@cache
def read_tests(path: Path) -> list[tuple[str, str, str]]:
    """Capability, name and title of each test in a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    marks = [
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and node.targets[0].id == "pytestmark"
    ]
    of_file = _named(marks)
    found = []
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            capability, title = _named(node.decorator_list) or of_file, ast.get_docstring(node)
            assert capability is not None, f"{path}: {node.name} has no capability"
            assert title is not None, f"{path}: {node.name} has no docstring"
            found.append((capability, node.name, title.splitlines()[0]))
    return found
