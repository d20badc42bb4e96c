"""judge: what the runs mean. The one place where a verdict is derived."""

from .gate import decide, expected_to_gate
from .pull_request import judge_pull_request
from .stage import STALE_AFTER, judge
