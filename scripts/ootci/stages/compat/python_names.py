"""Names of ``torch.*`` and operators that a plugin's Python sources use; sources are parsed, never imported."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, chain
from typing import Any

from .torch_modules import LISTED, named, parsed, statements

MAX_SOURCE = 8 << 20
"""Bytes of one source file: the longest of torch 2.13.0 has 1.1 MB."""
MAX_PARSED = 1 << 20
"""Bytes of one source that is parsed: the syntax tree of one that long takes 100 MB, and a gigabyte if it is dense."""
MAX_NAMES = 100_000
_FROM = re.compile(rf"^[ \t]*from[ \t]+(torch[\w.]*)[ \t]+import{LISTED}", re.MULTILINE)
_IMPORT = re.compile(r"^[ \t]*import[ \t]+(?=\w)([^\n]*\btorch\b[^\n]*)", re.MULTILINE)
_STAR = re.compile(r"^[ \t]*from[ \t]+([\w.]+)[ \t]+import[ \t]*\*", re.MULTILINE)
_OVERLOAD = re.compile(r"\baten\s*\.\s*(\w+)\s*\.\s*(\w+)")
_REACHED = re.compile(r"(?<![\w.])([A-Za-z_]\w*)((?:\.[A-Za-z_]\w*)+)([ \t]*=(?!=))?")
_KERNEL = re.compile(r"\b(?:impl|register_kernel)\(\s*(?:[\w.]+\s*,\s*)?[\"'](aten::)?(\w+)(?:\.(\w+))?[\"']")
"""A kernel for an overload. Without the overload it is registered and never called, tried with torch 2.13.0."""
_LOOKS_UP = ("get_kernel", "register_autocast", "register_autograd", "register_fake", "register_vmap")
"""Functions of ``torch.library`` that fail without the overload that they name first, tried with torch 2.13.0."""
_LOOKED_UP = re.compile(rf"\b(?:{'|'.join(_LOOKS_UP)})\(\s*[\"']aten::(\w+)(?:\.(\w+))?[\"']")
_SETS = re.compile(r"\bsetattr\(\s*(torch[\w.]*)\s*,\s*[\"'](\w+)|\bsys\.modules\[[\"'](torch[\w.]*)()[\"']\]\s*=(?!=)")
_BARE = re.compile(r"(?<![\w.])[A-Za-z]\w*")
"""A name that a star import may give: no attribute, and not private."""
_NAMING = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")


@dataclass
class Used:
    """What the sources of a plugin use of torch, by their texts: in code or not, on every torch or not.

    Attributes:
        names: dotted names that are imported or reached, with the sources that have them.
        operators: overloads of ``aten``, such as ``full.names``, with the sources that have them.
        kernels: overloads that kernels are registered for, by their names.
        assigned: names that are assigned to, and modules that are put in their place.
        unparsed: sources that had to be parsed and could not be.

    """

    names: dict[str, set[str]] = field(default_factory=dict)
    operators: dict[str, set[str]] = field(default_factory=dict)
    kernels: set[str] = field(default_factory=set)
    assigned: set[str] = field(default_factory=set)
    unparsed: set[str] = field(default_factory=set)

    def provides(self, name: str) -> bool:
        """Whether the plugin itself makes a name, or a module before one of its dots."""
        return any(name == made or name.startswith(f"{made}.") for made in self.assigned)


def collect(source: bytes, file: str, used: Used) -> None:
    """Add what one source may use; it is not parsed, which takes most of the time."""
    text = source.decode("utf-8", "replace")
    used.assigned |= {".".join(filter(None, found)) for found in _SETS.findall(text)}
    aliases = {"torch": "torch"}
    names = set()
    for module, *listed in _FROM.findall(text):
        names.add(module)
        for name, alias in named("".join(listed)):
            aliases[alias or name] = f"{module}.{name}"
    for listed in _IMPORT.findall(text):
        for name, alias in named(listed):
            if f"{name}.".startswith("torch."):
                names.add(name)
                aliases[alias or "torch"] = name if alias else "torch"
    star = _star(_STAR.findall(text))
    # One pattern for all names: time must not grow with how many aliases a hostile source has.
    for root, attributes, sets in set(_REACHED.findall(text)):
        if root in aliases:
            names.add(f"{aliases[root]}{attributes}")
            if sets:
                used.assigned.add(f"{aliases[root]}{attributes}")
        elif star:
            names.add(f"{star}.{root}{attributes}")
    starred = (f"{star}.{found[0]}" for found in _BARE.finditer(text)) if star else ()
    for name in chain(names, aliases.values(), starred):
        if len(used.names) < MAX_NAMES:
            used.names.setdefault(name, set()).add(file)
    _collect_operators(text, file, used)


def _collect_operators(text: str, file: str, used: Used) -> None:
    if "aten" in text:  # in few of a plugin's sources
        for name, overload in {*_OVERLOAD.findall(text), *_LOOKED_UP.findall(text)}:
            used.operators.setdefault(_full(name, overload), set()).add(file)
    # A bare word can be an operator of any library.
    used.kernels |= {_full(*found) for space, *found in _KERNEL.findall(text) if space or found[1]}


def _star(modules: Sequence[str]) -> str | None:
    """The part of torch that all names of a source come from that it binds nowhere; with several nobody knows which."""
    return modules[0] if len(modules) == 1 and f"{modules[0]}.".startswith("torch.") else None


def _full(name: str, overload: str) -> str:
    return f"{name}.{overload}" if overload not in ("", "default") else name


def places_in(source: bytes, names: Collection[str]) -> dict[str, str] | None:
    """Where a source needs names on every torch: ``:12``, or ``:12 in f()`` for a function; None if it is not parsed.

    Args:
        names: dotted names, and overloads such as ``aten::full.names``; those that it may do without are left out.

    """
    tree = parsed(source) if len(source) <= MAX_PARSED else None
    if tree is None:
        return None
    found: dict[str, str] = {}
    bound = _bindings(tree)
    aliases = {name: target for name, target in bound.items() if f"{target}.".startswith("torch.")}
    starred = _starred(tree, bound)
    aliases |= starred
    is_lazy = any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body)
    for node, function in _certain(tree.body):
        needed = [(name, node.lineno) for name in _imported(node)]
        for item in _evaluated(node, annotations=not is_lazy and not (function and isinstance(node, ast.AnnAssign))):
            if isinstance(item, ast.Attribute) and isinstance(item.ctx, ast.Load):
                needed += [(_dotted(item, aliases), item.lineno), (f"aten::{_overload(item)}", item.lineno)]
            elif isinstance(item, ast.Name) and item.id in starred:
                needed.append((starred[item.id], item.lineno))
            elif isinstance(item, ast.Call):
                needed.append((_looked_up(item), item.lineno))
        for name, line in needed:
            if name in names and (name not in found or (is_called(found[name]) and not function)):
                found[name] = f":{line}{function}"
    return found


def is_called(place: str) -> bool:
    """Whether a place is in a function: an import of the plugin does not get there by itself."""
    return place.endswith("()")


def _bindings(tree: ast.Module) -> dict[str, str]:
    """What each name is that a source binds: a part of torch or of another package; empty where it is anything else."""
    bound: dict[str, str] = {}

    def bind(name: str, target: str = "") -> None:
        bound[name] = target if bound.get(name, target) == target else ""

    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            is_own = isinstance(node, ast.ImportFrom) and node.level
            module = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            for item in node.names:
                name = item.asname or item.name.partition(".")[0]
                target = f"{module}{item.name}" if module or item.asname else name
                bind(name, "" if is_own else target)
        elif isinstance(node, _NAMING):
            bind(node.name or "")
        elif isinstance(node, ast.arg):
            bind(node.arg)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bind(node.id)
    bound.setdefault("torch", "torch")  # Perhaps from a star import.
    return bound


def _starred(tree: ast.Module, bound: Collection[str]) -> dict[str, str]:
    """The names that only a star import from torch can give to a source."""
    imports = (node for node in statements(tree.body) if isinstance(node, ast.ImportFrom))
    star = _star([f"{'.' * node.level}{node.module}" for node in imports if node.names[0].name == "*"])
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} if star else set()
    return {name: f"{star}.{name}" for name in names - {*bound, *dir(builtins)} if not name.startswith("_")}


def _dotted(node: ast.expr, aliases: Mapping[str, str]) -> str:
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([aliases.get(getattr(node, "id", ""), ""), *reversed(parts)])


def _evaluated(node: ast.stmt, *, annotations: bool = True) -> Iterator[ast.expr]:
    """Expressions in a statement that are evaluated whenever it is; those of the statements within it are left out."""
    left_out = _BLOCKS if annotations else (*_BLOCKS, "annotation", "returns")
    pending: list[object] = [node]
    while pending:
        inner = pending.pop()
        if isinstance(inner, list):
            pending.extend(inner)
        elif isinstance(inner, ast.IfExp):
            pending.append(inner.test)
        elif isinstance(inner, ast.BoolOp):
            pending.append(inner.values[0])
        elif isinstance(inner, ast.expr):
            pending.extend(vars(inner).values())
            yield inner
        elif isinstance(inner, ast.AST):
            pending.extend(value for part, value in vars(inner).items() if part not in left_out)


def _certain(body: Sequence[ast.stmt], function: str = "") -> Iterator[tuple[ast.stmt, str]]:
    """Every statement that runs on each torch and that nothing keeps from failing, and the function that it is in.

    Statements in ``try`` and ``if`` are left out, and those after one of them that may leave the block: plugins that
    support several releases import names so.
    """
    for node in body:
        yield node, function
        if isinstance(node, (ast.If, ast.Match)) or _may_fail(node):
            if _may_leave(node):
                return
        else:
            within = f" in {node.name}()" if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) else function
            for part in ("body", "orelse", "finalbody"):
                yield from _certain(getattr(node, part, []), within)


def _may_fail(node: ast.AST) -> bool:
    if isinstance(node, ast.With):
        return any("suppress" in ast.dump(item.context_expr) for item in node.items)
    return bool(getattr(node, "handlers", []))


def _may_leave(node: ast.stmt) -> bool:
    """Whether a branch ends the block that it is in. One that raises an error saves the plugin from nothing."""
    pending: list[ast.AST] = [node]
    while pending:
        branch: Any = pending.pop()
        pending += [*getattr(branch, "handlers", []), *getattr(branch, "cases", [])]
        for block in (getattr(branch, "body", []), getattr(branch, "orelse", [])):
            if block and isinstance(block[-1], (ast.Return, ast.Continue, ast.Break)):
                return True
            if block and isinstance(block[-1], ast.If):
                pending.append(block[-1])
    return False


def _imported(node: ast.stmt) -> Iterator[str]:
    """What a statement imports, with the modules before its dots."""
    if isinstance(node, ast.Import):
        found = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom) and not node.level:
        found = [f"{node.module}.{alias.name}" for alias in node.names]
    else:
        return
    for name in found:
        yield from accumulate(name.split("."), "{}.{}".format)


def _overload(node: ast.Attribute) -> str | None:
    """``name.overload`` of an expression that ends in ``aten.name.overload``."""
    middle = node.value
    if not isinstance(middle, ast.Attribute):
        return None
    space = middle.value
    if getattr(space, "attr", getattr(space, "id", "")) != "aten":
        return None
    return middle.attr if node.attr == "default" else f"{middle.attr}.{node.attr}"


def _looked_up(node: ast.Call) -> str:
    """``aten::name.overload`` where a call fails without that overload; empty elsewhere."""
    is_named = getattr(node.func, "attr", getattr(node.func, "id", "")) in _LOOKS_UP
    said = node.args[0].value if is_named and node.args and isinstance(node.args[0], ast.Constant) else None
    return said.removesuffix(".default") if isinstance(said, str) else ""
