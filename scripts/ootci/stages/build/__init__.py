"""build: the device's own environment with torch in it, and the plugin built against that torch and installed."""

from .stage import build

__all__ = ["build"]
