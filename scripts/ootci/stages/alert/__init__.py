"""alert: the conditions in the verdicts that get an issue, and the changes to existing issues."""

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
