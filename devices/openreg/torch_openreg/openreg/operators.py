"""Which operators ran with a kernel of their own, and which on the fallback."""

from torch_openreg import _C

__all__ = ["operator_counts", "reset_operator_counts"]


def operator_counts() -> dict[str, dict[str, int]]:
    """Calls since the last reset: ``{"aten::add.out": {"native": 3, "fallback": 0}}``."""
    return _C.operator_counts()


def reset_operator_counts() -> None:
    _C.reset_operator_counts()
