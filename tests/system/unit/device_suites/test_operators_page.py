"""The page of operators can be read back, so that drift is noticed."""

from __future__ import annotations

import pytest
from operators_page import load_report, read_page


def _end(test_id: str, outcome: str, ran: str | None = None, message: str = "") -> dict[str, object]:
    told = {"event": "test_end", "id": f"ops/{test_id}", "outcome": outcome, "message": message}
    return {**told, **({"ran": ran} if ran else {})}


def test_what_the_page_says_is_what_the_log_said() -> None:
    report = load_report()
    events = [
        _end("test_forward.py::test_forward[add-float32]", "passed", "native"),
        _end("test_forward.py::test_forward[add-bool]", "passed", "native"),
        _end("test_forward.py::test_forward[sub-float32]", "passed", "native"),
        _end("test_forward.py::test_forward[sub-bool]", "passed", "fallback"),
        _end("test_forward.py::test_forward[div.no_rounding-float32]", "passed", "fallback"),
        _end("test_forward.py::test_forward[nearest-exact-float32]", "passed", "native"),
        _end("test_forward.py::test_forward[empty-float32]", "skipped", "native", "fails on the CPU: a | b"),
        _end("test_forward.py::test_forward[empty-bool]", "skipped", "native", "fails on the CPU: a | b"),
        _end("test_errors.py::test_errors[add]", "failed", "native", "the cpu raised X, the device Y"),
        _end("test_modules.py::test_module_forward[nn.Linear-train-float32]", "passed", "native"),
        _end("test_modules.py::test_module_forward[nn.Linear-eval-float32]", "crashed", None, "the process ended"),
        _end("test_modules.py::test_module_backward[nn.Linear-train-float32]", "skipped", "native", "a"),
        _end("test_modules.py::test_module_backward[nn.Linear-eval-float32]", "skipped", "native", "a"),
        _end("test_optimizers.py::test_optimizer[Adam-foreach]", "timed_out"),
        {"event": "operators", "counts": {"aten::add.out": {"native": 2, "fallback": 0}}},
    ]
    page = read_page(report.report("mydev", events, "torch 9.1.0+cpu, plugin 1"))
    assert "| forward | float32 | 5 | 3 | 1 | 1 |" in report.report("mydev", events, "torch 9.1.0+cpu, plugin 1")
    assert page.torch == "9.1.0+cpu"
    ends = report.ends(events)
    assert {end: page.result((end.kind, end.name, end.detail)) for end in ends} == {end: end.result for end in ends}


def test_a_page_of_no_known_torch_is_refused() -> None:
    with pytest.raises(ValueError, match="which torch"):
        read_page("# Operators on mydev\n")
