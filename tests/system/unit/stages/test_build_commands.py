"""What a command of fetch or build that failed is said to have died of."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from ootci.adapters.progress import Progress
from ootci.stages.build.commands import ABOUT_LINES, EXCERPT_LINES, Commands, StepFailed

COMPILER = "k.cpp:3:9: error: 'x' was not declared\n    3 | int y = x;\n      |         ^"


def _failed(folder: Path, printed: str) -> StepFailed:
    code = f"import sys; print({printed!r}); sys.exit(1)"
    commands = Commands(folder / "env", {}, 60, Progress(quiet=True), folder / "stage.log")
    with pytest.raises(StepFailed) as told:
        commands.run("it does not build", [sys.executable, "-c", code], cwd=folder)
    return told.value


def test_the_first_error_is_the_reason(tmp_path: Path) -> None:
    told = _failed(tmp_path, f"one\n{COMPILER}\nl.cpp:1:1: error: another\nRuntimeError: ninja failed")
    assert told.reason == "it does not build: k.cpp:3:9: error: 'x' was not declared (exit code 1)"
    assert _failed(tmp_path, "no sign of it").reason == "it does not build: exit code 1"


def test_an_error_of_the_compiler_comes_before_those_of_other_tools(tmp_path: Path) -> None:
    told = _failed(
        tmp_path, f"fatal: No names found, cannot describe anything.\n{COMPILER}\nRuntimeError: ninja failed"
    )
    assert told.reason == "it does not build: k.cpp:3:9: error: 'x' was not declared (exit code 1)"
    assert (told.excerpt or "").startswith("fatal: No names found")


def test_of_an_error_of_cmake_the_message_is_named(tmp_path: Path) -> None:
    """As pip prints it, indented."""
    told = _failed(
        tmp_path, "  CMake Error at CMakeLists.txt:5 (message):\n    The SDK is not here.\n\n\n-- Configuring"
    )
    assert told.reason == (
        "it does not build: CMake Error at CMakeLists.txt:5 (message):; The SDK is not here. (exit code 1)"
    )


def test_of_a_conflict_pip_s_requirements_are_named(tmp_path: Path) -> None:
    """As pip 26 prints it."""
    told = _failed(
        tmp_path,
        "Processing torch.whl\nERROR: Cannot install torch 2.15.0 because these package versions have conflicting "
        "dependencies.\n\nThe conflict is caused by:\n    The user requested torch 2.15.0\n"
        "    The user requested (constraint) torch<=2.14.1\n\nTo fix this you could try to:\n1. loosen the range",
    )
    assert told.reason == (
        "it does not build: ERROR: Cannot install torch 2.15.0 because these package versions have conflicting "
        "dependencies.; The user requested torch 2.15.0; The user requested (constraint) torch<=2.14.1 (exit code 1)"
    )


def test_what_the_compiler_said_comes_before_the_end_of_a_long_log(tmp_path: Path) -> None:
    """After it comes the traceback of what called the compiler, which helps nobody."""
    log = "\n".join(["begin", COMPILER, *(f"  File {number}" for number in range(100))])
    lines = (_failed(tmp_path, log).excerpt or "").splitlines()
    assert "\n".join(lines[:3]) == COMPILER
    assert lines[ABOUT_LINES] == f"[{1 + 3 + 100 - EXCERPT_LINES} lines before this are in the log]"
    assert (len(lines), lines[-1]) == (ABOUT_LINES + 1 + EXCERPT_LINES, "  File 99")


def test_it_is_not_said_twice(tmp_path: Path) -> None:
    log = "\n".join([*(f"line {number}" for number in range(100)), COMPILER])
    excerpt = _failed(tmp_path, log).excerpt or ""
    assert excerpt.count("was not declared") == 1
