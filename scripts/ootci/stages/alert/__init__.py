"""alert: what of the verdicts is worth an issue, and what has to be done to the issues that there are."""

from .action import Act, Action, Decision, apply
from .conditions import conditions, deep_tests
from .decide import GOOD_NIGHTS, NEW_ISSUES, REMINDER_DAYS, Rules, Writer, decide, remembered_in

__all__ = [
    "GOOD_NIGHTS",
    "NEW_ISSUES",
    "REMINDER_DAYS",
    "Act",
    "Action",
    "Decision",
    "Rules",
    "Writer",
    "apply",
    "conditions",
    "decide",
    "deep_tests",
    "remembered_in",
]
