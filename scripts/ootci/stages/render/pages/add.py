"""The page for a new device: every key that a device file can have, read out of its schema."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ootci.model.device.values import MEANINGS
from ootci.model.schema import device_schema

from ..page_maker import PageMaker
from ..publish import File

SHORTEST = """\
name: mydevice
display_name: My Device
vendor: My Company
maintainers: ["@me"]
plugin:
  distribution: torch-mydevice
  git: {url: "https://github.com/my-company/torch-mydevice.git"}
"""
"""A device file with nothing but what must be there."""

MANY = 8
"""A list of more values than this is told by an example."""


@dataclass(frozen=True)
class DeviceKey:
    """One key.

    Attributes:
        path: where it stands, such as ``plugin.git.url``; ``[]`` stands for each entry of a list.
        kind: what is written there.
        default: what holds when it is absent; None for one that must be there wherever its group is.
        sentence: what it is for; code in it stands in backticks.
        top: whether it stands at the top of the file.

    """

    path: str
    kind: str
    default: str | None
    sentence: str
    top: bool


def add_page(maker: PageMaker) -> File:
    """What a new device file needs and can have."""
    keys = device_keys(device_schema())
    missing = tuple(key.path for key in keys if key.top and key.default is None)
    return maker.show("devices/add/index.html", "add.html", shortest=SHORTEST, keys=keys, missing=missing)


def device_keys(schema: str) -> tuple[DeviceKey, ...]:
    """The keys of a device file, each group before its own."""
    whole = json.loads(schema)
    return tuple(_keys(whole, whole["definitions"], ""))


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


def _kind(node: dict[str, Any], definitions: dict[str, Any]) -> str:
    if several := [item for item in node.get("anyOf", ()) if item.get("type") != "null"]:
        return ", or ".join(_kind(_resolved(item, definitions), definitions) for item in several)
    choices = (node["const"],) if "const" in node else node.get("enum", ())
    if choices:
        few = ", ".join(f"`{item}`" for item in choices[: 1 if len(choices) > MANY else MANY])
        if len(choices) == 1:
            return few
        return f"one of {len(choices)}, such as {few}" if len(choices) > MANY else f"one of {few}"
    kind = node.get("type")
    if kind == "array":
        return f"list of: {_kind(_resolved(node['items'], definitions), definitions)}"
    if kind == "object":
        if "properties" in node:
            return "group of keys"
        (values,) = node["patternProperties"].values()
        return f"mapping of names to {_kind(_resolved(values, definitions), definitions)}"
    if kind == "boolean":
        return "`true` or `false`"
    if kind == "integer":
        return "whole number" + "".join(
            f", {word} {node[limit]}"
            for word, limit in (("at least", "minimum"), ("at most", "maximum"))
            if limit in node
        )
    return "day" if node.get("format") == "date" else MEANINGS.get(node.get("pattern", ""), "text")


def _default(value: Any, node: dict[str, Any]) -> str:
    if isinstance(value, list) and value:
        return ", ".join(str(item["name"]) if isinstance(item, dict) else str(item) for item in value)
    if value is None or value == [] or isinstance(value, dict) or "properties" in node:
        return "none" if not isinstance(value, dict) else "as below"
    return json.dumps(value).strip('"')
