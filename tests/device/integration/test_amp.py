"""Automatic mixed precision: autocast and gradient scaling."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode

from harness.compare import assert_matches, assert_on, backward, numbers, put
from harness.outcomes import unsupported

pytestmark = pytest.mark.capability("amp")

functional = torch.nn.functional

Compute = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]

# What every device computes in the lower precision under autocast: matrix products and what is made of them.
# (torch's documentation of autocast, operators that autocast to the lower precision.)
LOWER: dict[str, Compute] = {
    "matmul": lambda a, b: a @ b,
    "mm": torch.mm,
    "bmm": lambda a, b: torch.bmm(a[None], b[None]),
    "addmm": lambda a, b: torch.addmm(a, a, b),
    "linear": lambda a, b: functional.linear(a, b),
    "conv2d": lambda a, b: functional.conv2d(a[None, None], b[None, None, :2, :2]),
}

# What CUDA computes in float32, where a lower precision overflows or loses too much: a device may choose otherwise.
# (torch's documentation of autocast, operators that autocast to float32.)
FLOAT32: dict[str, Compute] = {
    "exp": lambda a, b: a.exp(),
    "log": lambda a, b: a.abs().log(),
    "pow": lambda a, b: a.abs().pow(2.5),
    "sum": lambda a, b: a.sum(),
    "softmax": lambda a, b: functional.softmax(a, 1),
    "log_softmax": lambda a, b: functional.log_softmax(a, 1),
    "layer_norm": lambda a, b: functional.layer_norm(a, a.shape[1:]),
    "cross_entropy": lambda a, b: functional.nll_loss(
        functional.log_softmax(a, 1), torch.zeros(4, dtype=torch.int64, device=a.device)
    ),
    "mse_loss": lambda a, b: functional.mse_loss(a, b),
    "norm": lambda a, b: a.norm(),
    "cumsum": lambda a, b: a.cumsum(0),
}

# The cpu has policies of its own, and other devices those of PrivateUse1 as torch documents them for accelerators.
DIFFERENT_ON_CPU = set(FLOAT32) - {"mse_loss"}


def _operands(device: torch.device, dtype: torch.dtype = torch.float32) -> tuple[torch.Tensor, torch.Tensor]:
    return put(numbers(4, 4, seed=1).to(dtype), device), put(numbers(4, 4, seed=2).to(dtype), device)


def _dtypes(device_name: str) -> list[torch.dtype]:
    if device_name == "cpu":
        return [torch.bfloat16, torch.float16]
    supported = torch.get_device_module(device_name).get_amp_supported_dtype()
    if not supported:
        unsupported(f"torch.{device_name}.get_amp_supported_dtype names no precision")
    return [dtype for dtype in supported if dtype is not torch.float32]


def test_supported_dtypes_are_told(device_name: str) -> None:
    """The device names the lower precisions of autocast, and torch takes every one of them."""
    dtypes = _dtypes(device_name)
    assert set(dtypes) & {torch.float16, torch.bfloat16}, f"neither float16 nor bfloat16 is among {dtypes}"
    for dtype in dtypes:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with torch.autocast(device_name, dtype=dtype):
                assert torch.is_autocast_enabled(device_name)
                assert torch.get_autocast_dtype(device_name) == dtype


@pytest.mark.parametrize("name", LOWER)
def test_lower_precision_list(device: torch.device, device_name: str, name: str) -> None:
    """Matrix products and convolutions of float32 tensors are computed in the lower precision under autocast."""
    for dtype in _dtypes(device_name):
        left, right = _operands(device)
        with torch.autocast(device_name, dtype=dtype):
            result = LOWER[name](left, right)
        assert result.dtype == dtype
        expected = LOWER[name](*_operands(torch.device("cpu")))
        assert_on(result, device)
        torch.testing.assert_close(result.float().cpu(), expected, rtol=0.05, atol=0.1)
        assert LOWER[name](left, right).dtype == torch.float32, "autocast goes on outside its block"


@pytest.mark.parametrize("name", FLOAT32)
def test_float32_list(device: torch.device, device_name: str, name: str) -> None:
    """Operators that need the range or precision get float32 under autocast, also from lower-precision operands.

    PyTorch leaves the list to each kind of device: one with another is told, and its results have to be right, too.
    """
    if device_name == "cpu" and name in DIFFERENT_ON_CPU:
        pytest.skip("the cpu has a policy of its own for this operator")
    for dtype in _dtypes(device_name):
        left, right = _operands(device, dtype)
        with torch.autocast(device_name, dtype=dtype):
            result = FLOAT32[name](left, right)
        operands = _operands(torch.device("cpu"), dtype)
        expected = FLOAT32[name](*(operand.float() for operand in operands))
        if result.dtype == dtype:
            torch.testing.assert_close(result.float().cpu(), expected, rtol=0.05, atol=0.1)
            unsupported(
                f"optional: under autocast the device computes it in {dtype}; CUDA has it in its list of float32"
            )
        assert result.dtype == torch.float32
        exact = FLOAT32[name](*(operand.double() for operand in operands))
        assert_matches(result, expected, device, exact=exact)


def test_widest_type_is_promoted_to(device: torch.device, device_name: str) -> None:
    """Operators of several tensors promote to the widest operand under autocast: cat, stack and addcmul."""
    for dtype in _dtypes(device_name):
        wide, narrow = _operands(device)[0], _operands(device, dtype)[1]
        with torch.autocast(device_name, dtype=dtype):
            for result in (torch.cat([wide, narrow]), torch.stack([narrow, wide]), wide + narrow):
                assert result.dtype == torch.float32
                assert_on(result, device)
            assert (narrow + narrow).dtype == dtype


def test_nesting_and_leaving(device: torch.device, device_name: str) -> None:
    """A block with `enabled=False` within autocast computes in float32; leaving by an exception restores the state."""
    dtype = _dtypes(device_name)[0]
    left, right = _operands(device)
    with torch.autocast(device_name, dtype=dtype):
        with torch.autocast(device_name, enabled=False):
            assert (left @ right).dtype == torch.float32
        assert (left @ right).dtype == dtype
    with pytest.raises(ArithmeticError), torch.autocast(device_name, dtype=dtype):
        raise ArithmeticError
    assert not torch.is_autocast_enabled(device_name)
    assert (left @ right).dtype == torch.float32


def test_decorator(device: torch.device, device_name: str) -> None:
    """`torch.autocast` works as a decorator."""
    dtype = _dtypes(device_name)[0]

    @torch.autocast(device_name, dtype=dtype)
    def product(left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        return left @ right

    assert product(*_operands(device)).dtype == dtype


@pytest.mark.device_only("it warns in words of its own")
def test_unsupported_dtype_warns(device: torch.device, device_name: str) -> None:
    """Asking autocast for a precision that the device does not support warns, and computes in float32."""
    assert torch.int8 not in _dtypes(device_name)
    with pytest.warns(UserWarning, match="dtype"):
        context = torch.autocast(device_name, dtype=torch.int8)
    with context:
        left, right = _operands(device)
        assert (left @ right).dtype == torch.float32


def test_gradients_arrive_in_float32(device: torch.device, device_name: str) -> None:
    """Weights in float32 get gradients in float32 through an autocast forward, near those without it."""
    for dtype in _dtypes(device_name):
        model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2)).to(device)
        inputs = put(numbers(16, 4), device)
        model(inputs).square().mean().backward()
        expected = [parameter.grad.cpu() for parameter in model.parameters() if parameter.grad is not None]
        model.zero_grad()
        with torch.autocast(device_name, dtype=dtype):
            loss = model(inputs).square().mean()
        loss.backward()
        for parameter, reference in zip(model.parameters(), expected, strict=True):
            assert parameter.grad is not None
            assert parameter.grad.dtype == torch.float32
            assert_on(parameter.grad, device)
            torch.testing.assert_close(parameter.grad.cpu(), reference, rtol=0.1, atol=0.05)


def test_weights_are_cast_once(device: torch.device, device_name: str) -> None:
    """Within one block a weight is cast once and the cast is used again; after it the new weight is seen."""
    dtype = _dtypes(device_name)[0]
    weight = put(numbers(5, 4), device).requires_grad_()
    inputs = put(numbers(3, 4, seed=1), device)
    casts: list[torch.Size] = []

    class Casts(TorchDispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func is torch.ops.aten._to_copy.default:
                casts.append(args[0].shape)
            return func(*args, **(kwargs or {}))

    with torch.autocast(device_name, dtype=dtype), Casts():
        first, second = functional.linear(inputs, weight), functional.linear(inputs, weight)
    assert torch.equal(first.cpu(), second.cpu())
    assert casts.count(weight.shape) == 1, f"the weight was cast {casts.count(weight.shape)} times"
    with torch.no_grad():
        weight.zero_()
    with torch.autocast(device_name, dtype=dtype):
        assert functional.linear(inputs, weight).cpu().abs().sum().item() == 0


def test_custom_function(device: torch.device, device_name: str) -> None:
    """`custom_fwd` and `custom_bwd` cast a user's Function as told, and its backward runs in the forward's mode."""
    dtype = _dtypes(device_name)[0]
    seen: list[Any] = []

    class Square(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type=device_name, cast_inputs=torch.float32)
        def forward(ctx: Any, values: torch.Tensor) -> torch.Tensor:
            ctx.save_for_backward(values)
            seen.append((values.dtype, torch.is_autocast_enabled(device_name)))
            return values * values

        @staticmethod
        @torch.amp.custom_bwd(device_type=device_name)
        def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
            seen.append((gradient.dtype, torch.is_autocast_enabled(device_name)))
            return 2 * ctx.saved_tensors[0] * gradient

    leaf = put(numbers(4).to(dtype), device).requires_grad_()
    with torch.autocast(device_name, dtype=dtype):
        backward(Square.apply(leaf))
    assert seen == [(torch.float32, False), (torch.float32, False)]
    assert leaf.grad is not None
    assert leaf.grad.dtype == dtype


def _scaler(device_name: str, **settings: Any) -> torch.amp.GradScaler:
    return torch.amp.GradScaler(device_name, **{"init_scale": 1024.0, "growth_interval": 2, **settings})


def _step(
    scaler: torch.amp.GradScaler, optimizer: torch.optim.Optimizer, parameter: torch.nn.Parameter, factor: float
) -> None:
    optimizer.zero_grad()
    backward(scaler.scale(parameter * factor))
    scaler.step(optimizer)
    scaler.update()


def test_scaler_takes_the_unscaled_step(device: torch.device, device_name: str) -> None:
    """GradScaler scales the loss on the device, and the optimizer takes the step of the unscaled gradient."""
    parameter = torch.nn.Parameter(torch.ones(3, device=device))
    optimizer = torch.optim.SGD([parameter], lr=0.5)
    scaler = _scaler(device_name)
    scaled = scaler.scale(torch.tensor(2.0, device=device))
    assert_matches(scaled, torch.tensor(2048.0), device)
    _step(scaler, optimizer, parameter, 3.0)
    assert_matches(parameter, torch.full((3,), 1 - 0.5 * 3.0), device)


@pytest.mark.parametrize("bad", [float("inf"), float("-inf"), float("nan")])
def test_scaler_skips_a_bad_step(device: torch.device, device_name: str, bad: float) -> None:
    """A gradient that is infinite or not a number skips the step and lowers the scale."""
    parameter = torch.nn.Parameter(torch.ones(3, device=device))
    optimizer = torch.optim.SGD([parameter], lr=0.5)
    scaler = _scaler(device_name, backoff_factor=0.25)
    _step(scaler, optimizer, parameter, bad)
    assert_matches(parameter, torch.ones(3), device)
    assert scaler.get_scale() == 256.0
    _step(scaler, optimizer, parameter, 1.0)
    assert_matches(parameter, torch.full((3,), 0.5), device)


def test_scale_grows(device: torch.device, device_name: str) -> None:
    """The scale grows after as many good steps as asked, and a bad one starts the count again."""
    parameter = torch.nn.Parameter(torch.ones(2, device=device))
    optimizer = torch.optim.SGD([parameter], lr=0.0)
    scaler = _scaler(device_name)
    scales = []
    for factor in (1.0, 1.0, 1.0, float("inf"), 1.0, 1.0):
        _step(scaler, optimizer, parameter, factor)
        scales.append(scaler.get_scale())
    assert scales == [1024.0, 2048.0, 2048.0, 1024.0, 1024.0, 2048.0]


def test_unscale_before_clipping(device: torch.device, device_name: str) -> None:
    """`unscale_` gives gradients of true size, once only, and then they can be clipped."""
    parameter = torch.nn.Parameter(torch.ones(4, device=device))
    optimizer = torch.optim.SGD([parameter], lr=1.0)
    scaler = _scaler(device_name)
    backward(scaler.scale(parameter * 5))
    scaler.unscale_(optimizer)
    assert parameter.grad is not None
    assert_matches(parameter.grad, torch.full((4,), 5.0), device)
    with pytest.raises(RuntimeError, match="already been called"):
        scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_([parameter], 1.0)
    scaler.step(optimizer)
    scaler.update()
    assert_matches(parameter, torch.full((4,), 0.5), device)


def test_scaler_state(device: torch.device, device_name: str) -> None:
    """A scaler's state is saved and loaded, and the loaded one continues the same way."""
    parameter = torch.nn.Parameter(torch.ones(2, device=device))
    optimizer = torch.optim.SGD([parameter], lr=0.0)
    scaler = _scaler(device_name)
    for _ in range(3):
        _step(scaler, optimizer, parameter, 1.0)
    other = _scaler(device_name, init_scale=1.0)
    other.load_state_dict(scaler.state_dict())
    assert other.get_scale() == 2048.0
    for each in (scaler, other):
        _step(each, optimizer, parameter, 1.0)
    assert other.get_scale() == scaler.get_scale() == 4096.0


@pytest.mark.needs_devices(2)
def test_scaler_over_two_cards(device: torch.device, device_name: str) -> None:
    """One scaler serves parameters on two cards; an infinite gradient on one of them skips the step of both."""
    second = torch.device(device_name, 1)
    parameters = [torch.nn.Parameter(torch.ones(3, device=where)) for where in (device, second)]
    optimizer = torch.optim.SGD(parameters, lr=0.5)
    scaler = _scaler(device_name)

    def step(first_factor: float, second_factor: float) -> None:
        optimizer.zero_grad()
        for parameter, factor in zip(parameters, (first_factor, second_factor), strict=True):
            backward(scaler.scale(parameter * factor))
        scaler.step(optimizer)
        scaler.update()

    step(1.0, float("inf"))
    for parameter, where in zip(parameters, (device, second), strict=True):
        assert_matches(parameter, torch.ones(3), where)
    assert scaler.get_scale() == 512.0
    step(1.0, 2.0)
    assert_matches(parameters[0], torch.full((3,), 0.5), device)
    assert_matches(parameters[1], torch.zeros(3), second)
