"""Two runs compared in a real browser: what the page says is what ``ootci diff`` says of the same two runs.

Needs Chromium and playwright, as the other tests of the dashboard in a browser do.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import pytest
from browsing import NARROW, address, opened, serving, violations, visit
from click.testing import CliRunner
from drawn import deep
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from simulator import World
from unit.samples import run

from ootci.cli.diff import diff
from ootci.history.difference import difference
from ootci.history.store import History
from ootci.history.stored import stored
from ootci.history.tables import TestTable
from ootci.model.outcome import Attempt, OutcomeName, Way
from ootci.model.run import Run
from ootci.stages.judge import judge
from ootci.stages.render import render
from ootci.stages.render.pages import run_files

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = [pytest.mark.browser, pytest.mark.long]

NIGHTS = 30


@dataclass(frozen=True)
class Compared:
    """The invented world's site, where it is served, and the history that it was made from."""

    address: str
    site: Path
    history: Path
    nights: tuple[str, ...]
    devices: tuple[str, ...]


@pytest.fixture(scope="module")
def compared(hostile_site: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Compared]:
    top = tmp_path_factory.mktemp("compared")
    world = World(3, nights=NIGHTS, devices=8)
    history = History(top / "data")
    for night in world.all_nights():
        with history.batch():
            history.append_plan(night.plan)
            for record in night.arrivals:
                history.append_run(record)
    render(night.registry, history, judge(night.registry, history, night.now), top / "sub" / "site")
    (top / "sub" / "hostile").symlink_to(hostile_site)
    nights = tuple(world.plan_id(number) for number in range(NIGHTS))
    with serving(top, top / "sub" / "site" / "404.html") as address:
        yield Compared(f"{address}sub/", top / "sub" / "site", top / "data", nights, history.devices())


@pytest.fixture
def page(browser: Browser, compared: Compared) -> Iterator[Page]:
    """A page of a context of its own; whatever the browser complains of fails the test."""
    with browser.new_context() as context:
        seen = visit(context, f"{compared.address}site/index.html")
        yield seen.page
        # The icon may still be on its way when the page is left.
        assert [text for text in seen.complaints if not text.endswith("/static/icon.svg")] == []
        assert all(address.startswith(compared.address) for address in seen.requests), seen.requests


def go(page: Page, compared: Compared, query: str = "", site: str = "site") -> Page:
    """Open the page that compares, and wait until it has said what came of it."""
    page.goto(f"{compared.address}{site}/diff/index.html{query}")
    settled(page)
    return page


def settled(page: Page) -> None:
    """Wait until the page has said what came of it."""
    page.locator("#said:not(:has-text('Loading')):not(:empty)").wait_for()


def told(page: Page) -> dict[str, dict[str, tuple[str, str, str]]]:
    """What the page shows: by kind, each test with its outcome in A and in B and its note."""
    found = {}
    for kind in page.locator("[data-kind]:visible").all():
        while kind.locator("button").is_visible():
            kind.locator("button").click()
        rows = kind.evaluate(
            "item => [...item.querySelectorAll('tbody tr')].map(row => [...row.cells].map(cell => cell.innerText))"
        )
        name = str(kind.get_attribute("data-kind"))
        found[name] = {row[0]: (row[1], row[2], row[3]) for row in rows}
        assert len(found[name]) == len(rows) == int(kind.locator(".count").inner_text().replace(",", ""))
    return found


def expected(compared: Compared, a: str, b: str) -> tuple[dict[str, dict[str, tuple[str, str, str]]], dict[str, Any]]:
    """What ``ootci diff`` prints, in the form of :func:`told`, and the whole of it."""
    ran = CliRunner().invoke(diff, [a, b, "--format", "json", "--history", str(compared.history)])
    assert ran.exit_code in (0, 1), ran.output
    printed = json.loads(ran.stdout)
    kinds: dict[str, dict[str, tuple[str, str, str]]] = {}
    for item in printed["tests"]:
        notes = [note for note, holds in (("known", item["known"]), ("advisory", not item["required"])) if holds]
        ends = [(item[end] or "not there").replace("_", " ") for end in ("before", "after")]
        kinds.setdefault(item["change"] or "other", {})[item["id"]] = (ends[0], ends[1], " ".join(notes))
    return kinds, printed


def pairs(compared: Compared) -> list[tuple[str, str]]:
    """Nights of one device far apart and next to each other, and two devices on one night."""
    found = []
    for number, device in enumerate(compared.devices):
        other = compared.devices[(number + 3) % len(compared.devices)]
        runs = json.loads((compared.site / f"api/v1/runs/{device}.json").read_text())["runs"]
        nights = [entry["plan_id"] for entry in runs if entry["counts"]]
        theirs = json.loads((compared.site / f"api/v1/runs/{other}.json").read_text())["runs"]
        shared = sorted({entry["plan_id"] for entry in theirs} & set(nights))
        middle = shared[len(shared) // 2 + number % 3]
        found += [
            (f"{device}@{nights[0]}", f"{device}@{nights[-1]}"),
            (f"{device}@{nights[-3 - number]}", f"{device}@{nights[-2 - number]}"),
            (f"{device}@{middle}", f"{other}@{middle}"),
        ]
    return found


def test_the_page_says_what_the_command_says(page: Page, compared: Compared) -> None:
    kinds = set()
    for a, b in pairs(compared):
        go(page, compared, f"?a={a}&b={b}")
        shown, printed = expected(compared, a, b)
        assert told(page) == shown, (a, b)
        said = page.inner_text("#said")
        reasons = page.locator("#said li").all_inner_texts()
        assert reasons == [" ".join(text.split()) for text in printed["worse"]], (a, b)
        assert ("B is worse than A" in said) == bool(printed["worse"])
        assert f"{printed['unchanged']} of " in said
        assert ("executed in A and not in B" in said) == bool(printed["no_longer_run"])
        commits = page.locator("#commits a").get_attribute("href") if page.is_visible("#commits") else None
        assert commits == printed["commits"]
        facts = page.inner_text("#facts")
        for side in ("before", "after"):
            assert printed[side]["torch"] is None or printed[side]["torch"]["version"] in facts
        kinds |= set(shown)
    assert len(kinds) >= 6, kinds


_TESTS = st.dictionaries(
    st.sampled_from("abcdefgh"),
    st.tuples(st.sampled_from(list(OutcomeName)), st.booleans(), st.sampled_from((None, *Way)), st.sampled_from("xy")),
)
_STAGES = st.dictionaries(
    st.sampled_from(("build", "smoke", "integration")), st.sampled_from(("failed", "crashed", "not_run")), max_size=2
)
_REPORTS = st.dictionaries(
    st.sampled_from(("smoke", "integration")),
    st.fixed_dictionaries(
        {},
        optional={
            "state": st.sampled_from(("truncated", "missing", "not_expected")),
            "required": st.booleans(),
            "detail": st.sampled_from(("it ends in the middle", None)),
        },
    ),
)
_RUNS = st.tuples(_TESTS, _TESTS, _STAGES, _REPORTS)


def made(number: int, drawn: Any) -> Run:
    """A run of what was drawn, with flaky tests and with tests whose capability changed."""
    smoke, integration, stages, reports = drawn
    record = run(
        number,
        smoke={name: test[0].value for name, test in smoke.items()},
        integration={name: test[0].value for name, test in integration.items()},
        stages=stages,
        reports=reports,
    )
    passed = (Attempt(outcome=OutcomeName.PASSED),)
    outcomes = [
        item.model_copy(
            update={"attempts": passed if flaky and item.is_failure else (), "ran": ran, "capability": capability}
        )
        for item, (_, flaky, ran, capability) in zip(
            record.outcomes, (*smoke.values(), *integration.values()), strict=True
        )
    ]
    return record.model_copy(update={"outcomes": tuple(outcomes)})


KEYS = ("id", "suite", "change", "before", "after", "known", "required")


def by_script(page: Page, before: Run, after: Run) -> list[Any]:
    """What the page's script finds between two runs."""
    table = TestTable()
    files = [json.loads(run_files.run_file(stored(record, table), None).to_json()) for record in (before, after)]
    tables = [json.loads(content) for _, content in run_files.tests_files(table)]
    found = page.evaluate(
        "([a, b, tables]) => differenceOf(a, b, new Map(tables.map((table, number) => [number, table])), rules)",
        [*files, tables],
    )
    tests = [[item.get(key) for key in KEYS] for item in found["tests"]]
    return [found["worse"], found["unchanged"], found["noLongerRun"], found["commits"], sorted(tests, key=str)]


def by_tool(before: Run, after: Run) -> list[Any]:
    """What the tool finds, in the form of :func:`by_script`."""
    found = json.loads(difference(before, after).model_dump_json())
    tests = [[item[key] for key in KEYS] for item in found["tests"]]
    return [found["worse"], found["unchanged"], found["no_longer_run"], found["commits"], sorted(tests, key=str)]


def test_the_script_and_the_tool_class_every_pair_of_results_alike(page: Page, compared: Compared) -> None:
    go(page, compared)
    results: list[tuple[OutcomeName, bool] | None] = [None, (OutcomeName.FAILED, True)]
    results += [(outcome, False) for outcome in OutcomeName]
    before, after = {}, {}
    for number, pair in enumerate(product(results, repeat=2)):
        for side, result in zip((before, after), pair, strict=True):
            if result:
                side[f"t{number}"] = (*result, None, None)
    runs = made(0, (before, {}, {}, {})), made(1, (after, {}, {}, {}))
    assert by_script(page, *runs) == by_tool(*runs)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(first=_RUNS, second=_RUNS)
def test_the_script_finds_what_the_tool_finds_between_any_two_runs(
    page: Page, compared: Compared, first: Any, second: Any
) -> None:
    if "diff" not in page.url:
        go(page, compared)
    runs = made(0, first), made(1, second)
    assert by_script(page, *runs) == by_tool(*runs)


def state(page: Page) -> dict[str, str]:
    """What the address says."""
    return {name: values[0] for name, values in parse_qs(urlsplit(address(page)).query).items()}


def test_the_address_says_what_is_compared_and_back_and_forward_work(page: Page, compared: Compared) -> None:
    night, before = compared.nights[-1], compared.nights[-2]
    go(page, compared, f"?b=openreg@{night}")
    assert state(page) == {"a": f"openreg@{before}", "b": f"openreg@{night}"}
    page.locator("#device-b").focus()
    page.keyboard.type("Borealis")
    page.locator("#night-b option").first.wait_for(state="attached")
    page.get_by_role("button", name="Compare").press("Enter")
    page.locator("#facts:has-text('borealis@')").wait_for()
    second = state(page)
    assert second["b"].startswith("borealis@")
    page.get_by_role("button", name="Swap A and B").press("Enter")
    page.locator("#facts tr:first-child td:nth-child(2):has-text('borealis@')").wait_for()
    assert state(page) == {"a": second["b"], "b": second["a"]}
    page.go_back()
    page.locator("#facts tr:first-child td:nth-child(2):has-text('openreg@')").wait_for()
    assert state(page) == second
    page.go_back()
    page.locator("#facts:not(:has-text('borealis@'))").wait_for()
    assert page.input_value("#night-b") == f"@{night}"
    page.go_forward()
    page.locator("#facts:has-text('borealis@')").wait_for()
    assert state(page) == second


def test_the_filter_is_in_the_address_and_says_how_many_fit(page: Page, compared: Compared) -> None:
    a, b = next(pair for pair in pairs(compared) if len(expected(compared, *pair)[1]["tests"]) > 3)
    tests = expected(compared, a, b)[1]["tests"]
    text = tests[0]["id"].partition("::")[2].upper()
    go(page, compared, f"?a={a}&b={b}")
    page.fill("#q", text)
    assert state(page) == {"a": a, "b": b, "q": text}
    fitting = {item["id"] for item in tests if text.lower() in item["id"].lower()}
    assert 0 < len(fitting) < len(tests)
    for _ in range(2):
        ids = page.locator("[data-kind] tbody tr td:first-child").all_inner_texts()
        assert set(ids) == fitting
        assert page.inner_text("#filtered").startswith(f"{len(fitting)} test")
        page.reload()
        settled(page)


@pytest.mark.parametrize(
    ("query", "says"),
    [
        ("?b=nobody@latest", "No device that has reported is called “nobody”"),
        ("?a=openreg@nowhen&b=openreg@latest", "“openreg@nowhen” names no run"),
        ("?a=openreg@2026&b=openreg@latest", "“openreg@2026” fits"),
        ("?b=openreg@{first}", "is the first run of its device"),
        ("?b=constructor@constructor", "No device that has reported is called"),
    ],
)
def test_a_run_that_is_none_is_told_in_a_sentence(page: Page, compared: Compared, query: str, says: str) -> None:
    go(page, compared, query.replace("{first}", compared.nights[0]))
    assert says in page.inner_text("#said")
    assert not page.is_visible("#result")
    page.locator("#night-b option").first.wait_for(state="attached")


@pytest.mark.parametrize(("status", "says"), [(None, "Look whether you are online"), (404, "the server answers 404")])
def test_a_file_that_cannot_be_fetched_is_told_in_a_sentence(
    browser: Browser, compared: Compared, status: int | None, says: str
) -> None:
    with browser.new_context() as context:
        page = context.new_page()
        page.route("**/tests/*.json", lambda route: route.fulfill(status=status) if status else route.abort())
        go(page, compared)
        assert says in page.inner_text("#said")
        page.unroute("**/tests/*.json")
        page.get_by_role("button", name="Compare").click()
        page.wait_for_selector("#result:visible")


def test_from_a_file_it_says_how_to_serve_it(browser: Browser, compared: Compared) -> None:
    with browser.new_context() as context:
        seen = visit(context, f"{(compared.site / 'diff' / 'index.html').as_uri()}?b=openreg@latest")
        assert "python -m http.server" in seen.page.inner_text("#file")
        assert not seen.page.is_visible("#pick")
        assert seen.page.locator("table tbody tr").count() >= len(compared.devices)
        assert seen.complaints == []


def test_it_is_complete_without_javascript(browser: Browser, compared: Compared) -> None:
    with opened(browser, f"{compared.address}site/diff/index.html", java_script_enabled=False) as page:
        text = page.inner_text("main")
        assert "needs JavaScript" in text
        assert not page.is_visible("#pick")
        for device in compared.devices:
            assert f"ootci diff {device}@" in text


def test_hostile_names_stay_text(browser: Browser, compared: Compared) -> None:
    with browser.new_context() as context:
        seen = visit(context, f"{compared.address}hostile/diff/index.html?b=borealis@latest")
        settled(seen.page)
        shown = seen.page.inner_text("#result")
        assert "<script>document.title='ran'</script>" in shown
        assert "<U+202E>" in shown
        assert "more characters)" in shown
        assert "\u202e" not in shown
        assert "ran" not in seen.page.title().split()
        assert seen.page.locator("script:not([src]), main img, iframe").count() == 0
        assert seen.complaints == []
        assert all(address.startswith(compared.address) for address in seen.requests)
        addresses = seen.page.locator("main a[href]").evaluate_all("items => items.map(item => item.protocol)")
        assert set(addresses) <= {"http:", "https:"}


@pytest.mark.parametrize("scheme", ["light", deep("dark")])
def test_axe_finds_nothing_in_a_result(browser: Browser, compared: Compared, axe: str, scheme: Any) -> None:
    with browser.new_context(color_scheme=scheme) as context:
        page = go(context.new_page(), compared, f"?a=openreg@{compared.nights[0]}&b=borealis@latest")
        assert page.locator("[data-kind]:visible").count() > 1
        assert violations(page, axe) == []


@pytest.mark.parametrize("which", ["site", "hostile"])
def test_a_result_does_not_scroll_sideways(browser: Browser, compared: Compared, which: str) -> None:
    with browser.new_context() as context:
        page = go(context.new_page(), compared, "?b=borealis@latest", which)
        assert page.is_visible("#result")
        for width in (NARROW, 480, 768, 1000, 1280):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate("[innerWidth, document.documentElement.scrollWidth <= innerWidth]") == [width, True]


def test_every_control_has_a_name_and_is_reached_by_the_keyboard(page: Page, compared: Compared) -> None:
    go(page, compared)
    page.focus("main")
    names = []
    for _ in range(6):
        page.keyboard.press("Tab")
        names.append(page.evaluate("document.activeElement.id || document.activeElement.innerText"))
    assert names == ["device-a", "night-a", "device-b", "night-b", "Compare", "swap"]
    for side in ("A", "B"):
        group = page.get_by_role("group", name=side, exact=True)
        assert group.get_by_label("Device").count() == group.get_by_label("Nightly").count() == 1
