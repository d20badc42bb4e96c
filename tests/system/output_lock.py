"""What users see of this checkout, compared with what they see of another commit: for changes that should not show.

    .venv/bin/python tests/system/output_lock.py compare COMMIT
    .venv/bin/python tests/system/output_lock.py write FOLDER

Users see the invented sample site, the site with a hostile device, the help of every command, every schema, every error
with its exit code and an example, and the verdicts of an invented year. The other commit is checked out
beside this one and shows itself by the same command, with its own code, so that no result is kept.

Exit codes of compare: 0 nothing differs, 1 something does, 2 there is no such commit.
"""

from __future__ import annotations

import argparse
import difflib
import filecmp
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import click
from every_command import every_command
from sample_site import FEWEST_NIGHTS, render_sample
from simulator import World
from simulator.memory import Memory
from unit.render.hostile import hostile_sample

import ootci.errors
from ootci.cli.main import cli
from ootci.model.schema import device_schema, schemas
from ootci.stages.render import render

ROOT = Path(__file__).parents[2]
WORK = ROOT / ".ootci" / "output-lock"
YEAR = 365


def write(folder: Path) -> None:
    """Write what this checkout shows to an empty folder."""
    render_sample(folder / "made", nights=FEWEST_NIGHTS)[0].rename(folder / "sample-site")
    hostile = hostile_sample(folder / "made" / "hostile")
    render(hostile.registry, hostile.history, hostile.verdicts, folder / "hostile-site")
    _write_lines(folder / "year.jsonl", _year(folder / "made" / "year"))
    shutil.rmtree(folder / "made")
    for name, text in {"device": device_schema(), **schemas()}.items():
        _write_lines(folder / "schemas" / f"{name}.json", [text.rstrip("\n")])
    wide = click.Context(cli, info_name="ootci", max_content_width=110, terminal_width=110)
    for context in every_command(wide):
        _write_lines(folder / "help" / f"{context.command_path}.txt", [context.command.get_help(context)])
    _write_lines(folder / "errors.txt", _errors())
    shutil.copy(ROOT / "docs" / "machinery" / "error_examples.json", folder)  # a test holds it to what is said


def _year(folder: Path) -> Iterator[str]:
    world, history = World(1, nights=YEAR), Memory(folder)
    for night in world.all_nights():
        history.append_plan(night.plan)
        for run in night.arrivals:
            history.append_run(run)
        found = history.judge(night.registry, night.now)
        # Each night's list of past nights is what the nights before say.
        yield found.model_dump_json(exclude={"devices": {"__all__": {"history"}}})


def _errors() -> Iterator[str]:
    for value in vars(ootci.errors).values():
        if isinstance(value, type) and issubclass(value, ootci.errors.OotciError) and hasattr(value, "id"):
            yield f"{value.id}  exit code {value.exit_code}\n  {value.meaning}\n  {value.remedy}\n"


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def differences(before: Path, after: Path) -> dict[str, list[str]]:
    """By the name of a file that two folders have not alike, a unified diff."""
    files = {path.relative_to(top) for top in (before, after) for path in top.rglob("*") if path.is_file()}
    found = {}
    for name in sorted(files):
        old, new = before / name, after / name
        if not (old.exists() and new.exists() and filecmp.cmp(old, new, shallow=False)):
            lines = [
                path.read_bytes().decode(errors="replace").splitlines() if path.exists() else [] for path in (old, new)
            ]
            found[str(name)] = list(difflib.unified_diff(*lines, f"before/{name}", f"after/{name}", lineterm="", n=1))
    return found


def compare(commit: str) -> int:
    """Compare this checkout with a commit, and print which files differ; the exit code."""
    shutil.rmtree(WORK, ignore_errors=True)
    WORK.mkdir(parents=True)
    other = WORK / "checkout"
    added = subprocess.run(["git", "worktree", "add", "--quiet", "--detach", other, commit], cwd=ROOT, check=False)
    if added.returncode != 0:
        return 2
    try:
        with ThreadPoolExecutor() as pool:
            list(pool.map(_show, (other, ROOT), (WORK / "before", WORK / "after")))
    finally:
        subprocess.run(["git", "worktree", "remove", "--force", other], cwd=ROOT, check=True)
    found = differences(WORK / "before", WORK / "after")
    _write_lines(WORK / "differences.diff", (line for lines in found.values() for line in lines))
    for name in found:
        print(name)  # noqa: T201
    print(f"{len(found)} files differ; the lines are in {WORK / 'differences.diff'}")  # noqa: T201
    return int(bool(found))


def _show(checkout: Path, folder: Path) -> None:
    """Let a checkout write what it shows, with its own code."""
    code = os.pathsep.join(str(checkout / part) for part in ("scripts", "tests/system"))
    command = [sys.executable, str(checkout / "tests" / "system" / Path(__file__).name), "write", str(folder)]
    subprocess.run(command, cwd=checkout, env={**os.environ, "PYTHONPATH": code}, check=True)


def main() -> int:
    """Run a command; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("compare").add_argument("commit")
    commands.add_parser("write").add_argument("folder", type=Path)
    asked = parser.parse_args()
    if asked.command == "compare":
        return compare(asked.commit)
    asked.folder.mkdir(parents=True)
    write(asked.folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
