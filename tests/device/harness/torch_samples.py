"""Samples of torch's lists at their real price. Needs torch and numpy.

For each iterator over samples torch searches the stack for the ``unittest`` that runs, by reading the sources of all
that is on it, and before each sample it seeds every kind of device that it knows, and keeps the stack of each seed
(``TrackedInputIter`` in torch/testing/_internal/common_utils.py). Under pytest no such test is found, and only the cpu
and the device under test draw numbers: it was nine tenths of the time of comparing an operator's samples.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch

SEED = 1234
"""Torch's own, for a caller that names none."""

_MODULES = ("torch.testing._internal.common_utils", "torch.testing._internal.opinfo.core")


@contextmanager
def plainly(device: torch.device | None = None) -> Iterator[None]:
    """Let torch's lists make the same samples as ever, and nothing but them.

    Both functions are no public interface: where this torch has none of that name, samples cost what they cost.

    Args:
        device: where samples are made, if not on the cpu alone.

    """
    ours: dict[str, Callable[..., object]] = {"extract_test_fn": lambda: None, "set_rng_seed": _seeding(device)}
    with ExitStack() as stack:
        for module in filter(None, map(sys.modules.get, _MODULES)):
            for name in ours.keys() & vars(module).keys():
                stack.callback(setattr, module, name, getattr(module, name))
                setattr(module, name, ours[name])
        yield


def _seeding(device: torch.device | None) -> Callable[..., None]:
    # Its absence was told by then, see torch_lists.
    import numpy

    seed_device: Any = None
    if device is not None and device.type != "cpu":
        seed_device = getattr(torch.get_device_module(device), "manual_seed_all", None)

    def seed(number: int | None = None) -> None:
        number = SEED if number is None else number
        torch.default_generator.manual_seed(number)
        if seed_device is not None:
            seed_device(number)
        random.seed(number)
        numpy.random.seed(number)

    return seed
