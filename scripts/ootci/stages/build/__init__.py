"""build: the device's own environment with torch in it, and the plugin built against that torch and installed there."""

from .environment import GivenEnvironment, NewEnvironment
from .fetch import suite_requirements
from .handover import TakenOver, hand_over
from .stage import build
