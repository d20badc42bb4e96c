"""A history that is made of plans and runs, and judged an hour after the newest plan."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from pathlib import Path

from unit.samples import device, night, stored

from ootci.model.device import RegisteredDevice
from ootci.model.plan import Plan
from ootci.model.run import Run
from ootci.model.verdict import Verdicts
from ootci.stages.judge import judge


def judged(
    tmp_path: Path,
    *records: Plan | Run,
    registry: Sequence[RegisteredDevice] = (device(),),
    now: datetime | None = None,
) -> Verdicts:
    """What the judge says of a history of these records, in the order in which they come."""
    newest = max((record.created_at for record in records if isinstance(record, Plan)), default=night(0))
    return judge(tuple(registry), stored(tmp_path / "data", *records), now or newest + timedelta(hours=1))
