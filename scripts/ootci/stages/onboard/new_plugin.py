"""A plugin for a new device: a plugin of this repository under another name, with its device file and workflow."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from ootci.errors import BadOption
from ootci.resources import device_schema_file

from .first_file import Answers, FoundPlugin, Source, device_text

_STEP = re.compile(r'^openreg_step\("[^"]+"[^)]*?FILES(?P<files>[^)]*)\)$', re.MULTILINE)
_INCLUDE = re.compile(r'^#include "(.+)"$', re.MULTILINE)
_NOT_COPIED = {"build", "csrc", "torch_openreg", "README.md", "OPERATORS.md", "steps.cmake", "__pycache__"}
_STEP_FILE = ".course-step"
"""Holds the number of the last step that was written to a plugin's folder: files of earlier steps may be gone."""
_SOURCES = """\
# Everything below csrc/ is compiled, and everything below torch_openreg/ is installed.
file(GLOB_RECURSE OPENREG_SOURCES CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} csrc/*.cpp)
file(GLOB_RECURSE OPENREG_PYTHON CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} torch_openreg/*.py)
"""
_GITIGNORE = "/.ootci/\n/build/\n__pycache__/\n*.egg-info/\n"
_README = """\
# torch-{name}

PyTorch on the device `{name}`, written by `ootci plugin new`. {about}

    pip install --no-build-isolation .
    python -c "import torch; print(torch.ones(3, device='{name}') + 1)"
    ootci nightly {name}.yaml

The last command builds the plugin and runs its tests. The course of pytorch-integration-tests (docs/back-end) explains
the code and what to add next.{grow}
"""
_GROW = """ In this folder,

    ootci plugin new {name} --step 2 --output .

adds the files of the course's step 2 and changes none that exists."""


def plugin_steps(reference: Path) -> tuple[tuple[str, ...], ...]:
    """The files that each step adds, relative to the reference plugin's folder."""
    text = (reference / "steps.cmake").read_text(encoding="utf-8")
    return tuple(tuple(found["files"].split()) for found in _STEP.finditer(text))


def last_step(folder: Path) -> int:
    """The last step that was written to a plugin's folder; 0 if there was none.

    Raises:
        BadOption: the file `.course-step` holds something else.

    """
    file = folder / _STEP_FILE
    if not file.is_file():
        return 0
    text = file.read_text(encoding="utf-8", errors="replace").strip()
    if not re.fullmatch("[0-9]{1,2}", text):
        raise BadOption(
            "the file does not hold the number of a step", where=str(file), fix="write the last step into it, such as 4"
        )
    return int(text)


def cpp_plugin(reference: Path, name: str, step: int, after: int = 0) -> dict[Path, str]:
    """The files of a plugin in C++: those of the reference plugin up to a step, without those up to step `after`.

    A driver replaces files of earlier steps, and must not get them back with a later one.
    """
    about = (
        "`runtime/` simulates the device\n"
        f"on the CPU until your driver takes its place; `csrc/` and `torch_{name}/` connect it to PyTorch."
    )
    texts = {path: (reference / path).read_text(encoding="utf-8") for path in _files(reference, step)}
    build = Path("CMakeLists.txt")
    compiled = texts[build].replace("steps.cmake", "cmake/sources.cmake").replace(" -Werror", "")
    texts |= {build: compiled, Path("cmake/sources.cmake"): _SOURCES}
    names = {"openreg": name, "OPENREG": name.upper(), "OpenReg": name.capitalize(), "Openreg": name.capitalize()}
    readme = _README.format(name=name, about=about, grow=_GROW.format(name=name))
    files = {Path("README.md"): readme, **_renamed(texts, names, name)}
    earlier = cpp_plugin(reference, name, after) if after else {}
    return {path: text for path, text in files.items() if path not in earlier}


def python_plugin(reference: Path, name: str) -> dict[Path, str]:
    """The files of a plugin in Python: those of the folder of the plugin ``python_only``."""
    found = [path for path in sorted(reference.rglob("*")) if path.suffix in (".py", ".toml")]
    texts = {path.relative_to(reference): path.read_text(encoding="utf-8") for path in found}
    names = {"python_only": f"torch_{name}", "python-only": f"torch-{name}", "pythononly": name}
    about = "It is Python alone: it computes\neverything with the CPU until your kernels take its place."
    return {Path("README.md"): _README.format(name=name, about=about, grow=""), **_renamed(texts, names, name)}


def write_plugin(
    texts: Mapping[Path, str], workflow: Path, name: str, folder: Path, step: int | None = None
) -> tuple[int, int]:
    """Write the files of a plugin that the folder lacks; a new plugin also gets a device file and a workflow.

    Args:
        workflow: the workflow that tests a plugin in its own repository.
        folder: the plugin's folder, which may exist.
        step: the last step of the course that the plugin has now; none for a plugin without steps.

    Returns:
        How many files were written, and how many existed already.

    Raises:
        BadOption: the folder holds something else.

    """
    grows = (folder / f"torch_{name}").is_dir()
    if folder.exists() and not grows and any(folder.iterdir()):
        raise BadOption(
            f"the folder exists and holds no plugin for {name}", where=str(folder), fix="give another --output"
        )
    devices, build = (2, "scikit-build-core, ninja") if Path("CMakeLists.txt") in texts else (1, "setuptools")
    answers = Answers(name, name.capitalize(), "My Company", ("@me",), f"torch-{name}", Source("path", "."), devices)
    device_file = device_text(answers, FoundPlugin()).replace("ootci device new", "ootci plugin new")
    for commented, key in (
        (r"^# build:\n# .*$", f"build:\n  requirements: [{build}]"),
        (r"^# suites:\n#   - name: smoke$", "suites:\n  - name: smoke"),
    ):
        device_file = re.sub(commented, key, device_file, flags=re.MULTILINE)
    beside = (
        {}
        if grows
        else {
            Path(f"{name}.yaml"): device_file,
            Path(device_schema_file().name): device_schema_file().read_text(encoding="utf-8"),
            Path(".gitignore"): _GITIGNORE,
            Path(".github/workflows/pytorch.yml"): workflow.read_text(encoding="utf-8").replace("mydevice", name),
        }
    )
    written = {path: text for path, text in {**texts, **beside}.items() if not (folder / path).exists()}
    for path, text in written.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, encoding="utf-8")
    if step is not None:
        (folder / _STEP_FILE).write_text(f"{step}\n", encoding="utf-8")
    return len(written), len(texts) + len(beside) - len(written)


def _files(reference: Path, step: int) -> Iterator[Path]:
    """All files except sources, and the sources of the steps with the headers that they include."""
    for path in sorted(reference.rglob("*")):
        relative = path.relative_to(reference)
        if path.is_file() and not _NOT_COPIED & set(relative.parts):
            yield relative
    yield Path("csrc/Version.h.in")
    waiting = [Path(file) for files in plugin_steps(reference)[:step] for file in files]
    seen = set[Path]()
    while waiting:
        file = waiting.pop()
        if file in seen:
            continue
        seen.add(file)
        yield file
        for included in _INCLUDE.findall((reference / file).read_text(encoding="utf-8")):
            places = ((reference / file).parent / included, reference / "csrc" / included)
            waiting += [place.resolve().relative_to(reference.resolve()) for place in places if place.is_file()]


def _renamed(texts: Mapping[Path, str], names: Mapping[str, str], name: str) -> dict[Path, str]:
    """Files under new names, paths included; the project's description is the device's."""
    pattern = re.compile("|".join(names))

    def renamed(text: str) -> str:
        return pattern.sub(lambda found: names[found[0]], text)

    result = {Path(renamed(str(path))): renamed(text) for path, text in texts.items()}
    project = Path("pyproject.toml")
    described = re.sub(r"^description = .*$", f'description = "PyTorch on {name}"', result[project], flags=re.MULTILINE)
    return {**result, project: described}
