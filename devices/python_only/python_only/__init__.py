"""A device written in Python alone; see ``backend``."""

from __future__ import annotations


def load() -> None:
    """Register the device; torch calls this when it is imported (entry point group ``torch.backends``)."""
    import torch  # noqa: F401  # it loads this device itself, and then there is nothing left to import

    from python_only import backend

    backend.register()
