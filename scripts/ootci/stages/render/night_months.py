"""What each month of nightlies comes to, kept beside the pages so that no page of a month long over is looked at again.

As with the months of devices, a month's file is taken from the site of before only where its key is the same.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby

from ootci.model.device import RegisteredDevice
from ootci.model.plan import Plan
from ootci.model.published_nights import NightlyEntry
from ootci.model.record import Record
from ootci.model.verdict import Verdicts

from .device_months import DeviceMonths
from .links import folder_name
from .machines import API
from .night_files import nightly_entry, nightly_file, nightly_file_path
from .nightlies import NIGHTS_LISTED, KnownNight, NightlyPage, nightly_pages, who
from .page_maker import PageMaker
from .reuse import Batch, Files, Reusable, digest

NIGHTS = ".nights"
"""Its name begins with a dot so that GitHub Pages leaves it out."""


class NightMonth(Record):
    """What other pages need of a month."""

    entries: tuple[NightlyEntry, ...]
    """Its nightlies, oldest first."""
    last: KnownNight | None
    """The last nightly up to its end whose commit is known."""


class NightMonths:
    """All nightlies.

    Args:
        maker: makes pages.
        registry: every registered device, in registry order.
        verdicts: what the judge found.
        plans: every nightly, oldest first, by id.
        planned: a digest of each of them.
        devices: what each month of a device comes to, by device.
        month_of: the month of a nightly.
        kept: reads a file of the site of before; None where there is none.

    """

    def __init__(
        self,
        maker: PageMaker,
        registry: Sequence[RegisteredDevice],
        verdicts: Verdicts,
        plans: Mapping[str, Plan],
        planned: Mapping[str, str],
        devices: Mapping[str, DeviceMonths],
        month_of: Callable[[str], str],
        kept: Callable[[str], bytes | None],
    ) -> None:
        self._maker = maker
        self._plans = tuple(plans.values())
        self._planned = planned
        self._devices = devices
        self._month_of = month_of
        self._kept = kept
        reported = {name: months.report for name, months in devices.items()}
        self._pages = partial(nightly_pages, registry, verdicts, self._plans, reported)
        self._named = repr([who(item, item.device.name) for item in registry])
        self._judged: dict[str, list[tuple[str, str]]] = {}
        for device in verdicts.devices:
            for night in device.history:
                self._judged.setdefault(night.plan_id, []).append((device.device, night.verdict.value))
        self.entries: list[NightlyEntry] = []
        """Every nightly, oldest first, once all files are made."""
        self.listed: tuple[NightlyPage, ...] = ()
        """The newest nightlies, newest first, once all files are made."""

    def files(self) -> Iterator[Files]:
        """The page and the file of every nightly, and those of months that are long over."""
        last: KnownNight | None = None
        done = 0
        for month, numbers in self._months():
            if numbers.stop > len(self._plans) - NIGHTS_LISTED:
                break
            since = self._since(month, numbers, last)
            path = f"{NIGHTS}/{month}.json"
            text = self._kept(path) or b""
            found, pages = self._checked(text, since), None
            if found is None:
                pages = tuple(self._pages(numbers, last))
                found = _summed_up(pages, last)
                text = _sealed(since, found)
            yield Reusable(path, digest(text), lambda text=text: text)  # type: ignore[misc]
            files = partial(self._files, numbers, last, pages)
            paths = [path for number in numbers for path in _paths(folder_name(self._plans[number].id))]
            yield Batch(f"nights of {month}", digest(self._maker.makers_and_address, since), paths, files)
            self.entries += found.entries
            last, done = found.last, numbers.stop
        newest = tuple(self._pages(range(done, len(self._plans)), last)) if done < len(self._plans) else ()
        yield from self._files(range(0), None, newest)
        self.entries += map(nightly_entry, newest)
        self.listed = newest[: -NIGHTS_LISTED - 1 : -1]

    def _months(self) -> Iterator[tuple[str, range]]:
        """The numbers of each month's nightlies."""
        for month, numbers in groupby(range(len(self._plans)), lambda number: self._month_of(self._plans[number].id)):
            first, *others = numbers
            yield month, range(first, first + len(others) + 1)

    def _since(self, month: str, numbers: range, last: KnownNight | None) -> str:
        """A digest of all that the pages of a month are made from."""
        plans = [self._plans[number] for number in numbers]
        around = self._plans[max(0, numbers.start - 1)].id, self._plans[numbers.stop].id
        return digest(
            self._maker.makers,
            self._named,
            repr([(name, months.key(month)) for name, months in self._devices.items()]),
            repr([self._judged.get(plan.id) for plan in plans]),
            last.model_dump_json().encode("utf-8", "surrogatepass") if last is not None else "",
            *around,
            *(self._planned[plan.id] for plan in plans),
        )

    @staticmethod
    def _checked(text: bytes, since: str) -> NightMonth | None:
        """What a month's file says; None where it was made from something else, or is no such file."""
        head, _, said = text.partition(b"\n")
        return NightMonth.model_validate_json(said) if head == digest(since, said).encode() else None

    def _files(
        self, numbers: range, last: KnownNight | None, pages: Sequence[NightlyPage] | None
    ) -> Iterator[Reusable]:
        for night in self._pages(numbers, last) if pages is None else pages:
            made_from = self._planned[night.plan.id], repr(night)
            page, file = _paths(night.folder)
            values = partial(dict[str, object], page=night)
            yield self._maker.reusable(page, "nightly.html", made_from, values)
            yield Reusable(file, digest(self._maker.makers, *made_from), partial(nightly_file, night))


def _paths(folder: str) -> tuple[str, str]:
    """Where the page and the file of a nightly lie, from the top."""
    return f"n/{folder}/index.html", f"{API}/{nightly_file_path(folder)}"


def _summed_up(pages: Sequence[NightlyPage], last: KnownNight | None) -> NightMonth:
    known = [KnownNight(plan_id=page.plan.id, build=page.build) for page in pages if page.build is not None]
    return NightMonth(entries=tuple(map(nightly_entry, pages)), last=known[-1] if known else last)


def _sealed(since: str, month: NightMonth) -> bytes:
    said = month.model_dump_json().encode("utf-8", "surrogatepass")
    return digest(since, said).encode() + b"\n" + said
