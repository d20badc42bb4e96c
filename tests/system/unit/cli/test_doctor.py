"""``ootci doctor``: what is missing on this machine, and how to get it."""

from __future__ import annotations

import json
from pathlib import Path

from commands import OFFLINE, Tool


def test_a_machine_without_tools_is_told_how_to_get_each(ootci: Tool, tmp_path: Path) -> None:
    ran = ootci("doctor", cwd=tmp_path, env={**OFFLINE, "PATH": str(tmp_path)})
    assert ran.code == 3
    lines = {line.partition("  ")[0]: line for line in ran.out.splitlines()}
    for name, package in (
        ("git", "git"),
        ("c++", "g++"),
        ("cmake", "cmake"),
        ("ninja", "ninja-build"),
        ("make", "make"),
    ):
        assert " missing " in lines[name]
        assert lines[name].endswith(f"apt-get install {package}")
    assert " optional " in lines["ccache"]
    assert ran.out.endswith("\nmissing, although needed: 5\n")


def test_an_index_that_cannot_be_reached_is_no_obstacle(ootci: Tool, tmp_path: Path) -> None:
    found = json.loads(ootci("doctor", "--format", "json", cwd=tmp_path, env=OFFLINE).out)
    rows = {row["what"]: row for row in found}
    assert rows["nightly index"]["state"] == "optional"
    assert "the newest release is tested instead, and the dashboard shows it" in rows["nightly index"]["detail"]
    assert rows["python"]["state"] == "found"
    assert rows["disk space"]["detail"].endswith("GiB free")


def test_a_tool_that_is_too_old_or_broken_is_missing(ootci: Tool, tmp_path: Path) -> None:
    for name, answer in (("git", "echo git version 2.1.0"), ("make", "exit 1"), ("cmake", "echo cmake version 3.99.1")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{answer}\n", encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    found = json.loads(ootci("doctor", "--format", "json", cwd=tmp_path, env={**OFFLINE, "PATH": str(tmp_path)}).out)
    rows = {row["what"]: row for row in found}
    assert rows["git"]["state"] == "missing"
    assert rows["git"]["detail"].startswith("2.1.0 is older than 2.28")
    assert rows["make"]["state"] == "missing"
    assert (rows["cmake"]["state"], rows["cmake"]["detail"]) == ("found", "3.99.1")
