"""The openreg device for PyTorch: a simulated accelerator on the PrivateUse1 key.

Importing torch is enough: the entry point in the group ``torch.backends`` calls
:func:`_autoload`. Importing this package first, or explicitly with
``TORCH_DEVICE_BACKEND_AUTOLOAD=0``, works as well.
"""

import importlib.util
import os
from pathlib import Path

_registered = False


def _autoload() -> None:
    """Register the device once.

    Defined before torch is imported: when this package comes first, torch's own
    autoload finds it half imported and needs this name already.
    """
    global _registered
    if _registered:
        return
    if os.environ.get("OPENREG_FAULT", "").split("@")[0] == "import":
        raise ImportError("openreg: the import fails because OPENREG_FAULT asks for it")
    if importlib.util.find_spec("torch_openreg._C") is None:
        raise ImportError(
            f"openreg: {Path(__file__).parent} holds the sources, not the built package. "
            "Install it, and start Python in another folder: the current one comes first when modules are looked for"
        )
    _registered = True
    from torch_openreg._registration import register

    register()


import torch  # noqa: E402, F401

_autoload()
