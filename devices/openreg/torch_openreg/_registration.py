"""The order in which PyTorch wants to learn about a device."""

import atexit
import time

import torch


def register() -> None:
    torch.utils.rename_privateuse1_backend("openreg")
    import torch_openreg._C  # noqa: F401  registers operators, guard, hooks, allocators
    import torch_openreg.openreg as module

    torch._register_device_module("openreg", module)
    torch.utils.generate_methods_for_privateuse1_backend(for_storage=True)
    from torch_openreg.startup import register_all

    register_all()
    atexit.register(_settle)


def _settle() -> None:
    """Leave nothing running when the interpreter goes down.

    Autograd's device threads may still wait for the interpreter's lock, to drop
    what the last backward pass held. A thread that only gets it during shutdown
    aborts the process, so give it up for a moment.
    """
    if torch.openreg.is_initialized():
        time.sleep(0.01)
