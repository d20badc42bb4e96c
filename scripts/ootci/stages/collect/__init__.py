"""collect: whatever the stages before left behind becomes one run.json."""

from .by_hand import NOT_KNOWN
from .stage import collect
from .unreadable import unreadable

__all__ = ["NOT_KNOWN", "collect", "unreadable"]
