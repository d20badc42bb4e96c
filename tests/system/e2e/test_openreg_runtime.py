"""The reference device's runtime under the sanitizers: its own tests pass, and the sanitizers are really on."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from conftest import Ran, run_command

FREED = """
static const int freed = [] {
  volatile int* volatile number = new int(1);
  delete number;
  return *number;
}();
"""
RACE = """
#include <thread>
static int shared = 0;
static const int race = [] {
  std::thread other([] { ++shared; });
  ++shared;
  other.join();
  return shared;
}();
"""


@pytest.fixture
def plugin(root: Path, tmp_path: Path) -> Path:
    copy = tmp_path / "openreg"
    shutil.copytree(root / "devices" / "openreg", copy, ignore=shutil.ignore_patterns("build"))
    return copy


def _make(plugin: Path, *targets: str) -> Ran:
    return run_command(["make", "--jobs=2", *targets], plugin, timeout=1200)


def test_the_runtime_s_own_tests_pass_plain_and_under_each_sanitizer(plugin: Path) -> None:
    ran = _make(plugin, "runtime-test")
    assert ran.code == 0, ran.out + ran.err
    for variant in ("plain", "address", "thread"):
        assert f"== {variant}" in ran.out


@pytest.mark.parametrize(
    ("variant", "mistake", "told"),
    [("address", FREED, "heap-use-after-free"), ("thread", RACE, "data race")],
)
def test_a_mistake_is_found(plugin: Path, variant: str, mistake: str, told: str) -> None:
    (plugin / "runtime" / "tests" / "mistake.cpp").write_text(mistake, encoding="utf-8")
    ran = _make(plugin, f"run-{variant}")
    assert ran.code != 0
    assert told in ran.out + ran.err
