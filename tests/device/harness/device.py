"""The device under test, as torch sees it. Importing this module imports torch only when a function needs it."""

from __future__ import annotations

from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from harness.options import usage_error

if TYPE_CHECKING:
    import torch

CONTROL = "cpu"
"""The device whose results are the reference, and on which the suites themselves are proven."""

GROUP = "torch.backends"
"""The entry point group that torch loads when it is imported (torch/__init__.py, _import_device_backends)."""


def check_known(name: str) -> None:
    """Make sure that torch knows the device, which imports torch and with it the plugin.

    Raises:
        pytest.UsageError: torch cannot be imported, or does not know the device.

    """
    where = f"the option --device {name}"
    try:
        import torch
    except Exception as error:
        # torch names the plugin that broke; what went wrong in it is the cause.
        cause = f" (because of {type(error.__cause__).__name__}: {error.__cause__})" if error.__cause__ else ""
        raise usage_error(
            f"`import torch` failed: {type(error).__name__}: {error}{cause}",
            where,
            "repair the installation of torch and of the plugin; TORCH_DEVICE_BACKEND_AUTOLOAD=0 leaves the plugin out",
        ) from error
    try:
        index = torch.device(name).index
    except RuntimeError as error:
        raise usage_error(
            f"torch {torch.__version__} does not know the device: {error}",
            where,
            f"install the plugin, which has an entry point in the group torch.backends (found: {_plugins()})",
        ) from error
    if index is not None:
        raise usage_error("the device has an index", where, f"name the device only: --device {name.split(':', 1)[0]}")


def first_device(name: str) -> torch.device:
    """The device on which tests put their tensors: the first card. The cpu has no cards."""
    import torch

    return torch.device(name) if name == CONTROL else torch.device(name, 0)


def is_privateuse1(name: str) -> bool:
    """Whether the device is the one that PrivateUse1 was given the name of."""
    import torch

    return name == torch._C._get_privateuse1_backend_name()


def is_from_plugin(name: str) -> bool:
    """Whether a plugin provides the device, under PrivateUse1 or under a type that torch keeps for it, such as ``xla``.

    torch parses the names of several devices that are out of its tree (torch/headeronly/core/DeviceType.h); their
    modules still come from a plugin.
    """
    import torch

    file = getattr(device_module(name), "__file__", None)
    return file is None or Path(str(torch.__file__)).parent not in Path(file).parents


def device_count(name: str) -> int:
    """How many cards torch counts; one for the cpu."""
    if name == CONTROL:
        return 1
    return int(device_module(name).device_count())


def device_module(name: str) -> ModuleType:
    """The module ``torch.<name>``."""
    import torch

    module: ModuleType = torch.get_device_module(name)
    return module


@cache
def can_wait(name: str) -> bool:
    """Whether torch can wait for the device; a synchronous one need not offer it. Asked once, while it is idle."""
    if name == CONTROL:
        return False
    import torch

    from harness.refusals import refusal

    try:
        torch.accelerator.synchronize()
    except Exception as error:
        return refusal(error, name) is None
    return True


def synchronize(name: str) -> None:
    """Wait for the device where that is possible, so that an error of asynchronous work is told now and not later."""
    if can_wait(name):
        import torch

        torch.accelerator.synchronize()


def reset_peak_memory(device: torch.device) -> None:
    """Restart the measurement, where the device measures."""
    if peak_memory(device) is not None:
        import torch

        torch.accelerator.reset_peak_memory_stats(device)


def peak_memory(device: torch.device) -> int | None:
    """The most bytes that tensors of a card had at once; None where that is not measured, as on the cpu."""
    if device.type == CONTROL:
        return None
    import torch

    from harness.refusals import refusal

    try:
        return torch.accelerator.max_memory_allocated(device)
    except Exception as error:
        if refusal(error, device.type) is None:
            raise
        return None


@cache
def has_streams(name: str) -> bool:
    """Whether torch gives streams of the device; a synchronous one has none. Asked once."""
    if name == CONTROL:
        return False
    import torch

    try:
        torch.Stream(device=name)
    except (RuntimeError, NotImplementedError):
        return False
    return True


@cache
def has_generator(name: str) -> bool:
    """Whether the device has a generator with a state that torch can keep; one may do without. Asked once."""
    if name == CONTROL:
        return True
    from harness.refusals import refusal

    try:
        device_module(name).get_rng_state()
    except Exception as error:
        return refusal(error, name) is None
    return True


def _plugins() -> str:
    found = sorted(f"{point.name} = {point.value}" for point in entry_points(group=GROUP))
    return ", ".join(found) or "none"
