"""Optimizers: every implementation takes the steps that the plain loop on the cpu takes."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest
import torch

from harness.compare import assert_matches, assert_on, backward, numbers, put
from harness.outcomes import unsupported

pytestmark = pytest.mark.capability("optimizers")

CPU = torch.device("cpu")
STEPS = 5

Make = Callable[[Iterable[torch.nn.Parameter]], torch.optim.Optimizer]

OPTIMIZERS: dict[str, tuple[type[torch.optim.Optimizer], dict[str, Any]]] = {
    "adadelta": (torch.optim.Adadelta, {"lr": 0.5}),
    "adagrad": (torch.optim.Adagrad, {"lr": 0.1}),
    "adam": (torch.optim.Adam, {"lr": 0.05, "weight_decay": 0.01}),
    "adam_amsgrad": (torch.optim.Adam, {"lr": 0.05, "amsgrad": True}),
    "adamax": (torch.optim.Adamax, {"lr": 0.05}),
    "adamw": (torch.optim.AdamW, {"lr": 0.05, "weight_decay": 0.1}),
    "asgd": (torch.optim.ASGD, {"lr": 0.05}),
    "nadam": (torch.optim.NAdam, {"lr": 0.05}),
    "radam": (torch.optim.RAdam, {"lr": 0.05}),
    "rmsprop": (torch.optim.RMSprop, {"lr": 0.02, "momentum": 0.5, "centered": True}),
    "rprop": (torch.optim.Rprop, {"lr": 0.05}),
    "sgd": (torch.optim.SGD, {"lr": 0.1}),
    "sgd_nesterov": (torch.optim.SGD, {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01}),
}

CAPTURABLE = ["adadelta", "adam", "adam_amsgrad", "adamax", "adamw", "asgd", "nadam", "radam", "rmsprop", "rprop"]
FUSED = ["adagrad", "adam", "adam_amsgrad", "adamw", "sgd", "sgd_nesterov"]


def _parameters(device: torch.device, dtype: torch.dtype = torch.float32) -> list[torch.nn.Parameter]:
    shapes = ((4, 3), (3,), (2, 2, 2), (1,))
    return [
        torch.nn.Parameter(_numbers(*shape, seed=seed, dtype=dtype).to(device)) for seed, shape in enumerate(shapes)
    ]


def _numbers(*shape: int, seed: int, dtype: torch.dtype) -> torch.Tensor:
    """The same float32 numbers in any dtype."""
    return numbers(*shape, seed=seed).to(dtype)


def _train(
    device: torch.device, name: str, dtype: torch.dtype = torch.float32, **how: Any
) -> tuple[list[torch.nn.Parameter], torch.optim.Optimizer]:
    """Take some steps down the same slope."""
    kind, settings = OPTIMIZERS[name]
    parameters = _parameters(device, dtype)
    optimizer = kind(parameters, **settings, **how)
    for step in range(STEPS):
        for seed, parameter in enumerate(parameters):
            parameter.grad = _numbers(*parameter.shape, seed=100 * step + seed, dtype=dtype).to(device)
        optimizer.step()
    return parameters, optimizer


def _assert_same_steps(device: torch.device, name: str, **how: Any) -> None:
    expected, _ = _train(CPU, name, foreach=False)
    exact, _ = _train(CPU, name, torch.float64, foreach=False)
    actual, optimizer = _train(device, name, **how)
    for before, parameter, reference, value in zip(_parameters(CPU), actual, expected, exact, strict=True):
        assert not torch.equal(parameter.detach().cpu(), before.detach()), "the optimizer changed nothing"
        assert_matches(parameter, reference, device, exact=value)
    for state in optimizer.state.values():
        for key, value in state.items():
            # torch keeps what steers the plain loop, one number each, on the cpu on purpose.
            if isinstance(value, torch.Tensor) and key not in ("step", "mu_product"):
                assert_on(value, device)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_plain_loop_equals_cpu(device: torch.device, name: str) -> None:
    """The plain loop over parameters takes the cpu's steps, and keeps its state on the device."""
    _assert_same_steps(device, name, foreach=False)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_foreach_equals_cpu(device: torch.device, name: str) -> None:
    """The implementation over lists of tensors (`foreach=True`) takes the cpu's steps."""
    _assert_same_steps(device, name, foreach=True)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_default_implementation_equals_cpu(device: torch.device, name: str) -> None:
    """The implementation that torch chooses by itself takes the cpu's steps."""
    _assert_same_steps(device, name)


@pytest.mark.parametrize("name", FUSED)
def test_fused_equals_cpu(device: torch.device, name: str) -> None:
    """The fused implementation takes the cpu's steps, where the device has one."""
    try:
        _train(device, name, fused=True)
    except NotImplementedError as error:
        unsupported(f"torch has no fused kernel for this device: {error}")
    except RuntimeError as error:
        if "`fused=True` requires" not in str(error):
            raise
        unsupported(f"torch keeps fused optimizers from this device: {error}")
    _assert_same_steps(device, name, fused=True)


@pytest.mark.device_only("torch captures on accelerators only")
@pytest.mark.parametrize("foreach", [False, True], ids=["loop", "foreach"])
@pytest.mark.parametrize("name", CAPTURABLE)
def test_capturable_equals_cpu(device: torch.device, name: str, foreach: bool) -> None:
    """With `capturable=True` the count of steps stays on the device as well, and the steps are the cpu's."""
    try:
        _train(device, name, foreach=foreach, capturable=True)
    except AssertionError as error:
        if "capturable" not in str(error):
            raise
        unsupported(f"torch keeps capturable optimizers from this device: {error}")
    _assert_same_steps(device, name, foreach=foreach, capturable=True)
    _, optimizer = _train(device, name, foreach=foreach, capturable=True)
    for state in optimizer.state.values():
        assert_on(state["step"], device)


@pytest.mark.parametrize("name", ["adam", "adamw", "rmsprop"])
def test_differentiable_step(device: torch.device, name: str) -> None:
    """A differentiable optimizer lets a gradient flow through its step."""

    def gradient(where: torch.device, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        rate = put(torch.tensor([0.5], dtype=dtype), where).requires_grad_()
        kind, settings = OPTIMIZERS[name]
        parameter = put(_numbers(3, seed=0, dtype=dtype), where).requires_grad_()
        live = parameter.clone()
        optimizer = kind([live], **settings, differentiable=True)  # type: ignore[call-arg]
        live.grad = put(_numbers(3, seed=1, dtype=dtype), where) * rate
        optimizer.step()
        backward(live**2)
        assert rate.grad is not None
        return rate.grad

    assert_matches(gradient(device), gradient(CPU), device, exact=gradient(CPU, torch.float64))


def test_lbfgs_finds_the_minimum(device: torch.device) -> None:
    """L-BFGS with line search finds the minimum of a quadratic function."""
    target = numbers(5)

    def found(where: torch.device) -> torch.Tensor:
        parameter = torch.nn.Parameter(torch.zeros(5, device=where))
        there = put(target, where)
        optimizer = torch.optim.LBFGS([parameter], line_search_fn="strong_wolfe")

        def closure() -> torch.Tensor:
            optimizer.zero_grad()
            loss = ((parameter - there) ** 2).sum()
            loss.backward()
            return loss

        for _ in range(3):
            optimizer.step(closure)
        return parameter

    assert_matches(found(device), found(CPU), device, exact=target.double())


def test_sparse_adam(device: torch.device) -> None:
    """SparseAdam updates only the rows of an embedding that were used, as on the cpu."""

    def train(where: torch.device) -> torch.Tensor:
        embedding = torch.nn.Embedding(6, 3, sparse=True, _weight=numbers(6, 3)).to(where)
        optimizer = torch.optim.SparseAdam(embedding.parameters(), lr=0.1)
        for _ in range(3):
            optimizer.zero_grad()
            backward(embedding(put(torch.tensor([1, 4, 1]), where)).square())
            optimizer.step()
        return embedding.weight.detach()

    try:
        actual = train(device)
    except NotImplementedError as error:
        unsupported(f"torch has no sparse tensors on this device: {error}")
    assert_matches(actual, train(CPU), device)


@pytest.mark.parametrize("foreach", [False, True], ids=["loop", "foreach"])
def test_gradient_clipping(device: torch.device, foreach: bool) -> None:
    """Clipping gradients by norm and by value gives the cpu's gradients."""

    def clipped(where: torch.device, how: bool, dtype: torch.dtype = torch.float32) -> list[torch.Tensor]:
        parameters = _parameters(where, dtype)
        for seed, parameter in enumerate(parameters):
            parameter.grad = put(_numbers(*parameter.shape, seed=seed + 9, dtype=dtype) * 10, where)
        norm = torch.nn.utils.clip_grad_norm_(parameters, 3.0, foreach=how)
        torch.nn.utils.clip_grad_value_(parameters, 0.5, foreach=how)
        return [norm, *(parameter.grad for parameter in parameters if parameter.grad is not None)]

    exact = clipped(CPU, False, torch.float64)
    for actual, expected, value in zip(clipped(device, foreach), clipped(CPU, False), exact, strict=True):
        assert_matches(actual, expected, device, exact=value)


def test_schedule_moves_the_rate(device: torch.device) -> None:
    """A learning-rate schedule works with a rate that is a tensor on the device."""
    parameter = torch.nn.Parameter(torch.ones(2, device=device))
    optimizer = torch.optim.SGD([parameter], lr=torch.tensor(1.0, device=device), foreach=False)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
    for _ in range(3):
        parameter.grad = torch.ones(2, device=device)
        optimizer.step()
        schedule.step()
    assert_matches(parameter, torch.full((2,), 1 - 1 - 0.5 - 0.25), device)


def test_optimizer_built_before_moving_still_trains(device: torch.device) -> None:
    """An optimizer that was built before `model.to(device)` trains the model that was moved."""
    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model.to(device)
    before = model.weight.detach().cpu().clone()
    backward(model(put(numbers(8, 4), device)).square())
    optimizer.step()
    assert not torch.equal(model.weight.detach().cpu(), before), "the optimizer silently updates nothing"
    assert_on(model.weight, device)


def test_swapping_parameters_keeps_the_optimizer(device: torch.device) -> None:
    """With `set_swap_module_params_on_conversion` the optimizer built before `.to(device)` trains in any case."""
    model = torch.nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    swap = torch.__future__.get_swap_module_params_on_conversion()
    try:
        torch.__future__.set_swap_module_params_on_conversion(True)
        model.to(device)
    finally:
        torch.__future__.set_swap_module_params_on_conversion(swap)
    before = model.weight.detach().cpu().clone()
    backward(model(put(numbers(8, 4), device)).square())
    optimizer.step()
    assert_on(model.weight, device)
    assert not torch.equal(model.weight.detach().cpu(), before)
