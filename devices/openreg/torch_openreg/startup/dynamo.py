"""Dynamo's device interface, once Dynamo is there.

Dynamo asks no plugin for its interface: it has to be registered. To import
Dynamo for that would make every ``import torch`` slower, so the registration
waits for the module ``torch._dynamo.device_interface``.
"""

import importlib
import importlib.abc
import importlib.machinery
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Optional

DYNAMO = "torch._dynamo.device_interface"


class _Loader(importlib.abc.Loader):
    """Loads the module as its own loader would, and then ours that registers with it."""

    def __init__(self, loader: importlib.abc.Loader) -> None:
        self.loader = loader

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> Optional[ModuleType]:
        return self.loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self.loader.exec_module(module)
        importlib.import_module("torch_openreg.device_interface")


class _Finder(importlib.abc.MetaPathFinder):
    """Looks out for Dynamo's module, and only for that."""

    def find_spec(
        self, name: str, path: Optional[Sequence[str]], target: Optional[ModuleType] = None
    ) -> Optional[importlib.machinery.ModuleSpec]:
        if name != DYNAMO:
            return None
        sys.meta_path.remove(self)
        spec = importlib.machinery.PathFinder.find_spec(name, path, target)
        if spec is not None and spec.loader is not None:
            spec.loader = _Loader(spec.loader)
        return spec


def register() -> None:
    if DYNAMO in sys.modules:
        importlib.import_module("torch_openreg.device_interface")
    else:
        sys.meta_path.insert(0, _Finder())
