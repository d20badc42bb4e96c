"""The Python modules of a torch, and which names each has; sources are parsed, never imported."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property

_PYTHON = re.compile(r"(/__init__)?\.pyi?$")
_STUB = re.compile(r"^(?:    )?(?:async )?(?:def|class) (\w+)|^(?:    )?(\w+) *[:=]", re.MULTILINE)
_DEFINITION = re.compile(r"^(?:class |def |async def |(?=\w+ *(?:=|: ?[\w\[\]., |]+=)))(\w+)", re.MULTILINE)
LISTED = r"\b(?:[ \t]*(\((?:[^()#]|#[^\n]*\n)*\))|((?:[^\n\\]|\\\n)*))"
"""What follows the word ``import``: a pattern of two groups, for a list with and without brackets."""
_IMPORTS = re.compile(rf"^(?:from[ \t]+[\w.]+[ \t]+)?import{LISTED}", re.MULTILINE)
_NAMED = re.compile(r"([\w.]+)(?:\s+as\s+(\w+))?|#.*")
_MAKES_NAMES = re.compile(rb"\bglobals\(\)|\bsetattr\(|^def __getattr__", re.MULTILINE)
_REPLACES_ITSELF = re.compile(rb"\bsys\.modules\[__name__\]")
_WORD_IN_QUOTES = re.compile(r"[\"']([A-Za-z_]\w*)[\"']")
_WORD = re.compile(r"[A-Za-z_]\w*")


def parsed(source: bytes) -> ast.Module | None:
    """The syntax tree of a source; None where this Python cannot parse it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def named(listed: str) -> list[tuple[str, str]]:
    """The names after the word ``import``, each with what it is imported as, or an empty text."""
    return [(name, alias) for name, alias in _NAMED.findall(listed) if name]


class Modules:
    """The modules of a torch, by its files: which names each binds, parsed when they are first requested."""

    def __init__(self, files: Iterable[str], read: Callable[[str], bytes]) -> None:
        self._files = frozenset(files)
        self._folders = frozenset(file.rpartition("/")[0] for file in self._files if file.endswith(".py"))
        self._read = read
        self._known: dict[str, frozenset[str]] = {}
        self._plain: dict[str, frozenset[str]] = {}
        self._words: dict[str, frozenset[str]] = {}

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
        if self.is_module(name):
            return True
        # Most of the time goes into parsing, so a module is parsed only where its text leaves it open.
        if (plain := self._binds_by_its_text(module, attribute)) is not None:
            return plain
        bound = self._bound(module, frozenset())
        return bound is not None and attribute in bound

    def _binds_by_its_text(self, module: str, attribute: str) -> bool | None:
        """Whether a definition or an import of the name begins a line; None where only the syntax tree tells."""
        file = self._file(module)
        if file is None or not file.endswith(".py"):
            return None
        if module not in self._plain:
            text = self._read(file).decode("utf-8", "replace")
            imported = (found for listed in _IMPORTS.findall(text) for found in named("".join(listed)))
            bound = {alias or name.partition(".")[0] for name, alias in imported}
            self._plain[module] = frozenset(_DEFINITION.findall(text)) | bound
        if attribute in self._plain[module]:
            return True
        if module not in self._words:
            text = self._read(file).decode("utf-8", "replace")
            # Of a star import, and of what torch/__init__.py takes from its binary, the names are elsewhere.
            is_whole = module != "torch" and "import *" not in text
            self._words[module] = frozenset(_WORD.findall(text)) if is_whole else frozenset()
        return False if self._words[module] and attribute not in self._words[module] else None

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
            for node in statements(tree.body):
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


def statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    """Every statement that runs when the module is imported."""
    for node in body:
        yield node
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            continue
        if isinstance(node, ast.If) and _for_type_checkers(node.test):
            yield from statements(node.orelse)
            continue
        for part in ("body", "orelse", "finalbody"):
            yield from statements(getattr(node, part, []))
        for handler in (*getattr(node, "handlers", []), *getattr(node, "cases", [])):
            yield from statements(handler.body)


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


def _for_type_checkers(test: ast.expr) -> bool:
    return getattr(test, "id", getattr(test, "attr", "")) == "TYPE_CHECKING"
