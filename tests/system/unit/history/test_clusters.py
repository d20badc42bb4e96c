"""Failures of one night that have the same name, and whose they probably are."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from unit.samples import night

from ootci.history.cause import Source
from ootci.history.clusters import NAMED, Failing, clusters_of
from ootci.history.nights import streak_between
from ootci.model.cluster import Cause, Cluster, Mark, Signature, Streak

TONIGHT = 9
ERROR = Signature.of("RuntimeError: no such thing")
SOURCES = (
    Source("oak", package="torch-oak", source="https://example.org/oak.git at main", display_name="Oak 1"),
    Source("elm", package="torch-elm", source="https://example.org/elm.git@v1"),
    Source("ash", package="torch_elm", source="https://example.org/other"),
    Source("fir", package="torch-fir", source="https://example.org/Elm at dev"),
    Source("ref", is_reference=True, package="torch-ref", source="ref"),
)


def _mark(number: int, torch: int | None, plugin: int | None) -> Mark:
    return Mark(
        plan_id=f"night{number:03d}",
        date=night(number),
        torch_commit=None if torch is None else f"{torch:040x}",
        plugin_commit=None if plugin is None else f"{plugin:040x}",
    )


def _streak(
    *, torch: bool | None = True, plugin: bool | None = False, began: int = TONIGHT, passed: int | None = None
) -> Streak:
    """A row of failures that began on a night, with or without changes."""
    passed = began - 1 if passed is None else passed
    before = _mark(passed, None if torch is None else passed if torch else began, None if plugin is None else 1)
    return streak_between(before, _mark(began, began, 2 if plugin else 1))


def failing(
    device: str,
    streak: Streak | None = None,
    *,
    test: str = "a/b.py::c",
    settled: Cause | None = None,
    name: Signature | None = ERROR,
) -> Failing:
    return Failing(device, test, name, streak or _streak(), settled)


def _only(*items: Failing) -> Cluster:
    (cluster,) = clusters_of(f"night{TONIGHT:03d}", SOURCES, items)
    return cluster


@pytest.mark.parametrize(
    ("items", "cause", "words"),
    [
        ([failing("oak"), failing("elm")], Cause.UPSTREAM, "probably upstream, and none of them changed"),
        ([failing("oak", _streak(plugin=True)), failing("elm")], Cause.UPSTREAM, "the plugin changed too on Oak 1"),
        ([failing("oak", _streak(plugin=None)), failing("elm")], Cause.UPSTREAM, "is not known on Oak 1"),
        ([failing("oak"), failing("ref", _streak(plugin=True))], Cause.UPSTREAM, "the reference among them"),
        ([failing("oak", _streak(torch=None)), failing("elm", _streak(torch=None))], Cause.UPSTREAM, "2 independent"),
        ([failing("ref")], Cause.UNKNOWN, "only the reference device; PyTorch or the reference: unclear"),
        ([failing("ref", _streak(plugin=True))], Cause.UNKNOWN, "only the reference device; PyTorch or the reference"),
        ([failing("ref", _streak(torch=False))], Cause.UNKNOWN, "only the reference device"),
        ([failing("ref", _streak(plugin=True, torch=False))], Cause.PLUGIN, "its plugin changed, PyTorch did not"),
        ([failing("oak")], Cause.SUSPECTED_UPSTREAM, "only this device: its plugin did not change, PyTorch changed"),
        ([failing("oak", _streak(plugin=True, torch=False))], Cause.PLUGIN, "its plugin changed, PyTorch did not"),
        ([failing("oak", _streak(plugin=True))], Cause.UNKNOWN, "its plugin changed, PyTorch changed"),
        ([failing("oak", _streak(torch=False))], Cause.UNKNOWN, "its plugin did not change, PyTorch did not"),
        ([failing("oak", _streak(plugin=None, torch=None))], Cause.UNKNOWN, "not known"),
        ([failing("elm"), failing("ash")], Cause.SUSPECTED_UPSTREAM, "only the 2 devices of one plugin"),
        ([failing("elm"), failing("fir")], Cause.SUSPECTED_UPSTREAM, "only the 2 devices of one plugin"),
        ([failing("ash"), failing("fir")], Cause.UPSTREAM, "2 independent plugins"),
        ([failing("ash"), failing("fir"), failing("elm")], Cause.SUSPECTED_UPSTREAM, "the 3 devices of one plugin"),
        ([failing("oak"), failing("elm", _streak(torch=False))], Cause.UNKNOWN, "not with the same new PyTorch"),
        ([failing("oak"), failing("elm", _streak(began=TONIGHT - 2))], Cause.SUSPECTED_UPSTREAM, "only this device"),
        ([failing("nobody"), failing("oak")], Cause.UPSTREAM, "2 independent plugins"),
        ([failing("oak", Streak(first_failed=_mark(TONIGHT, 1, 1)))], Cause.UNKNOWN, "never passed"),
        ([failing("oak", settled=Cause.KNOWN), failing("elm")], Cause.UPSTREAM, "2 independent plugins"),
        ([failing("oak", settled=Cause.FLAKY), failing("elm")], Cause.SUSPECTED_UPSTREAM, "on other devices"),
        ([failing("oak", settled=Cause.KNOWN)], Cause.KNOWN, "known to the vendor, on one device"),
        ([failing("oak", settled=Cause.FLAKY), failing("elm", settled=Cause.KNOWN)], Cause.KNOWN, "on 2 devices"),
        ([failing("oak", settled=Cause.FLAKY)], Cause.FLAKY, "fails and passes by turns"),
        ([failing("oak", settled=Cause.CORE_DEFECT)], Cause.CORE_DEFECT, "a defect of PyTorch"),
        ([failing(item.device, settled=Cause.INFRASTRUCTURE) for item in SOURCES], Cause.INFRASTRUCTURE, "all 5"),
    ],
)  # fmt: skip
def test_whose_it_probably_is(items: list[Failing], cause: Cause, words: str) -> None:
    cluster = _only(*items)
    assert cluster.cause is cause
    assert words in cluster.reason


def test_what_broke_together_before_is_remembered_while_one_more_breaks() -> None:
    before = [failing(name, _streak(began=TONIGHT - 2)) for name in ("oak", "elm")]
    cluster = _only(*before, failing("ref", _streak(plugin=True)))
    assert cluster.cause is Cause.UPSTREAM
    assert cluster.since.plan_id == f"night{TONIGHT - 2:03d}"
    assert cluster.is_new
    assert not _only(*before).is_new


def test_the_fewest_commits_are_named() -> None:
    cluster = _only(
        failing("oak", _streak(passed=3)), failing("elm", _streak(passed=7)), failing("ref", _streak(passed=5))
    )
    assert cluster.commits_url == f"https://github.com/pytorch/pytorch/compare/{7:040x}...{TONIGHT:040x}"
    assert cluster.commits == "0000000...0000000"


def test_each_device_is_counted_by_itself() -> None:
    tests = [f"a/b.py::{letter}" for letter in "gfedcba"]
    old = failing("oak", _streak(began=2, plugin=True), test="a/a.py::old")
    items = [failing("oak", test=test) for test in tests]
    cluster = _only(*items, old, failing("elm", settled=Cause.FLAKY))
    elm, oak = cluster.devices
    assert (oak.device, oak.tests, oak.new, oak.plugin_changed) == ("oak", 8, 7, True)
    assert oak.first == ("a/a.py::old", *sorted(tests)[: NAMED - 1])
    assert oak.since.plan_id == "night002"
    assert (elm.device, elm.tests, elm.new, elm.is_reference) == ("elm", 1, 0, False)
    assert cluster.tests == 9


def test_failures_that_said_nothing_meet_in_their_test() -> None:
    items = [failing(name, name=None, test=f"a/{name}.py::c") for name in ("oak", "elm")]
    assert [len(item.devices) for item in _clusters(*items)] == [1, 1]
    both = [failing(name, name=None, test="a/b.py::c") for name in ("oak", "elm")]
    assert [len(item.devices) for item in _clusters(*both)] == [2]


def _clusters(*items: Failing) -> tuple[Cluster, ...]:
    return clusters_of(f"night{TONIGHT:03d}", SOURCES, items)


TESTS = ("a/b.py::c", "a/b.py::d")
TEXTS = {name: Signature.of(f"{name.title()}Error: that {name} cannot do") for name in ("oak", "fir", "ash")}


def test_three_vendors_with_their_own_texts_for_the_same_tests_are_one_cluster() -> None:
    items = [failing(name, test=test, name=text) for name, text in TEXTS.items() for test in TESTS]
    (cluster,) = _clusters(*items)
    assert (cluster.cause, cluster.tests, [item.device for item in cluster.devices]) == (
        Cause.UPSTREAM,
        6,
        ["ash", "fir", "oak"],
    )
    assert cluster.names == {text.id for text in TEXTS.values()}


def test_the_name_of_a_cluster_stays_when_a_device_joins_a_night_later() -> None:
    first = _only(failing("oak", _streak(began=TONIGHT - 1), name=TEXTS["oak"]))
    late = [failing("ash", _streak(began=TONIGHT, passed=TONIGHT - 2), name=TEXTS["ash"], test=test) for test in TESTS]
    joined = _only(failing("oak", _streak(began=TONIGHT - 1), name=TEXTS["oak"]), *late)
    assert joined.signature == first.signature


def _crashes(*devices: str, began: int = TONIGHT, tests: Sequence[str] = TESTS) -> list[Failing]:
    named = [(test, Signature.of(f"{test}: crashed (SIGSEGV)")) for test in tests]
    return [failing(device, _streak(began=began), test=test, name=name) for device in devices for test, name in named]


def test_tests_that_crash_on_the_same_nights_on_the_same_devices_are_one_cluster() -> None:
    (cluster,) = _clusters(*_crashes("oak", "ash"))
    assert (cluster.cause, cluster.tests, len(cluster.names)) == (Cause.UPSTREAM, 4, 2)


def test_tests_that_crash_on_other_nights_or_devices_or_on_one_device_are_several_clusters() -> None:
    first, second = ([test] for test in TESTS)
    assert len(_clusters(*_crashes("oak"))) == 2
    assert len(_clusters(*_crashes("oak", "ash", tests=first), *_crashes("oak", "fir", tests=second))) == 2
    earlier = _crashes("oak", "ash", tests=second, began=TONIGHT - 1)
    assert len(_clusters(*_crashes("oak", "ash", tests=first), *earlier)) == 2


def test_other_tests_or_other_nights_are_no_evidence() -> None:
    one = failing("oak", test=TESTS[0], name=TEXTS["oak"])
    assert len(_clusters(one, failing("ash", test=TESTS[1], name=TEXTS["ash"]))) == 2
    assert len(_clusters(one, failing("ash", _streak(began=TONIGHT - 1), test=TESTS[0], name=TEXTS["ash"]))) == 2


def test_a_stage_that_broke_otherwise_where_a_plugin_changed_is_not_called_the_same_and_not_only_here() -> None:
    mine = failing("oak", _streak(plugin=True, torch=False), test="build", name=TEXTS["oak"])
    clusters = _clusters(mine, failing("ash", test="build", name=TEXTS["ash"]))
    causes = {item.signature: (item.cause, item.reason) for item in clusters}
    assert causes[TEXTS["oak"]][0] is Cause.PLUGIN
    assert "only this device" not in causes[TEXTS["oak"]][1] + causes[TEXTS["ash"]][1]
    alike = _clusters(failing("oak", test="build", name=TEXTS["oak"]), failing("ash", test="build", name=TEXTS["ash"]))
    assert [item.cause for item in alike] == [Cause.UPSTREAM]
    shared = [failing(name, test="build") for name in ("oak", "fir", "ref")]
    assert len(_clusters(*shared, failing("ash", test="build", name=TEXTS["ash"]))) == 2


def test_a_device_that_was_silent_on_the_first_night_belongs_to_it_and_the_range_is_the_tightest() -> None:
    silent = _streak(began=TONIGHT, passed=TONIGHT - 2)
    cluster = _only(failing("oak", _streak(began=TONIGHT - 1, passed=TONIGHT - 3)), failing("fir", silent))
    assert cluster.cause is Cause.UPSTREAM
    assert cluster.commits_url == f"https://github.com/pytorch/pytorch/compare/{TONIGHT - 2:040x}...{TONIGHT - 1:040x}"
    assert cluster.since.plan_id == f"night{TONIGHT - 1:03d}"
    ranges = {it.device: (it.last_passed and it.last_passed.plan_id, it.since.plan_id) for it in cluster.devices}
    assert ranges == {
        "oak": (f"night{TONIGHT - 3:03d}", f"night{TONIGHT - 1:03d}"),
        "fir": (f"night{TONIGHT - 2:03d}", f"night{TONIGHT:03d}"),
    }


def _events(*items: Failing) -> list[tuple[list[str], Cause, str]]:
    """Of each event of the only cluster its devices, its cause and its first night."""
    cluster = _only(*items)
    return [
        ([part.device for part in event.devices], event.cause, event.since.plan_id)
        for event in cluster.events or (cluster,)
    ]


def _both(test: str, began: int, *devices: str, passed: int | None = None) -> list[Failing]:
    return [failing(device, _streak(began=began, passed=passed), test=test) for device in devices]


def test_one_error_that_began_on_two_nights_in_other_tests_is_two_events() -> None:
    both = (*_both("a/b.py::c", 5, "oak", "ash"), *_both("a/b.py::d", TONIGHT, "oak", "ref"))
    assert _events(*both) == [
        (["ash", "oak"], Cause.UPSTREAM, "night005"),
        (["oak", "ref"], Cause.UPSTREAM, f"night{TONIGHT:03d}"),
    ]
    assert [event.is_new for event in _only(*both).events] == [False, True]


def test_tests_that_may_have_begun_to_fail_on_one_night_are_one_event() -> None:
    assert _only(*_both("a/b.py::c", 5, "oak"), *_both("a/b.py::d", 5, "ash")).events == ()
    silent = _both("a/b.py::d", 7, "ash", passed=4)
    assert _events(*_both("a/b.py::c", 5, "oak"), *silent) == [(["ash", "oak"], Cause.UPSTREAM, "night005")]


def test_a_device_that_got_the_new_torch_a_night_later_belongs_to_the_event() -> None:
    late = streak_between(_mark(5, 4, 1), _mark(6, 6, 1))
    both = _both("a/b.py::c", 5, "oak", "ash")
    assert [devices for devices, *_ in _events(*both, failing("ref", late))] == [["ash", "oak", "ref"]]
    assert [devices for devices, *_ in _events(*both, *_both("a/b.py::c", 6, "ref"))] == [["ash", "oak"], ["ref"]]


def test_what_can_belong_to_two_events_belongs_to_the_first_and_what_a_device_first_failed_on_one_night_is_one() -> (
    None
):
    first, last = _both("a/b.py::c", 4, "oak", "ash"), _both("a/b.py::d", TONIGHT, "oak", "ash")
    wide = _both("a/b.py::e", TONIGHT, "ref", passed=2)
    for more, owner in (([], 0), (_both("a/b.py::f", TONIGHT, "ref"), 1)):
        found = _events(*first, *last, *wide, *more)
        assert [place for place, (devices, *_) in enumerate(found) if "ref" in devices] == [owner]


@pytest.mark.parametrize("settled", [Cause.FLAKY, Cause.INFRASTRUCTURE, Cause.CORE_DEFECT])
def test_chance_and_what_never_passed_is_part_of_no_event(settled: Cause) -> None:
    event = _both("a/b.py::c", TONIGHT, "oak", "ash")
    chance = failing("ref", test="a/b.py::c", settled=settled)
    never = failing("fir", Streak(first_failed=_mark(TONIGHT, 1, 1)), test="a/b.py::d")
    found = _events(*event, chance, never)
    assert [(devices, cause) for devices, cause, _ in found] == [
        (["ash", "oak"], Cause.UPSTREAM),
        (["ref"], settled),
        (["fir"], Cause.UNKNOWN),
    ]


def test_what_the_vendor_knows_of_by_now_is_part_of_its_event() -> None:
    known = failing("ash", _streak(began=5), settled=Cause.KNOWN)
    assert _only(*_both("a/b.py::c", 5, "oak"), known).events == ()


_SPELLS = st.builds(
    _streak,
    torch=st.sampled_from([True, False, None]),
    plugin=st.sampled_from([True, False, None]),
    began=st.integers(7, TONIGHT),
    passed=st.integers(1, 6),
) | st.builds(lambda number: Streak(first_failed=_mark(number, number, 1)), st.integers(7, TONIGHT))
_FAILING = st.lists(
    st.builds(
        Failing,
        st.sampled_from([*(item.device for item in SOURCES), "nobody"]),
        st.sampled_from("abc"),
        st.sampled_from([None, ERROR, Signature.of("ValueError: no")]),
        _SPELLS,
        st.sampled_from([None, None, None, Cause.KNOWN, Cause.FLAKY, Cause.CORE_DEFECT, Cause.INFRASTRUCTURE]),
    ),
    max_size=10,
    unique_by=lambda item: (item.device, item.test_id),
)


@settings(max_examples=100)
@given(_FAILING, st.randoms(use_true_random=False))
def test_every_failure_is_in_exactly_one_cluster_and_order_does_not_matter(
    items: list[Failing], random: Random
) -> None:
    found = clusters_of("night009", SOURCES, items)
    assert sum(cluster.tests for cluster in found) == len(items)
    assert len({cluster.signature for cluster in found}) == len(found)
    for item in items:
        inside = [
            device
            for cluster in found
            if item.name.id in cluster.names
            for device in cluster.devices
            if device.device == item.device and item.test_id in device.first
        ]
        assert len(inside) == 1
    for cluster in found:
        assert not cluster.events or sum(event.tests for event in cluster.events) == cluster.tests
    assert clusters_of("night009", _shuffled(SOURCES, random), _shuffled(items, random)) == found


@settings(max_examples=100)
@given(_FAILING)
def test_nobody_blames_torch_where_it_stayed_as_it_was(items: list[Failing]) -> None:
    for cluster in clusters_of("night009", SOURCES, items):
        tests = {test for device in cluster.devices for test in device.first}
        named = [item for item in items if item.name.id in cluster.names and item.test_id in tests]
        mine = [item for item in named if item.settled is None]
        if cluster.cause in (Cause.UPSTREAM, Cause.SUSPECTED_UPSTREAM) and mine:
            assert any(item.streak.torch_changed is not False and item.streak.last_passed for item in mine)
        if cluster.cause is Cause.PLUGIN:
            assert any(item.streak.plugin_changed for item in mine)


def _shuffled(items: Sequence[object], random: Random) -> list[object]:
    found = list(items)
    random.shuffle(found)
    return found
