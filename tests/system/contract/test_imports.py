"""The house's layers: who may import whom, and what only one module may do. Read from the sources, nothing is run."""

from __future__ import annotations

import ast
import functools
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import click
import pytest

from ootci.cli.main import COMMANDS, LazyGroup
from ootci.stages.build import suite_requirements

ROOT = Path(__file__).parents[3]
PACKAGE = ROOT / "scripts" / "ootci"
SUITES = ROOT / "tests" / "device"

MAY_IMPORT = {
    "errors": set[str](),
    "resources": {"errors"},
    "model": {"errors"},
    "adapters": {"errors"},
    "history": {"model", "errors"},
    "stages": {"history", "model", "adapters", "errors", "resources"},
    "flows": {"stages", "history", "model", "adapters", "errors", "resources"},
    "cli": {"flows", "stages", "history", "model", "adapters", "errors", "resources"},
    "__main__": {"cli"},
    "__init__": set(),
}
"""What a part of the package may import besides itself and the package's version."""

VENDORS = (
    *(
        "npu",
        "hpu",
        "habana",
        "gaudi",
        "ascend",
        "huawei",
        "cann",
        "musa",
        "moorethreads",
        "spyre",
        "rbln",
        "rebellions",
    ),
    *("mlu", "cambricon", "enflame", "gcu", "kunlun", "iluvatar", "biren", "metax", "furiosa", "graphcore", "cerebras"),
    *("sambanova", "tenstorrent", "qaic"),
)
"""Names of vendors and of their devices. What is special about one stands in its YAML, so no code needs its name."""


def _sources(folder: Path) -> list[Path]:
    return sorted(path for path in folder.rglob("*.py") if "__pycache__" not in path.parts)


@functools.cache
def _tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def imports_of(tree: ast.Module, package: str = "") -> Iterator[str]:
    """Every module that a source imports, absolute, wherever in the source it does."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names)
        elif isinstance(node, ast.ImportFrom):
            parents = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*parents, *([node.module] if node.module else [])])
            yield base
            yield from (f"{base}.{name.name}" for name in node.names)
        elif isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            function = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            if function in ("import_module", "__import__"):
                yield str(node.args[0].value)


def _part(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def _ours(path: Path) -> set[str]:
    package = ".".join(("ootci", *path.relative_to(PACKAGE).parent.parts))
    return {name for name in imports_of(_tree(path), package) if name.split(".")[0] == "ootci"}


def _id(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


@pytest.mark.parametrize("path", _sources(PACKAGE), ids=_id)
def test_imports_go_one_way(path: Path) -> None:
    part = _part(path)
    reached = {name.split(".")[1] for name in _ours(path) if "." in name} - {"__version__", part}
    assert reached <= MAY_IMPORT[part], f"{part} may not import {reached - MAY_IMPORT[part]}"


def _stage(name: str) -> str | None:
    words = name.split(".")
    return words[2] if words[:2] == ["ootci", "stages"] and len(words) > 2 else None


@pytest.mark.parametrize("path", _sources(PACKAGE / "stages"), ids=_id)
def test_a_stage_imports_no_other_stage(path: Path) -> None:
    own = path.relative_to(PACKAGE / "stages").parts[0].removesuffix(".py")
    assert {stage for name in _ours(path) if (stage := _stage(name))} <= {own}


@pytest.mark.parametrize("path", _sources(PACKAGE / "cli"), ids=_id)
def test_no_command_is_imported_by_another(path: Path) -> None:
    """What commands share is in the modules that hold no command: options, show, home, main."""
    own = f"ootci.cli.{path.stem}"
    commands = {f"ootci.cli.{module}" for module in _modules_with_commands(COMMANDS)}
    assert not _ours(path) & (commands - {own})
    assert own in commands or path.stem in {"__init__", "options", "show", "home", "main"}


def _modules_with_commands(commands: Mapping[str, str | click.Command]) -> Iterator[str]:
    for found in commands.values():
        if isinstance(found, LazyGroup):
            yield from _modules_with_commands(found.lazy)
        elif isinstance(found, str):
            yield found.partition(":")[0]


@pytest.mark.parametrize("path", _sources(PACKAGE / "cli"), ids=_id)
def test_only_flows_join_stages(path: Path) -> None:
    """A command calls one stage; what `render` makes of a record for people may be printed besides."""
    assert len({stage for name in _ours(path) if (stage := _stage(name))} - {"render"}) <= 1


def test_the_tool_never_imports_torch() -> None:
    for path in _sources(PACKAGE):
        assert not {name for name in imports_of(_tree(path)) if name.split(".")[0] == "torch"}, _id(path)


def test_every_call_of_a_server_has_a_time_out() -> None:
    calls = [
        (path, node)
        for path in _sources(PACKAGE)
        for node in ast.walk(_tree(path))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and isinstance(node.func.value, ast.Name)
        if node.func.value.id in ("requests", "session") and node.func.attr in ("request", "get", "post", "put", "head")
    ]
    assert len(calls) == 4
    for path, node in calls:
        assert "timeout" in {keyword.arg for keyword in node.keywords}, f"{_id(path)}:{node.lineno}"


def test_only_the_device_s_model_reads_device_yaml() -> None:
    using = {
        path.relative_to(PACKAGE).as_posix() for path in _sources(PACKAGE) if "ootci.model.strict_yaml" in _ours(path)
    }
    assert using == {f"model/device/{name}.py" for name in ("reference", "registry", "sentences")}


def test_only_the_adapters_speak_to_the_network() -> None:
    network = {"requests", "urllib.request", "http.client", "socket", "httpx"}
    speaking = {
        path.relative_to(PACKAGE).as_posix() for path in _sources(PACKAGE) if network & set(imports_of(_tree(path)))
    }
    assert speaking
    assert {path for path in speaking if not path.startswith("adapters/")} == set()


@pytest.mark.parametrize("path", _sources(SUITES), ids=_id)
def test_what_runs_on_a_device_imports_torch_and_what_the_suites_ask_for(path: Path) -> None:
    """What the tool installs beside torch, pytest's own parts among it; expecttest is imported by torch's lists."""
    asked = {needed.name for needed in suite_requirements(SUITES)}
    assert asked == {"pytest", "numpy", "expecttest"}
    allowed = {"torch", *asked, "_pytest", "pluggy", "harness", "__future__"}
    roots = {name.split(".")[0] for name in imports_of(_tree(path))}
    assert roots - allowed <= set(sys.stdlib_module_names)


def _texts() -> Iterator[Path]:
    suffixes = {".py", ".yml", ".yaml", ".html", ".css", ".js", ".j2", ".xml", ".svg", ".ini", ".toml"}
    for folder in ("scripts", "dashboard", ".github", "tests/device", "workflows"):
        for path in sorted((ROOT / folder).rglob("*")):
            third_party = {"vendor", "sample", "__pycache__"} & set(path.parts)
            if path.is_file() and path.suffix in suffixes and not third_party:
                yield path


def test_no_vendor_s_name_stands_in_code() -> None:
    names = re.compile(rf"(?<![A-Za-z])({'|'.join(VENDORS)})(?![A-Za-z])", re.IGNORECASE)
    found = []
    for path in _texts():
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
            found += [f"{_id(path)}:{number}: {match.group()}" for match in names.finditer(line)]
    assert found == []


def test_the_search_for_imports_finds_them_in_every_form() -> None:
    source = "import a.b\nfrom c import d\nfrom . import e\nfrom ..f import g\n"
    source += "def h():\n    import i\nimport_module('j.k')\n"
    found = set(imports_of(ast.parse(source), "ootci.stages.build"))
    assert {"a.b", "c", "c.d", "ootci.stages.build.e", "ootci.stages.f.g", "i", "j.k"} <= found
