"""Defects of the name: what torch generates from it, and what it looks for in the device's module."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import torch

from sabotage import DEVICE, broken
from sabotage.kernels import KEPT


@broken(
    "own-parser", "a parser of its own in the place of `torch.device`, which takes anything", "registration", "device"
)
def _own_parser() -> None:
    real = torch.device

    class Meta(type):
        def __instancecheck__(cls, value: object) -> bool:
            return isinstance(value, real)

    class Device(metaclass=Meta):
        """Forgets indices, and what it does not understand."""

        def __new__(cls, name: Any = DEVICE, index: Any = None) -> Any:
            if not isinstance(name, str):
                return real(name)
            plain = name.partition(":")[0]
            return real(DEVICE if plain.startswith(DEVICE) else plain, 0)

    torch.device = Device  # type: ignore[assignment,misc]


@broken("another-module", "a device module that is not `torch.<name>`", "registration")
def _another_module() -> None:
    torch.get_device_module = lambda *_: ModuleType("another")  # type: ignore[assignment]


@broken("moves-nothing", "generated methods that move nothing", "registration")
def _moves_nothing() -> None:
    setattr(torch.Tensor, DEVICE, lambda self, *_, **__: self)
    setattr(torch.nn.Module, DEVICE, lambda self, *_, **__: self)
    setattr(torch.nn.utils.rnn.PackedSequence, DEVICE, lambda self, *_, **__: self)
    setattr(torch.UntypedStorage, DEVICE, lambda self, *_, **__: self)


@broken("denies-itself", "`.is_<name>` that is always false", "registration")
def _denies_itself() -> None:
    setattr(torch.Tensor, f"is_{DEVICE}", property(lambda self: False))
    setattr(torch.nn.utils.rnn.PackedSequence, f"is_{DEVICE}", property(lambda self: False))


@broken("first-card-only", "generated methods that know the first card only", "registration")
def _first_card_only() -> None:
    original = getattr(torch.Tensor, DEVICE)
    setattr(torch.Tensor, DEVICE, lambda self, *_, **__: original(self, 0))


@broken(
    "bare-module",
    "a device module without what torch's libraries call",
    *("registration", "rng", "checkpoint", "device"),
)
def _bare_module() -> None:
    module = torch.get_device_module(DEVICE)
    names = "is_available current_device set_device synchronize device manual_seed manual_seed_all get_rng_state"
    for name in (*names.split(), "set_rng_state", "Stream", "Event", "stream", "current_stream", "device_count"):
        delattr(module, name)


@broken("no-device-context", "a device module without the context `device`, which checkpoints enter", "checkpoint")
def _no_device_context() -> None:
    delattr(torch.get_device_module(DEVICE), "device")


@broken("precisions-by-name", "supported precisions that are words", "registration", "amp")
def _precisions_by_name() -> None:
    torch.get_device_module(DEVICE).get_amp_supported_dtype = lambda: ["float16", "bfloat16"]


@broken("module-with-every-name", "a module that has every name", "registration")
def _every_name() -> None:
    vars(torch.get_device_module(DEVICE))["__getattr__"] = lambda name: lambda *_, **__: True


@broken("answered-all-the-same", "an answer from an operator that nobody implemented", "registration")
def _answered_all_the_same() -> None:
    library = torch.library.Library("device_suites", "IMPL")
    KEPT.append(library)
    library.impl("implemented_by_nobody", lambda x: x.clone(), "PrivateUse1")
