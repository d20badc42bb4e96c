"""What a device lacks: which words name it, and that every sentence about it can be read and followed."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from ootci.model.need import PROBED, need_of

SUITES = Path(__file__).parents[3] / "device"
NO_KERNEL = "blocked by aten::add.out: Could not run 'aten::add.out' with arguments from the 'PrivateUse1' backend."
NOT_REGISTERED = (
    "NotImplementedError: You should register `PrivateUse1HooksInterface`by `Register` and implement `{}` at"
)
ALLOCATOR = "RuntimeError: device_allocator INTERNAL ASSERT FAILED. Allocator for dev is not a DeviceAllocator"


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("torch.dev.synchronize is missing", "synchronize"),
        ("torch.dev.nobody_calls_it is missing", None),
        (
            "Tensor.is_dev is missing: torch.utils.generate_methods_for_privateuse1_backend makes it",
            "generated methods",
        ),
        (NOT_REGISTERED.format("getNewGenerator"), "a generator"),
        (NOT_REGISTERED.format("getPinnedMemoryAllocator"), "pinned memory"),
        (NOT_REGISTERED.format("hasPrimaryContext"), "gradients"),
        (NOT_REGISTERED.format("getNothing"), None),
        ("RuntimeError: Please register PrivateUse1HooksInterface by `Register` first.", "hooks"),
        ("RuntimeError: PyTorch is not linked with support for dev devices", "a device guard"),
        ("RuntimeError: Backend doesn`t support getDefaultGenerator()", "a generator"),
        ("RuntimeError: Backend doesn't support synchronizing all streams on device.", "waiting for the device"),
        ("RuntimeError: Backend doesn't support synchronizing events.", "events"),
        ("RuntimeError: Backend doesn't support create a new Stream.", "streams"),
        (ALLOCATOR, "memory statistics"),
        ("tensors of the device are opaque: its memory has no addresses", "memory with an address"),
        ("AssertionError: Tried to use AMP with the `dev` backend, but it has not", "get_amp_supported_dtype"),
        ("NotImplementedError: convolution_overrideable not implemented.", "convolution"),
        ("torch has no process group backend registered for this device", "a process group"),
        ("the plugin registers no interface with Dynamo: unregistered", "an interface of Dynamo"),
        ("no code generator of Inductor is registered for this device", "a code generator"),
        (NO_KERNEL, "an operator"),
        ("RuntimeError: dev: the compiler of this card does not support aten::sum", "an operator"),
        ("RuntimeError: as_strided: storage_offset is required", "every call of an operator"),
        ("RuntimeError: _copy_from: src must be contiguous", "every call of an operator"),
        ("RuntimeError: not supported on Tuesdays", None),
        ("", None),
        pytest.param("a" * 10_000_000, None, id="ten megabytes"),
    ],
)
def test_words_name_what_is_missing(said: str, name: str | None) -> None:
    need = need_of(said)
    assert (need.name if need else None) == name
    if need is not None:
        assert all(sentence[-1] == "." and "{" not in sentence for sentence in (need.needed_for, need.implement))


def test_the_probe_asks_for_what_the_table_explains() -> None:
    tree = ast.parse((SUITES / "probe.py").read_text(encoding="utf-8"))
    asked = [
        [key.value for key in node.value.keys if isinstance(key, ast.Constant)]
        for node in ast.walk(tree)
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and isinstance(node.value, ast.Dict)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name) and target.id in ("WHOLES", "asks")
    ]
    assert [name for names in asked for name in names] == list(PROBED)


def test_each_function_that_the_probe_looks_for_has_its_purpose() -> None:
    tree = ast.parse((SUITES / "probe.py").read_text(encoding="utf-8"))
    (functions,) = (
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and [ast.unparse(target) for target in node.targets] == ["FUNCTIONS"]
    )
    names = [node.value for node in ast.walk(functions) if isinstance(node, ast.Constant)]
    assert len(names) > 10
    assert [name for name in names if need_of(f"torch.dev.{name} is missing") is None] == []
