"""Where and when a run took place: what its record says, and from whom it knows."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path

import pytest
from unit.samples import build, device, night, plan

from ootci.model.build import PluginBuild
from ootci.model.record import write
from ootci.model.run import Run
from ootci.model.workspace import RunFolder
from ootci.stages.collect import collect

COMMIT = "c" * 40
STARTED = night(0) + timedelta(minutes=10)
EVENTS = [
    {"event": "stage_start", "stage": "check", "time": "2026-11-01T04:10:00.000Z"},
    {"event": "stage_end", "stage": "check", "status": "passed", "facts": {"driver": "24.1", "sdk": "x" * 300}},
]


def _collect(
    tmp_path: Path,
    *,
    attempt: int = 1,
    planned: int = 0,
    git: str | None = None,
    commit: str = COMMIT,
    built_on: str | None = None,
    **variables: str,
) -> Run:
    folder = RunFolder(tmp_path)
    plugin = PluginBuild(package="torch-dev", version="1", source="dev", commit=commit)
    stages = [stage.model_copy(update={"started_at": STARTED}) for stage in build().stages]
    update = {"plugin": plugin, "stages": tuple(stages), "built_on": built_on}
    write(build().model_copy(update=update), folder.build)
    made = plan().model_copy(update={"created_at": night(0) + timedelta(minutes=planned)})
    folder.events.write_text("".join(f"{json.dumps(event)}\n" for event in EVENTS), encoding="utf-8")
    env = {"os": {"glibc": "2.39"}, "device": {"card": {"name": "Dev 100", "total_memory": "1024"}}}
    folder.env.write_text(json.dumps(env), encoding="utf-8")
    keys = {"plugin": {"distribution": "torch-dev", "git": {"url": git}}} if git else {}
    return collect(device(**keys).device, made, folder, now=night(1), attempt=attempt, variables=variables)


def test_the_device_says_what_it_is(tmp_path: Path) -> None:
    place = _collect(tmp_path).environment
    assert place.device_facts == {
        "driver": "24.1",
        "sdk": "x" * 200,
        "card.name": "Dev 100",
        "card.total_memory": "1024",
    }
    assert (place.glibc, place.image, place.runner) == ("2.39", None, None)


def test_the_job_says_where_it_runs(tmp_path: Path) -> None:
    image = f"example.org/dev@sha256:{'e' * 64}"
    place = _collect(tmp_path, OOTCI_IMAGE=image, RUNNER_NAME="r1").environment
    assert (place.image, place.runner) == (image, "r1")


def test_another_machine_that_built_is_named(tmp_path: Path) -> None:
    assert _collect(tmp_path).environment.built_on is None
    assert _collect(tmp_path, built_on="r2 (x86_64)").environment.built_on == "r2 (x86_64)"


@pytest.mark.parametrize(
    ("attempt", "planned", "minutes"),
    [
        (1, 0, 10),
        (2, 0, None),  # nobody tells when a later attempt began
        (1, 11, None),  # clocks that disagree measure nothing
    ],
)
def test_how_long_a_run_waited(tmp_path: Path, attempt: int, planned: int, minutes: int | None) -> None:
    run = _collect(tmp_path, attempt=attempt, planned=planned)
    assert run.queue_duration == (None if minutes is None else minutes * 60)


@pytest.mark.parametrize(
    ("git", "commit", "page"),
    [
        ("https://example.org/dev.git", COMMIT, f"https://example.org/dev/commit/{COMMIT}"),
        ("https://example.org/dev/", COMMIT, f"https://example.org/dev/commit/{COMMIT}"),
        ("https://example.org/dev", f"{COMMIT}-dirty", None),
        ("https://example.org/dev", "main", None),
        (None, COMMIT, None),
    ],
)
def test_the_plugin_s_commit_is_linked(tmp_path: Path, git: str | None, commit: str, page: str | None) -> None:
    links = _collect(tmp_path, git=git, commit=commit).links
    assert (links.plugin_commit, links.report) == (page, "report.xml")


def test_a_device_that_says_too_much_is_cut_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(EVENTS[1], "facts", {f"{'n' * 300}{number}": "v" for number in range(500)})
    facts = _collect(tmp_path).environment.device_facts
    assert len(facts) <= 50
    assert all(len(name) <= 200 for name in facts)
