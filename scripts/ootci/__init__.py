"""ootci tests out-of-tree PyTorch devices every night and says what is broken, since when, and whose it is.

The package never imports torch: torch and the plugin live in the device's own environment.
"""

__version__ = "0.1.0"
