"""Defects of choosing a card."""

from __future__ import annotations

from typing import Any

import torch
from torch.utils._device import DeviceContext

from sabotage import DEVICE, broken
from sabotage.kernels import wrap


@broken("not-the-accelerator", "no place in `torch.accelerator`", "device")
def _not_the_accelerator() -> None:
    torch.accelerator.current_accelerator = lambda *_, **__: None
    torch.accelerator.is_available = lambda: False


@broken("unavailable", "a module that reports the device as missing", "device")
def _unavailable() -> None:
    torch.get_device_module(DEVICE).is_available = lambda: False


@broken("miscounted-cards", "a module that counts cards that are not there", "device")
def _miscounted() -> None:
    torch.get_device_module(DEVICE).device_count = lambda: 5


@broken("card-that-cannot-be-chosen", "a current card that does not change", "device", "registration", "streams_events")
def _cannot_be_chosen() -> None:
    torch.accelerator.set_device_index = lambda *_: None  # type: ignore[assignment]
    torch.get_device_module(DEVICE).set_device = lambda *_: None


@broken("missing-card-is-another", "a card that is not there, and tensors that land on another one", "device")
def _missing_card() -> None:
    def clamped(whole: Any, *arguments: Any, device: Any = None, **named: Any) -> Any:
        if device is not None and device.index is not None:
            device = torch.device(DEVICE, device.index % torch.accelerator.device_count())
        return whole(*arguments, device=device, **named)

    wrap("empty.memory_format", clamped)
    wrap("empty_strided", clamped)


@broken("missing-card-is-a-number", "errors about a card that is not there which only have a number", "device")
def _missing_card_is_a_number() -> None:
    def wordless(function: Any) -> Any:
        def call(*arguments: Any, **named: Any) -> Any:
            try:
                return function(*arguments, **named)
            except RuntimeError:
                raise RuntimeError("error 101") from None

        return call

    for where, name in ((torch, "empty"), (torch, "Stream"), (torch.accelerator, "set_device_index")):
        setattr(where, name, wordless(getattr(where, name)))


@broken("promises-every-dtype", "a list of supported dtypes in which all of them are", "device")
def _promises_every_dtype() -> None:
    every = {value for value in vars(torch).values() if isinstance(value, torch.dtype)}
    torch.accelerator.get_device_capability = lambda *_: {"supported_dtypes": every}


@broken("cards-confused", "copies between cards that lose their elements", "device", "autograd", "amp", "training")
def _cards_confused() -> None:
    def copy(whole: Any, source: Any, target: Any, *more: Any) -> Any:
        result = whole(source, target, *more)
        if source.device.type == target.device.type == DEVICE and source.device != target.device:
            target.zero_()
        return result

    wrap("_copy_from", copy)


@broken(
    "everything-on-one-card",
    "cards that are all the first one",
    "device",
    "memory",
    "rng",
    "serialization",
    "streams_events",
    "training",
    "registration",
    "amp",
)
def _one_card() -> None:
    def first(whole: Any, *arguments: Any, device: Any = None, **named: Any) -> Any:
        return whole(*arguments, device=torch.device(DEVICE, 0), **named)

    wrap("empty.memory_format", first)
    wrap("empty_strided", first)


@broken("synchronize-raises", "a `synchronize` that wants an argument", "device")
def _synchronize_raises() -> None:
    def synchronize(device: int) -> None:
        """Fail where torch's libraries call it."""

    torch.get_device_module(DEVICE).synchronize = synchronize


@broken("contexts-are-not-left", "contexts of cards that are not left", "device", "registration")
def _contexts_are_not_left() -> None:
    torch.accelerator.device_index.__exit__ = lambda *_: None  # type: ignore[method-assign,assignment]
    torch.get_device_module(DEVICE).device.__exit__ = lambda *_: None


@broken("one-card-for-all-threads", "a current card that all threads share", "device")
def _one_card_for_all_threads() -> None:
    current = [0]
    original = torch.accelerator.set_device_index

    def set_device_index(index: Any, /) -> None:
        original(index)
        current[0] = int(index)

    torch.accelerator.set_device_index = set_device_index  # type: ignore[assignment]
    torch.accelerator.current_device_index = lambda: current[0]


@broken("wandering-card", "products that leave their card the current one", "device", "autograd")
def _wandering_card() -> None:
    def product(whole: Any, left: Any, *more: Any, **named: Any) -> Any:
        torch.accelerator.set_device_index(left.device.index)
        return whole(left, *more, **named)

    wrap("mm", product)
    wrap("mul.Tensor", product)


@broken("default-device-ignored", "factories that ignore the default device", "device", "dataloader")
def _default_ignored() -> None:
    def ignore(self: Any, function: Any, types: Any, arguments: Any = (), named: Any = None) -> Any:
        return function(*arguments, **(named or {}))

    DeviceContext.__torch_function__ = ignore  # type: ignore[method-assign]


@broken("answers-for-another-card", "answers about a card that is not there", "device")
def _answers_for_another_card() -> None:
    module, count = torch.get_device_module(DEVICE), torch.accelerator.device_count()

    def clamped(function: Any) -> Any:
        def call(index: Any = None, *more: Any) -> Any:
            if isinstance(index, str):
                index = int(index.partition(":")[2] or 0)
            return function(index % count if isinstance(index, int) else index, *more)

        return call

    for name in ("synchronize", "set_device", "get_rng_state", "device"):
        setattr(module, name, clamped(getattr(module, name)))
    for name in ("synchronize", "memory_stats", "device_index", "current_stream"):
        setattr(torch.accelerator, name, clamped(getattr(torch.accelerator, name)))
    generator = torch.Generator

    def generator_of(index: int | None) -> torch.Generator:
        return generator() if index is None else generator(f"{DEVICE}:{index}")

    torch.Generator = clamped(generator_of)  # type: ignore[misc]
