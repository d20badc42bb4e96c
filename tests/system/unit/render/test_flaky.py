"""The ranking of flaky tests."""

from __future__ import annotations

from unit.render.sample import Sample
from unit.render.sample_runs import FIRST_NIGHT

from ootci.stages.render.pages.flaky import OF_A_DEVICE, FlakyEntry, FlakyFile, flaky_file, flaky_of_device
from ootci.stages.render.run_pages import run_pages


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
