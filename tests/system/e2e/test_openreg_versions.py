"""The reference device's build finds out what a version of torch has, from its headers and nothing else."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from commands import run_command

PROFILER = "torch/csrc/profiler/standalone/privateuse1_profiler.h"
WITH_NAMES = "struct MetaBase { virtual void set_output(long index, DimnameList names); };\n"
WITHOUT_NAMES = "struct MetaBase { virtual void set_output(long index); };\n"


@pytest.mark.skipif(shutil.which("cmake") is None, reason="cmake is not installed here")
@pytest.mark.parametrize(
    ("headers", "found"),
    [
        ({"ATen/TensorMeta.h": WITH_NAMES}, {"ACTIVITY_PROFILER": "0", "NAMES": "1"}),
        ({"ATen/TensorMeta.h": WITHOUT_NAMES, PROFILER: ""}, {"ACTIVITY_PROFILER": "1", "NAMES": "0"}),
    ],
    ids=["older", "newer"],
)
def test_the_build_is_configured_by_what_the_headers_have(
    root: Path, tmp_path: Path, headers: dict[str, str], found: dict[str, str]
) -> None:
    include = tmp_path / "include"
    for name, text in headers.items():
        (include / name).parent.mkdir(parents=True, exist_ok=True)
        (include / name).write_text(text, encoding="utf-8")
    build = tmp_path / "build"
    ran = run_command(
        ["cmake", "-S", str(root / "devices" / "openreg"), "-B", str(build), f"-DOPENREG_TORCH_INCLUDE={include}"],
        tmp_path,
        timeout=300,
    )
    assert ran.code == 0, ran.out + ran.err
    version = (build / "generated" / "Version.h").read_text(encoding="utf-8").splitlines()
    assert f"#define OPENREG_HAS_ACTIVITY_PROFILER {found['ACTIVITY_PROFILER']}" in version
    assert f"#define OPENREG_META_HAS_NAMES {found['NAMES']}" in version
