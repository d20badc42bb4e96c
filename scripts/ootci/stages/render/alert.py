"""The texts of issues: what is the matter, since when, whose it probably is, and how the issue ends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from ootci.model.alert import GOOD_NIGHTS, REMINDER_DAYS, Alert, Condition, Standing
from ootci.model.cluster import Cause, Cluster
from ootci.model.device import RegisteredDevice
from ootci.model.verdict import NEW_FAILURES, DeviceVerdict, Verdicts
from ootci.model.words import many

from .answer import About
from .links import web_address
from .markdown import MARKS, Sheet, marked, safe
from .status import CAUSES, VERDICTS
from .text import one_line
from .words import changed, commit_count, day, moment

LIMIT_BYTES = 40_000
"""A body on GitHub holds 65,536 characters, and the marker goes before it."""
NAMED = 20
"""Tests that are named."""

_ID_LIMIT = 300
_TITLES: Mapping[Condition, str] = MappingProxyType(
    {
        Condition.STALE: "The nightly does not run",
        Condition.UPSTREAM: "Probably upstream: several devices fail with the same error",
        Condition.BROKEN: "is broken",
        Condition.INFRASTRUCTURE: "has no working machine",
        Condition.SILENT: "does not report",
    }
)


class AlertTexts:
    """Writes titles, bodies and comments. Whatever comes from a run is shown as text and mentions nobody.

    Args:
        registry: every registered device, for names and maintainers.
        address: where the site is published, with a slash at its end.
        runs_url: where the runs of the nightly are listed.

    """

    def __init__(
        self,
        verdicts: Verdicts,
        registry: Sequence[RegisteredDevice],
        *,
        address: str | None = None,
        runs_url: str | None = None,
    ) -> None:
        self._verdicts = verdicts
        self._judged = {item.device: item for item in verdicts.devices}
        self._about = About(registry, self._judged, address)
        self._runs_url = web_address(runs_url)

    def title(self, alert: Alert) -> str:
        """Title of an issue, without any text of a run."""
        if alert.condition is Condition.STALE:
            return _TITLES[alert.condition]
        if alert.condition is Condition.UPSTREAM:
            return f"{_TITLES[alert.condition]} ({alert.subject})"
        device = self._about.devices.get(alert.subject)
        # A title is no markdown; but a mention in it would notify.
        name = one_line(device.display_name, 100).replace("@", "@\u200b") if device else alert.subject
        return f"{name} {_TITLES[alert.condition]}"

    def body(self, alert: Alert, good: int) -> str:
        """Text of an issue, after so many good nights."""
        sheet = Sheet(LIMIT_BYTES, self._foot())
        # First, so that it is kept however much is cut.
        self._mention(sheet, alert)
        if alert.standing is Standing.GONE:
            sheet.add(f"The device {safe(alert.subject, 60)} is not registered any more.")
        elif alert.standing is Standing.ABSENT:
            self._recovering(sheet, alert, good)
        elif alert.condition is Condition.STALE:
            self._stale(sheet, alert)
        elif alert.cluster is not None:
            self._cluster(sheet, alert, alert.cluster)
        else:
            self._device(sheet, alert)
        return sheet.text()

    def comment(self, alert: Alert, why: str) -> str:
        """The comment on an issue that is closed."""
        return f"{MARKS['good']} {safe(why[:1].upper() + why[1:])}.\n\n{self._nightly(alert)}"

    def _stale(self, sheet: Sheet, alert: Alert) -> None:
        sheet.add(f"### {MARKS['bad']} The nightly does not run", "", f"As of now {safe(alert.reason)}.", "")
        if self._verdicts.planned_at is not None:
            sheet.add(f"The newest one is of {moment(self._verdicts.planned_at)}.")
        sheet.add(
            "",
            "What is known of every device is as old as that. Until a nightly ran, no device is called silent for it.",
            "",
        )
        if self._runs_url:
            sheet.add(f"Look at [its runs]({self._runs_url}): whether it is switched off, waits, or fails, and where.")

    def _cluster(self, sheet: Sheet, alert: Alert, cluster: Cluster) -> None:
        sheet.add(f"### {marked(CAUSES[cluster.cause])}", "", f"{safe(cluster.reason)}.", "")
        sheet.add(f"Error: <code>{safe(cluster.text)}</code>", "")
        commits = web_address(cluster.commits_url)
        if commits:
            count = commit_count(cluster.commits_count)
            link = f"[{safe(cluster.commits or 'these')}]({commits})"
            sheet.add(f"PyTorch's commits that it can come from: {link}{count}", "")
        sheet.table(
            ("Device", "Fails so", "New", "Since", "Plugin changed", "First"),
            (
                (
                    self._about.name(item.device),
                    many(item.tests, "test"),
                    str(item.new),
                    day(item.since.date),
                    changed(item.plugin_changed),
                    f"<code>{safe(item.first[0], _ID_LIMIT)}</code>" if item.first else "-",
                )
                for item in cluster.devices
            ),
            "device",
        )
        sheet.add("", self._nightly(alert))

    def _device(self, sheet: Sheet, alert: Alert) -> None:
        item = self._judged.get(alert.subject)
        if item is None:
            return
        sheet.add(f"### {marked(VERDICTS[item.verdict])}: {self._about.name(item.device)}", "", safe(item.reason), "")
        sheet.table(("What", "Is"), self._facts(item), "fact")
        sheet.add("")
        if alert.condition is Condition.BROKEN:
            self._failures(sheet, item)
        sheet.groups(
            (
                (f"- {marked(CAUSES[cluster.cause])}: {safe(cluster.reason)} (<code>{safe(cluster.text)}</code>)",)
                for cluster in self._clusters_of(item.device)
            ),
            "cause",
        )
        sheet.add("", self._nightly(alert))

    def _facts(self, item: DeviceVerdict) -> Iterator[tuple[str, str]]:
        yield "Tier", self._about.tier(item.device)
        if item.since is not None:
            yield "Since", day(item.since) + (f", {many(item.nights_since, 'night')}" if item.nights_since else "")
        if item.broke_at is not None:
            yield "Stage", item.broke_at
        yield "Passed", f"{item.pass_rate} executed tests of required suites"
        yield (
            "PyTorch",
            f"{safe(item.torch.version, 100) if item.torch else '-'}; changed: {changed(item.torch_changed)}",
        )
        yield "Plugin changed", changed(item.plugin_changed)

    def _failures(self, sheet: Sheet, item: DeviceVerdict) -> None:
        new = [one for one in item.changes if one.change in NEW_FAILURES and not one.known]
        if new:
            first = f"{len(new):,} failing since the first run:"
            sheet.add(first if item.is_first else f"{many(len(new), 'new failure')}:", "")
        sheet.groups(((f"- <code>{safe(one.id, _ID_LIMIT)}</code>",) for one in new[:NAMED]), "test")
        if len(new) > NAMED:
            sheet.add(f"- and {len(new) - NAMED:,} more")
        if again := self._about.again(item.device, (one.id for one in new)):
            sheet.add(*again, "")

    def _recovering(self, sheet: Sheet, alert: Alert, good: int) -> None:
        stale = alert.condition is Condition.STALE
        sheet.add(
            f"### {MARKS['good']} {'The nightly runs again' if stale else 'Not seen on the newest nightly'}",
            "",
            f"Good nights in a row: {good} of {GOOD_NIGHTS}. {self._nightly(alert)}",
        )
        if alert.condition is Condition.UPSTREAM:
            sheet.add("", f"It was seen on {', '.join(self._about.name(name) for name in alert.devices)}.")

    def _clusters_of(self, device: str) -> Iterator[Cluster]:
        expected = (Cause.KNOWN, Cause.FLAKY, Cause.CORE_DEFECT)
        return (
            cluster
            for cluster in self._verdicts.clusters
            if cluster.cause not in expected and any(part.device == device for part in cluster.devices)
        )

    def _nightly(self, alert: Alert) -> str:
        if alert.plan_id is None or alert.condition is Condition.STALE:
            return f"Seen {moment(alert.date)}."
        return f"Nightly {safe(alert.plan_id, 100)}, {moment(alert.date)}."

    def _mention(self, sheet: Sheet, alert: Alert) -> None:
        """Mention who answers for the device; the schema of device files has seen that handles are nothing else."""
        device = self._about.devices.get(alert.subject)
        if device is not None and alert.standing is not Standing.GONE:
            sheet.add(f"For {', '.join(device.maintainers)}, who answer for this device.", "")

    def _foot(self) -> str:
        return (
            "\n---\nEvery nightly rewrites this issue; comments stay. It is closed after "
            f"{many(GOOD_NIGHTS, 'good night')} in a row. If it is closed before, it stays closed until "
            f"something new fails, or {many(REMINDER_DAYS, 'day')} have passed."
        )


class DeepTestTexts:
    """Writes the texts of the issue for this repository's own deep tests."""

    def __init__(self, run_url: str | None = None) -> None:
        self._run_url = web_address(run_url)

    def title(self, alert: Alert) -> str:
        """Title of the issue."""
        del alert
        return "The deep tests fail"

    def body(self, alert: Alert, good: int) -> str:
        """Text of the issue; one run that passes is enough for it to be closed."""
        del good
        sheet = Sheet(LIMIT_BYTES, "\n---\nEvery run on main rewrites this issue; comments stay.")
        passed = alert.standing is Standing.ABSENT
        sheet.add(f"### {MARKS['good' if passed else 'bad']} The deep tests {'pass' if passed else 'fail'}", "")
        self._seen(sheet, alert)
        if not passed:
            sheet.add("", "`make test-deep` runs them, see CONTRIBUTING.md. This is closed when they pass.")
        return sheet.text()

    def comment(self, alert: Alert, why: str) -> str:
        """The comment when the issue is closed."""
        sheet = Sheet(LIMIT_BYTES)
        sheet.add(f"{MARKS['good']} {safe(why[:1].upper() + why[1:])}.", "")
        self._seen(sheet, alert)
        return sheet.text()

    def _seen(self, sheet: Sheet, alert: Alert) -> None:
        if alert.reason:
            sheet.add(f"{safe(alert.reason[:1].upper() + alert.reason[1:])}.", "")
        run = f" [The run]({self._run_url})." if self._run_url else ""
        sheet.add(f"Seen {moment(alert.date)}.{run}")
