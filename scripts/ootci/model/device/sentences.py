"""The problems of a device file, in sentences with line numbers."""

from __future__ import annotations

import difflib
import re
from typing import Any

from pydantic import ValidationError

from ootci.errors import DeviceFileInvalid
from ootci.model.record import Record
from ootci.model.strict_yaml import Document

from .keys import Device
from .values import MEANINGS

MANY = 120
"""Characters of a list of choices that no one reads to its end."""


def invalid(error: ValidationError, document: Document, shown: str, kind: type[Record] = Device) -> DeviceFileInvalid:
    """The error of a file that is to hold a ``kind``: the first problem with its line, and up to five more."""
    found = error.errors(include_url=False)
    # A list that is too short because its items are wrong is no second problem.
    inner = {item["loc"][:-depth] for item in found for depth in range(1, len(item["loc"]))}
    mistyped = [item["loc"] for item in found if item["type"] == "extra_forbidden"]
    meant = {(*loc[:-1], near) for loc in mistyped if (near := _near(loc, kind)) is not None}
    # A key that is missing because it was mistyped is no second problem either, and what was typed is worth more.
    problems = [
        _problem(item, document, kind)
        for item in found
        if (item["type"] != "too_short" or item["loc"] not in inner)
        and (item["type"] != "missing" or item["loc"] not in meant)
    ]
    (line, first), *rest = sorted(problems)
    what = first if not rest else f"{first} (and {len(rest)} more: {'; '.join(f'line {n}: {t}' for n, t in rest[:5])})"
    return DeviceFileInvalid(
        what, where=f"{shown}:{line}", fix="see `ootci device schema` for every key, or devices/openreg.yaml"
    )


def _problem(item: Any, document: Document, model: type[Record]) -> tuple[int, str]:
    path = tuple(part for part in item["loc"] if part != "[key]")
    line = document.line_of(path)
    key = ".".join(str(part) for part in path)
    kind = item["type"]
    if kind == "extra_forbidden":
        meant = _near(path, model)
        return line, f"unknown key `{key}`" + (f"; did you mean `{meant}`?" if meant else "")
    if kind == "missing":
        return line, f"the key `{key}` is missing"
    if kind == "value_error":
        return line, f"{item['ctx']['error']}" if not key else f"`{key}`: {item['ctx']['error']}"
    if kind == "string_pattern_mismatch" and (meaning := MEANINGS.get(item["ctx"]["pattern"])):
        return line, f"`{key}` should be {meaning}, not {_shown(item.get('input'))}"
    if kind == "enum" and len(item["ctx"]["expected"]) > MANY:
        near = difflib.get_close_matches(str(item.get("input")), re.findall(r"'([^']*)'", item["ctx"]["expected"]), n=1)
        hint = f"did you mean `{near[0]}`?" if near else f"known: {item['ctx']['expected'].replace(chr(39), '')}"
        return line, f"`{key}` names nothing known with {_shown(item.get('input'))}; {hint}"
    message = re.sub(r"<\w+\.\w+: ('[^']*')>", r"\1", str(item["msg"]))
    return line, f"`{key}`: {message[0].lower()}{message[1:]}, not {_shown(item.get('input'))}"


def _near(path: tuple[str | int, ...], kind: type[Record]) -> str | None:
    """The key that was probably meant by one that is unknown."""
    return next(iter(difflib.get_close_matches(str(path[-1]), _keys_at(kind, path[:-1]), n=1)), None)


def _shown(value: object) -> str:
    kind = {bool: "yes/no", int: "number", float: "number", str: "text", list: "list", dict: "mapping"}
    if value is None:
        return "nothing"
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return f"the {kind.get(type(value), 'value')} {text if len(text) <= 60 else text[:57] + '...'}"


def _keys_at(kind: type[Record], path: tuple[str | int, ...]) -> list[str]:
    model: Any = kind
    for part in path:
        if isinstance(part, int):
            continue
        field = model.model_fields.get(part) if isinstance(model, type) and issubclass(model, Record) else None
        if field is None:
            return []
        model = next(iter(_records_in(field.annotation)), None)
    return list(model.model_fields) if isinstance(model, type) and issubclass(model, Record) else []


def _records_in(annotation: Any) -> list[type[Record]]:
    if isinstance(annotation, type) and issubclass(annotation, Record):
        return [annotation]
    found: list[type[Record]] = []
    for argument in getattr(annotation, "__args__", ()):
        found += _records_in(argument)
    return found
