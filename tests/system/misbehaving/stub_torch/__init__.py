"""A torch without weight: it knows device names and loads back ends, and that is all."""

import importlib.metadata
import os
import types

from torch import version

__version__ = version.__version__

_modules = {"cpu": types.SimpleNamespace(device_count=lambda: 1, is_available=lambda: True)}


class device:
    def __init__(self, name, index=None):
        kind, _, number = name.partition(":")
        if kind not in _modules:
            raise RuntimeError(f"Expected one of {', '.join(_modules)} device type at start of device string: {name}")
        self.type, self.index = kind, int(number) if number else index


def _register_device_module(name, module):
    _modules[name] = module
    globals()[name] = module


def get_device_module(name):
    return _modules[getattr(name, "type", name)]


def compiled_with_cxx11_abi():
    return True


class __config__:
    @staticmethod
    def show():
        return "a torch without weight"


class _C:
    @staticmethod
    def _get_privateuse1_backend_name():
        return next((name for name in _modules if name != "cpu"), "privateuseone")


class accelerator:
    @staticmethod
    def synchronize():
        return None


def _load_backends():
    if os.environ.get("TORCH_DEVICE_BACKEND_AUTOLOAD", "1") != "1":
        return
    for point in importlib.metadata.entry_points(group="torch.backends"):
        try:
            point.load()()
        except Exception as error:
            raise RuntimeError(f"Failed to load the backend extension: {point.name}") from error


_load_backends()
