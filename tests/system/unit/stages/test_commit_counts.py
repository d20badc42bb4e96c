"""How many commits a plugin got: from the plan, which knows the last, over the build to the verdicts and the pages."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from repositories import commit, git, repository
from unit.render.pages import content, read
from unit.samples import device, night, on_release, on_torch, plan, run, stored
from unit.stages.judging import judged

from ootci.history.nights import CommitCounts
from ootci.history.store import History
from ootci.model.build import DIRTY, PluginBuild
from ootci.model.commits import NewCommits
from ootci.model.device import RegisteredDevice
from ootci.model.plan import LOCAL, Plan, Trigger
from ootci.model.run import Run
from ootci.model.verdict import Verdicts
from ootci.model.workspace import Workspace
from ootci.stages.build.plugin import fetched_plugin
from ootci.stages.plan import plan as planned
from ootci.stages.render import render

A, B, C, D = (letter * 40 for letter in "abcd")


def from_git(url: str = "https://github.com/vendor/torch-dev.git") -> RegisteredDevice:
    return device(plugin={"distribution": "torch-dev", "git": {"url": url}})


def step(since: str, until: str, count: int) -> NewCommits:
    return NewCommits(since=since, until=until, count=count)


def built(number: int, commit: str | None, new: NewCommits | None = None, **values: dict[str, str]) -> Run:
    """A run of the plugin at a commit, on the night's own PyTorch."""
    plugin = PluginBuild(package="torch-dev", version="1", source="dev", commit=commit, new_commits=new)
    made = on_torch(run(number, **values), f"2.15.0.dev{number}", f"{number + 1}" * 40)
    return made.model_copy(update={"plugin": plugin})


@pytest.mark.parametrize(
    ("steps", "before", "after", "count"),
    [
        ((step(A, B, 2), step(B, C, 3), step(C, D, 4)), A, D, 9),
        ((step(A, B, 2), step(B, C, 3), step(C, D, 4)), B, C, 3),
        ((step(A, B, 2), None, step(C, D, 4)), A, D, None),
        # Back to the first, of which nothing is known, and on from there: both ways are.
        ((step(A, B, 2), None, step(A, C, 5)), A, B, 2),
        ((step(A, B, 2), None, step(A, C, 5)), A, C, 5),
        ((step(A, B, 2), step(B, A, 2)), C, A, None),
        ((step(A, B, 2),), A, A, None),
        ((step(A, B, 2),), None, B, None),
        ((step(A, B, 2),), A, None, None),
        ((), A, B, None),
    ],
)
def test_a_range_over_several_builds_has_a_number_when_every_step_is_known(
    steps: tuple[NewCommits | None, ...], before: str | None, after: str | None, count: int | None
) -> None:
    assert CommitCounts(steps).between(before, after) == count


@pytest.mark.parametrize(("count", "is_told"), [(None, False), (0, False), (1, True), (20_000, True), (20_001, False)])
def test_a_number_that_is_not_known_or_tells_nobody_anything_is_left_out(count: int | None, is_told: bool) -> None:
    assert NewCommits.counted(A, B, count) == (step(A, B, count) if is_told and count else None)


def test_the_plan_tells_a_build_which_commit_was_reported_last(tmp_path: Path) -> None:
    def told(history: History | None, item: RegisteredDevice) -> str | None:
        wheel = plan().runs[0].torch
        made = planned(
            (item,), chosen=(), torch=None, installed=wheel, now=night(9), trigger=Trigger(event=LOCAL), history=history
        )
        return made.runs[0].plugin_before

    # Whether a release replaced PyTorch's nightly, or the build failed, the plugin was the one that was there.
    broken = on_release(built(1, B, stages={"build": "failed"}))
    nights = [plan(0), built(0, A), plan(1), broken, plan(2), built(2, f"{C}{DIRTY}"), plan(3), built(3, None)]
    history = stored(tmp_path / "data", *nights)
    assert told(history, from_git()) == B
    assert told(history, device()) is None  # it is in this repository
    assert told(None, from_git()) is None
    assert told(History(tmp_path / "empty"), from_git()) is None


@pytest.fixture
def cloned(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, list[str], Workspace]:
    """A plugin's repository, three commits of it, and a work folder into which the last was fetched."""
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    folder, workspace = tmp_path / "plugin", Workspace(tmp_path / "work")
    folder.mkdir()
    commits = [repository(folder), commit(folder), commit(folder)]
    git(tmp_path, "clone", "--quiet", "--depth=1", folder.as_uri(), str(workspace.sources("dev")))
    return folder, commits, workspace


def test_a_build_counts_the_commits_since_the_one_that_was_reported_last(
    cloned: tuple[Path, list[str], Workspace],
) -> None:
    folder, (first, second, third), workspace = cloned
    for before, new in ((first, step(first, third, 2)), (second, step(second, third, 1)), (third, None), (None, None)):
        found = fetched_plugin(from_git(folder.as_uri()), workspace, before)
        assert found is not None
        assert (found.commit, found.new_commits) == (third, new)


@pytest.mark.parametrize("why", ["no-network", "rewritten", "disk-full"])
def test_what_cannot_be_counted_stops_no_build(
    cloned: tuple[Path, list[str], Workspace], why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder, (first, _, third), workspace = cloned
    url = "http://127.0.0.1:9/gone.git" if why == "no-network" else folder.as_uri()
    before = "1" * 40 if why == "rewritten" else first
    if why == "disk-full":
        monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "full"))
    found = fetched_plugin(from_git(url), workspace, before)
    assert found is not None
    assert (found.commit, found.new_commits) == (third, None)


def nights(*, gap: bool = False) -> list[Plan | Run]:
    """A test that passed with the plugin at A, and fails with those at C and D; that at B was tested on a release."""
    runs = [
        built(0, A),
        on_release(built(1, B, step(A, B, 2))),
        built(2, C, None if gap else step(B, C, 3), integration={"two": "failed"}),
        built(3, D, step(C, D, 4), integration={"two": "failed"}),
    ]
    found: list[Plan | Run] = []
    for number, made in enumerate(runs):
        new = step(str(number) * 40, str(number + 1) * 40, 10 * number) if number else None
        found += [plan(number).model_copy(update={"new_commits": new}), made]
    return found


def verdicts_of(folder: Path, *, gap: bool = False) -> Verdicts:
    return judged(folder, *nights(gap=gap), registry=(from_git(),))


@pytest.mark.parametrize(("gap", "plugin"), [(False, 5), (True, None)])
def test_the_judge_says_how_many_commits_came_between(tmp_path: Path, gap: bool, plugin: int | None) -> None:
    found = verdicts_of(tmp_path, gap=gap)
    (cluster,), (verdict,) = found.clusters, found.devices
    (streak,) = verdict.streaks
    assert (cluster.commits, cluster.commits_count) == ("1111111...3333333", 30)
    assert (streak.commits, streak.commits_count) == ("1111111...3333333", 30)
    assert cluster.devices[0].plugin_commits == plugin


@pytest.mark.parametrize(("gap", "plugin"), [(False, "aaaaaaa...ccccccc, 5 commits"), (True, "aaaaaaa...ccccccc")])
def test_pages_feeds_and_files_say_the_same(tmp_path: Path, gap: bool, plugin: str) -> None:
    verdicts, site = verdicts_of(tmp_path, gap=gap), tmp_path / "site"
    render((from_git(),), History(tmp_path / "data"), verdicts, site)
    cluster = verdicts.clusters[0].signature.id
    pages = ("d/dev/index.html", f"c/{cluster}/index.html", "d/dev/night002/index.html", "n/night002/index.html")
    for page in pages:
        told = [item.text.replace(" ,", ",") for item in read(site / page).find("p")]
        assert "PyTorch: 1111111...3333333, 30 commits" in told, page
        assert f"Plugin: {plugin}" in told, page
    feed = (site / "d/dev/feed.xml").read_text(encoding="utf-8")
    assert "1111111...3333333&lt;/code&gt;&lt;/a&gt;, 30\u00a0commits" in feed
    assert ("ccccccc&lt;/code&gt;&lt;/a&gt;, 5\u00a0commits" in feed) is not gap
    number = None if gap else 5
    (shown,) = content(site / "api/v1/clusters.json")["clusters"]
    assert (shown["commits_count"], shown["devices"][0].get("plugin_commits")) == (30, number)
    failure = content(site / "api/v1/nightlies/night002.json")["failure"]
    assert (failure["pytorch"]["count"], failure["plugin"].get("count")) == (30, number)
