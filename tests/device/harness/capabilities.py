"""The capabilities of a PrivateUse1 device: the areas of PyTorch that a plugin has to serve.

Every test proves exactly one of them, named by its marker ``capability``.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

CAPABILITIES: Mapping[str, str] = MappingProxyType(
    {
        "registration": "the name, the device module and the methods that are generated from the name",
        "autoload": "`import torch` alone makes the device known",
        "device": "current device, indices, counts, synchronisation, torch.accelerator",
        "memory": "allocation, statistics, out of memory",
        "pinned_memory": "page-locked host memory and non-blocking copies",
        "streams_events": "asynchronous execution and its order",
        "rng": "generators, seeds and states",
        "tensors": "factories, copies, printing, conversion",
        "views": "views that share storage",
        "mixed_devices": "refusing operands that live on different devices",
        "ops": "operator coverage and numerics",
        "autograd": "differentiation",
        "modules": "torch.nn and moving modules",
        "optimizers": "torch.optim in all its implementations",
        "amp": "autocast and gradient scaling",
        "serialization": "torch.save, torch.load and pickle",
        "checkpoint": "activation checkpoints and checkpoints of a training run",
        "dataloader": "feeding batches to the device",
        "multiprocessing": "spawned and forked workers",
        "quantization": "quantized tensors and flows",
        "sparse": "sparse layouts",
        "nested": "nested tensors",
        "distributed": "collectives and parallel training",
        "compile": "torch.compile and torch.export",
        "profiler": "torch.profiler and device events",
        "interop": "DLPack, numpy and array interfaces",
        "training": "whole training runs",
    }
)


def docs_page(capability: str) -> str:
    """The page about a capability: what is asked of a device, which interface to implement, what failure looks like.

    Its name in the documentation, since the suites do not know where that is published.
    """
    return f"capabilities/{capability}"
