"""build: the device's own environment with torch in it, and the plugin built against that torch and installed there."""

from .fetch import SUITE_REQUIREMENTS
from .given import GivenEnvironment, take_environment
from .stage import build

__all__ = ["SUITE_REQUIREMENTS", "GivenEnvironment", "build", "take_environment"]
