"""Defects of torch in the table: expected where it has them, and told of where they were not seen."""

from __future__ import annotations

import ast

import pytest
from small_suites import SUITES, SmallSuites

DEFECTS = '''
import torch

from harness import defects

ISSUE = "https://example.org/7"
defects.CORE_DEFECTS["forgets"] = defects.CoreDefect("It forgets", since=(2, 11), before=(2, 14), issue=ISSUE)
defects.is_privateuse1 = lambda name: os.environ["PLUGIN"] == "yes"
torch.__version__ = os.environ["VERSION"]
CPU = torch.device("cpu")
CPU.type = "cpu"


def test_seen():
    """It remembers."""
    with defects.core_defect("forgets", CPU):
        assert False, "it forgot"


def test_not_seen():
    """It remembers twice."""
    for _ in range(2):
        with defects.core_defect("forgets", CPU):
            pass


def test_nothing_of_it():
    """It works."""


def test_not_seen_and_fails():
    """It remembers, and works."""
    with defects.core_defect("forgets", CPU):
        pass
    assert False, "something else"


def test_not_seen_and_means_nothing():
    """It remembers, where that means something."""
    with defects.core_defect("forgets", CPU):
        pass
    pytest.skip("not here")
'''


def _ends(
    suites: SmallSuites, monkeypatch: pytest.MonkeyPatch, plugin: str, version: str
) -> dict[str, tuple[str, str]]:
    monkeypatch.setenv("PLUGIN", plugin)
    monkeypatch.setenv("VERSION", version)
    suites.write("smoke/test_a.py", DEFECTS)
    ends = suites.run("smoke").ends()
    return {name.rpartition("::")[2]: (end["outcome"], end["message"] or "") for name, end in ends.items()}


def test_a_defect_that_is_gone_is_told_of(suites: SmallSuites, monkeypatch: pytest.MonkeyPatch) -> None:
    ends = _ends(suites, monkeypatch, "yes", "2.13.0+cpu")
    assert {name: outcome for name, (outcome, _) in ends.items()} == {
        "test_seen": "xfailed",
        "test_not_seen": "xpassed",
        "test_nothing_of_it": "passed",
        "test_not_seen_and_fails": "failed",
        "test_not_seen_and_means_nothing": "skipped",
    }
    assert ends["test_seen"][1].startswith("torch 2.13.0+cpu is at fault, not the device: It forgets (https://example")
    assert ends["test_seen"][1].endswith("Seen: it forgot")
    message = ends["test_not_seen"][1]
    assert message.startswith("the defect forgets of torch (https://example.org/7) was not seen with torch 2.13.0+cpu")
    assert message.count("forgets") == 1


@pytest.mark.parametrize(("plugin", "version"), [("no", "2.13.0"), ("yes", "2.10.1"), ("yes", "2.14.0"), ("yes", "?")])
def test_other_devices_and_versions_are_not_excused(
    suites: SmallSuites, monkeypatch: pytest.MonkeyPatch, plugin: str, version: str
) -> None:
    ends = _ends(suites, monkeypatch, plugin, version)
    assert (ends["test_seen"][0], ends["test_not_seen"][0]) == ("failed", "passed")


def test_every_entry_of_the_table_is_asked_for() -> None:
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
    assert [name for name in names if f'core_defect("{name}"' not in tests] == []
