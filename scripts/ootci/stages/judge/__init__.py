"""judge: what the runs mean. The one place where a verdict is derived."""

from .course import Courses
from .gate import decide
from .pull_request import judge_pull_request
from .stage import STALE_AFTER, judge

__all__ = ["STALE_AFTER", "Courses", "decide", "judge", "judge_pull_request"]
