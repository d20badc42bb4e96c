"""collect: whatever the stages before left behind becomes one run.json."""

from ootci.stages.collect.stage import collect

__all__ = ["collect"]
