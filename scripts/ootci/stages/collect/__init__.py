"""collect: the files of the stages before become one run.json."""

from .elsewhere import NOT_KNOWN
from .stage import collect, collect_share, not_started, unreadable
