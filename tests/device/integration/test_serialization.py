"""Saving and loading: what torch.save, torch.load and pickle do with tensors on the device."""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from harness.compare import assert_matches, assert_on, backward, numbers, put
from harness.outcomes import unsupported
from harness.process import run_python

pytestmark = pytest.mark.capability("serialization")

CPU = torch.device("cpu")


def _saved(content: object) -> io.BytesIO:
    stream = io.BytesIO()
    torch.save(content, stream)
    stream.seek(0)
    return stream


@pytest.mark.parametrize(
    "dtype",
    [torch.float64, torch.float16, torch.bfloat16, torch.int8, torch.int64, torch.bool, torch.complex64],
    ids=lambda dtype: str(dtype).removeprefix("torch."),
)
def test_every_dtype_survives(device: torch.device, dtype: torch.dtype) -> None:
    """A saved tensor comes back on the device with its dtype and elements."""
    values = numbers(3, 5, dtype=dtype)
    loaded = torch.load(_saved(put(values, device)))
    assert loaded.dtype == dtype
    assert_matches(loaded, values, device)


@pytest.mark.parametrize("weights_only", [True, False])
def test_both_unpicklers_load(device: torch.device, weights_only: bool) -> None:
    """Both the restricted and the full unpickler load a tensor onto the device."""
    assert_matches(torch.load(_saved(put(numbers(4), device)), weights_only=weights_only), numbers(4), device)


def _locations(device: torch.device) -> dict[str, object]:
    return {
        "string": str(device),
        "device": device,
        "function": lambda storage, location: storage.to(device=device),
        "mapping": {"cpu": str(device)},
    }


@pytest.mark.parametrize("form", ["string", "device", "function", "mapping"])
def test_map_location_to_the_device(device: torch.device, form: str) -> None:
    """A tensor saved on the cpu is loaded onto the device by every form of `map_location`."""
    loaded = torch.load(_saved({"weight": numbers(3, 4)}), map_location=_locations(device)[form])  # type: ignore[arg-type]
    assert_matches(loaded["weight"], numbers(3, 4), device)


@pytest.mark.parametrize("form", ["string", "device", "function"])
def test_map_location_to_the_cpu(device: torch.device, form: str) -> None:
    """A tensor saved on the device is loaded onto the cpu by every form of `map_location`."""
    location: dict[str, object] = {"string": "cpu", "device": CPU, "function": lambda storage, location: storage.cpu()}
    loaded = torch.load(_saved(put(numbers(3, 4), device)), map_location=location[form])  # type: ignore[arg-type]
    assert_matches(loaded, numbers(3, 4), CPU)


def test_memory_mapped_file(device: torch.device, tmp_path: Path) -> None:
    """A file of cpu tensors is loaded onto the device through `mmap=True`; a file of the device's tensors as well."""
    for name, content in (("cpu.pt", numbers(100)), ("device.pt", put(numbers(100), device))):
        torch.save(content, tmp_path / name)
        loaded = torch.load(tmp_path / name, mmap=True, map_location=device)
        assert_matches(loaded, numbers(100), device)
        loaded.add_(1)
        again = torch.load(tmp_path / name, mmap=True, map_location="cpu")
        assert_matches(again, numbers(100), CPU)


def test_shared_memory_stays_shared(device: torch.device) -> None:
    """Two views of one tensor still share memory after loading, and strides and offsets are kept."""
    base = put(numbers(4, 6), device)
    loaded = torch.load(_saved([base.t(), base[1:]]))
    assert loaded[0].stride() == (1, 6)
    assert loaded[1].storage_offset() == 6
    loaded[1].zero_()
    expected = numbers(4, 6)
    expected[1:] = 0
    assert_matches(loaded[0], expected.t(), device)


def test_conjugate_is_saved(device: torch.device) -> None:
    """A lazily conjugated tensor is loaded with its conjugated elements."""
    values = numbers(5, dtype=torch.complex64)
    assert_matches(torch.load(_saved(put(values, device).conj())), values.conj().resolve_conj(), device)


def test_parameter_and_gradient_flag(device: torch.device) -> None:
    """Parameters, `requires_grad` and empty tensors survive."""
    content = {
        "parameter": torch.nn.Parameter(put(numbers(3), device)),
        "flagged": put(numbers(2), device).requires_grad_(),
        "empty": torch.empty(0, 3, device=device),
    }
    loaded = torch.load(_saved(content))
    assert isinstance(loaded["parameter"], torch.nn.Parameter)
    assert loaded["parameter"].requires_grad
    assert loaded["flagged"].requires_grad
    assert loaded["empty"].shape == (0, 3)
    for tensor in loaded.values():
        assert_on(tensor, device)


def test_model_and_optimizer_state(device: torch.device) -> None:
    """The state of a model and of its optimizer is loaded by a fresh pair, which then takes the same step."""

    def make() -> tuple[torch.nn.Module, torch.optim.Optimizer]:
        model = torch.nn.Linear(4, 2).to(device)
        return model, torch.optim.Adam(model.parameters(), lr=0.1)

    def step(model: torch.nn.Module, optimizer: torch.optim.Optimizer) -> torch.Tensor:
        optimizer.zero_grad()
        backward(model(put(numbers(8, 4), device)).square())
        optimizer.step()
        weight = model.weight
        assert isinstance(weight, torch.Tensor)
        return weight.detach()

    model, optimizer = make()
    step(model, optimizer)
    stream = _saved({"model": model.state_dict(), "optimizer": optimizer.state_dict()})
    expected = step(model, optimizer).cpu()
    other_model, other_optimizer = make()
    loaded = torch.load(stream, map_location=device)
    other_model.load_state_dict(loaded["model"])
    other_optimizer.load_state_dict(loaded["optimizer"])
    assert_matches(step(other_model, other_optimizer), expected, device)


@pytest.mark.parametrize(
    "duplicate",
    [lambda x: pickle.loads(pickle.dumps(x)), copy.deepcopy, copy.copy],  # noqa: S301
    ids=["pickle", "deepcopy", "copy"],
)
def test_pickle_and_copy(device: torch.device, duplicate: Callable[[torch.Tensor], torch.Tensor]) -> None:
    """`pickle` and `copy` keep a tensor on the device."""
    assert_matches(duplicate(put(numbers(3, 3), device)), numbers(3, 3), device)


def test_notes_of_the_device_survive(device: torch.device) -> None:
    """What the device notes on a tensor is saved and loaded with it, and means nothing on the cpu.

    torch._utils.get_tensor_metadata gives what a device's functions for `BackendMeta` save
    (torch/csrc/jit/serialization/pickler_helper.h). The names are those that PyTorch's own reference keeps.
    """
    notes = {"version_number": True, "format_number": True}
    there = put(numbers(3, 3), device)
    assert torch._utils.get_tensor_metadata(there) == {}
    torch._utils.set_tensor_metadata(there, notes)
    if torch._utils.get_tensor_metadata(there) != notes:
        unsupported("the device keeps no notes of these names on its tensors")
    for legacy in (False, True):
        stream = io.BytesIO()
        torch.save([there, put(numbers(2), device)], stream, _use_new_zipfile_serialization=not legacy)
        stream.seek(0)
        noted, plain = torch.load(stream)
        assert_matches(noted, numbers(3, 3), device)
        assert torch._utils.get_tensor_metadata(noted) == notes
        assert torch._utils.get_tensor_metadata(plain) == {}
        stream.seek(0)
        assert torch._utils.get_tensor_metadata(torch.load(stream, map_location="cpu")[0]) == {}


def test_legacy_format(device: torch.device) -> None:
    """The format from before zip files is still written and read."""
    stream = io.BytesIO()
    torch.save(put(numbers(5), device), stream, _use_new_zipfile_serialization=False)
    stream.seek(0)
    assert_matches(torch.load(stream), numbers(5), device)


@pytest.mark.device_only("it has one device")
def test_missing_card_is_told(device: torch.device, device_name: str) -> None:
    """Loading onto a card that is not there is an error that names the card."""
    missing = torch.accelerator.device_count() + 7
    saved = _saved(put(numbers(3), device))
    with pytest.raises(RuntimeError, match=str(missing)):
        torch.load(saved, map_location=f"{device_name}:{missing}")


@pytest.mark.needs_devices(2)
def test_card_is_remembered_and_can_be_changed(device: torch.device, device_name: str) -> None:
    """A tensor is loaded onto the card that it was saved from, unless `map_location` names another."""
    second = torch.device(device_name, 1)
    content = put(numbers(4), second)
    assert_matches(torch.load(_saved(content)), numbers(4), second)
    assert_matches(torch.load(_saved(content), map_location={str(second): str(device)}), numbers(4), device)


def test_file_is_read_where_there_is_no_plugin(plugin_device: str, device: torch.device, tmp_path: Path) -> None:
    """A file saved on the device is loaded on the cpu by a torch that knows nothing of the device."""
    torch.save({"weight": put(numbers(3, 4), device)}, tmp_path / "weights.pt")
    code = """
import sys
import torch
print(torch.load(sys.argv[1], map_location="cpu")["weight"].sum(dtype=torch.float64).item())
"""
    said = run_python(code, str(tmp_path / "weights.pt"), environment={"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"})
    assert float(said) == pytest.approx(numbers(3, 4).sum(dtype=torch.float64).item())


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
