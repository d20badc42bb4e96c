"""A device's page, and where the pages of its runs lie."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ootci.history.stored import StoredRun
from ootci.model.device import Device
from ootci.model.plan import Plan
from ootci.model.run import Run
from ootci.model.verdict import Change, DeviceVerdict

from .facts import Fact, TorchView, contacts, device_facts, torch_view
from .links import folder_name
from .nights import NightRow, in_words, night_rows
from .room import ITEM_OVERHEAD, NAMES, Room
from .run_view import RunView, run_view
from .spells import Alike, SpellView, spell_view
from .status import CHANGES, OUTCOMES, VERDICTS, WHERE, Status
from .text import one_line
from .words import changed, day, many


@dataclass(frozen=True)
class RunPage:
    """The page of one attempt.

    Attributes:
        stored: the attempt as the history keeps it; the whole of it is read when its page is made.
        folder: its folder, relative to the device's.
        latest: whether it is the attempt that counts for its nightly.

    """

    stored: StoredRun
    folder: str
    latest: bool

    @property
    def run(self) -> Run:
        """The attempt without its tests."""
        return self.stored.head


@dataclass(frozen=True)
class ChangeRow:
    """One test that differs from the run before; of a failing one, since when it fails and who fails alike."""

    id: str
    before: str | None
    after: str | None
    spell: SpellView | None
    alike: Alike | None


@dataclass(frozen=True)
class ChangeGroup:
    """Tests that differ in the same way."""

    status: Status
    total: int
    shown: tuple[ChangeRow, ...]

    @property
    def more(self) -> int:
        """Tests that are not named."""
        return self.total - len(self.shown)


@dataclass(frozen=True)
class DevicePage:
    """Everything that a device's page shows."""

    device: Device
    verdict: DeviceVerdict
    status: Status
    where: str | None
    since: str | None
    nights_in_a_row: str | None
    torch: TorchView | None
    run: RunView | None
    run_href: str | None
    changes: tuple[ChangeGroup, ...]
    torch_changed: str
    plugin_changed: str
    nights: tuple[NightRow, ...]
    nights_words: str
    earlier_attempts: tuple[RunPage, ...]
    last_report: RunPage | None
    facts: tuple[Fact, ...]
    contacts: tuple[Fact, ...]


def run_pages(runs: Sequence[StoredRun]) -> tuple[RunPage, ...]:
    """A page for every attempt. The one that counts lies at the nightly's id, earlier ones beneath it."""
    latest: dict[str, int] = {}
    for run in runs:
        latest[run.head.plan_id] = max(run.head.attempt, latest.get(run.head.plan_id, 0))
    return tuple(
        RunPage(run, folder_name(run.head.plan_id), True)
        if run.head.attempt == latest[run.head.plan_id]
        else RunPage(run, f"{folder_name(run.head.plan_id)}/attempt-{run.head.attempt}", False)
        for run in runs
    )


def newest(pages: Sequence[RunPage], verdict: DeviceVerdict) -> RunPage | None:
    """The page of the run that the verdict was derived from."""
    return next((page for page in pages if page.latest and page.run.id == verdict.run_id), None)


def device_page(
    device: Device,
    verdict: DeviceVerdict,
    pages: Sequence[RunPage],
    run: Run | None,
    plan: Plan | None,
    alike: Mapping[str, Alike],
) -> DevicePage:
    """A device's page.

    Args:
        device: the device.
        verdict: what the judge found.
        pages: every page of its runs.
        run: the whole run that the verdict was derived from.
        plan: the nightly of that run.
        alike: what fails alike, by the signature's id.

    """
    page = newest(pages, verdict)
    hrefs = {page.run.plan_id: f"{page.folder}/index.html" for page in pages if page.latest}
    return DevicePage(
        device=device,
        verdict=verdict,
        status=VERDICTS[verdict.verdict],
        where=WHERE.get(verdict.verdict),
        since=day(verdict.since) if verdict.since else None,
        nights_in_a_row=many(verdict.nights, "night") if verdict.nights else None,
        torch=torch_view(verdict.torch_request, verdict.torch) if verdict.torch_request else None,
        run=run_view(run, plan, verdict.changes) if run else None,
        run_href=f"{page.folder}/index.html" if page else None,
        changes=_changes(verdict, alike),
        torch_changed=changed(verdict.torch_changed),
        plugin_changed=changed(verdict.plugin_changed),
        nights=night_rows(verdict, hrefs),
        nights_words=in_words(verdict.history),
        earlier_attempts=tuple(
            other for other in pages if page and other.run.plan_id == page.run.plan_id and not other.latest
        ),
        last_report=pages[-1] if pages and page is None else None,
        facts=device_facts(device),
        contacts=contacts(device),
    )


def _changes(verdict: DeviceVerdict, alike: Mapping[str, Alike]) -> tuple[ChangeGroup, ...]:
    room, groups = Room(NAMES), []
    for name, status in CHANGES.items():
        found = [change for change in verdict.changes if change.change is name]
        shown = []
        for change in found:
            row = _change(change, verdict, alike)
            if not _fits(room, row):
                break
            shown.append(row)
        if found:
            groups.append(ChangeGroup(status, len(found), tuple(shown)))
    return tuple(groups)


def _fits(room: Room, row: ChangeRow) -> bool:
    page = row.alike.page if row.alike else None
    if row.spell is None:
        return room.takes(row.id, page)
    # Two links and a line of its own.
    return room.takes(
        row.id, page, row.spell.words, row.spell.commits, row.spell.commits_href, overhead=3 * ITEM_OVERHEAD
    )


def _change(change: Change, verdict: DeviceVerdict, alike: Mapping[str, Alike]) -> ChangeRow:
    known = change.spell is not None and 0 <= change.spell < len(verdict.spells)
    return ChangeRow(
        id=one_line(change.id),
        before=OUTCOMES[change.before].word if change.before else None,
        after=OUTCOMES[change.after].word if change.after else None,
        spell=spell_view(verdict.spells[change.spell or 0]) if known else None,
        alike=alike.get(change.signature) if change.signature else None,
    )
