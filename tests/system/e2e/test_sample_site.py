"""``make site``: the invented site is rendered and served on loopback, and its history is made once."""

from __future__ import annotations

import shlex
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime, timedelta, timezone
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from commands import run_command, scrubbed
from sample_site import SOURCES, recipe, start_of
from simulator.world import PAGE_AFTER

MADE = "making 30 nights"


def command(folder: Path, *more: str) -> list[str]:
    script = Path(__file__).parents[1] / "sample_site.py"
    return [sys.executable, str(script), "--folder", str(folder), "--nights", "30", *more]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the sample site is kept."""
    return tmp_path_factory.mktemp("sample-site")


@contextmanager
def serving(folder: Path) -> Iterator[tuple[str, subprocess.Popen[str]]]:
    server = subprocess.Popen(
        command(folder), env=scrubbed(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        yield server.stdout.readline().strip(), server
    finally:
        server.kill()
        server.communicate()


def get(address: str) -> str:
    with urlopen(address, timeout=30) as answer:  # noqa: S310 - an address of loopback
        return str(answer.read().decode("utf-8"))


@pytest.mark.deep
def test_it_is_served_on_loopback_until_it_is_interrupted(folder: Path) -> None:
    for name in ("left-from-before.html", "api/v1/index.json"):  # a site, so that it may be replaced
        (folder / "site" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "site" / name).touch()
    with serving(folder) as (address, server):
        assert address.startswith("http://127.0.0.1:")
        front = get(address)
        assert front.count('<li class="row" id=') == 20
        assert get(f"{address}static/style.css")
        with pytest.raises(HTTPError, match="404"):
            get(f"{address}left-from-before.html")
        server.send_signal(signal.SIGINT)
        out, err = server.communicate(timeout=30)
    assert (server.returncode, out) == (0, "")
    # What it was made from is for the next time.
    (said,) = err.splitlines()
    assert said.startswith(MADE)
    assert list(folder.glob("history-*/**/*"))


@pytest.mark.deep
def test_the_history_is_kept_and_the_pages_are_made_anew_while_it_is_served(folder: Path) -> None:
    first = run_command(command(folder, "--serve", "no"), folder)
    assert (first.code, first.out) == (0, f"{folder / 'site' / 'index.html'}\n"), first.err
    kept = [path.stat().st_mtime_ns for path in folder.glob("history-*/**/*")]
    with serving(folder) as (address, _):
        (folder / "site" / "index.html").write_text("before", encoding="utf-8")
        assert get(address) == "before"
        again = run_command(command(folder, "--serve", "no"), folder)
        assert (again.code, again.err) == (0, "")
        assert "<h1" in get(address)
    assert [path.stat().st_mtime_ns for path in folder.glob("history-*/**/*")] == kept


def test_the_last_night_is_of_the_last_day() -> None:
    for hour in (0, 9, 10, 23):
        now = datetime(2027, 3, 4, hour, 30, tzinfo=timezone.utc)
        start = start_of(30, now)
        assert timedelta() <= now - (start + timedelta(days=29) + PAGE_AFTER) < timedelta(days=1)
    assert recipe(SOURCES, 30, start) != recipe(SOURCES, 30, start + timedelta(days=1))


def test_another_history_is_made_when_what_makes_it_changes(tmp_path: Path) -> None:
    source = tmp_path / "simulator" / "world.py"
    source.parent.mkdir()
    source.write_text("START = 1\n", encoding="utf-8")
    first = recipe([source.parent], 90)
    assert recipe([source.parent], 90) == first
    assert recipe([source.parent], 30) != first
    source.write_text("START = 2\n", encoding="utf-8")
    assert recipe([source.parent], 90) != first


def test_make_runs_it_and_too_few_nights_are_refused(root: Path, tmp_path: Path) -> None:
    listed = run_command(["make", "help"], root).out
    assert "make site" in listed
    made = run_command(["make", "--dry-run", "--old-file", ".venv/tool", "site", "SERVE=no", "NIGHTS=7"], root)
    assert made.code == 0, made.err
    assert shlex.split(made.out)[1:] == [
        ".venv/bin/python",
        "tests/system/sample_site.py",
        "--nights",
        "7",
        "--serve",
        "no",
    ]
    refused = run_command([*command(tmp_path / "none"), "--nights", "7"], root)
    assert refused.code == 2
    assert "at least 30 nights" in refused.err
    assert not (tmp_path / "none").exists()
