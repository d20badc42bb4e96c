"""The catalogue of errors: each can be provoked, and what the documentation shows is what was then said."""

from __future__ import annotations

import json
import re
from contextlib import ExitStack
from pathlib import Path

import pytest
from unit.cli.provoked_errors import PROVOCATIONS, Folder, as_json, said
from unit.samples import register

from ootci import errors
from ootci.adapters import github_rest
from ootci.errors import EXIT_INFRASTRUCTURE, EXIT_INPUT

from commands import Tool  # isort: skip

EXAMPLES = Path(__file__).parents[4] / "docs" / "machinery" / "error_examples.json"
ERRORS = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, errors.OotciError) and "id" in vars(kind)
]
KINDS = {kind.id: kind for kind in ERRORS}


def _same_everywhere(text: str, folder: Path) -> str:
    """A message without what differs between machines and runs."""
    text = text.replace(f"{folder}/", "").replace(str(folder), ".")
    text = re.sub(r"(?<=127\.0\.0\.1):\d+", "", text)
    text = re.sub(r"\b\d{8}-\d{6}\b", "20261121-041000", text)
    text = re.sub(r"\(asked [^)]*\)", "(asked 4 times)", text)
    text = re.sub(r"\bPython 3\.\d+ on \w+", "Python 3.11 on x86_64", text)
    return re.sub(r"\b\d{6,} s\b", "3600 s", text)


def test_every_error_has_a_provocation_and_a_remedy() -> None:
    assert PROVOCATIONS.keys() == KINDS.keys()
    assert len(ERRORS) == len(KINDS), "an id is used twice"
    for kind in ERRORS:
        assert re.fullmatch(r"[A-Z]{3,5}-\d{3}", kind.id)
        assert kind.exit_code == (EXIT_INPUT if issubclass(kind, errors.InputError) else EXIT_INFRASTRUCTURE)
        assert kind.meaning.endswith("."), kind.id
        assert re.fullmatch(r"[A-Z].*[.?]", kind.remedy), kind.id


@pytest.mark.usefixtures("quick_environments")
@pytest.mark.parametrize("mark", PROVOCATIONS)
def test_it_is_provoked_and_says_what_the_catalogue_shows(
    ootci: Tool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, mark: str
) -> None:
    monkeypatch.setattr(github_rest, "PAUSE_SECONDS", 0.0)
    register(tmp_path)
    with ExitStack() as opened:
        ran = PROVOCATIONS[mark](Folder(tmp_path, ootci, opened))
    assert "error " in ran.err, ran.out + ran.err
    found = {part: _same_everywhere(text, tmp_path) for part, text in said(ran).items()}
    assert (found.pop("id"), ran.code) == (mark, KINDS[mark].exit_code)
    shown = json.loads(EXAMPLES.read_text(encoding="utf-8")) if EXAMPLES.exists() else {}
    if request.config.getoption("--update-golden"):
        EXAMPLES.write_text(as_json(dict(sorted({**shown, mark: found}.items()))), encoding="utf-8")
        return
    assert shown[mark] == found, "write it again with --update-golden"


def test_the_catalogue_shows_nothing_else() -> None:
    assert json.loads(EXAMPLES.read_text(encoding="utf-8")).keys() == KINDS.keys()


def test_an_error_is_explained_in_every_format(ootci: Tool, tmp_path: Path) -> None:
    kind = errors.DeviceFileSyntax
    text = ootci("explain", "dev-003", cwd=tmp_path)
    assert (text.code, text.out.splitlines()[0]) == (0, f"DEV-003: {kind.meaning}")
    assert kind.remedy in text.out
    machine = json.loads(ootci("explain", "DEV-003", "--format", "json", cwd=tmp_path).out)
    assert machine == {"id": "DEV-003", "meaning": kind.meaning, "remedy": kind.remedy, "exit_code": 2}
    assert ootci("explain", "DEV-003", "--format", "markdown", cwd=tmp_path).out.startswith("### DEV-003\n")
    unknown = ootci("explain", "DEV-999", cwd=tmp_path)
    assert (unknown.code, "did you mean `DEV-" in unknown.err) == (2, True)


def test_a_key_of_a_device_file_is_explained_in_every_format(ootci: Tool, tmp_path: Path) -> None:
    text = ootci("explain", "check.command", cwd=tmp_path)
    assert (text.code, text.out.splitlines()[-3:]) == (
        0,
        ["  must be: a list of texts", "  when absent: none", "  example: command: [my-smi]"],
    )
    group = ootci("explain", "plugin", "--format", "json", cwd=tmp_path)
    assert [key["key"] for key in json.loads(group.out)][:3] == ["plugin", "plugin.distribution", "plugin.path"]
    assert "plugin.git.url" in ootci("explain", "keys", cwd=tmp_path).out
    assert ootci("explain", "suites[3].name", cwd=tmp_path).out.startswith("suites[].name: ")
    assert ootci("explain", "environment.A", cwd=tmp_path).out.startswith("environment: ")
    unknown = ootci("explain", "chek.command", cwd=tmp_path)
    assert (unknown.code, "did you mean `check.command`?" in unknown.err) == (2, True)
