"""Running one of the stages fetch and build, with its time, and with its failure as a result."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from ootci.adapters.terminal import Progress
from ootci.errors import OotciError
from ootci.model.build import StageName, StageResult, StageStatus

from .commands import StepFailed


@dataclass
class Timed:
    """Runs the stages of one device.

    Attributes:
        clock: gives the aware current time.
        progress: told what is going on.
        device: the device's name.

    """

    clock: Callable[[], datetime]
    progress: Progress
    device: str

    def stage(self, name: StageName, log: Path, work: Callable[[], bool]) -> StageResult:
        """Run one stage; ``work`` says whether an earlier product was used again."""
        started_at, started = self.clock(), time.monotonic()
        status, reason, excerpt, cached = StageStatus.PASSED, None, None, False
        try:
            with self.progress.step(f"{self.device}: {name.value}"):
                cached = work()
        except StepFailed as failure:
            status = StageStatus.TIMED_OUT if failure.timed_out else StageStatus.FAILED
            reason, excerpt = failure.reason, failure.excerpt
        except OotciError as error:
            status, reason = StageStatus.FAILED, f"{error.what} ({error.where})"
        except OSError as error:
            status, reason = StageStatus.FAILED, f"the machine refused: {error.strerror or error}"
        return StageResult(
            name=name,
            status=status,
            started_at=started_at,
            duration=round(time.monotonic() - started, 3),
            reason=reason,
            excerpt=excerpt,
            log=log.name if log.exists() else None,
            cached=cached,
        )
