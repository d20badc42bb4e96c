"""Render the invented world of the simulator as a site and serve it on loopback: ``make site``.

What devices reported is made once and kept; verdicts and pages are made anew at each start, so that a change of the
looks is seen in seconds.
"""

from __future__ import annotations

import argparse
import hashlib
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterable
from datetime import datetime, timedelta, timezone
from pathlib import Path

from loopback import serving
from simulator.accuracy import with_accuracy
from simulator.other_torches import with_also, with_other_torches
from simulator.own_tests import with_advisory_suites, with_advisory_suites_listed
from simulator.world import PAGE_AFTER, START, World

import ootci
from ootci.history.store import History
from ootci.stages.judge import judge
from ootci.stages.render import render

SYSTEM = Path(__file__).parent
FOLDER = SYSTEM.parents[1] / ".ootci" / "sample-site"
SEED = 3
NIGHTS = 90
TESTS = 900
"""Enough for every operator with some dtypes."""
FEWEST_NIGHTS = 30
"""The ending, in which every verdict is seen at once, needs a month before it."""

_PACKAGE = Path(ootci.__file__).parent
SOURCES = (SYSTEM / "simulator", _PACKAGE / "history", _PACKAGE / "model")
"""What a history is made by: when any of it changes, the kept one is not used again."""


def render_sample(folder: Path = FOLDER, nights: int = NIGHTS, start: datetime = START) -> tuple[Path, datetime]:
    """Render the sample site.

    Args:
        folder: where the history is kept and the site is written, in ``site``.
        nights: how many nights there have been, at least :data:`FEWEST_NIGHTS`.
        start: when the first of them was planned.

    Returns:
        the site's folder, and when its pages are made.

    """
    world = World(SEED, nights=nights, tests=TESTS, ending=True, start=start)
    last = world.night(nights - 1)
    history = History(_kept_history(folder, world))
    registry = with_also(with_advisory_suites_listed(last.registry))
    render(registry, history, judge(registry, history, last.now), folder / "site")
    return folder / "site", last.now


def start_of(nights: int, now: datetime) -> datetime:
    """When the first of some nights was planned, so that the page of the last one was made in the last day."""
    last = now - PAGE_AFTER - timedelta(hours=START.hour, minutes=START.minute)
    return START + (last.date() - START.date() - timedelta(days=nights - 1))


def recipe(sources: Iterable[Path], nights: int, start: datetime = START) -> str:
    """What tells whether a kept history is still what would be made: a digest of the sources and of the arguments."""
    digest = hashlib.sha256(f"{SEED} {nights} {TESTS} {start}".encode())
    for folder in sources:
        for path in sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"):
            digest.update(f"\n{path.relative_to(folder)}\n".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


def _kept_history(folder: Path, world: World) -> Path:
    kept = folder / f"history-{recipe(SOURCES, world.nights, world.planned_at(0))[:16]}"
    if kept.is_dir():
        return kept
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("history-*"):
        shutil.rmtree(old)
    sys.stderr.write(f"making {world.nights} nights; they are kept for the next time ...\n")
    # It gets its name when it is whole, so that one that was ended half-way is never taken for it.
    with tempfile.TemporaryDirectory(dir=folder) as unfinished:
        history = History(Path(unfinished) / "history")
        for night in (with_other_torches(night, world) for night in world.all_nights()):
            with history.batch():
                history.append_plan(night.plan)
                if night.compat is not None:
                    history.append_compat(night.compat)
                for run in night.arrivals:
                    number = (run.started_at - world.planned_at(0)).days  # a report can come on a later night
                    whole = with_advisory_suites(with_accuracy(run, number, world.nights), number, world.nights)
                    history.append_run(whole)
        history.folder.rename(kept)
    return kept


def serve(site: Path) -> None:
    """Serve a folder on a free port of loopback until Ctrl-C, and print the address."""
    with serving(site) as server:
        sys.stdout.write(f"{server.url}/\n")
        sys.stdout.flush()
        server.serve_forever()


def main() -> None:
    """Render, then serve."""
    parser = argparse.ArgumentParser(description="Render the invented world as a site, and serve it on loopback.")
    parser.add_argument("--nights", type=int, default=NIGHTS, help="how many there have been, 90 if not said")
    parser.add_argument("--folder", type=Path, default=FOLDER, help="where everything is kept")
    parser.add_argument("--serve", choices=("yes", "no"), default="yes", help="no: render only, and print the folder")
    wanted = parser.parse_args()
    if wanted.nights < FEWEST_NIGHTS:
        parser.error(f"--nights {wanted.nights}: the invented world needs at least {FEWEST_NIGHTS} nights")
    # Whoever is started in a shell's background is born deaf to Ctrl-C.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        start = start_of(wanted.nights, datetime.now(timezone.utc))
        site, _ = render_sample(wanted.folder, wanted.nights, start)
        if wanted.serve == "yes":
            serve(site)
        else:
            sys.stdout.write(f"{site / 'index.html'}\n")
    except KeyboardInterrupt:
        return


if __name__ == "__main__":
    main()
