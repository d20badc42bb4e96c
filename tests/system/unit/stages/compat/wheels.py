"""Small wheels of a torch and of plugins, with real shared objects."""

from __future__ import annotations

import subprocess
import zipfile
from collections.abc import Mapping
from pathlib import Path

TAG = "cp311-cp311-manylinux_2_28_x86_64"
FUNCTIONS = {
    "old": "namespace c10 { void kept() {} void report(char const*) {} } namespace at { void moved(int) {} }",
    "new": "namespace c10 { void kept() {} } namespace at { void moved(long) {} }",
}
SCHEMAS = {
    "old": """\
- func: full.names(int[] size, Scalar fill, *, Dimname[]? names) -> Tensor
- func: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
  autogen: add.Tensor_out
- func: mul.Tensor(Tensor self, Tensor other) -> Tensor
""",
    "new": """\
- func: add.Tensor(Tensor self, Tensor other, *, Scalar alpha=2, bool fast=False) -> Tensor
- func: mul.Tensor(Tensor a, Tensor other) -> Tensor
""",
}
COMMIT = "c0ffee" * 6 + "abcd"
MODULES = {
    "torch/version.py": f"git_version = '{COMMIT}'\n",
    "torch/__init__.py": "from ._tensor import *\nimport os\n",
    "torch/_tensor.py": "class Tensor: ...\nif True:\n    late = 1\n",
    "torch/_C/__init__.pyi": "class Generator: ...\ndef _init() -> None: ...\n",
    "torch/lazy.py": "def __getattr__(name):\n    return {'made': 1}[name]\n",
    "torch/utils/__init__.py": "",
}
PLUGIN = """
namespace c10 { void kept(); void report(char const*); __attribute__((weak)) void maybe(); void own(); }
namespace at { void moved(int); }
namespace torch { struct Library { void _impl(char const*); }; void Library::_impl(char const*) {} }
char const* name = "add.Tensor"; char const* other = "mul.Tensor";
void use() { c10::kept(); c10::report(name); at::moved(1); c10::own(); if (c10::maybe) c10::maybe(); }
"""


def compile_object(source: str, target: Path, *more: str) -> bytes:
    """The shared object that a C++ source makes."""
    target.parent.mkdir(parents=True, exist_ok=True)
    text = target.with_suffix(".cpp")
    text.write_text(source, encoding="utf-8")
    subprocess.run(["g++", "-shared", "-fPIC", "-O0", "-o", str(target), str(text), *more], check=True)
    return target.read_bytes()


def write_wheel(
    folder: Path,
    name: str,
    version: str,
    files: Mapping[str, str | bytes],
    *,
    requires: str = "",
    entry_points: str = "",
    tag: str = TAG,
) -> Path:
    """A wheel with metadata."""
    path = folder / f"{name}-{version}-{tag}.whl"
    info = f"{name}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{requires}"
    folder.mkdir(parents=True, exist_ok=True)
    own = {"METADATA": metadata, "WHEEL": f"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: {tag}\n", "RECORD": ""}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, content in {**files, **{f"{info}/{member}": text for member, text in own.items()}}.items():
            archive.writestr(member, content)
        if entry_points:
            archive.writestr(f"{info}/entry_points.txt", entry_points)
    return path


def torch_wheel(folder: Path, kind: str, version: str, tag: str = TAG, **modules: str) -> Path:
    """A torch of one of two kinds: ``old`` has everything that the plugin needs, ``new`` lacks some of it."""
    library = compile_object(FUNCTIONS[kind], folder / kind / "libc10.so")
    files: dict[str, str | bytes] = {**MODULES, "torch/lib/libc10.so": library}
    files["torch/include/c10/util/Cast.h"] = "inline int cast() { c10::report(nullptr); }"
    files["torchgen/packaged/ATen/native/native_functions.yaml"] = SCHEMAS[kind]
    if kind == "old":
        files["torch/utils/gone.py"] = "def helper(): ...\n"
        files["torch/utils/__init__.py"] = "def old(): ...\n"
    return write_wheel(folder / f"{kind}-{version}", "torch", version, {**files, **modules}, tag=tag)


def plugin_objects(folder: Path) -> dict[str, bytes]:
    """The two objects of the plugin: one defines what the other needs from it."""
    return {
        "torch_card/_C.so": compile_object(PLUGIN, folder / "plugin" / "_C.so"),
        "torch_card/lib/libown.so": compile_object("namespace c10 { void own() {} }", folder / "plugin" / "libown.so"),
    }
