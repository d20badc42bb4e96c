"""``ootci bisect`` without a step: what it searches between, what it goes on with, what it says, and its exit codes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path

import pytest
from e2e.packages import list_wheels, serve
from misbehaving import stub_torch_wheel, write_device
from unit.samples import changed, on_torch, plan, run, stored

from ootci.adapters.folder_lock import locked
from ootci.history.bisection import conclude
from ootci.model.bisection import Bisection, Step, StepResult
from ootci.model.device import load_device
from ootci.model.record import read, write

from commands import Ran, Tool  # isort: skip

TEST = "smoke/test_scripted.py::test_second"
NIGHTLIES = tuple(f"2.15.0.dev2026110{day}+cpu" for day in (1, 2, 4, 5, 7))


class World:
    """A folder with a device, and an index with five nightlies of two weeks."""

    def __init__(self, folder: Path, ootci: Tool, variables: dict[str, str]) -> None:
        self.folder, self.ootci, self.variables = folder, ootci, {**variables, "NO_PROXY": "127.0.0.1"}
        self.device = write_device(folder / "devices", "dev", "passes")

    def bisect(self, *arguments: str, test: str = TEST) -> Ran:
        return self.ootci("bisect", "dev", test, *arguments, cwd=self.folder, env=self.variables)

    def begun(self, good: int = 0, bad: int = 4, repeat: int = 1) -> Bisection:
        sha256 = load_device(self.device).sha256
        nightlies = NIGHTLIES[good : bad + 1]
        return Bisection(device="dev", device_sha256=sha256, test=TEST, repeat=repeat, nightlies=nightlies)

    def left_behind(self, begun: Bisection, made_of: str = "", **results: str) -> Path:
        """The file of a search that came as far as these steps: ``_1="good"``."""
        steps = [
            Step(
                nightly=nightly,
                git_version=str(index) * 40,
                made_of=made_of[index] * 40 if made_of else None,
                result=StepResult(result),
                reason="| `odd` \x1b[31mreason\n::error::x" if result != "good" else None,
                started_at=datetime(2026, 11, 21, tzinfo=timezone.utc),
                duration=1.0,
            )
            for index, nightly in enumerate(begun.nightlies)
            if (result := results.get(f"_{index}"))
        ]
        state = begun.model_copy(update={"steps": tuple(steps)})
        file = self.folder / ".ootci" / "bisect" / begun.identity / "bisection.json"
        write(state.model_copy(update={"conclusion": conclude(state)}), file)
        return file


@pytest.fixture
def world(tmp_path: Path, ootci: Tool) -> Iterator[World]:
    list_wheels([stub_torch_wheel(tmp_path / "index" / "nightly" / "cpu" / "torch", version) for version in NIGHTLIES])
    with serve(tmp_path / "index") as variables:
        yield World(tmp_path, ootci, variables)


def _ends(number: int) -> tuple[str, ...]:
    return ("--good", NIGHTLIES[0], "--bad", NIGHTLIES[number])


@pytest.mark.parametrize(
    ("arguments", "error", "fix"),
    [
        (
            ("--good", "20261103", "--bad", "20261107"),
            "BIS-002: the index has no nightly `20261103`",
            "dev20261104+cpu",
        ),
        (("--good", "20261101", "--bad", "2.15.0.dev20261109"), "BIS-002: the index has no nightly", "dev20261107+cpu"),
        (("--good", "20261101", "--bad", "what"), "CLI-001: `what` is no nightly", "such as 20261121"),
        (
            ("--good", "20261104", "--bad", "20261104"),
            "BIS-002: the good nightly 2.15.0.dev20261104+cpu is not",
            "--good",
        ),
        (
            ("--good", "20261105", "--bad", "20261104"),
            "BIS-002: the good nightly 2.15.0.dev20261105+cpu is not",
            "--good",
        ),
        ((), "BIS-001: no run of `dev` on a nightly has an outcome of", "--good and --bad"),
    ],
)
def test_what_cannot_be_searched_is_an_input_error_that_names_what_can(
    world: World, arguments: tuple[str, ...], error: str, fix: str
) -> None:
    ran = world.bisect(*arguments)
    assert (ran.code, ran.out) == (2, "")
    assert f"error {error}" in ran.err
    assert fix in ran.err.partition("what to do: ")[2]


def test_a_test_of_a_suite_that_the_device_does_not_run_is_an_input_error(world: World) -> None:
    ran = world.bisect(*_ends(4), test="ops/test_forward.py::test_forward[add]")
    assert (ran.code, ran.out) == (2, "")
    assert "error CLI-001: `dev` runs no suite `ops`" in ran.err
    assert "smoke, integration" in ran.err


@pytest.mark.parametrize(
    ("results", "code", "ending", "sentence"),
    [
        (("good", None, "good", "bad", "bad"), 0, "first_bad", f"passes on {NIGHTLIES[2]} and fails on {NIGHTLIES[3]}"),
        (("good", "untestable", "untestable", "bad", "bad"), 0, "range", "2 nightlies in between could not be tested"),
        (("good", "good", "untestable", "bad", "bad"), 0, "range", "1 nightly in between could not be tested"),
        (("bad",), 1, "good_end_fails", f"fails on {NIGHTLIES[0]} too, where it passed before: it was not torch"),
        (("good", None, None, None, "good"), 1, "bad_end_passes", f"passes on {NIGHTLIES[4]}, where it failed before"),
        (("untestable",), 3, "end_untestable", "One of the two ends could not be tested"),
    ],
)
def test_each_ending_has_its_sentence_and_its_exit_code(
    world: World, results: tuple[str | None, ...], code: int, ending: str, sentence: str
) -> None:
    world.left_behind(world.begun(), **{f"_{index}": result for index, result in enumerate(results) if result})
    text = world.bisect(*_ends(4))
    assert (text.code, sentence in text.out) == (code, True)
    assert ("git bisect start" in text.out) == (ending in ("first_bad", "range"))
    machine = world.bisect(*_ends(4), "--format", "json")
    assert (machine.code, json.loads(machine.out)["conclusion"]["ending"]) == (code, ending)


def test_the_range_of_commits_and_how_to_go_on_are_printed(world: World) -> None:
    world.left_behind(world.begun(), _0="good", _2="good", _3="bad", _4="bad")
    out = world.bisect("--good", "2.15.0.dev20261101", "--bad", "20261107").out
    lines = out.splitlines()
    assert lines[0] == f"dev: {TEST}"
    assert lines[1] == f"5 nightlies from {NIGHTLIES[0]} (good) to {NIGHTLIES[4]} (bad), as requested"
    assert f"first bad nightly {NIGHTLIES[3]} (commit {'3' * 40})" in lines
    assert f"last good nightly {NIGHTLIES[2]} (commit {'2' * 40})" in lines
    assert (
        f"PyTorch's commits between them: https://github.com/pytorch/pytorch/compare/{'2' * 40}...{'3' * 40}" in lines
    )
    assert f"  git log --no-walk=unsorted --format=%s {'2' * 40} {'3' * 40}" in lines
    assert lines[-1] == f"  python -m pytest smoke/test_scripted.py --id {TEST} --device dev"


def test_the_commits_of_main_are_printed_where_it_is_known_what_the_nightlies_were_made_of(world: World) -> None:
    world.left_behind(world.begun(), made_of="abcde", _0="good", _2="good", _3="bad", _4="bad")
    lines = world.bisect("--good", "2.15.0.dev20261101", "--bad", "20261107").out.splitlines()
    assert (
        f"PyTorch's commits between them: https://github.com/pytorch/pytorch/compare/{'c' * 40}...{'d' * 40}" in lines
    )
    assert f"  git bisect start {'d' * 40} {'c' * 40}" in lines
    assert not any("git log" in line for line in lines)


@pytest.mark.parametrize("style", ["text", "markdown"])
def test_foreign_text_stays_on_its_line(world: World, style: str) -> None:
    world.left_behind(world.begun(), _0="good", _4="bad", _2="untestable", _1="untestable", _3="untestable")
    out = world.bisect(*_ends(4), "--format", style).out
    reason = "`\\| 'odd' reason ::error::x`" if style == "markdown" else "| `odd` reason ::error::x"
    assert sum(line.rstrip(" |").endswith(reason) for line in out.splitlines()) == 4
    assert "\x1b" not in out


def test_the_history_gives_the_ends(world: World) -> None:
    for number, (nightly, outcome) in enumerate(zip(NIGHTLIES[1:4], ("passed", "failed", "failed"), strict=True)):
        made = changed(run(number, smoke={"one": outcome}), lambda item: item.suite == "smoke", id=TEST)
        stored(world.folder / "data", plan(number), on_torch(made, nightly))
    file = world.left_behind(world.begun(1, 2), _0="good", _1="bad")
    ran = world.bisect()
    assert ran.code == 0, ran.err
    assert f"fails on {NIGHTLIES[2]}" in ran.out
    assert read(Bisection, file).nightlies == NIGHTLIES[1:3]


def test_another_question_is_another_search(world: World) -> None:
    begun = world.begun()
    others = [
        world.begun(1),
        world.begun(0, 3),
        world.begun(repeat=2),
        begun.model_copy(update={"test": "smoke/test_scripted.py::test_third"}),
    ]
    assert len({item.identity for item in (begun, *others)}) == 5
    assert begun.model_copy(update={"from_history": ("x",)}).identity == begun.identity


def test_plugin_sources_that_changed_stop_the_search_and_what_is_known_is_told(world: World) -> None:
    begun = world.begun()
    file = world.left_behind(begun, _0="good", _4="bad")
    state = json.loads(file.read_text(encoding="utf-8"))
    state["plugin"] = {"package": "torch-dev", "version": "1.0", "source": "dev", "sources_sha256": "0" * 64}
    file.write_text(json.dumps(state), encoding="utf-8")
    ran = world.bisect(*_ends(4))
    assert ran.code == 2
    assert "error BIS-003: the plugin's sources have changed since the bisection began" in ran.err
    assert "Not finished: 2 of 5 nightlies tested." in ran.out
    assert "the same command goes on from here" in ran.err


def test_what_could_not_be_tested_is_tested_again_when_asked(world: World) -> None:
    file = world.left_behind(world.begun(), _0="good", _1="untestable", _2="untestable", _3="bad", _4="bad")
    assert "reason" in world.bisect(*_ends(4)).out
    index = world.folder / "index" / "nightly" / "cpu" / "torch"
    list_wheels(
        [path for path in sorted(index.glob("*.whl")) if NIGHTLIES[0] in path.name or NIGHTLIES[4] in path.name]
    )
    again = world.bisect(*_ends(4), "--retry")
    assert again.code == 0, again.err
    state = read(Bisection, file)
    assert [(step.nightly, step.result.value) for step in state.steps] == [
        (NIGHTLIES[0], "good"),
        (NIGHTLIES[3], "bad"),
        (NIGHTLIES[4], "bad"),
        (NIGHTLIES[1], "untestable"),
        (NIGHTLIES[2], "untestable"),
    ]
    assert all("has no torch" in (step.reason or "") for step in state.steps[3:])


def test_two_searches_at_once_are_refused(world: World) -> None:
    with locked(world.folder / ".ootci" / "bisect"):
        ran = world.bisect(*_ends(4))
    assert ran.code == 3
    assert "error HOST-003" in ran.err
