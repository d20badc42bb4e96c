"""``torch.openreg``: the device module that PyTorch's device-neutral code asks."""

from typing import Any

from torch_openreg.openreg.amp import get_amp_supported_dtype, is_autocast_available
from torch_openreg.openreg.device import (
    _is_in_bad_fork,
    current_device,
    device,
    device_count,
    device_of,
    get_device_name,
    get_device_properties,
    init,
    is_available,
    is_initialized,
    lose_device,
    reset_device,
    set_device,
    synchronize,
)
from torch_openreg.openreg.faults import set_fault
from torch_openreg.openreg.formats import has_private_format, set_private_format
from torch_openreg.openreg.memory import (
    empty_cache,
    max_memory_allocated,
    max_memory_reserved,
    mem_get_info,
    memory_allocated,
    memory_reserved,
    memory_stats,
    reset_accumulated_memory_stats,
    reset_peak_memory_stats,
    set_memory_limit,
)
from torch_openreg.openreg.operators import operator_counts, reset_operator_counts
from torch_openreg.openreg.random import (
    default_generator,
    get_rng_state,
    get_rng_state_all,
    initial_seed,
    manual_seed,
    manual_seed_all,
    seed,
    seed_all,
    set_rng_state,
    set_rng_state_all,
)
from torch_openreg.openreg.streams import (
    Event,
    Stream,
    StreamContext,
    current_stream,
    default_stream,
    set_stream,
    stream,
)

__all__ = [name for name in dir() if not name.startswith("_") or name == "_is_in_bad_fork"]


def __getattr__(name: str) -> Any:
    # Activation checkpointing saves the device's random state only when this
    # says that the device is in use.
    if name == "_initialized":
        return is_initialized()
    # Inductor's classes, for which inductor has to be imported.
    if name in ("Scheduling", "PythonWrapperCodegen", "CppWrapperCodegen", "WrapperFxCodegen"):
        from torch_openreg import inductor

        return getattr(inductor, name)
    raise AttributeError(f"module 'torch.openreg' has no attribute {name!r}")
