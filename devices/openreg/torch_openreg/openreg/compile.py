"""What inductor asks the device module: the classes that generate code for it."""

import importlib
from functools import partial
from typing import Any

__all__: list[str] = []


def _from_inductor(name: str) -> Any:
    # Importing it imports inductor.
    return getattr(importlib.import_module("torch_openreg.inductor"), name)


COMPUTED = {
    name: partial(_from_inductor, name)
    for name in ("Scheduling", "PythonWrapperCodegen", "CppWrapperCodegen", "WrapperFxCodegen")
}
