"""Defects of saving and loading."""

from __future__ import annotations

import io
from typing import Any

import torch

from sabotage import DEVICE, broken


def _loading(change: Any) -> None:
    original = torch.load
    torch.load = lambda *arguments, **named: original(*arguments, **change(named))


@broken("loads-on-the-cpu", "`torch.load` that leaves tensors on the cpu", "serialization")
def _on_the_cpu() -> None:
    _loading(lambda named: {**named, "map_location": "cpu"})


@broken("loads-on-the-device", "`torch.load` that ignores where tensors should go", "serialization", "checkpoint")
def _on_the_device() -> None:
    _loading(lambda named: {**named, "map_location": f"{DEVICE}:0"})


@broken("loads-where-it-was", "`torch.load` that puts tensors where they were", "serialization")
def _where_it_was() -> None:
    _loading(lambda named: {**named, "map_location": None})


@broken("saves-copies", "saved views that become separate tensors", "serialization")
def _saves_copies() -> None:
    original = torch.save

    def save(content: Any, *arguments: Any, **named: Any) -> None:
        own = [part.contiguous().clone() for part in content] if isinstance(content, list) else content
        original(own, *arguments, **named)

    torch.save = save


@broken("saves-plain-numbers", "saved tensors that lose flags, classes, conjugates and signs", "serialization")
def _plain_numbers() -> None:
    original = torch.save

    def plain(tensor: Any) -> Any:
        return tensor.detach().abs() if isinstance(tensor, torch.Tensor) and tensor.dtype is not torch.bool else tensor

    def save(content: Any, *arguments: Any, **named: Any) -> None:
        changed = {k: plain(v) for k, v in content.items()} if isinstance(content, dict) else plain(content)
        original(changed, *arguments, **named)

    torch.save = save


@broken("saves-no-notes", "files that lose what the device notes on a tensor", "serialization")
def _no_notes() -> None:
    import torch._utils

    original, notes = torch.save, torch._utils.get_tensor_metadata

    def save(content: Any, *arguments: Any, **named: Any) -> None:
        torch._utils.get_tensor_metadata = lambda tensor: {}
        try:
            original(content, *arguments, **named)
        finally:
            torch._utils.get_tensor_metadata = notes

    torch.save = save


@broken("saves-itself", "files that can be read with the plugin only", "serialization", fresh=True)
def _saves_itself() -> None:
    original = torch.save

    def save(content: Any, *arguments: Any, **named: Any) -> None:
        original([torch.get_device_module(DEVICE).device, content], *arguments, **named)

    torch.save = save


@broken("missing-card-at-load", "loading onto a card that is not there, in silence", "serialization")
def _missing_card() -> None:
    def clamp(named: dict[str, Any]) -> dict[str, Any]:
        where = named.get("map_location")
        missing = isinstance(where, str) and where.startswith(f"{DEVICE}:") and int(where.split(":")[1]) > 1
        return {**named, "map_location": DEVICE} if missing else named

    _loading(clamp)


@broken("card-not-remembered", "files that forget the card", "serialization")
def _not_remembered() -> None:
    _loading(lambda named: {"map_location": {f"{DEVICE}:1": f"{DEVICE}:0"}, **named})


@broken("files-are-changed", "files that change with the tensors loaded from them", "serialization")
def _files_are_changed() -> None:
    original, kept = torch.load, {}

    def load(file: Any, *arguments: Any, **named: Any) -> Any:
        if isinstance(file, io.BytesIO):
            return original(file, *arguments, **named)
        if file not in kept:
            kept[file] = original(file, *arguments, **named)
        return kept[file]

    torch.load = load


@broken("distributed-checkpoint-loads-nothing", "a distributed checkpoint that loads nothing", "checkpoint")
def _loads_nothing() -> None:
    from torch.distributed.checkpoint.default_planner import DefaultLoadPlanner

    DefaultLoadPlanner.commit_tensor = lambda self, item, tensor: None  # type: ignore[method-assign]
    DefaultLoadPlanner.resolve_tensor = lambda self, item: torch.empty_like(self.lookup_tensor(item.dest_index))  # type: ignore[method-assign]


@broken("checkpoint-without-recomputing", "activation checkpoints that draw again", "checkpoint")
def _draws_again() -> None:
    import torch.utils.checkpoint as module

    module.set_device_states = lambda *_, **__: None  # type: ignore[assignment]
