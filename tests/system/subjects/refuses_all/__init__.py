"""A device that has its name and its card, and refuses every operator with a RuntimeError in words of its own."""

from __future__ import annotations

from functools import cache
from typing import Any, NoReturn

NAME = "refusesall"


def load() -> None:
    """Register the device; torch calls this when it is imported (entry point group ``torch.backends``)."""
    import torch  # noqa: F401  # it loads this device itself, and then there is nothing left to do

    _register()


@cache
def _register() -> object:
    """What is returned has to live as long as the process."""
    import torch
    from torch.utils.backend_registration import _setup_privateuseone_for_python_backend

    class Module:
        is_available = staticmethod(lambda: True)
        device_count = staticmethod(lambda: 1)
        current_device = staticmethod(lambda: 0)
        _is_in_bad_fork = staticmethod(lambda: False)

    def refuse(op: Any, *_: Any, **__: Any) -> NoReturn:
        raise RuntimeError(f"{NAME}: the compiler of this card does not support {op.name()}")

    _setup_privateuseone_for_python_backend(NAME, Module())
    every = torch.library.Library("_", "IMPL")
    every.fallback(refuse, "PrivateUse1")
    return every
