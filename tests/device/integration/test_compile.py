"""torch.compile and torch.export with tensors on the device."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from torch._dynamo.testing import CompileCounter

from harness.compare import assert_matches, backward, numbers, put
from harness.device import device_count, has_generator
from harness.outcomes import unsupported
from harness.process import run_python

pytestmark = [
    pytest.mark.capability("compile"),
    # Warnings of torch's own compiler about itself are not about the device.
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]

backends = pytest.mark.parametrize("backend", ["eager", "aot_eager"])

Compute = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]

FUNCTIONS: dict[str, Compute] = {
    "pointwise": lambda a, b: (a.sin() * b + 1).relu(),
    "matmul": lambda a, b: torch.softmax(a @ b.t(), dim=1),
    "views": lambda a, b: a.t().reshape(-1)[::2] + b.flatten()[::2],
    "in_place": lambda a, b: a.clone().mul_(b).add_(1),
    "control_flow": lambda a, b: a * 2 if a.shape[0] > 2 else b,
    "factory": lambda a, b: a + torch.arange(a.shape[1], device=a.device) * torch.zeros_like(b),
    "moves": lambda a, b: a.cpu().to(b.device) * b,
}


@pytest.fixture(autouse=True)
def _forgotten() -> Iterator[None]:
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


@backends
@pytest.mark.parametrize("name", FUNCTIONS)
def test_compiled_function_equals_eager(device: torch.device, name: str, backend: str) -> None:
    """A compiled function gives the eager cpu's result and gradients, with its results on the device."""
    function = FUNCTIONS[name]
    here = [numbers(4, 4, seed=seed).requires_grad_() for seed in (1, 2)]
    there = [put(numbers(4, 4, seed=seed), device).requires_grad_() for seed in (1, 2)]
    expected = function(here[0], here[1])
    result = torch.compile(function, backend=backend)(there[0], there[1])
    assert_matches(result, expected, device)
    backward(expected)
    backward(result)
    for seen, reference in zip(there, here, strict=True):
        if reference.grad is not None:
            assert seen.grad is not None
            assert_matches(seen.grad, reference.grad, device)


def _model() -> torch.nn.Module:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(6, 8), torch.nn.LayerNorm(8), torch.nn.GELU(), torch.nn.Linear(8, 2))


@backends
def test_compiled_model_trains(device: torch.device, backend: str) -> None:
    """A compiled model takes the training steps of the eager one on the cpu."""

    def train(
        model: torch.nn.Module, run: Callable[..., Any], where: torch.device, dtype: torch.dtype = torch.float32
    ) -> list[torch.Tensor]:
        optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        for step in range(3):
            optimizer.zero_grad()
            run(put(numbers(5, 6, seed=step).to(dtype), where)).square().mean().backward()
            optimizer.step()
        return list(model.parameters())

    here, exactly, there = _model(), _model().double(), _model().to(device)
    compiled = torch.compile(there, backend=backend)
    expected = train(here, here, torch.device("cpu"))
    exact = train(exactly, exactly, torch.device("cpu"), torch.float64)
    for seen, reference, value in zip(train(there, compiled, device), expected, exact, strict=True):
        assert_matches(seen, reference, device, exact=value)


def test_no_compilation_without_need(device: torch.device) -> None:
    """The same shapes are compiled once; other shapes once more, as dynamic ones, and then no more."""
    counter = CompileCounter()
    compiled = torch.compile(lambda a: a.sin() + a.shape[0], backend=counter)
    for _ in range(3):
        compiled(put(numbers(4, 3), device))
    assert counter.frame_count == 1
    for size in (5, 6, 7, 8):
        values = numbers(size, 3)
        assert_matches(compiled(put(values, device)), values.sin() + size, device)
    assert counter.frame_count == 2


@pytest.mark.device_only("it is the only device then")
def test_device_is_part_of_the_guard(device: torch.device) -> None:
    """A function compiled for the device is not used for a cpu tensor, and the other way round."""
    compiled = torch.compile(lambda a: a * 2 + torch.ones(3, device=a.device), backend="eager")
    assert_matches(compiled(put(numbers(3), device)), numbers(3) * 2 + 1, device)
    assert_matches(compiled(numbers(3)), numbers(3) * 2 + 1, torch.device("cpu"))
    assert_matches(compiled(put(numbers(3), device)), numbers(3) * 2 + 1, device)


def test_whole_graph(device: torch.device) -> None:
    """A function with factories, the device's name and random numbers on the device has no graph break."""
    draws = has_generator(device.type)

    def function(values: torch.Tensor) -> torch.Tensor:
        noise = torch.nn.functional.dropout(torch.ones_like(values), 0.5, training=draws)
        return values * 0 + noise * 0 + torch.full((3,), 2.0, device=values.device)

    result = torch.compile(function, backend="aot_eager", fullgraph=True)(put(numbers(3), device))
    assert_matches(result, torch.full((3,), 2.0), device)


def test_export(device: torch.device) -> None:
    """A model on the device is exported, with a dynamic batch, and the exported program runs on the device."""
    model = _model().to(device).eval()
    batch = torch.export.Dim("batch", min=2, max=64)
    program = torch.export.export(model, (put(numbers(4, 6), device),), dynamic_shapes=({0: batch},))
    expected = _model().eval()(numbers(7, 6))
    assert_matches(program.module()(put(numbers(7, 6), device)), expected.detach(), device)


def test_device_interface_is_there_from_the_start(device_name: str) -> None:
    """Dynamo knows the device's interface right after `import torch`, which need not import Dynamo for it."""
    code = """
import sys
import torch
print("torch._dynamo" in sys.modules)
from torch._dynamo.device_interface import get_interface_for_device
try:
    interface = get_interface_for_device(sys.argv[1])
except NotImplementedError as error:
    print("unregistered:", error)
else:
    print(interface.is_available(), interface.device_count() if sys.argv[1] != "cpu" else 1)
"""
    imported, said = run_python(code, device_name).strip().splitlines()
    if said.startswith("unregistered:"):
        unsupported(f"the plugin registers no interface with Dynamo: {said}")
    assert said == f"True {device_count(device_name)}"
    if imported != "False":
        unsupported("optional: the plugin imports Dynamo, and so makes every `import torch` slower")


def test_inductor(device: torch.device, device_name: str) -> None:
    """The default backend generates code for the device, and it gives the cpu's results."""
    if device_name == "cpu":
        if not any(map(shutil.which, ("c++", "g++", "clang++"))):
            pytest.skip("Inductor needs a C++ compiler for the cpu")
    else:
        from torch._inductor.codegen.common import get_scheduling_for_device, init_backend_registration

        init_backend_registration()
        if get_scheduling_for_device(device_name) is None:
            unsupported("no code generator of Inductor is registered for this device")
    function = FUNCTIONS["pointwise"]
    left, right = numbers(8, 8, seed=1), numbers(8, 8, seed=2)
    result = torch.compile(function)(put(left, device), put(right, device))
    assert_matches(result, function(left, right), device)
