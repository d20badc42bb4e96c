"""An invented world of devices over a year: what they reported night by night, and the truth about it.

Everything in it follows from a seed. Nothing of it is real: neither the devices nor the commits nor the failures.
"""

from .condition import ABSENT, Condition
from .event import Blame, Event, Kind
from .world import Night, World

__all__ = ["ABSENT", "Blame", "Condition", "Event", "Kind", "Night", "World"]
