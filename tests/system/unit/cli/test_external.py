"""Devices that their vendors run: reports are taken in from an address, as data, and nothing old or foreign is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime, timedelta, timezone
from pathlib import Path

import pytest
from loopback import Quiet, Server, running
from unit.samples import register, run, whole_runs

from ootci.adapters import download
from ootci.flows import reports
from ootci.history.store import History
from ootci.model.plan import Plan
from ootci.model.record import read
from ootci.model.run import Run
from ootci.model.verdict import Verdicts

from commands import OFFLINE, Ran, Tool  # isort: skip


class _Vendor(Server):
    """What a vendor published, and where it moved to."""

    def __init__(self) -> None:
        super().__init__(_Release)
        self.content = b""
        self.status = 200
        self.location = ""

    @property
    def url(self) -> str:
        return f"{super().url}/run.json"


class _Release(Quiet):
    server: _Vendor

    def do_GET(self) -> None:
        headers = {"Location": self.server.location} if self.server.location else {}
        self.answer(self.server.status, self.server.content, headers)


@pytest.fixture
def vendor() -> Iterator[_Vendor]:
    with running(_Vendor()) as server:
        yield server


@pytest.fixture
def folder(tmp_path: Path, vendor: _Vendor, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A device that is run elsewhere beside one that is run here."""
    monkeypatch.setattr(download, "PAUSES", (0.0, 0.0))
    register(tmp_path, "away", f"external: {{run: '{vendor.url}'}}\n")
    register(tmp_path, "here")
    return tmp_path


def report(hours: float, device: str = "away") -> Run:
    """What the vendor's own nightly found, that many hours ago."""
    found = run(0, device)
    shift = datetime.now(timezone.utc) - timedelta(hours=hours) - found.finished_at
    return found.model_copy(
        update={
            "id": f"theirs-{device}",
            "plan_id": "theirs",
            "started_at": found.started_at + shift,
            "finished_at": found.finished_at + shift,
            "queued_at": None,
            "stages": tuple(
                stage.model_copy(update={"started_at": stage.started_at and stage.started_at + shift})
                for stage in found.stages
            ),
        }
    )


def night(ootci: Tool, folder: Path, run_id: str = "one", **variables: str) -> Ran:
    """A nightly as the workflow makes it, without its pages; gives what `ootci external` said."""
    env = {**OFFLINE, **variables}
    github = {"GITHUB_ACTIONS": "true", "GITHUB_RUN_ID": run_id}
    planned = ootci("plan", "--github-output", "outputs", cwd=folder, env={**env, **github})
    assert planned.code == 0, planned.err
    said: Ran = ootci("external", cwd=folder, env=env)
    assert said.code == 0
    for command in (("history", "append"), ("judge",)):
        done = ootci(*command, cwd=folder, env=env)
        assert done.code == 0, done.err
    return said


def verdict(folder: Path) -> tuple[str, str]:
    found = {item.device: item for item in read(Verdicts, folder / ".ootci" / "verdicts.json").devices}
    return found["away"].verdict.value, found["away"].reason


def test_a_report_is_taken_in_and_shown_with_its_source_and_age(ootci: Tool, folder: Path, vendor: _Vendor) -> None:
    vendor.content = report(5).to_json().encode()
    said = night(ootci, folder)
    assert said.out == f"away: imported from {vendor.url}, 5.0 hours old\n"
    taken = read(Run, folder / ".ootci" / "runs" / "away" / "run.json")
    plan = read(Plan, folder / ".ootci" / "plan.json")
    assert (taken.id, taken.plan_id, taken.attempt) == (f"{plan.id}-away", plan.id, 1)
    assert taken.external is not None
    assert (taken.external.address, taken.external.run_id) == (vendor.url, "theirs-away")
    assert taken.outcomes == report(5).outcomes
    assert verdict(folder)[0] == "OK"
    assert ootci("render", cwd=folder, env=OFFLINE).code == 0
    text = (folder / "site" / "d" / "away" / "index.html").read_text(encoding="utf-8")
    assert f'<dt>run elsewhere</dt><dd><a href="{vendor.url}"' in text
    assert "5 h 00 m when it was received" in text
    front = (folder / "site" / "index.html").read_text(encoding="utf-8")
    assert "run elsewhere, 5 h 00 m old when received" in front
    history = History(folder / "data")
    (kept,) = whole_runs(history, "away")
    assert kept.external == taken.external
    registry = (folder / "site" / "devices" / "index.html").read_text(encoding="utf-8")
    assert "elsewhere" in registry


def test_it_has_no_job_here_unless_somebody_asks_for_it_by_name(ootci: Tool, folder: Path) -> None:
    night(ootci, folder)
    outputs = (folder / "outputs").read_text(encoding="utf-8")
    assert "count=1\ndevice=here\n" in outputs
    assert "away" not in outputs
    named = ootci("plan", "--device", "away", cwd=folder, env=OFFLINE)
    assert (named.code, read(Plan, folder / ".ootci" / "plan.json").runs[0].external) == (0, None)
    alone = ootci("plan", cwd=folder, env={**OFFLINE, "OOTCI_DEVICES": "devices/away.yaml"})
    assert (alone.code, read(Plan, folder / ".ootci" / "plan.json").runs[0].external) == (0, None)


def test_a_report_counts_for_one_night_only(ootci: Tool, folder: Path, vendor: _Vendor) -> None:
    vendor.content = report(3).to_json().encode()
    night(ootci, folder)
    assert verdict(folder)[0] == "OK"
    again = night(ootci, folder, "two")
    assert "warning EXT-001: away has no report from elsewhere: there is nothing new" in again.err
    assert verdict(folder) == (
        "NO_DATA",
        f"no report received that is new from {vendor.url}",
    )
    vendor.content = report(1).to_json().encode()
    night(ootci, folder, "three")
    assert verdict(folder)[0] == "OK"


@pytest.mark.parametrize(("hours", "is_taken"), [(35, True), (37, False)])
def test_what_is_older_than_the_cadence_allows_is_no_data(
    ootci: Tool, folder: Path, vendor: _Vendor, hours: int, is_taken: bool
) -> None:
    vendor.content = report(40).to_json().encode()
    assert "the report is 40 hours old, more than 36" in night(ootci, folder).err
    assert verdict(folder)[0] == "NEVER_RAN"
    vendor.content = report(hours).to_json().encode()
    night(ootci, folder, "two")
    assert verdict(folder)[0] == ("OK" if is_taken else "NEVER_RAN")


def test_a_nightly_on_one_machine_takes_it_in_too(ootci: Tool, folder: Path, vendor: _Vendor) -> None:
    (folder / "devices" / "here.yaml").unlink()
    vendor.content = report(1).to_json().encode()
    ran = ootci("nightly", cwd=folder, env=OFFLINE)
    assert (ran.code, verdict(folder)[0]) == (0, "OK"), ran.err


def _changed(**values: object) -> bytes:
    return json.dumps({**json.loads(report(1).to_json()), **values}).encode()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (report(1, "here").to_json().encode(), "EXT-001: away has no report from elsewhere: it is a report of `here`"),
        (report(-2).to_json().encode(), "the report's times cannot be"),
        (b"[" * 100_000, "FILE-002"),
        (b"", "FILE-002"),
        (_changed(schema_version=99), "FILE-00"),
        (_changed(device="away\n::error::x"), "it is a report of `away\\n::error::x`"),
        (_changed(more="x"), "FILE-002"),
    ],
    ids=["another's", "from the future", "no JSON", "empty", "a newer version", "hostile", "an unknown key"],
)
def test_what_cannot_be_taken_in_is_a_warning_and_costs_nobody_else_anything(
    ootci: Tool, folder: Path, vendor: _Vendor, content: bytes, said: str
) -> None:
    vendor.content = content
    warned = night(ootci, folder, GITHUB_ACTIONS="true", GITHUB_RUN_ID="5")
    assert said in warned.err
    assert not any(line.startswith("::error") for line in warned.err.splitlines())
    assert verdict(folder)[0] == "LOST_TESTS"
    assert "report unreadable: " in verdict(folder)[1]


def test_what_cannot_be_downloaded_is_a_warning(
    ootci: Tool, folder: Path, vendor: _Vendor, monkeypatch: pytest.MonkeyPatch
) -> None:
    for status, location, said in (
        (404, "", "answered 404"),
        (503, "", "answered 503"),
        (302, "http://no.invalid/run.json", "cannot be reached"),
    ):
        vendor.status, vendor.location = status, location
        assert said in night(ootci, folder, f"s{status}").err
    vendor.status, vendor.location, vendor.content = 200, "", b" " * 2000
    monkeypatch.setattr(reports, "MAX_BYTES", 1000)
    assert "EXT-002: away has no report from elsewhere: " in night(ootci, folder, "large").err


def test_an_address_on_which_others_could_change_it_is_refused(
    ootci: Tool, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = folder / "devices" / "away.yaml"
    text = file.read_text(encoding="utf-8")
    for address in ("http://example.com/run.json", "https://user@example.com/run.json", "https:///run.json"):
        file.write_text(f"{text.partition('external')[0]}external:\n  run: {address}\n", encoding="utf-8")
        checked = ootci("device", "check", str(file), cwd=folder)
        assert (checked.code, "keys (DEV-006): `external.run`: " in checked.out) == (2, True)
    urls = ("https://e.org", "http://localhost:1/", "http://e.org", "https://", "ftp://localhost/", "https://[")
    assert [download.is_private(url) for url in urls] == [True, True, False, False, False, False]
