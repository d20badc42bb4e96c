"""plan: which devices run on which torch, decided once so that every device of a nightly tests the same torch."""

from .stage import Proposed, plan
from .torch_choice import resolve, with_built

__all__ = ["Proposed", "plan", "resolve", "with_built"]
