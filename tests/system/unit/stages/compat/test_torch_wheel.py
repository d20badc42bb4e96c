"""What is read of a wheel of torch."""

from __future__ import annotations

import pytest

from ootci.stages.compat.torch_wheel import operators


@pytest.mark.parametrize(
    ("before", "after", "is_same"),
    [
        ("f(Tensor self, int a)", "f(Tensor self, *, SymInt b=1)", True),
        ("f(Tensor(a!) self, int[2] s=[0, 1])", "f(Tensor self, int[] s)", True),
        ("f(Tensor[] x, str m='a, b') -> (Tensor y, Tensor z)", "f(Tensor(a)[] x, str m) -> (Tensor, Tensor)", True),
        ("f(Tensor(a -> *) x) -> Tensor(a)[]", "f(Tensor x) -> Tensor[]", True),
        ("f(Tensor x, bool[3] mask)", "f(Tensor x, bool[2] mask)", False),
        ("f(Tensor x, int? a)", "f(Tensor x, int a)", False),
        ("f(Tensor x) -> Tensor", "f(Tensor x) -> Tensor[]", False),
        ("f(Tensor x, int a) -> Tensor", "f(Tensor x) -> Tensor", False),
    ],
)
def test_schemas_differ_where_registering_a_kernel_tells_them_apart(before: str, after: str, is_same: bool) -> None:
    """Torch 2.13.0 registers a kernel of ``int`` for an argument of ``SymInt``, and aborts for a missing one."""
    both = [operators(f"- func: {text if '->' in text else text + ' -> ()'}\n")["f"] for text in (before, after)]
    assert (both[0] == both[1]) is is_same, both
