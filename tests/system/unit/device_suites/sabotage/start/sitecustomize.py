"""Break the device in every Python that is started while the variable SABOTAGE names a variant."""

from __future__ import annotations

import importlib.util
import os
import sys
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType


class _Breaking(Loader):
    """Loads torch as ever, and then breaks the device that came with it."""

    def __init__(self, loader: Loader, name: str) -> None:
        self._loader, self._name = loader, name

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        self._loader.exec_module(module)
        import sabotage

        try:
            module.device(sabotage.DEVICE)
        except RuntimeError:
            return  # the plugin was left out on purpose
        apply = sabotage.load()[self._name].apply
        if apply is not None:
            apply()


class _Finder(MetaPathFinder):
    """Finds torch, once."""

    def __init__(self, name: str) -> None:
        self._name = name

    def find_spec(self, fullname: str, path: object, target: ModuleType | None = None) -> ModuleSpec | None:
        if fullname != "torch":
            return None
        sys.meta_path.remove(self)
        spec = importlib.util.find_spec("torch")
        if spec is not None and spec.loader is not None:
            spec.loader = _Breaking(spec.loader, self._name)
        return spec


def _break(name: str) -> None:
    sys.path.append(str(Path(__file__).parents[2]))
    import sabotage
    import sabotage.starting  # imports no torch, unlike its siblings

    variant = sabotage.VARIANTS.get(name)
    if variant is not None and variant.at_start is not None:
        variant.at_start()
    else:
        sys.meta_path.insert(0, _Finder(name))


if os.environ.get("SABOTAGE"):
    _break(os.environ["SABOTAGE"])
