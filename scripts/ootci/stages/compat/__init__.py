"""compat: breaks predicted from a plugin's published wheel, without its hardware; it is read and never loaded."""

from .plugin import PluginWheel, read_plugin
from .predict import nothing_public, predict
from .torch_wheel import TorchWheel, read_torch

__all__ = ["PluginWheel", "TorchWheel", "nothing_public", "predict", "read_plugin", "read_torch"]
