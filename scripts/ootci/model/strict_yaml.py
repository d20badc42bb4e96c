"""Reads untrusted YAML: bounded, strict, and with the line of every value.

PyYAML's safe loader keeps the last of two equal keys, expands aliases without limit and forgets where a value stood.
This reads its node tree instead, with a budget.
"""

from __future__ import annotations

import re
import unicodedata
from pathlib import Path
from typing import NamedTuple, TypeAlias

import yaml  # noqa: TID251

from ootci.errors import (
    DeviceFileDuplicateKey,
    DeviceFileSyntax,
    DeviceFileTooComplex,
    DeviceFileTooLarge,
    DeviceFileUnreadable,
)

MAX_BYTES = 64 * 1024
MAX_NODES = 5_000
MAX_DEPTH = 20

_PLAIN_NUMBER = re.compile(r"[-+]?(?:0|[1-9][0-9]*)")
_NOT_TEXT = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Categories of Unicode: control characters, those that are invisible or turn the direction of text, lone surrogates,
and separators of lines that no editor shows."""

Value: TypeAlias = "bool | int | float | str | list[Value] | dict[str, Value] | None"
KeyPath = tuple[str | int, ...]


class Document(NamedTuple):
    """A document's plain values, and the 1-based line of each, by its path of keys and indices."""

    value: Value
    lines: dict[KeyPath, int]

    def line_of(self, path: KeyPath) -> int:
        """The line of a value, or of the nearest enclosing one where the value itself is missing."""
        while path not in self.lines and path:
            path = path[:-1]
        return self.lines.get(path, 1)


def flow_text(value: object) -> str:
    """A value on one line of YAML."""
    text = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=1000)
    return text.strip().removesuffix("...").strip()


def read_document(path: Path, shown: str) -> Document:
    """Read one YAML file; ``shown`` is how errors name it.

    Raises:
        DeviceFileUnreadable, DeviceFileTooLarge, DeviceFileSyntax, DeviceFileDuplicateKey, DeviceFileTooComplex:
            as their names say, each with file and line.

    """
    text = _read_text(path, shown)
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise DeviceFileSyntax(
            f"not valid YAML: {error.problem or error.context}",
            where=f"{shown}:{line}",
            fix="mend the syntax on that line; indentation is by spaces, text with `: ` or ` #` wants quotes",
        ) from error
    except yaml.reader.ReaderError as error:
        raise DeviceFileSyntax(
            f"not valid YAML: the character U+{error.character:04X} is not allowed",
            where=f"{shown}:{text.count(chr(10), 0, error.position) + 1}",
            fix="remove the character",
        ) from error
    except RecursionError as error:
        raise _too_complex(shown, 1, f"nests deeper than {MAX_DEPTH} levels") from error
    lines: dict[KeyPath, int] = {}
    return Document(_Builder(shown, lines).build(node, (), 0) if node else None, lines)


def _read_text(path: Path, shown: str) -> str:
    try:
        if not path.is_file():
            raise DeviceFileUnreadable(
                "no such file" if not path.exists() else "not a regular file",
                where=shown,
                fix="name a YAML file, for example devices/openreg.yaml",
            )
        with path.open("rb") as stream:
            content = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise DeviceFileUnreadable(
            f"the file cannot be read: {error.strerror}", where=shown, fix="check the file's permissions"
        ) from error
    if len(content) > MAX_BYTES:
        raise DeviceFileTooLarge(
            f"the file is larger than {MAX_BYTES // 1024} KiB",
            where=shown,
            fix="keep data only in a device file; scripts belong in the folder of the same name beside it",
        )
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise DeviceFileUnreadable(
            f"byte {error.start} is not UTF-8", where=f"{shown}:{line}", fix="save the file as UTF-8"
        ) from error


def _too_complex(shown: str, line: int, how: str) -> DeviceFileTooComplex:
    return DeviceFileTooComplex(
        f"the file {how}", where=f"{shown}:{line}", fix="write the values out; aliases (`*name`) are rarely needed"
    )


class _Builder:
    def __init__(self, shown: str, lines: dict[KeyPath, int]) -> None:
        self.shown = shown
        self.lines = lines
        self.nodes = 0

    def build(self, node: yaml.Node, path: KeyPath, depth: int) -> Value:
        line = node.start_mark.line + 1
        self.lines.setdefault(path, line)
        self.nodes += 1
        if self.nodes > MAX_NODES:
            raise _too_complex(self.shown, line, f"expands to more than {MAX_NODES} values")
        if depth > MAX_DEPTH:
            raise _too_complex(self.shown, line, f"nests deeper than {MAX_DEPTH} levels")
        if isinstance(node, yaml.MappingNode):
            return self._mapping(node, path, depth)
        if isinstance(node, yaml.SequenceNode):
            return [self.build(item, (*path, index), depth + 1) for index, item in enumerate(node.value)]
        return self._scalar(node, line)

    def _mapping(self, node: yaml.MappingNode, path: KeyPath, depth: int) -> dict[str, Value]:
        result: dict[str, Value] = {}
        for key_node, value_node in node.value:
            line = key_node.start_mark.line + 1
            if not isinstance(key_node, yaml.ScalarNode):
                raise DeviceFileSyntax("a key must be plain text", where=f"{self.shown}:{line}", fix="use a plain key")
            key = str(key_node.value)
            path_of_key = (*path, key)
            if key in result:
                first = self.lines[path_of_key]
                raise DeviceFileDuplicateKey(
                    f"the key `{key}` is there twice, first on line {first}",
                    where=f"{self.shown}:{line}",
                    fix="keep one of the two",
                )
            self.lines[path_of_key] = line
            result[key] = self.build(value_node, path_of_key, depth + 1)
        return result

    def _scalar(self, node: yaml.Node, line: int) -> Value:
        constructor = yaml.constructor.SafeConstructor()
        try:
            value = constructor.construct_object(node)
        except (yaml.YAMLError, ValueError, OverflowError) as error:
            raise DeviceFileSyntax(
                f"the value cannot be read: {' '.join(str(error).split())}",
                where=f"{self.shown}:{line}",
                fix="put the value in quotes if it is text",
            ) from error
        if isinstance(value, int) and not isinstance(value, bool) and not _PLAIN_NUMBER.fullmatch(str(node.value)):
            # YAML 1.1 reads 010 as eight and 1:30 as ninety, which is never intended.
            raise DeviceFileSyntax(
                f"the number `{node.value}` would be read as {value}",
                where=f"{self.shown}:{line}",
                fix="write the number in plain decimal digits, or put quotes around text",
            )
        if isinstance(value, str) and (odd := _not_text(value)):
            raise DeviceFileSyntax(
                f"the text holds the character U+{ord(odd):04X}, which is not text",
                where=f"{self.shown}:{line}",
                fix="remove the character, or its escape sequence",
            )
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        return str(node.value)  # dates and binary stay as they were written


def _not_text(text: str) -> str | None:
    """The first control, bidirectional or invisible character; None where there is none."""
    if text.isascii() and text.isprintable():
        return None
    return next((one for one in text if one not in "\t\n" and unicodedata.category(one) in _NOT_TEXT), None)
