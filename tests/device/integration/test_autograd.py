"""Differentiation on the device."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import torch
from torch.autograd import forward_ad

from harness.compare import assert_matches, assert_on, backward, numbers, put
from harness.device import has_generator

pytestmark = pytest.mark.capability("autograd")

functional = torch.nn.functional

Function = Callable[..., torch.Tensor]

FUNCTIONS: dict[str, Function] = {
    "pointwise": lambda a, b: (a * b + a.exp() / (b**2 + 1)).tanh(),
    "broadcast": lambda a, b: a * b[:1] + b[:, :1],
    "matmul": lambda a, b: a @ b.t() @ a,
    "reduction": lambda a, b: a.mean(0) * b.sum(1, keepdim=True) + a.logsumexp(1),
    "softmax": lambda a, b: functional.softmax(a, 1) * functional.log_softmax(b, 0),
    "indexing": lambda a, b: a[[0, 2]] * b[1] + a.gather(0, torch.zeros_like(a, dtype=torch.int64))[:2],
    "cat_and_split": lambda a, b: torch.cat([a, b]).split(3)[0] * b[:3],
    "where": lambda a, b: torch.where(a > b, a**2, b**3),
    "norm": lambda a, b: a.norm() * torch.linalg.vector_norm(b, dim=1),
    "layer_norm": lambda a, b: functional.layer_norm(a, a.shape[1:], b[0], b[1]),
    "linear_gelu": lambda a, b: functional.gelu(functional.linear(a, b, b[:, 0])),
    "cumsum": lambda a, b: a.cumsum(0) * b.cumsum(1),
    "sort": lambda a, b: a.sort(1).values * b,
    "complex": lambda a, b: torch.complex(a, b).abs() + torch.complex(b, a).conj().imag,
}


def _leaves(device: torch.device, dtype: torch.dtype = torch.float64) -> tuple[torch.Tensor, torch.Tensor]:
    first, second = (put(numbers(4, 4, dtype=dtype, seed=seed), device).requires_grad_() for seed in (1, 2))
    return first, second


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradient_equals_cpu(device: torch.device, name: str) -> None:
    """The gradients of a function are on the device and equal the cpu's."""
    function = FUNCTIONS[name]
    here, there = _leaves(torch.device("cpu"), torch.float32), _leaves(device, torch.float32)
    exactly = [leaf.detach().double().requires_grad_() for leaf in here]
    expected, result, exact = function(*here), function(*there), function(*exactly)
    assert_matches(result, expected, device, exact=exact)
    for made in (expected, result, exact):
        backward(made**2)
    for actual, reference, value in zip(there, here, exactly, strict=True):
        assert actual.grad is not None
        assert reference.grad is not None
        assert_matches(actual.grad, reference.grad, device, exact=value.grad)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradcheck(device: torch.device, name: str) -> None:
    """The gradients in double precision agree with finite differences on the device itself."""
    assert torch.autograd.gradcheck(FUNCTIONS[name], _leaves(device))


@pytest.mark.parametrize("name", ["pointwise", "matmul", "softmax", "layer_norm", "linear_gelu"])
def test_double_backward(device: torch.device, name: str) -> None:
    """Gradients can be differentiated again."""
    shape = FUNCTIONS[name](*_leaves(torch.device("cpu"))).shape
    # Made here, because gradgradcheck draws them on the device, which may have no generator.
    gradient = put(numbers(*shape, dtype=torch.float64, seed=3), device).requires_grad_()
    assert torch.autograd.gradgradcheck(FUNCTIONS[name], _leaves(device), gradient)


@pytest.mark.parametrize("name", ["pointwise", "matmul", "softmax", "indexing"])
def test_forward_mode(device: torch.device, name: str) -> None:
    """Forward-mode differentiation gives the cpu's directional derivative."""

    def derivative(where: torch.device) -> torch.Tensor:
        first, second = (leaf.detach() for leaf in _leaves(where))
        with forward_ad.dual_level():
            tangent = put(numbers(4, 4, dtype=torch.float64, seed=3), where)
            result = FUNCTIONS[name](forward_ad.make_dual(first, tangent), second)
            found = forward_ad.unpack_dual(result).tangent
            assert found is not None
            return found.clone()

    assert_matches(derivative(device), derivative(torch.device("cpu")), device)


def test_function_transforms(device: torch.device) -> None:
    """`torch.func`: gradients per sample through `vmap(grad(...))`, and a Jacobian, equal the cpu's."""

    def loss(weight: torch.Tensor, sample: torch.Tensor) -> torch.Tensor:
        return (weight @ sample).tanh().sum()

    def per_sample(where: torch.device) -> torch.Tensor:
        weight, samples = put(numbers(3, 4), where), put(numbers(5, 4, seed=2), where)
        return torch.func.vmap(torch.func.grad(loss), (None, 0))(weight, samples)

    def jacobian(where: torch.device) -> torch.Tensor:
        return torch.func.jacrev(lambda x: x.sin() * x.sum())(put(numbers(4), where))

    assert_matches(per_sample(device), per_sample(torch.device("cpu")), device)
    assert_matches(jacobian(device), jacobian(torch.device("cpu")), device)


def test_gradients_accumulate(device: torch.device) -> None:
    """A second backward adds to `.grad`, in the same memory; `zero_grad` forgets it."""
    leaf = put(numbers(4), device).requires_grad_()
    backward(leaf * 2)
    first = leaf.grad
    assert first is not None
    backward(leaf * 3)
    assert leaf.grad is first
    assert_matches(first, torch.full((4,), 5.0), device)


def test_hooks_see_gradients_on_the_device(device: torch.device) -> None:
    """Hooks of tensors, of accumulated gradients and of modules are called with gradients on the device."""
    seen: dict[str, torch.Tensor] = {}
    leaf = put(numbers(4), device).requires_grad_()
    middle = leaf * 2
    middle.retain_grad()
    middle.register_hook(lambda gradient: gradient * 10)
    leaf.register_post_accumulate_grad_hook(lambda tensor: seen.update(accumulated=tensor.grad))
    module = torch.nn.Linear(4, 2).to(device)

    def remember(module: torch.nn.Module, inputs: Any, outputs: Any) -> None:
        seen.update(inputs=inputs[0], outputs=outputs[0])

    module.register_full_backward_hook(remember)
    backward(module(middle))
    assert set(seen) == {"accumulated", "inputs", "outputs"}
    for tensor in seen.values():
        assert_on(tensor, device)
    expected = module.weight.detach().cpu().sum(0) * 10
    assert middle.grad is not None
    assert_matches(middle.grad, expected, device)
    assert_matches(seen["accumulated"], expected * 2, device)


class _Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, values: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(values)
        return values**3

    @staticmethod
    def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
        (values,) = ctx.saved_tensors
        assert values.device == gradient.device
        return gradient * 3 * values**2


def test_custom_function(device: torch.device) -> None:
    """A user's `autograd.Function` saves tensors on the device and gets its gradient there, in double precision too."""
    leaf = put(numbers(5), device).requires_grad_()
    backward(_Cube.apply(leaf))
    assert leaf.grad is not None
    assert_matches(leaf.grad, 3 * numbers(5) ** 2, device)
    assert torch.autograd.gradcheck(_Cube.apply, put(numbers(5, dtype=torch.float64), device).requires_grad_())


def test_custom_operator(device: torch.device) -> None:
    """An operator that a user registers with `torch.library` works on the device and passes torch's own opcheck."""

    @torch.library.custom_op("device_suites::scaled_sine", mutates_args=())
    def scaled_sine(values: torch.Tensor, scale: float) -> torch.Tensor:
        return values.sin() * scale

    @scaled_sine.register_fake
    def _(values: torch.Tensor, scale: float) -> torch.Tensor:
        return torch.empty_like(values)

    def remember(ctx: Any, inputs: tuple[torch.Tensor, float], output: torch.Tensor) -> None:
        ctx.save_for_backward(inputs[0])
        ctx.scale = inputs[1]

    scaled_sine.register_autograd(
        lambda ctx, gradient: (gradient * ctx.saved_tensors[0].cos() * ctx.scale, None), setup_context=remember
    )
    leaf = put(numbers(6), device).requires_grad_()
    result = scaled_sine(leaf, 2.0)
    assert_matches(result, numbers(6).sin() * 2, device)
    backward(result)
    assert leaf.grad is not None
    assert_matches(leaf.grad, numbers(6).cos() * 2, device)
    # The check of the autograd registration knows only devices inside torch.
    checks = ["test_schema", "test_faketensor"]
    if has_generator(device.type):
        checks.append("test_aot_dispatch_dynamic")  # it keeps the generator's state
    torch.library.opcheck(scaled_sine, (put(numbers(6), device).requires_grad_(), 2.0), test_utils=checks)


def test_modes_that_record_nothing(device: torch.device) -> None:
    """`no_grad`, `inference_mode` and `detach` record nothing; changing a saved tensor is an error."""
    leaf = put(numbers(4), device).requires_grad_()
    with torch.no_grad():
        assert not (leaf * 2).requires_grad
    with torch.inference_mode():
        frozen = leaf * 2
    assert frozen.is_inference()
    assert_matches(frozen, numbers(4) * 2, device)
    assert not leaf.detach().requires_grad
    middle = leaf * 1
    squared = middle**2
    middle.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        backward(squared)


def test_anomaly_mode_finds_nan(device: torch.device) -> None:
    """`detect_anomaly` names a backward function that made NaN on the device."""
    leaf = torch.zeros(3, device=device, requires_grad=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the mode warns that it is slow, and where it found something
        with torch.autograd.detect_anomaly():
            result = (leaf.sqrt() * 0).sum()
            with pytest.raises(RuntimeError, match="nan"):
                result.backward()


def test_saved_tensors_can_be_moved_away(device: torch.device) -> None:
    """`save_on_cpu` keeps what backward needs on the cpu and brings it back to the device."""
    leaf = put(numbers(4, 4), device).requires_grad_()
    with torch.autograd.graph.save_on_cpu():
        result = (leaf.exp() * leaf).sum()
    result.backward()
    assert leaf.grad is not None
    values = numbers(4, 4)
    assert_matches(leaf.grad, values.exp() * (1 + values), device)


def test_backward_from_several_threads(device: torch.device) -> None:
    """Threads that differentiate at the same time do not disturb each other."""

    def work(number: int) -> torch.Tensor:
        leaf = put(numbers(50, seed=number), device).requires_grad_()
        for _ in range(5):
            leaf.grad = None
            backward(leaf.sin() * number)
        assert leaf.grad is not None
        return leaf.grad

    with ThreadPoolExecutor(4) as threads:
        for number, result in enumerate(threads.map(work, range(4))):
            assert_matches(result, numbers(50, seed=number).cos() * number, device)


@pytest.mark.device_only("it has no current card")
@pytest.mark.needs_devices(2)
def test_backward_across_cards(device: torch.device, device_name: str) -> None:
    """Backward follows a computation over two cards; each gradient is on the card of its tensor."""
    second = torch.device(device_name, 1)
    leaf, other = put(numbers(4), device).requires_grad_(), put(numbers(4, seed=1), second).requires_grad_()
    current = torch.accelerator.current_device_index()
    backward(((leaf * 2).to(second) * other).to(device) + leaf)
    assert leaf.grad is not None
    assert other.grad is not None
    assert_matches(leaf.grad, 2 * numbers(4, seed=1) + 1, device)
    assert_matches(other.grad, 2 * numbers(4), second)
    assert torch.accelerator.current_device_index() == current
