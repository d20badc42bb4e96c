"""What activation checkpointing asks the device module."""

from torch_openreg.openreg.device import is_initialized

__all__: list[str] = []

# The device's random state is saved only when this says that the device is in use.
COMPUTED = {"_initialized": is_initialized}
