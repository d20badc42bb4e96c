"""judge: what the runs mean. The one place where a verdict is derived."""

from .gate import override
from .life import Lives
from .night import LOST_TOLERANCE
from .pull_request import judge_pull_request
from .stage import STALE_AFTER, judge

__all__ = ["LOST_TOLERANCE", "STALE_AFTER", "Lives", "judge", "judge_pull_request", "override"]
