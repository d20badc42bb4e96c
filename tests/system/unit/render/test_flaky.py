"""The ranking of flaky tests."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from unit.render.pages import read
from unit.render.sample import Sample
from unit.render.sample_runs import FIRST_NIGHT, NIGHTS, plan_id

from ootci.stages.render.device_view import run_pages
from ootci.stages.render.pages.flaky import OF_A_DEVICE, FlakyEntry, FlakyFile, flaky_file, flaky_of_device


def test_the_devices_that_fail_by_turns_are_ranked_and_lead_to_the_last_failure(site: Path) -> None:
    page = read(site / "flaky" / "index.html")
    rows = [(row.find("th")[0].text, *(cell.text for cell in row.find("td"))) for row in page.one("tbody").find("tr")]
    test = "integration/test_views.py::test_slice_writes_through"
    assert rows[0] == ("Nimbus", test, "21%", "3", "3", "14", _day(10))
    assert rows[1] == ("Opal", test, "14%", "2", "6", "14", _day(NIGHTS - 1))
    assert page.find("a", href=f"../d/nimbus/{plan_id(10)}/index.html")


def _day(number: int) -> str:
    return str(FIRST_NIGHT.date() + timedelta(days=number))


def test_a_break_that_was_repaired_is_not_flaky(site: Path) -> None:
    assert not [link for link in read(site / "flaky" / "index.html").one("main").find("a") if link.text == "Ember X1"]


def test_a_nightly_that_did_not_concern_the_device_is_no_night_of_it(sampled: Sample) -> None:
    pages = run_pages(sampled.history.stored_runs("nimbus"))
    device = next(item.device for item in sampled.registry if item.device.name == "nimbus")
    plans = {plan.id: plan for plan in sampled.history.plans()}
    assert flaky_of_device(device, pages, plans, lambda _: None).tests
    without = {name: plan.model_copy(update={"runs": ()}) for name, plan in plans.items()}
    none = flaky_of_device(device, pages, without, lambda _: None)
    assert (none.tests, none.more) == ((), 0)


def test_a_ranking_without_end_is_cut_and_the_rest_is_counted() -> None:
    test = FlakyEntry(
        device="a",
        id="integration/x",
        turns=2,
        again=0,
        failed=2,
        sample=20,
        plan_id="x",
        night=FIRST_NIGHT.date(),
        run_page="../../d/a/x/index.html",
        page="../../t/x/y/index.html#t-0",
    )
    device = FlakyFile(page="x", nights=30, tests=(test,) * OF_A_DEVICE, more=10_000 - OF_A_DEVICE)
    file = flaky_file([device] * 5)
    assert 100 < len(file.tests) < 5 * OF_A_DEVICE
    assert file.more == 50_000 - len(file.tests)
