"""collect: the files of the stages before become one run.json."""

from .by_hand import NOT_KNOWN
from .stage import collect
from .unreadable import unreadable

__all__ = ["NOT_KNOWN", "collect", "unreadable"]
