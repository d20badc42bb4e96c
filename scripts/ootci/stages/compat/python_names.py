"""Names of ``torch.*`` that Python sources import, and whether a torch has them; sources are parsed, never imported."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import Any

MAX_SOURCE = 8 << 20
"""Bytes of one source file: the longest of torch 2.13.0 has 1.1 MB."""
MAX_NAMES = 100_000
_PYTHON = re.compile(r"(/__init__)?\.pyi?$")
_STUB = re.compile(r"^(?:    )?(?:async )?(?:def|class) (\w+)|^(?:    )?(\w+) *[:=]", re.MULTILINE)
_DEFINITION = re.compile(r"^(?:class |def |async def |(?=\w+ *(?:=|: ?[\w\[\]., |]+=)))(\w+)", re.MULTILINE)
_FROM = re.compile(
    r"^[ \t]*from[ \t]+(torch[\w.]*)[ \t]+import\b(?:[ \t]*(\((?:[^()#]|#[^\n]*\n)*\))|((?:[^\n\\]|\\\n)*))",
    re.MULTILINE,
)
_IMPORT = re.compile(r"^[ \t]*import[ \t]+(?=\w)([^\n]*\btorch\b[^\n]*)", re.MULTILINE)
_NAMED = re.compile(r"([\w.]+)(?:\s+as\s+(\w+))?")
_COMMENT = re.compile(r"#.*")
_OVERLOAD = re.compile(r"\baten\s*\.\s*(\w+)\s*\.\s*(\w+)")
_REACHED = re.compile(r"(?<![\w.])([A-Za-z_]\w*)((?:\.[A-Za-z_]\w*)+)([ \t]*=(?!=))?")
_SETS = re.compile(r"\bsetattr\(\s*(torch[\w.]*)\s*,\s*[\"'](\w+)|\bsys\.modules\[[\"'](torch[\w.]*)()[\"']\]\s*=(?!=)")
_MAKES_NAMES = re.compile(rb"\bglobals\(\)|\bsetattr\(|^def __getattr__", re.MULTILINE)
_REPLACES_ITSELF = re.compile(rb"\bsys\.modules\[__name__\]")
_WORD = re.compile(r"[A-Za-z_]\w*")
_WORD_IN_QUOTES = re.compile(r"[\"']([A-Za-z_]\w*)[\"']")
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")


@dataclass
class Used:
    """What the sources of a plugin use of torch, by their texts: in code or not, on every torch or not.

    Attributes:
        names: dotted names that are imported or reached, with the sources that have them.
        operators: overloads of ``aten``, such as ``full.names``, with the sources that have them.
        assigned: names that are assigned to, and modules that are put in their place.
        unparsed: sources that had to be parsed and could not be.

    """

    names: dict[str, set[str]] = field(default_factory=dict)
    operators: dict[str, set[str]] = field(default_factory=dict)
    assigned: set[str] = field(default_factory=set)
    unparsed: set[str] = field(default_factory=set)

    def provides(self, name: str) -> bool:
        """Whether the plugin itself makes a name, or a module before one of its dots."""
        return any(name == made or name.startswith(f"{made}.") for made in self.assigned)


def parsed(source: bytes) -> ast.Module | None:
    """The syntax tree of a source; None where this Python cannot parse it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def collect(source: bytes, file: str, used: Used) -> None:
    """Add what one source may use; it is not parsed, which takes most of the time."""
    text = source.decode("utf-8", "replace")
    used.assigned |= {".".join(filter(None, found)) for found in _SETS.findall(text)}
    aliases = {"torch": "torch"}
    names = set()
    for module, *listed in _FROM.findall(text):
        names.add(module)
        for name, alias in _NAMED.findall(_COMMENT.sub("", "".join(listed))):
            aliases[alias or name] = f"{module}.{name}"
    for listed in _IMPORT.findall(text):
        for name, alias in _NAMED.findall(_COMMENT.sub("", listed)):
            if f"{name}.".startswith("torch."):
                names.add(name)
                aliases[alias or "torch"] = name if alias else "torch"
    # One pattern for all names: time must not grow with how many aliases a hostile source has.
    for root, attributes, sets in set(_REACHED.findall(text)):
        if root not in aliases:
            continue
        names.add(f"{aliases[root]}{attributes}")
        if sets:
            used.assigned.add(f"{aliases[root]}{attributes}")
    for name in names.union(aliases.values()):
        if len(used.names) < MAX_NAMES:
            used.names.setdefault(name, set()).add(file)
    for name, overload in set(_OVERLOAD.findall(text)):
        used.operators.setdefault(name if overload == "default" else f"{name}.{overload}", set()).add(file)


def places_in(source: bytes, names: Collection[str]) -> dict[str, str] | None:
    """Where a source needs names on every torch: ``:12``, or ``:12 in f()`` for a function; None if it is not parsed.

    Args:
        names: dotted names, and overloads such as ``aten::full.names``; those that it may do without are left out.

    """
    tree = parsed(source)
    if tree is None:
        return None
    found: dict[str, str] = {}
    aliases = _aliases(tree)
    is_lazy = any(isinstance(node, ast.ImportFrom) and node.module == "__future__" for node in tree.body)
    for node, function in _certain(tree.body):
        needed = [(name, node.lineno) for name in _imported(node)]
        for item in _attributes(node, annotations=not is_lazy and not (function and isinstance(node, ast.AnnAssign))):
            if isinstance(item.ctx, ast.Load):
                needed += [(_dotted(item, aliases), item.lineno), (f"aten::{_overload(item)}", item.lineno)]
        for name, line in needed:
            if name in names and (name not in found or (is_called(found[name]) and not function)):
                found[name] = f":{line}{function}"
    return found


def is_called(place: str) -> bool:
    """Whether a place is in a function: an import of the plugin does not get there by itself."""
    return place.endswith("()")


def _aliases(tree: ast.Module) -> dict[str, str]:
    """The names that a source binds to a part of torch, and to nothing else."""
    bound: dict[str, set[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            is_own = isinstance(node, ast.ImportFrom) and node.level
            module = f"{node.module}." if isinstance(node, ast.ImportFrom) else ""
            for item in node.names:
                name = item.asname or item.name.partition(".")[0]
                target = f"{module}{item.name}" if module or item.asname else name
                bound.setdefault(name, set()).add("" if is_own else target)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            bound.setdefault(node.name, set()).add("")
        elif isinstance(node, ast.arg):
            bound.setdefault(node.arg, set()).add("")
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bound.setdefault(node.id, set()).add("")
    bound.setdefault("torch", {"torch"})  # Perhaps from a star import.
    return {
        name: target for name, (target, *others) in bound.items() if not others and f"{target}.".startswith("torch.")
    }


def _dotted(node: ast.expr, aliases: Mapping[str, str]) -> str:
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([aliases.get(getattr(node, "id", ""), ""), *reversed(parts)])


def _attributes(node: ast.stmt, *, annotations: bool = True) -> Iterator[ast.Attribute]:
    """Attributes in a statement that are evaluated whenever it is; those of the statements within it are left out."""
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
            if isinstance(inner, ast.Attribute):
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


def _for_type_checkers(test: ast.expr) -> bool:
    return getattr(test, "id", getattr(test, "attr", "")) == "TYPE_CHECKING"


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


class Modules:
    """The modules of a torch, by its files: which names each binds, parsed when they are first requested."""

    def __init__(self, files: Iterable[str], read: Callable[[str], bytes]) -> None:
        self._files = frozenset(files)
        self._folders = frozenset(file.rpartition("/")[0] for file in self._files if file.endswith(".py"))
        self._read = read
        self._known: dict[str, frozenset[str]] = {}
        self._plain: dict[str, frozenset[str]] = {}

    def beyond(self, other: Modules) -> set[str]:
        """What a source can import from this torch and not from the other one; a module stands for all names in it."""
        missing = self._modules - other._modules
        found = {module for module in missing if module.rpartition(".")[0] not in missing}
        for module in sorted(self._modules & other._modules):
            source = self._source(module)
            if source != other._source(module) or b"import *" in source:
                names = (self._bound(module, frozenset()) or frozenset()) - (other._bound(module, frozenset()) or set())
                found |= {f"{module}.{name}" for name in names} - other._modules
        return found

    @cached_property
    def _modules(self) -> frozenset[str]:
        files = (file for file in self._files if file.startswith("torch/") and _PYTHON.search(file))
        return frozenset(_PYTHON.sub("", file).replace("/", ".") for file in files)

    def _source(self, module: str) -> bytes:
        return self._read(self._file(module) or "")

    def is_module(self, name: str) -> bool:
        """Whether a dotted name is a module, or a folder of modules."""
        return self._file(name) is not None or name.replace(".", "/") in self._folders

    def has(self, name: str) -> bool:
        """Whether a dotted name is a module, or is bound in the module before its last dot."""
        module, _, attribute = name.rpartition(".")
        if self.is_module(name) or self._plainly_binds(module, attribute):
            return True
        bound = self._bound(module, frozenset())
        return bound is not None and attribute in bound

    def _plainly_binds(self, module: str, attribute: str) -> bool:
        """Whether a definition begins a line, which is quicker to see than to parse the module."""
        file = self._file(module)
        if file is None or not file.endswith(".py"):
            return False
        if module not in self._plain:
            self._plain[module] = frozenset(_DEFINITION.findall(self._read(file).decode("utf-8", "replace")))
        return attribute in self._plain[module]

    def _file(self, module: str) -> str | None:
        path = module.replace(".", "/")
        candidates = (f"{path}/__init__.py", f"{path}.py", f"{path}/__init__.pyi", f"{path}.pyi")
        return next((file for file in candidates if file in self._files), None)

    def _bound(self, module: str, through: frozenset[str]) -> frozenset[str] | None:
        if module in self._known:
            return self._known[module]
        file = self._file(module)
        if file is None or module in through:
            return None
        source = self._read(file)
        names: set[str] = set()
        if file.endswith(".pyi"):
            # A syntax tree of the stubs of torch._C takes 200 MB.
            found = _STUB.findall(source.decode("utf-8", "replace"))
            names |= {name for pair in found for name in pair if name}
        elif (tree := parsed(source)) is None:
            # It is for a newer Python, so nobody knows what it binds: perhaps every word in it.
            names.update(_WORD.findall(source.decode("utf-8", "replace")))
        else:
            package = module if "/__init__." in file else module.rpartition(".")[0]
            for node in _statements(tree.body):
                names |= _binds(node)
                if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names):
                    names |= self._bound(_absolute(node, package), through | {module}) or frozenset()
            if _REPLACES_ITSELF.search(source):
                # Attributes of an object are in its place, so every word in it may be one.
                names.update(_WORD.findall(source.decode("utf-8", "replace")))
            elif _MAKES_NAMES.search(source):
                # Such a module makes names from texts, so a name that it has in quotes may exist.
                names.update(_WORD_IN_QUOTES.findall(source.decode("utf-8", "replace")))
        if module == "torch":
            # torch/__init__.py binds everything that these have.
            for inner in ("torch._C", "torch._C._VariableFunctions"):
                names |= self._bound(inner, through | {module}) or frozenset()
        self._known[module] = frozenset(names)
        return self._known[module]


def _absolute(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return node.module or ""
    parts = package.split(".")
    base = parts[: len(parts) - node.level + 1]
    return ".".join([*base, *([node.module] if node.module else [])])


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Every statement that runs when the module is imported."""
    for node in body:
        yield node
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        if isinstance(node, ast.If) and _for_type_checkers(node.test):
            yield from _statements(node.orelse)
            continue
        for part in ("body", "orelse", "finalbody"):
            yield from _statements(getattr(node, part, []))
        for handler in (*getattr(node, "handlers", []), *getattr(node, "cases", [])):
            yield from _statements(handler.body)


def _binds(node: ast.stmt) -> set[str]:
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {node.name}
    if isinstance(node, (ast.Import, ast.ImportFrom)):
        return {(alias.asname or alias.name.partition(".")[0]) for alias in node.names if alias.name != "*"}
    found: set[str] = set()
    targets: list[ast.AST] = []
    if isinstance(node, ast.Assign):
        targets += node.targets
    elif isinstance(node, (ast.AnnAssign, ast.AugAssign, ast.For)):
        targets.append(node.target)
    elif isinstance(node, ast.With):
        targets += [item.optional_vars for item in node.items if item.optional_vars is not None]
    elif isinstance(node, ast.Expr):
        targets += [inner for inner in ast.walk(node) if isinstance(inner, ast.NamedExpr)]
    for target in targets:
        found |= {
            inner.id for inner in ast.walk(target) if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store)
        }
    return found
