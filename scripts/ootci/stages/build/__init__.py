"""build: the device's own environment with torch in it, and the plugin built against that torch and installed there."""

from .given import GivenEnvironment, take_environment
from .handover import hand_over
from .stage import build
from .suite_requirements import suite_requirements
from .taken import take_over

__all__ = ["GivenEnvironment", "build", "hand_over", "suite_requirements", "take_environment", "take_over"]
