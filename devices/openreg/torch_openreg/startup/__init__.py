"""What the plugin registers with PyTorch's Python side when torch is imported.

Each module here has a function ``register``. One that is left out takes its
feature with it, and nothing else needs to know.
"""

import importlib
import pkgutil


def register_all() -> None:
    for found in pkgutil.iter_modules(__path__):
        importlib.import_module(f"{__name__}.{found.name}").register()
