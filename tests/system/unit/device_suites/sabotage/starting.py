"""Defects of a process that starts: before torch is imported, while it is, and when it ends. Imports no torch."""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import os
import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from typing import Any

from sabotage import Variant, add, broken, broken_at_start

PLUGIN = "torch_openreg"


@broken_at_start(
    "no-entry-point", "an installation without its entry point", "autoload", "multiprocessing", "registration"
)
def _no_entry_point() -> None:
    original = importlib.metadata.entry_points

    def entry_points(**wanted: Any) -> Any:
        found = original(**wanted)
        return () if wanted.get("group") == "torch.backends" else found

    importlib.metadata.entry_points = entry_points  # type: ignore[assignment]


class _Importing(MetaPathFinder):
    """Sees every import; the two defects below need to know what came first."""

    def __init__(self, forced: bool) -> None:
        self._forced = forced

    def find_spec(self, fullname: str, path: object, target: object = None) -> ModuleSpec | None:
        if not self._forced and fullname == PLUGIN and "torch" not in sys.modules:
            raise ImportError(f"cannot import name '_C' from partially initialized module '{PLUGIN}'")
        if self._forced and fullname == "torch":
            sys.meta_path.remove(self)
            spec = importlib.util.find_spec("torch")
            if spec is not None and spec.loader is not None:
                execute = spec.loader.exec_module

                def exec_module(module: Any) -> None:
                    execute(module)
                    importlib.import_module(PLUGIN)

                spec.loader.exec_module = exec_module  # type: ignore[method-assign]
            return spec
        return None


@broken_at_start("circular-import", "a package that cannot be imported before torch", "autoload")
def _circular_import() -> None:
    sys.meta_path.insert(0, _Importing(forced=False))


@broken_at_start(
    "autoload-forced", "an installation that loads itself though autoload is off", "autoload", "serialization"
)
def _autoload_forced() -> None:
    sys.meta_path.insert(0, _Importing(forced=True))


add(
    "import-fails",
    Variant(
        "a plugin whose import raises (the reference's own fault switch)",
        ("autoload", "multiprocessing", "registration", "dataloader"),
        environment={"OPENREG_FAULT": "import"},
        fresh=True,
    ),
)


@broken(
    "aborts-at-exit",
    "a process that aborts when it ends",
    "multiprocessing",
    "autoload",
    "registration",
    "serialization",
    fresh=True,
)
def _aborts_at_exit() -> None:
    import atexit

    atexit.register(os.abort)


@broken("initialised-at-import", "a driver that starts when torch is imported", "multiprocessing", fresh=True)
def _initialised_at_import() -> None:
    import torch

    torch.ones(1, device="openreg").cpu()


@broken("silent-fork", "a forked process that gets an error without a reason", "multiprocessing", fresh=True)
def _silent_fork() -> None:
    from sabotage.kernels import wrap

    def forked() -> None:
        def refuse(*_: Any, **__: Any) -> Any:
            raise RuntimeError("internal error 719")

        wrap("empty.memory_format", refuse)

    os.register_at_fork(after_in_child=forked)


@broken("changed-on-the-way", "parameters that another process gets one larger", "multiprocessing", fresh=True)
def _changed_on_the_way() -> None:
    from multiprocessing.reduction import ForkingPickler

    import torch

    original = ForkingPickler._extra_reducers[torch.nn.Parameter]  # type: ignore[attr-defined]
    ForkingPickler.register(torch.nn.Parameter, lambda sent: original(torch.nn.Parameter(sent.detach() + 1)))


@broken("imports-dynamo", "a plugin that imports Dynamo with torch", "compile", fresh=True)
def _imports_dynamo() -> None:
    importlib.import_module("torch._dynamo")


@broken("miscounted-for-dynamo", "an interface for Dynamo that counts no card", "compile", fresh=True)
def _miscounted_for_dynamo() -> None:
    from torch._dynamo.device_interface import get_interface_for_device

    get_interface_for_device("openreg").device_count = lambda: 0  # type: ignore[assignment]


@broken("second-name", "a registration that takes any name", "registration", fresh=True)
def _second_name() -> None:
    import torch

    torch.utils.rename_privateuse1_backend = lambda name: None
