"""plan: which devices run on which torch, decided once so that every device of a nightly tests the same torch."""

from .due import NotDue, due
from .stage import Proposed, plan
from .torch_choice import resolve, with_built

__all__ = ["NotDue", "Proposed", "due", "plan", "resolve", "with_built"]
