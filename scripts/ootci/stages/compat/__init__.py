"""compat: breaks predicted from a plugin's published wheel, without its hardware; it is read and never loaded."""

from .plugin import PluginWheel, read_plugin
from .predict import needs_of, predict, without_findings
from .source import source_check, unchecked
from .torch_wheel import TorchWheel, export_changes, read_torch
