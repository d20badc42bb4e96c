"""build: the device's own environment with torch in it, and the plugin built against that torch and installed there."""

from .fetch import SUITE_REQUIREMENTS
from .given import GivenEnvironment, take_environment
from .handover import hand_over
from .stage import build
from .taken import take_over

__all__ = ["SUITE_REQUIREMENTS", "GivenEnvironment", "build", "hand_over", "take_environment", "take_over"]
