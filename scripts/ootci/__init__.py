"""ootci tests out-of-tree PyTorch devices every night and shows what is broken, since when, and the likely cause.

The package never imports torch: torch and the plugin live in the device's own environment.
"""

__version__ = "0.1.0"
