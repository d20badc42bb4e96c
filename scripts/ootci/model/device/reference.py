"""Every key of a device file as its schema describes it, for the reference pages and for errors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from functools import cache
from typing import Any

from ootci.model.documented import Documented
from ootci.model.record import Record
from ootci.model.strict_yaml import flow_text

from .keys import Device
from .values import EXAMPLES, MEANINGS

MANY = 8
"""Of a list with more choices than this, one example is shown."""
DAY = date(2026, 11, 21)
SAMPLES: dict[str, Any] = {
    "plugin": {"distribution": "torch-mydevice", "package": "torch-mydevice==2.13.0"},
    "suites": [{"name": "smoke"}],
    "url": "https://github.com/my-company/torch-mydevice.git",
    "command": "my-smi",
    "options": "--device /dev/mydevice0",
    "volumes": "/opt/sdk:/opt/sdk:ro",
    "torch": ">=2.13,<2.15",
    "environment": {"MY_VARIABLE": "1"},
    "group": "my-runners",
    "ref": "main",
    "junit": "report.xml",
    "vendor": "My Company",
    "display_name": "My Device",
    "title": "Python 3.13",
}
"""Values by the name of the key, where the schema alone does not tell a valid or sensible one."""
_PLURAL = {"a group of keys": "groups of keys", "text": "texts"}


@dataclass(frozen=True)
class DeviceKey:
    """One key.

    Attributes:
        path: its place, such as ``plugin.git.url``; ``[]`` stands for each entry of a list.
        kind: what its value must be.
        default: what holds when it is absent; None for one that is required wherever its group is.
        sentence: what it is for; code in it is in backticks.
        top: whether it is at the top of the file.
        example: the shortest valid line of YAML with it.

    """

    path: str
    kind: str
    default: str | None
    sentence: str
    top: bool
    example: str


@cache
def device_keys() -> tuple[DeviceKey, ...]:
    """The keys of a device file; each group before its own keys."""
    schema = Device.model_json_schema(schema_generator=Documented)
    return tuple(_keys(schema, schema.get("$defs", {}), ""))


def kind_and_example(path: tuple[str | int, ...], model: type[Record] = Device) -> tuple[str, str]:
    """What a value must be, and the shortest valid line of YAML that has it.

    Args:
        path: the keys and indices that lead to the value; what the schema does not know is text.
        model: what the file holds.

    """
    definitions, nodes = _nodes(path, model)
    kind = _kind(nodes[-1][2], definitions)
    for name, node, inner in reversed(nodes):
        if isinstance(name, str) and name:
            return kind, _line(name, node, inner, definitions)
    return kind, ""


def keys_at(path: tuple[str | int, ...], model: type[Record] = Device) -> list[str]:
    """The keys that a group can have; none where there is no group."""
    return list(_nodes(path, model)[1][-1][2].get("properties", ()))


_Nodes = list[tuple[str | int, dict[str, Any], dict[str, Any]]]


def _nodes(path: tuple[str | int, ...], model: type[Record]) -> tuple[dict[str, Any], _Nodes]:
    """The schema's definitions; of each part of a path the part, its node, and what that node refers to."""
    schema = model.model_json_schema()
    definitions = schema.get("$defs", {})
    found: _Nodes = [("", schema, schema)]
    for part in path:
        inner = found[-1][2]
        below: dict[str, Any] | None = (
            inner.get("items") if isinstance(part, int) else inner.get("properties", {}).get(part)
        )
        node: dict[str, Any] = below or next(iter(inner.get("patternProperties", {}).values()), {})
        found.append((part, node, _resolved(node, definitions)))
    return definitions, found


def _keys(group: dict[str, Any], definitions: dict[str, Any], before: str) -> Iterator[DeviceKey]:
    for name, node in group["properties"].items():
        inner = _resolved(node, definitions)
        items = _resolved(inner.get("items", {}), definitions)
        yield DeviceKey(
            path=f"{before}{name}",
            kind=_kind(inner, definitions),
            default=None if name in group.get("required", ()) else _default(node.get("default"), inner),
            sentence=node.get("description") or inner.get("description", ""),
            top=not before,
            example=_line(name, node, inner, definitions),
        )
        if "properties" in inner:
            yield from _keys(inner, definitions, f"{before}{name}.")
        elif "properties" in items:
            yield from _keys(items, definitions, f"{before}{name}[].")


def _resolved(node: dict[str, Any], definitions: dict[str, Any]) -> dict[str, Any]:
    """What a value must be where there is one: references are followed, and null is left out."""
    for several in ("allOf", "anyOf"):
        chosen = [item for item in node.get(several, ()) if item.get("type") != "null"]
        if len(chosen) == 1:
            return _resolved(chosen[0], definitions)
    if "$ref" in node:
        return _resolved(definitions[node["$ref"].rpartition("/")[2]], definitions)
    return node


def _choices(node: dict[str, Any], definitions: dict[str, Any]) -> list[dict[str, Any]]:
    return [_resolved(item, definitions) for item in node.get("anyOf", ()) if item.get("type") != "null"]


def _kind(node: dict[str, Any], definitions: dict[str, Any]) -> str:
    if several := _choices(node, definitions):
        return ", or ".join(_kind(item, definitions) for item in several)
    choices = (node["const"],) if "const" in node else node.get("enum", ())
    if choices:
        few = ", ".join(f"`{item}`" for item in choices[: 1 if len(choices) > MANY else MANY])
        if len(choices) == 1:
            return few
        return f"one of {len(choices)}, such as {few}" if len(choices) > MANY else f"one of {few}"
    kind = node.get("type")
    if kind == "array":
        items = _kind(_resolved(node["items"], definitions), definitions)
        return f"a list of {_PLURAL.get(items) or f'entries, each {items}'}"
    if kind == "object":
        if "properties" in node:
            return "a group of keys"
        (values,) = node["patternProperties"].values()
        return f"a mapping of names to {_kind(_resolved(values, definitions), definitions)}"
    if kind == "boolean":
        return "`true` or `false`"
    if kind == "integer":
        return "a whole number" + "".join(
            f", {word} {node[limit]}"
            for word, limit in (("at least", "minimum"), ("at most", "maximum"))
            if limit in node
        )
    return f"a day such as {DAY}" if node.get("format") == "date" else MEANINGS.get(node.get("pattern", ""), "text")


def _default(value: Any, node: dict[str, Any]) -> str:
    if isinstance(value, list) and value:
        return ", ".join(str(item["name"]) if isinstance(item, dict) else str(item) for item in value)
    if value is None or value == [] or isinstance(value, dict) or "properties" in node:
        return "none" if not isinstance(value, dict) else "as below"
    return json.dumps(value).strip('"')


def _line(name: str, node: dict[str, Any], inner: dict[str, Any], definitions: dict[str, Any]) -> str:
    default = node.get("default")
    value = default if isinstance(default, (str, int)) else _sample(name, inner, definitions)
    return f"{name}: {flow_text(value)}"


def _sample(name: str, node: dict[str, Any], definitions: dict[str, Any]) -> Any:
    """The shortest value that the schema takes: of a group its required keys, or its first."""
    kind = node.get("type")
    sample = SAMPLES.get(name)
    if sample is not None and isinstance(sample, {"object": dict, "array": list, "string": str}.get(kind or "", ())):
        return sample
    if several := _choices(node, definitions):
        return _sample(name, several[0], definitions)
    if "const" in node or "enum" in node:
        return node.get("const") or node["enum"][0]
    if kind == "array":
        return [_sample(name, _resolved(node["items"], definitions), definitions)]
    if kind == "object" and "properties" in node:
        keys = node.get("required") or [next(iter(node["properties"]))]
        return {key: _sample(key, _resolved(node["properties"][key], definitions), definitions) for key in keys}
    if kind == "object":
        ((pattern, values),) = node["patternProperties"].items()
        return {EXAMPLES[pattern]: _sample(name, _resolved(values, definitions), definitions)}
    if kind == "boolean":
        return True
    if kind == "integer":
        return node.get("minimum", 1)
    if node.get("format") == "date":
        return DAY
    return EXAMPLES.get(node.get("pattern", ""), "one sentence")
