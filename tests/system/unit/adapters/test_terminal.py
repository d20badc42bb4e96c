"""Progress for people: no escape sequences of others, and a sign of life."""

from __future__ import annotations

import time

import pytest

from ootci.adapters.progress import Progress
from ootci.adapters.terminal import plain


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", "red"),
        ("\x1b]0;title\x07x", "x"),
        ("\x1b]8;;http://evil\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("a\x00b\x08c\x7fd\x9be", "abcde"),
        ("tab\tand\nline", "tab\tand\nline"),
        ("\x1b", ""),
        ("übung", "übung"),
    ],
)
def test_foreign_text_cannot_speak_to_the_terminal(text: str, shown: str) -> None:
    assert plain(text) == shown


def test_a_step_tells_its_beginning_and_gives_signs_of_life(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ootci.adapters.progress.HEARTBEAT_SECONDS", 0.05)
    progress = Progress()
    with progress.step("dev: build"):
        progress.update("\x1b[1m[ 7%] compiling\x1b[0m\n")
        progress.update("\n")
        time.sleep(0.3)
    out, err = capsys.readouterr()
    assert out == ""
    assert err.startswith("dev: build ...\n")
    assert "[ 7%] compiling" in err
    assert "\x1b" not in err


def test_markup_in_foreign_text_is_text(capsys: pytest.CaptureFixture[str]) -> None:
    Progress().say("[red]not red[/red] [link=http://x]y[/link]")
    assert capsys.readouterr().err == "[red]not red[/red] [link=http://x]y[/link]\n"


def test_a_quiet_one_says_nothing_and_a_step_s_failure_passes_through(capsys: pytest.CaptureFixture[str]) -> None:
    progress = Progress(quiet=True)
    with pytest.raises(KeyError), progress.step("x"):
        raise KeyError
    assert capsys.readouterr() == ("", "")
