"""What the documentation's pages tell people to type: commands that exist, device files and calls that are valid."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from contract.workflow_file import read_files
from every_command import every_command

from ootci.cli.main import cli
from ootci.model.device import load_device

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs"
OURS = "example/pytorch-integration-tests/.github/"
SHORTEST: dict[str, Any] = {
    "name": "mydevice",
    "display_name": "My Device",
    "vendor": "My Company",
    "maintainers": ["@me"],
    "plugin": {"distribution": "torch-mydevice", "package": "torch-mydevice"},
}
"""What a block with some keys of a device file is put into."""


@dataclass(frozen=True)
class Block:
    """A block of code on a page."""

    page: str
    line: int
    language: str
    text: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def _pages() -> list[Path]:
    pages = [page for page in sorted(DOCS.rglob("*.md")) if "machinery" not in page.parts]
    return [*pages, ROOT / "README.md", ROOT / "scripts" / "ootci" / "README.md", ROOT / "workflows" / "README.md"]


def _blocks() -> Iterator[Block]:
    for page in _pages():
        text = page.read_text(encoding="utf-8")
        for found in re.finditer(r"^```(\w+)\n(.*?)^```$", text, re.M | re.S):
            line = text.count("\n", 0, found.start()) + 1
            yield Block(page.relative_to(ROOT).as_posix(), line, found[1], found[2])


BLOCKS = list(_blocks())
CONSOLE = [block for block in BLOCKS if block.language == "console"]
YAML = [block for block in BLOCKS if block.language == "yaml"]


def _lines(block: Block) -> list[str]:
    return [line.removeprefix("$ ") for line in block.text.replace("\\\n", " ").splitlines() if line.strip()]


def _parses(words: list[str]) -> str | None:
    """Why a command line after ``ootci`` is refused; None when it is not."""
    command, context = cli, click.Context(cli, info_name="ootci")
    current: click.Command = command
    while isinstance(current, click.Group):
        if not words:
            return "a command is missing"
        name, *words = words
        found = current.get_command(context, name)
        if found is None:
            return f"there is no command {name}"
        current, context = found, click.Context(found, info_name=name, parent=context)
    try:
        current.make_context(context.command_path, list(words), parent=context.parent, resilient_parsing=False)
    except click.exceptions.Exit:
        return None
    except click.ClickException as error:
        return error.format_message()
    return None


def test_there_is_something_to_check() -> None:
    assert len([line for block in CONSOLE for line in _lines(block) if "ootci " in line]) > 20
    assert len(YAML) > 10


@pytest.mark.parametrize("block", CONSOLE, ids=str)
def test_every_command_exists_with_its_options(block: Block) -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.M))
    for line in _lines(block):
        words = shlex.split(line.partition(" #")[0])
        program = words[0].rpartition("/")[2]
        if program == "make":
            goals = [word for word in words[1:] if "=" not in word]
            assert set(goals) <= targets, line
        elif program == "ootci":
            assert _parses(words[1:]) is None, f"{line}: {_parses(words[1:])}"


def test_commands_within_sentences_exist() -> None:
    """``ootci gate`` in a sentence: at least the command, and each option that is named with it, is there."""
    checked = 0
    for page in _pages():
        prose = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
        for found in re.finditer(r"`(?:\.venv/bin/)?ootci ([a-z][^`]*)`", prose):
            words = found[1].replace("\n", " ").split()
            current: click.Command = cli
            context = click.Context(cli)
            while isinstance(current, click.Group) and words and re.fullmatch(r"[a-z][a-z-]*", words[0]):
                inner = current.get_command(context, words.pop(0))
                assert inner is not None, f"{page.name}: {found[0]}"
                current = inner
            known = {option for item in current.params for option in (*item.opts, *item.secondary_opts)}
            named = {word.partition("=")[0] for word in words if word.startswith("--")}
            assert named <= known, f"{page.name}: {found[0]}"
            checked += 1
    assert checked > 10


def test_the_examples_in_help_texts_exist() -> None:
    helps = (context.command.help or "" for context in every_command())
    examples = [line for text in helps for line in re.findall(r"^ +ootci (\S.*?)(?:  .*| >.*)?$", text, re.M)]
    assert len(examples) > 10
    for line in examples:
        assert _parses(shlex.split(line)) is None, line


def test_a_command_that_does_not_exist_is_found() -> None:
    assert _parses(["bisect", "dev", "smoke/x", "--good", "1"]) is None
    assert "No such option" in str(_parses(["bisect", "dev", "smoke/x", "--best", "1"]))
    assert "Missing argument" in str(_parses(["bisect", "dev"]))
    assert _parses(["bisects"]) == "there is no command bisects"


@pytest.mark.parametrize("block", [block for block in YAML if "jobs:" not in block.text], ids=str)
def test_every_device_file_and_part_of_one_is_valid(block: Block, tmp_path: Path) -> None:
    keys = yaml.safe_load(block.text)
    whole = {**SHORTEST, **keys}
    file = tmp_path / f"{whole['name']}.yaml"
    file.write_text(block.text if SHORTEST.keys() <= keys.keys() else yaml.safe_dump(whole), encoding="utf-8")
    assert load_device(file).device.name == whole["name"]


@pytest.mark.parametrize("block", [block for block in YAML if "jobs:" in block.text], ids=str)
def test_every_call_of_a_workflow_has_inputs_that_there_are(block: Block) -> None:
    files = read_files(ROOT / ".github")
    for job in yaml.safe_load(block.text)["jobs"].values():
        path, _, ref = job["uses"].partition("@")
        assert ref == "main"
        call = files[path.removeprefix(OURS)].trigger("workflow_call")
        assert call is not None
        assert set(job.get("with", {})) <= set(call["inputs"])
        assert {name for name, item in call["inputs"].items() if item.get("required")} <= set(job.get("with", {}))
