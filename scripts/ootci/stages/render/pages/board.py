"""The grid of all devices on the list of nightlies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from operator import itemgetter

from ootci.history.reader import Withdrawn
from ootci.model.torch_build import TorchBuild

from ..nights import last_nightlies, night_grid, stacked, with_marks
from ..page_maker import PageMaker
from ..text import one_line
from ..words import short_day

NIGHTS_LISTED = 90
"""Number of the newest nightlies on the list; every nightly has a page."""


def board(maker: PageMaker, builds: Mapping[str, TorchBuild], withdrawn: Sequence[Withdrawn] = ()) -> dict[str, object]:
    """What the list of nightlies draws of all devices, in registry order.

    Args:
        builds: the build of PyTorch of each nightly, where it is known.
        withdrawn: nightlies that do not count any more; each has a hatched column.

    """
    verdicts = maker.verdicts
    # One that was planned for a day to come would be the newest for as long.
    past = {item.plan.id: item for item in withdrawn if item.plan.created_at <= verdicts.judged_at}
    nightlies = [*last_nightlies(verdicts, NIGHTS_LISTED)]
    nightlies += [(plan_id, item.plan.created_at) for plan_id, item in past.items()]
    nightlies = sorted(nightlies, key=itemgetter(1))[-NIGHTS_LISTED:]
    grid = with_marks(night_grid(nightlies, builds), verdicts.devices)
    grid = replace(grid, withdrawn={plan_id: _why(item) for plan_id, item in past.items() if plan_id in grid.columns})
    judged = {item.device: item for item in verdicts.devices}
    rows = [
        (device.name, grid.row(judged[device.name], grid.linked(maker.runs.get(device.name, {})), device.bad_ranges))
        for device in (item.device for item in maker.registry)
        if device.name in judged
    ]
    return {"grid": grid, "bars": stacked(grid, verdicts.devices), "drawn": rows}


def _why(item: Withdrawn) -> str:
    date = item.plan.created_at
    return f"{date:%a} {short_day(date)}: withdrawn ({one_line(item.reason, 120)})"
