"""alert: the conditions in the verdicts that get an issue, and the changes to existing issues."""

from .action import Act, Action, Decision, apply
from .conditions import conditions, deep_tests
from .decide import Writer, decide, remembered_in
