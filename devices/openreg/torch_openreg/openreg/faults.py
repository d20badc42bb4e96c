"""The fault switch at run time; see the README for the forms of a fault."""

from torch_openreg import _C

__all__ = ["set_fault"]


def set_fault(spec: str) -> None:
    """Arm a fault such as ``"out-of-memory@malloc:3"``; ``""`` switches it off.

    Counting starts anew with each call.
    """
    _C.set_fault(spec)
