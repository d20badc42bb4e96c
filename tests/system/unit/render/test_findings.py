"""What to fix first: what explains most tests, and a refusal once, however many tests met it."""

from __future__ import annotations

from pathlib import Path

import pytest
from unit.render.pages import Element, read
from unit.render.rendering import judged_pages
from unit.samples import nights, outcomes, run

from ootci.model.outcome import Outcome
from ootci.model.run import Run
from ootci.stages.render.pages.device import DeviceFile
from ootci.stages.render.pages.findings import findings

KERNEL = "Could not run '{}' with arguments from the 'PrivateUse1' backend. This could be because"
NO_ADD = f"blocked by aten::add.out: {KERNEL.format('aten::add.out')}"
IN_SAMPLES = (
    "2 of 5 samples are refused, first sample 1: add(float32[3]): the cpu computes it, the device raised "
    f"NotImplementedError: {KERNEL.format('aten::add.out')}"
)


def _came(name: str, outcome: str, message: str, capability: str = "ops") -> Outcome:
    return outcomes("integration", **{name: outcome})[0].model_copy(
        update={"message": message, "text": f"E  {message}", "capability": capability}
    )


def _with(*came: Outcome) -> Run:
    record = run(0)
    return record.model_copy(update={"outcomes": (*record.outcomes, *came)})


def _told(record: Run, expected: frozenset[str] = frozenset()) -> list[tuple[int, str]]:
    return [(item.tests, item.text) for item in findings(record, len(record.outcomes), expected)]


MANY = (
    _came("one", "failed", "RuntimeError: the card is gone", "device"),
    _came("eight", "unsupported", NO_ADD),
    _came("three", "unsupported", IN_SAMPLES),
    _came("four", "unsupported", NO_ADD, "views"),
    _came("five", "unsupported", "torch.dev.synchronize is missing", "device"),
    _came("six", "crashed", "the process ended during this test: killed by SIGSEGV", "memory"),
    _came("seven", "failed", "RuntimeError: the card is gone", "device"),
)


def test_errors_stand_first_then_what_explains_most_tests_and_a_refusal_counts_once() -> None:
    assert _told(_with(*MANY)) == [
        (2, "RuntimeError: the card is gone"),
        (1, "the process ended during this test: killed by SIGSEGV"),
        (3, "no kernel for aten::add.out"),
        (1, "torch.dev.synchronize is missing"),
    ]


NO_GENERATOR = "You should register `PrivateUse1HooksInterface` and implement `getNewGenerator` at the same time"


def _lacking(record: Run, lacks: str) -> Run:
    facts = {"device_facts": {"lacks": lacks}}
    return record.model_copy(update={"environment": record.environment.model_copy(update=facts)})


def test_a_finding_says_what_it_is_needed_for_and_where_to_implement_it() -> None:
    record = _with(*MANY)
    found = {item.text: item for item in findings(record, len(record.outcomes), frozenset())}
    missing = found["torch.dev.synchronize is missing"]
    assert missing.needed_for == (
        "PyTorch waits with it until results are there, before FSDP collects a state dict for instance."
    )
    assert missing.implement == (
        "Implement `synchronize` in the device module; torch/distributed/fsdp/_state_dict_utils.py calls it."
    )
    assert "TORCH_LIBRARY_IMPL" in (found["no kernel for aten::add.out"].implement or "")
    assert found["RuntimeError: the card is gone"].needed_for is None


def test_what_the_probe_did_not_find_is_one_finding_with_the_tests_that_it_explains() -> None:
    fine = [_came(f"fine{number}", "passed", "") for number in range(100)]
    refused = [_came(name, "unsupported", f"NotImplementedError: {NO_GENERATOR}", "rng") for name in ("one", "two")]
    record = _lacking(_with(*fine, *refused), "a generator, fork detection, nonsense")
    assert _told(record) == [
        (2, "the device does not have: a generator"),
        (0, "the device does not have: fork detection"),
    ]
    assert _told(record, frozenset({"rng"})) == [(0, "the device does not have: fork detection")]


@pytest.mark.parametrize(("passed", "listed"), [(63, True), (64, False)])
def test_a_device_of_which_less_than_a_tenth_does_not_pass_has_no_list(passed: int, listed: bool) -> None:
    fine = (_came(f"fine{number}", "passed", "") for number in range(passed - len(run(0).outcomes)))
    assert bool(_told(_with(*MANY, *fine))) == listed


def test_what_the_vendor_said_beforehand_is_no_finding() -> None:
    record = _with(*MANY)
    assert (2, "RuntimeError: the card is gone") in _told(record)
    assert (1, "RuntimeError: the card is gone") in _told(record, frozenset({"integration/test_x.py::one"}))
    assert _told(record, frozenset({"ops"}))[0] == (2, "RuntimeError: the card is gone")


def _rendered(record: Run, folder: Path) -> Element:
    return read(judged_pages(folder, *nights(record)) / "d" / "dev" / "index.html")


def test_cases_of_one_test_that_fail_with_one_assertion_are_one_finding() -> None:
    refused = "Failed: DID NOT RAISE RuntimeError"
    assert _told(_with(*(_came(f"refused[{case}]", "failed", refused) for case in "abc"))) == [(3, refused)]


def test_the_page_begins_with_them_and_leads_to_what_to_implement(tmp_path: Path) -> None:
    record = _lacking(_with(*MANY), "fork detection")
    page = _rendered(record, tmp_path)
    headings = [heading.text for heading in page.one("main").find("h2")]
    assert headings.index("What to fix first") < headings.index("Failures 3")
    items = [item.text for item in page.one("ol", class_="findings").find("li")]
    assert items[0].startswith("2 failing RuntimeError: the card is gone")
    assert items[2].startswith("3 unsupported no kernel for aten::add.out Whatever PyTorch computes with this operator")
    assert "such as integration/" in items[0]
    assert items[-1].startswith("missing the device does not have: fork detection torch.manual_seed asks")
    assert "such as" not in items[-1]
    published = DeviceFile.model_validate_json((tmp_path / "site" / "api/v1/devices/dev.json").read_bytes())
    assert published.findings == findings(record, len(record.outcomes), frozenset())


def test_the_page_of_a_device_that_is_not_weak_has_only_what_it_lacks(tmp_path: Path) -> None:
    fine = [_came(f"fine{number}", "passed", "") for number in range(100)]
    page = _rendered(_lacking(_with(*MANY, *fine), "fork detection"), tmp_path)
    assert [item.text[:7] for item in page.one("ol", class_="findings").find("li")] == ["missing"]
    assert "What the device lacks" in [heading.text for heading in page.one("main").find("h2")]
