"""Names of ``torch.*`` that Python sources import, and whether a torch has them; sources are parsed, never imported."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

MAX_SOURCE = 8 << 20
"""Bytes of one source file: the longest of torch 2.13.0 has 1.1 MB."""
MAX_REACHED = 100_000
_PYTHON = re.compile(r"(/__init__)?\.pyi?$")
_STUB = re.compile(r"^(?:    )?(?:async )?(?:def|class) (\w+)|^(?:    )?(\w+) *[:=]", re.MULTILINE)
_DEFINITION = re.compile(r"^(?:class |def |async def |(?=\w+ *(?:=|: ?[\w\[\]., |]+=)))(\w+)", re.MULTILINE)
_IMPORTS = re.compile(rb"\bfrom\s+torch\b|\bimport\b[^\n]*\btorch\s*\.")
_NAMES_OVERLOAD = re.compile(rb"\baten\s*\.\s*\w+\s*\.\s*\w")
"""Sources without these use nothing of torch that is looked for; parsing takes most of the time."""
_REACHED = re.compile(rb"(?<![\w.])(torch(?:\.[A-Za-z_]\w*)+)([ \t]*=(?!=))?")
_MAKES_NAMES = re.compile(rb"\bglobals\(\)|\bsetattr\(|^def __getattr__", re.MULTILINE)
_WORD = re.compile(r"[A-Za-z_]\w*")
_WORD_IN_QUOTES = re.compile(r"[\"']([A-Za-z_]\w*)[\"']")
_BLOCKS = ("body", "orelse", "finalbody", "handlers", "cases")
_DYNAMIC = ("torch.ops", "torch.classes")
"""Modules whose attributes are made when they are requested (torch/_ops.py, torch/_classes.py)."""


@dataclass
class Used:
    """What the sources of a plugin use of torch.

    Attributes:
        names: dotted names that are imported, with the first place of each.
        operators: overloads of ``aten`` that are named, such as ``full.names``, with the first place of each.
        reached: texts such as ``torch.cuda.is_available``, in code or not, with the sources that have them.
        assigned: those that are assigned to.
        unparsed: sources that could not be parsed.

    """

    names: dict[str, str] = field(default_factory=dict)
    operators: dict[str, str] = field(default_factory=dict)
    reached: dict[str, list[str]] = field(default_factory=dict)
    assigned: set[str] = field(default_factory=set)
    unparsed: list[str] = field(default_factory=list)


def parsed(source: bytes) -> ast.Module | None:
    """The syntax tree of a source; None where this Python cannot parse it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def collect(source: bytes, file: str, used: Used) -> None:
    """Add what one source uses; what a plugin may do without on some torch is left out: see ``_certain``."""
    for text, sets in set(_REACHED.findall(source)):
        if len(used.reached) < MAX_REACHED:
            used.reached.setdefault(text.decode(), []).append(file)
        if sets:
            used.assigned.add(text.decode())
    names_operators = _NAMES_OVERLOAD.search(source) is not None
    if not names_operators and not _IMPORTS.search(source):
        return
    tree = parsed(source)
    if tree is None:
        used.unparsed.append(file)
        return
    for node in _certain(tree.body):
        for name in _imported(node):
            used.names.setdefault(name, f"{file}:{node.lineno}")
        if names_operators:
            for found in _attributes(node):
                if overload := _overload(found):
                    used.operators.setdefault(overload, f"{file}:{found.lineno}")


def lines_of(source: bytes, names: Collection[str]) -> dict[str, int]:
    """The lines in which a source reaches dotted names on every torch; those that it may do without are left out."""
    found: dict[str, int] = {}
    tree = parsed(source)
    for node in _certain(tree.body) if tree else ():
        for item in _attributes(node):
            if (name := _dotted(item)) in names and isinstance(item.ctx, ast.Load):
                found.setdefault(name, item.lineno)
    return found


def _dotted(node: ast.expr) -> str:
    parts = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    return ".".join([getattr(node, "id", ""), *reversed(parts)])


def _attributes(node: ast.stmt) -> Iterator[ast.Attribute]:
    """Attributes in a statement that are evaluated whenever it is; those of the statements within it are left out."""
    pending: list[object] = [value for part, value in vars(node).items() if part not in _BLOCKS]
    while pending:
        inner = pending.pop()
        if isinstance(inner, list):
            pending.extend(inner)
        elif isinstance(inner, ast.IfExp):
            pending.append(inner.test)
        elif isinstance(inner, ast.BoolOp):
            pending.append(inner.values[0])
        elif isinstance(inner, ast.AST):
            pending.extend(vars(inner).values())
            if isinstance(inner, ast.Attribute):
                yield inner


def _certain(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Every statement that runs on each torch and that nothing keeps from failing, in functions too.

    Statements in ``try`` and ``if`` are left out, and those after one of them that may leave the block: plugins that
    support several releases import names so.
    """
    for node in body:
        yield node
        if isinstance(node, (ast.If, ast.Match)) or _may_fail(node):
            if _may_leave(node):
                return
        else:
            for part in ("body", "orelse", "finalbody"):
                yield from _certain(getattr(node, part, []))


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
    if isinstance(node, ast.Import):
        found = [alias.name for alias in node.names]
    elif not isinstance(node, ast.ImportFrom) or node.level or node.module is None:
        return
    else:
        found = [node.module if alias.name == "*" else f"{node.module}.{alias.name}" for alias in node.names]
    for name in found:
        if name.startswith("torch.") and not name.startswith(tuple(f"{dynamic}." for dynamic in _DYNAMIC)):
            yield name


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
        """Whether a dotted name is a module with a source."""
        return self._file(name) is not None

    def has(self, name: str) -> bool:
        """Whether a dotted name is a module, or is bound in the module before its last dot."""
        module, _, attribute = name.rpartition(".")
        if self._file(name) is not None or name.replace(".", "/") in self._folders:
            return True
        if self._plainly_binds(module, attribute):
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
            if _MAKES_NAMES.search(source):
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
