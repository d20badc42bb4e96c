"""build: the device's own environment with torch in it, and the plugin built against that torch and installed there."""

from .given import GivenEnvironment
from .handover import hand_over
from .made import NewEnvironment
from .stage import build
from .suite_requirements import suite_requirements
from .taken import TakenOver

__all__ = ["GivenEnvironment", "NewEnvironment", "TakenOver", "build", "hand_over", "suite_requirements"]
