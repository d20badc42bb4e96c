"""Defects of random numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import torch

from sabotage import DEVICE, broken
from sabotage.kernels import drawing, spoil, wrap


def _around_every_draw(around: Any) -> None:
    for name in (*drawing(), "native_dropout"):
        wrap(name, around)


def _without(values: Iterable[Any]) -> list[Any]:
    """The same values, with the default generator for every other one."""
    return [None if isinstance(value, torch.Generator) else value for value in values]


@broken("generator-ignored", "draws that ignore the generator that they are given", "rng")
def _generator_ignored() -> None:
    def draw(whole: Any, *arguments: Any, **named: Any) -> Any:
        return whole(*_without(arguments), **dict(zip(named, _without(named.values()), strict=True)))

    _around_every_draw(draw)


@broken("leaking-generator", "draws that move the cpu's generator as well", "rng", "checkpoint")
def _leaking_generator() -> None:
    def draw(whole: Any, *arguments: Any, **named: Any) -> Any:
        torch.rand(1)
        return whole(*arguments, **named)

    _around_every_draw(draw)


@broken("stuck-generator", "draws that are always the same", "rng", "checkpoint")
def _stuck_generator() -> None:
    def draw(whole: Any, *arguments: Any, **named: Any) -> Any:
        torch.get_device_module(DEVICE).default_generator(0).manual_seed(1)
        return whole(*_without(arguments), **dict(zip(named, _without(named.values()), strict=True)))

    # Not every draw: those that reject numbers would draw the same one for ever.
    for name in ("uniform_", "bernoulli_.float", "exponential_", "native_dropout"):
        wrap(name, draw)


@broken("seed-ignored", "draws that no seed decides", "rng", "checkpoint")
def _seed_ignored() -> None:
    def draw(whole: Any, *arguments: Any, **named: Any) -> Any:
        torch.get_device_module(DEVICE).default_generator(0).seed()
        return whole(*_without(arguments), **dict(zip(named, _without(named.values()), strict=True)))

    _around_every_draw(draw)


@broken("narrow-numbers", "random numbers that are a tenth too small", "rng", "modules")
def _narrow_numbers() -> None:
    def narrow(tensor: torch.Tensor) -> None:
        if tensor.is_floating_point():
            tensor.mul_(0.4)

    spoil(("normal_", "uniform_", "exponential_", "randn", "rand"), narrow)


@broken("forgotten-state", "a state of the generator that cannot be set", "rng", "checkpoint")
def _forgotten_state() -> None:
    torch.get_device_module(DEVICE).set_rng_state = lambda *_, **__: None


@broken("generator-without-memory", "a generator that forgets its state, its seed and its copies", "rng")
def _without_memory() -> None:
    class Generator(torch.Generator):
        def set_state(self, state: torch.Tensor) -> Any:
            return self

        def initial_seed(self) -> int:
            return 0

        def clone_state(self) -> Any:
            return Generator(self.device).manual_seed(99)

    torch.Generator = Generator  # type: ignore[misc]


@broken("cards-draw-together", "one source of random numbers for all cards", "rng")
def _cards_draw_together() -> None:
    def draw(whole: Any, *arguments: Any, **named: Any) -> Any:
        for index in range(torch.accelerator.device_count()):
            torch.get_device_module(DEVICE).default_generator(index).manual_seed(
                torch.random.initial_seed() + len(seen)
            )
        seen.append(1)
        return whole(*arguments, **named)

    seen: list[int] = []
    _around_every_draw(draw)


@broken("fork-rng-forgets", "`fork_rng` that restores nothing", "rng")
def _fork_rng_forgets() -> None:
    import contextlib

    torch.random.fork_rng = lambda *_, **__: contextlib.nullcontext()  # type: ignore[assignment]
