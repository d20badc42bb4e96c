"""What ``--help`` prints, of every command."""

from __future__ import annotations

import subprocess
import sys

import pytest
from every_command import every_command

from ootci.model.schema import schemas

HELP = {context.command_path: context.command.get_help(context) for context in every_command()}


@pytest.mark.parametrize("path", sorted(HELP))
def test_help_is_text_for_people(path: str) -> None:
    assert "\\" not in HELP[path]
    assert "\b" not in HELP[path]
    assert max(map(len, HELP[path].splitlines())) <= 100


def test_examples_keep_their_lines() -> None:
    assert "\n  ootci history export history.sqlite\n" in HELP["ootci history export"]
    assert "\n    DEVICE@latest             its newest nightly\n" in HELP["ootci diff"]


@pytest.mark.parametrize(
    "path", ["nightly", "plugin new", "device new", "device check", "compat", "gate", "diff", "bisect"]
)
def test_commands_for_people_have_examples(path: str) -> None:
    assert f"\n  Examples:\n    ootci {path}" in HELP[f"ootci {path}"]


def test_the_schemas_are_named_with_their_command() -> None:
    lines = HELP["ootci schema"].splitlines()
    described = {name: text for name, _, text in (line.strip().partition(" ") for line in lines) if "`ootci " in text}
    assert set(described) - {"`ootci"} == set(schemas())
    assert "work folder (`.ootci`)" in " ".join(HELP["ootci schema"].split())


def test_a_command_does_not_import_the_others() -> None:
    script = "import sys; from ootci.cli.main import cli; cli(['collect', '--help'], standalone_mode=False)"
    script += "; print('found', *(name for name in sys.modules if name.startswith('ootci.')))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    found = set(done.stdout.rpartition("\nfound ")[2].split())
    assert "ootci.cli.collect" in found
    assert not found & {"ootci.cli.render", "ootci.cli.plan", "ootci.adapters.github_rest"}
