"""``ootci bisect`` on a loopback index of six nightlies: real environments, real builds, and a stand-in for torch.

The fourth nightly is good, the fifth bad. The third is withdrawn while the search goes on, and the plugin does not
import on the second. The plugin's repository has moved on since the test failed, to sources that do not work.
"""

from __future__ import annotations

import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from commands import Ran, Tool, scrubbed
from e2e.packages import list_wheels, serve
from misbehaving import stub_torch_wheel, write_device, write_suites
from repositories import commit, repository
from unit.samples import changed, on_torch, plan, run, stored

from ootci.model.bisection import Bisection, Ending, StepResult
from ootci.model.build import PluginBuild
from ootci.model.record import read, write

pytestmark = pytest.mark.long

TEST = "smoke/test_scripted.py::test_second"
NIGHTLIES = tuple(f"2.15.0.dev2026110{day}+cpu" for day in range(1, 7))
COMMITS = tuple(str(day) * 40 for day in range(1, 7))
COMMAND = ("bisect", "bent", TEST, "--repeat", "2", "--suites", "suites")


def _repository(folder: Path) -> str:
    """A device whose plugin is a repository; gives the commit that works."""
    plugin = folder / "repository"
    device = write_device(folder / "devices", "bent", "passes", source=f"git: {{url: {plugin}, ref: main}}")
    device.with_suffix("").rename(plugin)
    breaks = f"environment:\n  FAKE_BREAKS_FROM: {NIGHTLIES[4]}\n  FAKE_IMPORT_BREAKS_ON: {NIGHTLIES[1]}\n"
    device.write_text(device.read_text(encoding="utf-8").replace("environment:\n", breaks), encoding="utf-8")
    works = repository(plugin, "works")
    (plugin / "torch_plugin.py").write_text("raise RuntimeError('the plugin of today')\n", encoding="utf-8")
    commit(plugin, "does not work")
    return works


def _remember(folder: Path, commit: str) -> None:
    """A history in which the test passed on the first nightly and failed on the fifth."""
    plugin = PluginBuild(package="torch-bent", version="1.0", source="git", commit=commit)
    for number, outcome in ((0, "passed"), (4, "failed")):
        made = changed(run(number, "bent", smoke={"one": outcome}), lambda item: item.suite == "smoke", id=TEST)
        made = on_torch(made, NIGHTLIES[number], COMMITS[number]).model_copy(update={"plugin": plugin})
        stored(folder / "data", plan(number, ("bent",)), made)


def _interrupted(python: Path, folder: Path, variables: dict[str, str], at: str) -> Ran:
    """The command, ended by SIGTERM in the middle of the stage that follows a line of its progress."""
    command = [str(python), "-m", "ootci", *COMMAND]
    process = subprocess.Popen(
        command, cwd=folder, env=scrubbed(variables), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    lines: list[str] = []
    for line in process.stderr:
        lines.append(line)
        if line.strip() == "bent: fetch ..." and any(at in earlier for earlier in lines):
            process.send_signal(signal.SIGTERM)
            break
    out, err = process.communicate(timeout=120)
    return Ran(process.returncode, out, "".join(lines) + err)


def _still_running(folder: Path) -> list[str]:
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            command = path.read_bytes()
        except OSError:
            continue
        found += [command.decode("utf-8", "replace")] if str(folder).encode() in command else []
    return found


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, dict[str, str], str]]:
    """The device, its history, and the served index; the variables that point to it; the plugin's commit that works."""
    folder = tmp_path_factory.mktemp("bisect")
    commit = _repository(folder)
    _remember(folder, commit)
    write_suites(folder / "suites")
    index = folder / "index" / "nightly" / "cpu" / "torch"
    wheels = [stub_torch_wheel(index, *pair) for pair in zip(NIGHTLIES, COMMITS, strict=True)]
    list_wheels(wheels)
    with serve(folder / "index") as variables:
        yield folder, variables, commit


def _search(folder: Path) -> Path:
    """Where the search between the first nightly and the fifth lies."""
    question = Bisection(device="bent", device_sha256="0" * 64, test=TEST, repeat=2, nightlies=NIGHTLIES[:5])
    return folder / ".ootci" / "bisect" / question.identity


@pytest.mark.deep
def test_the_first_bad_nightly_is_found_across_an_interruption(
    world: tuple[Path, dict[str, str], str], ootci: Tool, tool_python: Path
) -> None:
    folder, variables, commit = world
    first = _interrupted(tool_python, folder, variables, f"bisect: torch {NIGHTLIES[4]} ")
    assert first.code == 143, first.err
    assert "Not finished: 1 of 5 nightlies tested." in first.out
    assert "the same command goes on from here" in first.err
    assert _still_running(folder) == []
    before = read(Bisection, _search(folder) / "bisection.json")
    assert [(step.nightly, step.result) for step in before.steps] == [(NIGHTLIES[0], StepResult.GOOD)]

    index = folder / "index" / "nightly" / "cpu" / "torch"
    list_wheels([wheel for wheel in sorted(index.glob("*.whl")) if NIGHTLIES[2] not in wheel.name])
    second = ootci(*COMMAND, cwd=folder, env=variables)
    assert second.code == 0, second.out + second.err
    after = read(Bisection, _search(folder) / "bisection.json")
    assert after.steps[0] == before.steps[0]
    assert [(step.nightly, step.result.value, tuple(item.value for item in step.outcomes)) for step in after.steps] == [
        (NIGHTLIES[0], "good", ("passed", "passed")),
        (NIGHTLIES[4], "bad", ("failed",)),
        (NIGHTLIES[2], "untestable", ()),
        (NIGHTLIES[1], "untestable", ()),
        (NIGHTLIES[3], "good", ("passed", "passed")),
    ]
    withdrawn, unimportable = after.steps[2].reason or "", after.steps[3].reason or ""
    assert f"has no torch {NIGHTLIES[2]}" in withdrawn
    assert unimportable.startswith("import: ")
    assert "undefined symbol: torch_changed_it" in unimportable
    assert [step.git_version for step in after.steps] == [COMMITS[0], COMMITS[4], None, COMMITS[1], COMMITS[3]]
    assert after.conclusion is not None
    assert after.conclusion.ending is Ending.FIRST_BAD
    assert after.plugin is not None
    assert after.plugin.commit == commit
    assert f"https://github.com/pytorch/pytorch/compare/{COMMITS[3]}...{COMMITS[4]}" in second.out
    assert f"plugin torch-bent 1.0, commit {commit}, the same in every step" in second.out
    kept = _search(folder) / "steps"
    tested = [nightly for nightly in NIGHTLIES[:5] if nightly != NIGHTLIES[2]]
    assert sorted(path.name for path in kept.iterdir()) == sorted(tested)
    assert (kept / NIGHTLIES[3] / "run.json").is_file()
    assert not (kept.parent / "envs").exists()

    again = ootci(*COMMAND, cwd=folder, env=variables)
    assert (again.code, again.out) == (0, second.out)
    assert "bent: fetch" not in again.err


@pytest.mark.deep
def test_a_device_that_is_away_says_nothing_of_a_nightly_and_a_good_end_that_fails_ends_the_search(
    world: tuple[Path, dict[str, str], str], ootci: Tool
) -> None:
    folder, variables, commit = world
    device = folder / "devices" / "bent.yaml"
    text = device.read_text(encoding="utf-8").replace("ref: main", f"ref: {commit}")
    ends = ("--good", "20261105", "--bad", "20261106")
    device.write_text(text.replace("FAKE_BEHAVIOUR: passes", "FAKE_BEHAVIOUR: card-missing"), encoding="utf-8")
    other = Bisection(device="bent", device_sha256="0" * 64, test=TEST, repeat=2, nightlies=NIGHTLIES[4:])
    write(other, folder / ".ootci" / "bisect" / other.identity / "bisection.json")
    changed = ootci(*COMMAND, *ends, cwd=folder, env=variables)
    assert (changed.code, "error BIS-003" in changed.err) == (2, True)
    away = ootci(*COMMAND, *ends, "--restart", cwd=folder, env=variables)
    assert away.code == 3, away.out + away.err
    assert "error HOST-004: the device is not there" in away.err
    assert "Not finished: 0 of 2 nightlies tested." in away.out

    device.write_text(text, encoding="utf-8")
    ran = ootci(*COMMAND, *ends, cwd=folder, env=variables)
    assert ran.code == 1, ran.out + ran.err
    assert f"The test fails on {NIGHTLIES[4]} too, where it passed before: it was not torch that changed." in ran.out
    assert "git bisect start" not in ran.out
    assert ran.err.count("bent: fetch ...") == 1
