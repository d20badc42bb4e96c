"""The reference device's runtime: its own tests pass, also under the sanitizers, which are really on.

Each sanitizer compiles the runtime anew, so they belong to `make test-deep`.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from commands import Ran, run_command
from e2e.conftest import missing

pytestmark = pytest.mark.long

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
UNGUARDED = """
#include "thread_safety.h"
static sim::Mutex mutex;
static int guarded SIM_GUARDED_BY(mutex) = 0;
int touch() { return ++guarded; }
"""


@pytest.fixture(scope="module")
def plugin(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the plugin, shared so that the runtime is compiled once per sanitizer."""
    copy = tmp_path_factory.mktemp("runtime") / "openreg"
    shutil.copytree(root / "devices" / "openreg", copy, ignore=shutil.ignore_patterns("build"))
    return copy


def _make(plugin: Path, *targets: str) -> Ran:
    return run_command(["make", "--jobs=2", *targets], plugin, timeout=1200)


def test_the_runtime_s_own_tests_pass(plugin: Path) -> None:
    ran = _make(plugin, "run-plain")
    assert ran.code == 0, ran.out + ran.err
    assert "== plain" in ran.out


@pytest.mark.deep
def test_the_runtime_s_own_tests_pass_plain_and_under_each_sanitizer(plugin: Path) -> None:
    ran = _make(plugin, "runtime-test")
    assert ran.code == 0, ran.out + ran.err
    for variant in ("plain", "address", "thread", "locks"):
        assert f"== {variant}" in ran.out


@pytest.mark.deep
@pytest.mark.parametrize(
    ("variant", "mistake", "told"),
    [("address", FREED, "heap-use-after-free"), ("thread", RACE, "data race")],
)
def test_a_mistake_is_found(plugin: Path, variant: str, mistake: str, told: str) -> None:
    source = plugin / "runtime" / "tests" / "mistake.cpp"
    source.write_text(mistake, encoding="utf-8")
    try:
        ran = _make(plugin, f"run-{variant}")
    finally:
        source.unlink()
    assert ran.code != 0
    assert told in ran.out + ran.err


@pytest.mark.deep
def test_a_forgotten_lock_is_found(plugin: Path) -> None:
    if shutil.which("clang++") is None:
        missing("clang++, which alone checks locks at compile time,", "install clang")
    source = plugin / "runtime" / "mistake.cpp"
    source.write_text(UNGUARDED, encoding="utf-8")
    try:
        ran = _make(plugin, "check-locks")
    finally:
        source.unlink()
    assert ran.code != 0
    assert "requires holding mutex 'mutex'" in ran.out + ran.err
