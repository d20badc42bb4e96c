"""The order in which PyTorch wants to learn about a device."""

import torch


def register() -> None:
    torch.utils.rename_privateuse1_backend("openreg")
    import torch_openreg._C  # noqa: F401  registers operators, guard, hooks, allocators
    import torch_openreg.openreg as module

    torch._register_device_module("openreg", module)
    torch.utils.generate_methods_for_privateuse1_backend(for_storage=True)
