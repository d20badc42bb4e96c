"""The steps of the course are built: their capabilities pass, and the step before fails with the given message.

Each step compiles what it adds, so `make test-deep` builds them; `make test` builds the last one, for its nightly.
"""

from __future__ import annotations

import re
import shutil
import zipfile
from pathlib import Path

import pytest
from commands import Ran, build_wheel, run_command
from contract.openreg_steps import MISSING, read_steps

pytestmark = [pytest.mark.torch, pytest.mark.long]

PLUGIN = Path(__file__).parents[3] / "devices" / "openreg"
STEPS = dict(enumerate(read_steps(PLUGIN), 1))
SHARE_OF_OPERATORS = "1/60"
"""Results of operators do not change with the native kernels, and a nightly asks for all of them."""

NOTHING_TO_COMPARE = re.compile(
    r"^SKIPPED \[(\d+)\] .*: fails on the CPU: (?:there are no samples$|.*two runs give different values)", re.MULTILINE
)
"""How many tests pytest's summary lists for which the CPU gives no values."""

UNSUPPORTED = {4: 1, 6: 1}
"""How many tests of a step wait for a later one: an optimizer's of sparse gradients, and that of a stream's priority,
because with the fallback alone no stream has work that waits."""


class Steps:
    """The plugin, step by step, before everything else that the device's Python has.

    Each is built in the folder of the one before, so that only what it adds is compiled.

    Args:
        python: a Python with torch and what the plugin is built with.
        folder: an empty folder.
        suites: the device suites.

    """

    def __init__(self, python: Path, folder: Path, suites: Path) -> None:
        self._python = python
        self._folder = folder
        self._suites = suites
        shutil.copytree(PLUGIN, folder / "openreg", ignore=shutil.ignore_patterns("build"))

    def package(self, number: int) -> Path:
        """The folder of a step's unpacked wheel, which is built as the course says."""
        package = self._folder / f"step-{number}"
        if not package.exists():
            step = "-C", f"cmake.define.OPENREG_STEP={number}"
            wheel = build_wheel(self._python, self._folder / "openreg", self._folder / f"wheel-{number}", *step)
            zipfile.ZipFile(wheel).extractall(package)
        return package

    def test(self, number: int, *arguments: str) -> Ran:
        """Run tests of the suites on a step."""
        command = [str(self._python), "-m", "pytest", "-p", "no:cacheprovider", "-q", "--tb=short"]
        env = {"PYTHONPATH": str(self.package(number)), "PYTHONDONTWRITEBYTECODE": "1"}
        return run_command([*command, "--device=openreg", *arguments], self._suites, env, timeout=900)

    def seen(self, number: int, test: str) -> str:
        """Everything that is seen of tests that are to fail on a step."""
        events = self._folder / "events.jsonl"
        events.unlink(missing_ok=True)
        ran = self.test(number, f"--events={events}", test)
        assert " passed" not in ran.out
        return ran.out + ran.err + events.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def steps(root: Path, device_python: Path, tmp_path_factory: pytest.TempPathFactory) -> Steps:
    return Steps(device_python, tmp_path_factory.mktemp("steps"), root / "tests" / "device")


def _passed(ran: Ran, unsupported: int = 0) -> int:
    """How many tests passed; there is nothing else than what is known of torch, and so many that are unsupported."""
    assert ran.code == 0, ran.out + ran.err
    without_values = sum(int(count) for count in NOTHING_TO_COMPARE.findall(ran.out))
    counts = {word: int(count) for count, word in re.findall(r"(\d+) (\w+)", ran.out.splitlines()[-1].split(" in ")[0])}
    assert counts.pop("unsupported", 0) == unsupported, ran.out
    assert counts.pop("skipped", 0) == without_values, ran.out
    assert counts.keys() <= {"passed", "deselected", "xfailed"}, ran.out
    return counts["passed"]


@pytest.mark.deep
def test_the_first_step_passes_smoke(steps: Steps) -> None:
    assert _passed(steps.test(1, "smoke")) >= 31


@pytest.mark.deep
@pytest.mark.parametrize("number", STEPS)
def test_what_a_step_makes_whole_is_whole(steps: Steps, number: int) -> None:
    capabilities = STEPS[number].capabilities
    if not capabilities:
        assert _passed(steps.test(number, "smoke")) >= 31
    elif capabilities == ("ops",):
        # SparseAdam needs the step of sparse tensors.
        assert _passed(steps.test(number, "ops", f"--shard={SHARE_OF_OPERATORS}", "-k", "not SparseAdam")) >= 20
    else:
        asked = [argument for name in capabilities for argument in ("--capability", name)]
        assert _passed(steps.test(number, "integration", *asked), UNSUPPORTED.get(number, 0)) >= 5


@pytest.mark.deep
@pytest.mark.parametrize(
    ("number", "test", "said"),
    MISSING,
    ids=[f"{number}-{test.partition('::')[2]}" for number, test, _ in MISSING],
)
def test_what_the_tour_says_is_missing_before_a_step_is_missing(
    steps: Steps, root: Path, number: int, test: str, said: str
) -> None:
    assert said.lower() in steps.seen(number - 1, f"integration/{test}").lower()
    assert said in (root / "devices" / "openreg" / "README.md").read_text(encoding="utf-8")


def test_each_step_that_makes_a_capability_whole_is_missed_before() -> None:
    """Native kernels change no result; the first step has nothing before it, and the last no capability."""
    assert {number for number, _, _ in MISSING} == STEPS.keys() - {1, 7, len(STEPS)}
