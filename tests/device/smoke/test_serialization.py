"""Saving and loading."""

from __future__ import annotations

import io

import pytest
import torch

from harness.compare import assert_matches, numbers, put

pytestmark = pytest.mark.capability("serialization")


def test_tensor_is_saved_and_loaded(device: torch.device) -> None:
    """A tensor saved from the device is loaded onto the device."""
    stream = io.BytesIO()
    torch.save(put(numbers(3, 4), device), stream)
    stream.seek(0)
    assert_matches(torch.load(stream), numbers(3, 4), device)


def test_saved_tensor_is_loaded_on_the_cpu(device: torch.device) -> None:
    """`map_location="cpu"` loads it where there is no such device."""
    stream = io.BytesIO()
    torch.save({"weight": put(numbers(3, 4), device)}, stream)
    stream.seek(0)
    loaded = torch.load(stream, map_location="cpu")
    assert_matches(loaded["weight"], numbers(3, 4), torch.device("cpu"))
