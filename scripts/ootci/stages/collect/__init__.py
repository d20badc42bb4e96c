"""collect: the files of the stages before become one run.json."""

from .elsewhere import NOT_KNOWN
from .stage import collect, not_started, offline, unreadable

__all__ = ["NOT_KNOWN", "collect", "not_started", "offline", "unreadable"]
