"""Capabilities that are declared unsupported: put to the proof, last, and excused for what a refusal can look like."""

from __future__ import annotations

import pytest
from small_suites import BAD_FIXTURES, SmallSuites

VIEWS = (
    BAD_FIXTURES
    + '''
def test_fails():
    """It works."""
    raise NotImplementedError("no kernel\\nof that name")


def test_wrong():
    """It is right."""
    assert 1 == 2, "one is not two"


def test_error_before(broken):
    """Its set-up works."""


def test_error_after(leaves_a_mess):
    """Its tear-down works."""


def test_passes():
    """It works after all."""


def test_refused():
    """It says so itself."""
    unsupported("the manual says so")


@pytest.mark.xfail(reason="a defect of torch")
def test_xfailed():
    """A known defect."""
    assert False


@pytest.mark.xfail(reason="a defect of torch")
def test_xpassed():
    """A defect that is gone."""
'''
)
OTHERS = '''
def test_other_passes():
    """It works."""


def test_other_fails():
    """It works."""
    raise NotImplementedError("no kernel")
'''
AMP = "import pytest\npytestmark = pytest.mark.capability('amp')\n\n"


def _write(suites: SmallSuites) -> None:
    suites.write("smoke/test_a.py", VIEWS)
    suites.write("smoke/test_b.py", OTHERS, header=AMP)


def test_failures_of_a_declared_capability_are_unsupported_and_say_what_was_seen(suites: SmallSuites) -> None:
    _write(suites)
    session = suites.run("--declared-unsupported", "views= no such unit = none ", "smoke")
    ends = {name.rpartition("::")[2]: end for name, end in session.ends().items()}
    assert {name: end["outcome"] for name, end in ends.items()} == {
        "test_other_passes": "passed",
        "test_other_fails": "failed",
        "test_fails": "unsupported",
        "test_wrong": "unsupported",
        "test_error_before": "unsupported",
        "test_error_after": "unsupported",
        "test_passes": "passed",
        "test_refused": "unsupported",
        "test_xfailed": "xfailed",
        "test_xpassed": "xpassed",
    }
    said = "declared: no such unit = none. Seen in "
    assert ends["test_fails"]["message"] == f"{said}call: NotImplementedError: no kernel"
    assert ends["test_wrong"]["message"] == f"{said}call: AssertionError: one is not two"
    assert ends["test_error_before"]["message"] == f"{said}setup: ValueError: no fixture"
    assert ends["test_error_after"]["message"] == f"{said}teardown: ValueError: a mess"
    assert ends["test_refused"]["message"] == "the manual says so"
    assert 'raise NotImplementedError("no kernel' in ends["test_fails"]["text"]
    assert session.code == 1


def test_declared_capabilities_come_last(suites: SmallSuites) -> None:
    _write(suites)
    (collected,) = suites.run("--declared-unsupported", "views=why", "smoke").of("collected")
    assert [test["capability"] for test in collected["tests"]] == ["amp"] * 2 + ["views"] * 8


def test_a_declared_capability_that_ends_the_process_is_not_excused(suites: SmallSuites) -> None:
    suites.write("smoke/test_a.py", 'def test_dies():\n    """It lives."""\n    os.kill(os.getpid(), signal.SIGKILL)\n')
    suites.write("smoke/test_b.py", OTHERS, header=AMP)
    session = suites.run("--declared-unsupported", "views=why", "smoke")
    assert [event["id"].rpartition("::")[2] for event in session.of("test_start")][-1] == "test_dies"
    assert len(session.ends()) == 2


def test_without_a_claim_nothing_is_excused(suites: SmallSuites) -> None:
    _write(suites)
    ends = suites.run("smoke").ends()
    assert ends["smoke/test_a.py::test_fails"]["outcome"] == "failed"
    assert ends["smoke/test_a.py::test_error_after"]["outcome"] == "error"


@pytest.mark.parametrize(
    ("claim", "what"),
    [
        ("flying=why", "no such capability: flying"),
        ("views", "no reason why views"),
        ("views= ", "no reason why views"),
    ],
)
def test_a_claim_that_is_none_is_a_usage_error(suites: SmallSuites, claim: str, what: str) -> None:
    _write(suites)
    session = suites.run("--declared-unsupported", claim, "smoke")
    assert session.code == pytest.ExitCode.USAGE_ERROR
    assert what in session.err
    assert "what to do:" in session.err
