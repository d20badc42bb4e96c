"""plan: which devices run on which torch, decided once so that every device of a nightly tests the same torch."""

from .due import NotDue, due
from .nights import night_before
from .sources import with_sources
from .stage import Proposed, plan
from .torch_choice import require_torch, require_wheel, resolve, with_built, with_nightly
