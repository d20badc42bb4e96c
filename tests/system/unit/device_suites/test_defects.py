"""Defects of torch in the table: what they break is expected to fail, in every suite; old entries are reported."""

from __future__ import annotations

import ast

import pytest
from small_suites import SUITES, SmallSuites

DEFECTS = '''
import unittest
from contextlib import contextmanager

import torch

from harness import defects, repaired_runs

PRESENT = {"yes": True, "no": False, "unseen": None}[os.environ["PRESENT"]]
STATE = {"forgets": PRESENT, "count": 0}


@contextmanager
def repaired():
    STATE["forgets"] = False
    yield
    STATE["forgets"] = PRESENT


defects.CORE_DEFECTS.clear()
defects.CORE_DEFECTS["forgets"] = defects.CoreDefect(
    "It forgets",
    since=(2, 11),
    before=(2, 14),
    issue="https://example.org/7",
    is_present=lambda device: PRESENT,
    repaired=repaired,
)
defects.CORE_DEFECTS["crashes"] = defects.CoreDefect("It crashes", since=(2, 11), is_present=lambda device: PRESENT)
defects.is_privateuse1 = repaired_runs.is_privateuse1 = lambda name: os.environ["PLUGIN"] == "yes"
repaired_runs.MAX_SECONDS = float(os.environ["MAX_SECONDS"])
torch.__version__ = os.environ["VERSION"]


@pytest.fixture
def forgetful():
    assert not STATE["forgets"], "the fixture forgot"


def test_forgotten():
    """It remembers."""
    assert not STATE["forgets"], "it forgot"


def test_forgotten_in_set_up(forgetful):
    """It remembers before the test."""


class TestUpstream(unittest.TestCase):
    def test_forgotten(self):
        """It remembers, in a test of unittest as PyTorch's own are."""
        self.assertFalse(STATE["forgets"])


@pytest.mark.core_defect("forgets")
def test_shows():
    """It does not matter here."""


@pytest.mark.core_defect("forgets")
def test_shows_and_skips():
    """It means nothing here."""
    pytest.skip("not here")


def test_of_the_device():
    """It works."""
    assert False, "the device is broken"


def test_of_both():
    """It remembers and works."""
    assert not STATE["forgets"], "it forgot"
    assert False, "the device is broken"


def test_by_chance():
    """It works every time."""
    STATE["count"] += 1
    assert STATE["count"] > 1, "the first time"


@pytest.mark.core_defect("crashes")
def test_crashes():
    """It does not crash."""
    assert False, "it crashed"


def test_fails_near_a_crash():
    """It works where torch may crash."""
    assert False, "something else"
'''
FORGOTTEN = ("test_forgotten", "test_forgotten_in_set_up", "TestUpstream::test_forgotten")
OF_THE_DEVICE = ("test_of_the_device", "test_of_both", "test_by_chance", "test_fails_near_a_crash")


def _ends(
    suites: SmallSuites,
    monkeypatch: pytest.MonkeyPatch,
    *,
    plugin: str = "yes",
    version: str = "2.13.0+cpu",
    present: str = "yes",
    suite: str = "smoke",
    seconds: float = 30.0,
) -> dict[str, tuple[str, str]]:
    for name, value in {"PLUGIN": plugin, "VERSION": version, "PRESENT": present, "MAX_SECONDS": str(seconds)}.items():
        monkeypatch.setenv(name, value)
    suites.write(f"{suite}/test_a.py", DEFECTS)
    ends = suites.run(suite).ends()
    return {name.partition("::")[2]: (end["outcome"], end["message"] or "") for name, end in ends.items()}


@pytest.mark.parametrize("suite", ["smoke", "integration", "ops", "upstream"])
@pytest.mark.parametrize("version", ["2.13.0+cpu", "2.16.0.dev20270101"], ids=["listed", "newer"])
def test_every_failure_that_a_measured_defect_causes_is_expected(
    suites: SmallSuites, monkeypatch: pytest.MonkeyPatch, suite: str, version: str
) -> None:
    ends = _ends(suites, monkeypatch, suite=suite, version=version)
    outcomes = {name: outcome for name, (outcome, _) in ends.items()}
    assert outcomes == {
        **dict.fromkeys((*FORGOTTEN, "test_crashes"), "xfailed"),
        **dict.fromkeys(OF_THE_DEVICE, "failed"),
        "test_shows": "passed",
        "test_shows_and_skips": "skipped",
    }
    message = ends["test_forgotten"][1]
    assert message.startswith(f"torch {version} is at fault, not the device: It forgets (https://example.org/7). ")
    assert message.endswith("Entry: forgets. Seen: AssertionError: it forgot")


def test_an_entry_whose_defect_is_gone_asks_for_its_removal(
    suites: SmallSuites, monkeypatch: pytest.MonkeyPatch
) -> None:
    ends = _ends(suites, monkeypatch, present="no")
    assert ends["test_shows"][0] == "xpassed"
    assert ends["test_shows"][1].startswith(
        "the defect forgets of torch (https://example.org/7) was not seen with torch 2.13.0+cpu: give its entry in"
    )
    assert (ends["test_shows_and_skips"][0], ends["test_crashes"][0]) == ("skipped", "failed")


@pytest.mark.parametrize(
    ("present", "version"), [("no", "2.14.0"), ("no", "2.10.1"), ("no", "?"), ("unseen", "2.13.0")]
)
def test_an_entry_is_not_out_of_date(
    suites: SmallSuites, monkeypatch: pytest.MonkeyPatch, present: str, version: str
) -> None:
    ends = _ends(suites, monkeypatch, present=present, version=version)
    assert (ends["test_shows"][0], ends["test_crashes"][0]) == ("passed", "failed")


@pytest.mark.parametrize("options", [{"plugin": "no"}, {"seconds": -1.0}], ids=["no plugin", "slow"])
def test_what_is_not_run_again_is_not_excused(
    suites: SmallSuites, monkeypatch: pytest.MonkeyPatch, options: dict[str, str]
) -> None:
    ends = _ends(suites, monkeypatch, **options)  # type: ignore[arg-type]
    assert [ends[name][0] for name in FORGOTTEN] == ["failed", "error", "failed"]


def test_every_entry_of_the_table_is_shown_by_a_test() -> None:
    table = ast.parse((SUITES / "harness" / "defects.py").read_text(encoding="utf-8"))
    (entries,) = (
        node.value
        for node in table.body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "CORE_DEFECTS"
    )
    assert isinstance(entries, ast.Dict)
    tests = "".join(path.read_text(encoding="utf-8") for path in SUITES.glob("*/test_*.py"))
    names = [ast.literal_eval(key) for key in entries.keys if key is not None]
    assert names
    assert [name for name in names if f'mark.core_defect("{name}")' not in tests] == []
