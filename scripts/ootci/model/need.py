"""What a device may lack: what PyTorch needs it for, and where to implement it.

The one table of it. Pages, the API and the command line show its sentences, so nothing of them comes from a device.
Facts are those of torch 2.13; files are named as they are below the folder of packages and below ``torch/include``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from ootci.model.capability import Capability


@dataclass(frozen=True)
class Need:
    """One thing that PyTorch leaves to a device; the page of the capability has more."""

    name: str
    capability: Capability
    needed_for: str
    implement: str


_GUARD = "`c10::impl::DeviceGuardImplInterface` (c10/core/impl/DeviceGuardImplInterface.h)"
_HOOKS = "`at::PrivateUse1HooksInterface` (ATen/detail/PrivateUse1HooksInterface.h)"
_ALLOCATOR = "`c10::DeviceAllocator` (c10/core/CachingDeviceAllocator.h)"
_CPP = "This needs C++."

PROBED: Mapping[str, Need] = MappingProxyType(
    {
        need.name: need
        for need in (
            Need(
                "a device guard",
                Capability.DEVICE,
                "PyTorch selects the card of each tensor with it, in copies, autograd and `torch.accelerator`.",
                f"Derive a class from {_GUARD}, and register it with `C10_REGISTER_GUARD_IMPL`.",
            ),
            Need(
                "hooks",
                Capability.DEVICE,
                "PyTorch asks them from the first `backward()` on, for generators and for pinned memory; a device "
                "without them is for inference.",
                f"Derive a class from {_HOOKS}, and register it with `RegisterPrivateUse1HooksInterface`.",
            ),
            Need(
                "waiting for the device",
                Capability.DEVICE,
                "`torch.accelerator.synchronize()` waits with it until all queued work is done, before a clock is "
                "stopped for instance.",
                f"Implement `synchronizeDevice` of {_GUARD}; a synchronous device returns at once. {_CPP}",
            ),
            Need(
                "memory with an address",
                Capability.MEMORY,
                "PyTorch finds the elements of views, of saved and of shared tensors by the address of their storage.",
                "Return the address from `allocate` of `c10::Allocator` (c10/core/Allocator.h).",
            ),
            Need(
                "gradients",
                Capability.AUTOGRAD,
                "Training computes them with `backward()`; a device without them is for inference.",
                f"Implement `hasPrimaryContext` of {_HOOKS}, which autograd asks first.",
            ),
            Need(
                "streams",
                Capability.STREAMS_EVENTS,
                "PyTorch runs copies beside kernels on them, in FSDP2 for instance.",
                f"Implement `getStream`, `getNewStream`, `exchangeStream` and `synchronizeStream` of {_GUARD}. {_CPP}",
            ),
            Need(
                "events",
                Capability.STREAMS_EVENTS,
                "PyTorch orders the work of several streams with them, and measures its time.",
                f"Implement `record`, `block`, `queryEvent`, `synchronizeEvent`, `destroyEvent` and `elapsedTime` of "
                f"{_GUARD}. {_CPP}",
            ),
            Need(
                "a generator",
                Capability.RNG,
                "PyTorch draws the random numbers of dropout and of initial weights from it, after "
                "`torch.manual_seed` the same ones again.",
                "Derive a class from `c10::GeneratorImpl` (c10/core/GeneratorImpl.h), and return it from "
                f"`getDefaultGenerator` and `getNewGenerator` of {_HOOKS}. {_CPP}",
            ),
            Need(
                "a generator's state",
                Capability.RNG,
                "Activation checkpoints and `torch.random.fork_rng` save and restore it, so that numbers repeat.",
                "Implement `get_state` and `set_state` of `c10::GeneratorImpl` (c10/core/GeneratorImpl.h).",
            ),
            Need(
                "pinned memory",
                Capability.PINNED_MEMORY,
                "A DataLoader with `pin_memory=True` copies its batches through it, and copies from it need not block.",
                f"Implement `getPinnedMemoryAllocator` and `isPinnedPtr` of {_HOOKS}, and register the allocator with "
                f"`REGISTER_HOST_ALLOCATOR` (ATen/core/CachingHostAllocator.h). {_CPP}",
            ),
            Need(
                "memory statistics",
                Capability.MEMORY,
                "`torch.accelerator.memory_allocated` and its neighbors tell how much memory a program takes.",
                f"Implement {_ALLOCATOR} with `getDeviceStats`, and register it with `REGISTER_ALLOCATOR` "
                f"(c10/core/Allocator.h). {_CPP}",
            ),
            Need(
                "fork detection",
                Capability.MULTIPROCESSING,
                "`torch.manual_seed` asks `_is_in_bad_fork` before it seeds the device, and does not seed it without.",
                "Implement `_is_in_bad_fork` in the device module; torch/random.py calls it.",
            ),
        )
    }
)
"""By the names that ``tests/device/probe.py`` uses."""


def _function(name: str, capability: Capability, needed_for: str, file: str) -> Need:
    return Need(name, capability, needed_for, f"Implement `{name}` in the device module; {file} calls it.")


_FORK_RNG = "Activation checkpoints and `torch.random.fork_rng` keep the device's random numbers with it."
_FSDP = "FSDP2 runs collectives beside kernels with it."
_FSDP_FILE = "torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py"
_REGISTRATION_FILE = "torch/utils/backend_registration.py"
_OF_MODULE: Mapping[str, Need] = MappingProxyType(
    {
        need.name: need
        for need in (
            _function(
                "is_available",
                Capability.DEVICE,
                "PyTorch asks it whether the device can be used, before it pins memory for saved tensors for instance.",
                "torch/autograd/graph.py",
            ),
            _function(
                "device_count",
                Capability.DEVICE,
                "`torch.random.fork_rng` keeps the numbers of so many.",
                "torch/random.py",
            ),
            _function(
                "current_device",
                Capability.DEVICE,
                "The generated methods of tensors and modules ask it which device is meant.",
                _REGISTRATION_FILE,
            ),
            _function(
                "set_device",
                Capability.DEVICE,
                "A device mesh gives each process of a distributed program its own device with it.",
                "torch/distributed/device_mesh.py",
            ),
            _function(
                "synchronize",
                Capability.DEVICE,
                "PyTorch waits with it until results are there, before FSDP collects a state dict for instance.",
                "torch/distributed/fsdp/_state_dict_utils.py",
            ),
            _function(
                "device",
                Capability.DEVICE,
                "Activation checkpoints select the device of each tensor with it.",
                "torch/utils/checkpoint.py",
            ),
            _function(
                "manual_seed_all",
                Capability.RNG,
                "`torch.manual_seed` seeds the device with it; without it, it only warns.",
                "torch/random.py",
            ),
            _function("get_rng_state", Capability.RNG, _FORK_RNG, "torch/random.py"),
            _function("set_rng_state", Capability.RNG, _FORK_RNG, "torch/random.py"),
            _function("Stream", Capability.STREAMS_EVENTS, _FSDP, _FSDP_FILE),
            _function("Event", Capability.STREAMS_EVENTS, _FSDP, _FSDP_FILE),
            _function(
                "stream", Capability.STREAMS_EVENTS, _FSDP, "torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py"
            ),
            _function("current_stream", Capability.STREAMS_EVENTS, _FSDP, _FSDP_FILE),
            _function(
                "get_amp_supported_dtype",
                Capability.AMP,
                "`torch.autocast` asks it which precisions the device computes in.",
                "torch/amp/autocast_mode.py",
            ),
        )
    }
)
"""By the names of what PyTorch calls on ``torch.<device>``."""
_OF_HOOKS: Mapping[str, Need] = MappingProxyType(
    {
        "getDefaultGenerator": PROBED["a generator"],
        "getNewGenerator": PROBED["a generator"],
        "getPinnedMemoryAllocator": PROBED["pinned memory"],
        "hasPrimaryContext": PROBED["gradients"],
    }
)
_METHODS = Need(
    "generated methods",
    Capability.REGISTRATION,
    "Programs move tensors and modules to the device with them, and ask whether they are there.",
    f"Call `torch.utils.generate_methods_for_privateuse1_backend(for_storage=True)` ({_REGISTRATION_FILE}).",
)
_OPERATOR = Need(
    "an operator",
    Capability.OPS,
    "Whatever PyTorch computes with this operator ends there.",
    "Register a kernel for the key `PrivateUse1` with `TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)` (torch/library.h), or "
    "with `torch.library` in Python. If the CPU has the operator and it makes no view, a fallback to it serves "
    "(ATen/native/CPUFallback.h).",
)
_CALL = Need(
    "every call of an operator",
    Capability.OPS,
    "PyTorch leaves out arguments that have a default, and calls operators with tensors of any strides.",
    "Let the kernel that is registered with `TORCH_LIBRARY_IMPL` (torch/library.h) take every call that the operator's "
    "schema permits.",
)
_CONVOLUTION = Need(
    "convolution",
    Capability.MODULES,
    "PyTorch computes every convolution with this operator on devices that it does not know.",
    "Register `aten::convolution_overrideable` and `aten::convolution_backward_overrideable` for the key `PrivateUse1` "
    "(torch/library.h).",
)
_PROCESS_GROUP = Need(
    "a process group",
    Capability.DISTRIBUTED,
    "`torch.distributed` runs collectives with it.",
    "Call `torch.distributed.Backend.register_backend` with `devices=` (torch/distributed/distributed_c10d.py).",
)
_DYNAMO = Need(
    "an interface of Dynamo",
    Capability.COMPILE,
    "`torch.compile` asks it for the current device and stream.",
    "Call `register_interface_for_device` (torch/_dynamo/device_interface.py).",
)
_INDUCTOR = Need(
    "a code generator",
    Capability.COMPILE,
    "Inductor, the default of `torch.compile`, writes kernels with it.",
    "Call `register_backend_for_device` (torch/_inductor/codegen/common.py).",
)
LONGEST = 4096
_IS_MISSING = re.compile(r"\btorch\.\w+\.(\w+) is missing|\bthe func `(\w+)` is missing")
_HOOK = re.compile(r"\bimplement `(\w+)`|\bBackend doesn[`']t support (\w+)\(\)")
_BY_WORDS: tuple[tuple[re.Pattern[str], Need], ...] = (
    (re.compile(r"is not linked with support for"), PROBED["a device guard"]),
    (re.compile(r"[Pp]lease register PrivateUse1HooksInterface"), PROBED["hooks"]),
    (re.compile(r"Backend doesn't support synchronizing all streams"), PROBED["waiting for the device"]),
    (re.compile(r"its memory has no addresses"), PROBED["memory with an address"]),
    (re.compile(r"is not a DeviceAllocator"), PROBED["memory statistics"]),
    (re.compile(r"[Bb]ackend doesn't support (?:events|synchronizing events|elapsedTime)"), PROBED["events"]),
    (
        re.compile(
            r"Backend doesn't support (?:create a new Stream|acquiring a|querying streams|synchronizing streams)"
        ),
        PROBED["streams"],
    ),
    (re.compile(r"generate_methods_for_privateuse1_backend makes it"), _METHODS),
    (re.compile(r"Tried to use AMP with the"), _OF_MODULE["get_amp_supported_dtype"]),
    (re.compile(r"convolution_overrideable not implemented"), _CONVOLUTION),
    (re.compile(r"no process group backend registered"), _PROCESS_GROUP),
    (re.compile(r"registers no interface with Dynamo"), _DYNAMO),
    (re.compile(r"no code generator of Inductor"), _INDUCTOR),
    (re.compile(r"\baten::\w+"), _OPERATOR),
    (re.compile(r"\b\w{1,99}: \w{1,99} (?:is required|must be contiguous)\b"), _CALL),
)


def need_of(said: str) -> Need | None:
    """The missing part behind the text of a refusal; None where the text names none.

    They are hostile: only the first :data:`LONGEST` characters are searched for words of PyTorch and of the suites.
    """
    return _need_of(said[:LONGEST])


@lru_cache(maxsize=1024)
def _need_of(said: str) -> Need | None:
    for pattern, needs in ((_IS_MISSING, _OF_MODULE), (_HOOK, _OF_HOOKS)):
        found = pattern.search(said)
        name = next(filter(None, found.groups()), "") if found is not None else ""
        if name in needs:
            return needs[name]
    return next((need for pattern, need in _BY_WORDS if pattern.search(said)), None)
