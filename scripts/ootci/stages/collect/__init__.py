"""collect: whatever the stages before left behind becomes one run.json."""

from .stage import collect

__all__ = ["collect"]
