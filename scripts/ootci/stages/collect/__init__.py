"""collect: the files of the stages before become one run.json."""

from .by_hand import NOT_KNOWN
from .in_place import not_started, offline, unreadable
from .stage import collect

__all__ = ["NOT_KNOWN", "collect", "not_started", "offline", "unreadable"]
