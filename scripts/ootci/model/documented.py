"""JSON schemas in which every key has its attribute's docstring as description."""

from __future__ import annotations

import ast
import inspect
import sys
from functools import cache
from itertools import pairwise
from typing import Any

from pydantic.json_schema import GenerateJsonSchema, JsonSchemaValue
from pydantic_core import core_schema


class Documented(GenerateJsonSchema):
    """Makes the schema of records.

    Pydantic's own ``use_attribute_docstrings`` reads the source of every record when its module is imported, a third of
    the time of a command; only schemas show what it finds.
    """

    def model_schema(self, schema: core_schema.ModelSchema) -> JsonSchemaValue:
        """The schema of a record."""
        return _described(super().model_schema(schema), schema["cls"])

    def dataclass_schema(self, schema: core_schema.DataclassSchema) -> JsonSchemaValue:
        """The schema of a compact record."""
        return _described(super().dataclass_schema(schema), schema["cls"])


def _described(schema: JsonSchemaValue, record: type[Any]) -> JsonSchemaValue:
    """A schema with the docstrings of a record's attributes; of an inherited one, that of the class that has it."""
    for kind in record.__mro__:
        if kind.__module__.startswith("ootci."):
            for name, text in _docstrings(kind).items():
                if name in schema.get("properties", {}):
                    schema["properties"][name].setdefault("description", text)
    return schema


def _docstrings(kind: type[Any]) -> dict[str, str]:
    """The docstring below each attribute of a class."""
    found = {}
    for pair in pairwise(_classes(kind.__module__)[kind.__name__].body):
        match pair:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                found[name] = inspect.cleandoc(text)
    return found


@cache
def _classes(module: str) -> dict[str, ast.ClassDef]:
    """The source of each class of a module."""
    tree = ast.parse(inspect.getsource(sys.modules[module]))
    return {node.name: node for node in tree.body if isinstance(node, ast.ClassDef)}
