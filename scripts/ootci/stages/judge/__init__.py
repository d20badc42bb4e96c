"""judge: what the runs mean. The one place where a verdict is derived."""

from .night import LOST_TOLERANCE
from .stage import STALE_AFTER, judge

__all__ = ["LOST_TOLERANCE", "STALE_AFTER", "judge"]
