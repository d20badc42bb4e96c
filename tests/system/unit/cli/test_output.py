"""What every command prints, to whom: data on stdout, colours to terminals, annotations to GitHub's runners."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from pathlib import Path

import click
import pytest
from commands import Tool
from every_command import every_command
from unit.samples import register

OOTCI = (sys.executable, "-c", "import sys; sys.argv[0] = 'ootci'; from ootci.cli.main import main; main()")
PRINTS_ONE_FORM = {
    "ootci completion": "a script for a shell",
    "ootci device new": "the path of the file that it wrote",
    "ootci device owners": "a file of GitHub's",
    "ootci device show": "JSON",
    "ootci plugin new": "the path of the folder that it wrote",
    "ootci schema": "JSON Schema",
}
"""Commands without --format, and what they print."""


def test_every_command_prints_json_when_asked() -> None:
    without = {
        context.command_path
        for context in every_command()
        if not isinstance(context.command, click.Group)
        and not any("--format" in option.opts for option in context.command.params)
    }
    assert without == set(PRINTS_ONE_FORM)


def _run(*arguments: str, cwd: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GITHUB_") and name != "NO_COLOR"}
    return subprocess.run(
        [*OOTCI, *arguments], cwd=cwd, env={**clean, **variables}, capture_output=True, text=True, check=False
    )


def _on_a_terminal(*arguments: str, cwd: Path, **variables: str) -> str:
    mine, theirs = pty.openpty()
    clean = {name: value for name, value in os.environ.items() if name not in ("NO_COLOR", "GITHUB_ACTIONS", "CI")}
    try:
        subprocess.run(
            [*OOTCI, *arguments], cwd=cwd, env={**clean, "TERM": "xterm", **variables}, stdout=theirs, stderr=theirs,
            check=False,
        )  # fmt: skip
        return os.read(mine, 65536).decode()
    finally:
        os.close(mine)
        os.close(theirs)


def test_a_table_fits_the_terminal_and_is_whole_elsewhere(ootci: Tool, tmp_path: Path) -> None:
    register(tmp_path, extra=f"paused: {{reason: {'long ' * 60}}}\n")
    shown = _on_a_terminal("device", "list", cwd=tmp_path, COLUMNS="80").splitlines()
    assert {len(line) <= 80 for line in shown} == {True}
    assert "…" in shown[-1]
    assert "long " * 59 in ootci("device", "list", cwd=tmp_path).out


def test_colours_are_for_terminals_that_want_them(tmp_path: Path) -> None:
    assert "\x1b[" in _on_a_terminal("judge", cwd=tmp_path)
    assert "\x1b[" not in _on_a_terminal("judge", cwd=tmp_path, NO_COLOR="1")
    assert "\x1b[" not in _run("judge", cwd=tmp_path).stderr


def test_an_error_is_an_annotation_at_its_line_under_github_actions_only(ootci: Tool, tmp_path: Path) -> None:
    devices = tmp_path / "devices"
    devices.mkdir()
    (devices / "a.yaml").write_text("schema_version: 1\nname: [\n", encoding="utf-8")
    plain = ootci("device", "list", cwd=tmp_path)
    assert (plain.code, plain.out) == (2, "")
    assert "::" not in plain.err
    summary = tmp_path / "summary"
    seen = ootci("device", "list", cwd=tmp_path, env={"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(summary)})
    assert seen.err.startswith(plain.err)
    (command,) = [line for line in seen.err.splitlines() if line.startswith("::")]
    assert command.startswith("::error file=devices/a.yaml,line=3,title=DEV-003::")
    assert "What to do: " in command
    text = summary.read_text(encoding="utf-8")
    assert text.startswith("<p><b>error DEV-003</b>: ")
    assert "(devices/a.yaml:3). What to do: " in text
    assert len(text.splitlines()) == 2


@pytest.mark.parametrize(("words", "offered"), [("ootci ga", "gate"), ("ootci history ve", "verify")])
def test_a_shell_is_told_what_could_follow(tmp_path: Path, words: str, offered: str) -> None:
    asked = {"_OOTCI_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    assert _run(cwd=tmp_path, **asked).stdout == f"plain,{offered}\n"


def test_the_script_for_bash_completes_in_bash(tmp_path: Path) -> None:
    script = _run("completion", "bash", cwd=tmp_path).stdout
    (tmp_path / "ootci").write_text(f'#!/bin/sh\nexec "{sys.executable}" -c "{OOTCI[2]}" "$@"\n', encoding="utf-8")
    (tmp_path / "ootci").chmod(0o755)
    asked = "COMP_WORDS=(ootci hist); COMP_CWORD=1; _ootci_completion ootci; echo ${COMPREPLY[*]}"
    done = subprocess.run(
        ["bash", "-c", f"{script}\n{asked}"], cwd=tmp_path, capture_output=True, text=True, check=True,
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
    )  # fmt: skip
    assert done.stdout == "history\n"


def test_what_is_done_is_told_to_machines(ootci: Tool, tmp_path: Path) -> None:
    done = ootci("history", "gc", "--format", "json", cwd=tmp_path)
    assert (done.code, done.out) == (2, "")
    (tmp_path / "data").mkdir()
    done = ootci("history", "gc", "--format", "json", cwd=tmp_path)
    assert (done.code, json.loads(done.out)) == (0, {"removed": True, "files": []}), done.err
