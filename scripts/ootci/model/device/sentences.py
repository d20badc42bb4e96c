"""The problems of a device file, in sentences with line numbers."""

from __future__ import annotations

import difflib
import re
from typing import Any

from pydantic import ValidationError

from ootci.errors import DeviceFileInvalid
from ootci.model.record import Record
from ootci.model.strict_yaml import Document
from ootci.model.words import many

from .keys import Device
from .reference import keys_at, kind_and_example
from .values import MEANINGS

MANY = 120
"""A list of choices with more characters is cut to the nearest choice."""


def invalid(error: ValidationError, document: Document, shown: str, kind: type[Record] = Device) -> DeviceFileInvalid:
    """The error of a file that is to hold a ``kind``: its first problem, with the others as its ``others``."""
    found = error.errors(include_url=False)
    # A list that is too short because its items are wrong is no second problem.
    inner = {item["loc"][:-depth] for item in found for depth in range(1, len(item["loc"]))}
    mistyped = [item["loc"] for item in found if item["type"] == "extra_forbidden"]
    meant = {(*loc[:-1], near) for loc in mistyped if (near := _near(loc, kind)) is not None}
    # A key that is missing because it was mistyped is no second problem either, and what was typed is worth more.
    problems = sorted(
        _problem(item, document, kind)
        for item in found
        if (item["type"] != "too_short" or item["loc"] not in inner)
        and (item["type"] != "missing" or item["loc"] not in meant)
    )
    (line, what, fix), *rest = problems
    others = tuple(DeviceFileInvalid(what, where=f"{shown}:{line}", fix=fix) for line, what, fix in rest)
    return DeviceFileInvalid(what, where=f"{shown}:{line}", fix=fix, others=others)


def _problem(item: Any, document: Document, model: type[Record]) -> tuple[int, str, str]:
    """The line, what is wrong there, and the remedy."""
    path = tuple(part for part in item["loc"] if part != "[key]")
    key = shown_path(path)
    kind, example = kind_and_example(path, model)
    what, fix = _what(item, key, kind), f"write for example `{example}`; `ootci explain {key}` describes the key"
    if item["type"] == "extra_forbidden":
        near = _near(path, model)
        group = shown_path(path[:-1])
        listed = f"`ootci explain {group}` lists the keys there" if group else "`ootci explain keys` lists every key"
        what = f"unknown key `{key}`" + (f"; did you mean `{near}`?" if near else "")
        fix = "rename or remove it" if near else f"remove it; {listed}"
    elif not key:
        fix = "`ootci explain keys` lists every key"
    elif item["type"] == "value_error":
        fix = f"`ootci explain {key}` describes the key"
    return document.line_of(path), what, fix


def _what(item: Any, key: str, kind: str) -> str:
    error, context = item["type"], item.get("ctx", {})
    if error == "missing":
        return f"the required key `{key}` is missing"
    if error == "value_error":
        return f"`{key}`: {context['error']}" if key else f"{context['error']}"
    if error in ("too_long", "too_short"):
        least = error == "too_short"
        count = context["min_length"] if least else context["max_length"]
        entries = f"{'at least' if least else 'at most'} {many(count, 'entry', 'entries')}"
        return f"`{key}` must have {entries}, not {context['actual_length']}"
    if error in ("string_too_long", "string_too_short"):
        bound = f"at most {context['max_length']}" if error == "string_too_long" else "at least 1"
        return f"`{key}` must have {bound} characters, not {len(item['input'])}"
    if error == "enum" and len(context["expected"]) > MANY:
        near = difflib.get_close_matches(str(item.get("input")), re.findall(r"'([^']*)'", context["expected"]), n=1)
        hint = f"did you mean `{near[0]}`?" if near else f"known: {context['expected'].replace(chr(39), '')}"
        return f"`{key}` has no choice {_shown(item.get('input'))}; {hint}"
    kind = MEANINGS.get(context.get("pattern", ""), kind)  # of a name in a mapping, too
    return f"`{key}` must be {kind}, not {_shown(item.get('input'))}"


def shown_path(path: tuple[str | int, ...]) -> str:
    """The place of a value as messages name it: ``suites[0].name``."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


def _near(path: tuple[str | int, ...], kind: type[Record]) -> str | None:
    """The key that was probably meant by one that is unknown."""
    return next(iter(difflib.get_close_matches(str(path[-1]), keys_at(path[:-1], kind), n=1)), None)


def _shown(value: object) -> str:
    kind = {bool: "yes/no", int: "number", float: "number", str: "text", list: "list", dict: "mapping"}
    if value is None:
        return "nothing"
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return f"the {kind.get(type(value), 'value')} {text if len(text) <= 60 else text[:57] + '...'}"
