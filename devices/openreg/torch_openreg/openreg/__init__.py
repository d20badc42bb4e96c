"""``torch.openreg``: the device module that PyTorch's device-neutral code asks.

Each module in this folder adds the names in its ``__all__``. One that is left out
takes them with it, and nothing else needs to know.
"""

import importlib
import pkgutil
from collections.abc import Callable
from typing import Any

__all__: list[str] = []

# Names whose value is found out whenever somebody asks.
_computed: dict[str, Callable[[], Any]] = {}

for _found in pkgutil.iter_modules(__path__):
    _part = importlib.import_module(f"{__name__}.{_found.name}")
    for _name in _part.__all__:
        globals()[_name] = getattr(_part, _name)
    __all__ += _part.__all__
    _computed.update(getattr(_part, "COMPUTED", {}))


def __getattr__(name: str) -> Any:
    if name in _computed:
        return _computed[name]()
    raise AttributeError(f"module 'torch.openreg' has no attribute {name!r}")
