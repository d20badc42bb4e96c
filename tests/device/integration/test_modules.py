"""Modules: their results, their gradients, and what moving them does."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable

import pytest
import torch
from torch import nn

from harness.compare import assert_matches, assert_on, backward, numbers, put

pytestmark = pytest.mark.capability("modules")

CPU = torch.device("cpu")

Make = Callable[[], nn.Module]


class _Recurrent(nn.Module):
    """A recurrent layer that returns its output and the last state in one tensor."""

    def __init__(self, layer: nn.RNNBase) -> None:
        super().__init__()
        self.layer = layer

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        output, state = self.layer(inputs)
        last = state[0] if isinstance(state, tuple) else state
        return torch.cat([output.flatten(), last.flatten()])


class _Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        output, weights = self.attention(inputs, inputs, inputs)
        return torch.cat([output.flatten(), weights.flatten()])


# Name: how to make it, and the shape of its input.
MODULES: dict[str, tuple[Make, tuple[int, ...]]] = {
    "adaptive_avg_pool2d": (lambda: nn.AdaptiveAvgPool2d((3, 2)), (2, 3, 8, 9)),
    "adaptive_max_pool2d": (lambda: nn.AdaptiveMaxPool2d(3), (2, 3, 8, 9)),
    "avg_pool2d": (lambda: nn.AvgPool2d(2, padding=1), (2, 3, 8, 9)),
    "batch_norm1d": (lambda: nn.BatchNorm1d(5), (6, 5)),
    "batch_norm2d": (lambda: nn.BatchNorm2d(3), (2, 3, 4, 4)),
    "bilinear_upsample": (lambda: nn.Upsample(scale_factor=2, mode="bilinear"), (1, 2, 4, 5)),
    "conv1d": (lambda: nn.Conv1d(3, 4, 3, stride=2), (2, 3, 11)),
    "conv2d": (lambda: nn.Conv2d(3, 4, 3, padding=1), (2, 3, 7, 8)),
    "conv2d_depthwise": (lambda: nn.Conv2d(4, 8, 3, groups=4, dilation=2), (2, 4, 9, 9)),
    "conv2d_without_bias": (lambda: nn.Conv2d(3, 4, (1, 3), bias=False, padding="same"), (2, 3, 7, 8)),
    "conv3d": (lambda: nn.Conv3d(2, 3, 2), (1, 2, 4, 5, 6)),
    "conv_transpose2d": (lambda: nn.ConvTranspose2d(3, 4, 3, stride=2, output_padding=1), (2, 3, 5, 5)),
    "elu": (nn.ELU, (4, 5)),
    "gelu": (nn.GELU, (4, 5)),
    "glu": (nn.GLU, (4, 6)),
    "group_norm": (lambda: nn.GroupNorm(2, 4), (2, 4, 3, 3)),
    "gru": (lambda: _Recurrent(nn.GRU(4, 5, num_layers=2)), (3, 2, 4)),
    "hardswish": (nn.Hardswish, (4, 5)),
    "instance_norm": (lambda: nn.InstanceNorm2d(3, affine=True), (2, 3, 5, 5)),
    "layer_norm": (lambda: nn.LayerNorm([3, 4]), (2, 3, 4)),
    "leaky_relu": (lambda: nn.LeakyReLU(0.1), (4, 5)),
    "linear": (lambda: nn.Linear(5, 3), (4, 5)),
    "linear_of_three_dimensions": (lambda: nn.Linear(5, 3, bias=False), (2, 4, 5)),
    "lstm": (lambda: _Recurrent(nn.LSTM(4, 5, bidirectional=True)), (3, 2, 4)),
    "max_pool2d": (lambda: nn.MaxPool2d(3, stride=2, padding=1), (2, 3, 9, 9)),
    "mish": (nn.Mish, (4, 5)),
    "multihead_attention": (_Attention, (2, 5, 8)),
    "pixel_shuffle": (lambda: nn.PixelShuffle(2), (1, 8, 3, 3)),
    "prelu": (lambda: nn.PReLU(5), (4, 5)),
    "reflection_pad2d": (lambda: nn.ReflectionPad2d(2), (1, 2, 5, 6)),
    "relu": (nn.ReLU, (4, 5)),
    "rms_norm": (lambda: nn.RMSNorm(5), (4, 5)),
    "rnn": (lambda: _Recurrent(nn.RNN(4, 5)), (3, 2, 4)),
    "sigmoid": (nn.Sigmoid, (4, 5)),
    "silu": (nn.SiLU, (4, 5)),
    "softmax": (lambda: nn.Softmax(1), (4, 5)),
    "softplus": (nn.Softplus, (4, 5)),
    "tanh": (nn.Tanh, (4, 5)),
    "transformer_layer": (
        lambda: nn.TransformerEncoderLayer(8, 2, dim_feedforward=16, dropout=0.0, batch_first=True),
        (2, 5, 8),
    ),
    "unfold": (lambda: nn.Unfold(2), (1, 2, 4, 5)),
    "zero_pad2d": (lambda: nn.ZeroPad2d((1, 2, 0, 1)), (1, 2, 3, 3)),
}

LOSSES: dict[str, tuple[Make, Callable[[], torch.Tensor]]] = {
    "bce_with_logits": (nn.BCEWithLogitsLoss, lambda: numbers(6, 4, seed=5).sigmoid()),
    "huber": (nn.HuberLoss, lambda: numbers(6, 4, seed=5)),
    "cross_entropy": (lambda: nn.CrossEntropyLoss(label_smoothing=0.1), lambda: torch.arange(6) % 4),
    "cross_entropy_of_probabilities": (nn.CrossEntropyLoss, lambda: numbers(6, 4, seed=5).softmax(1)),
    "kl_div": (lambda: nn.KLDivLoss(reduction="batchmean"), lambda: numbers(6, 4, seed=5).softmax(1)),
    "l1": (nn.L1Loss, lambda: numbers(6, 4, seed=5)),
    "mse": (nn.MSELoss, lambda: numbers(6, 4, seed=5)),
    "nll": (nn.NLLLoss, lambda: torch.arange(6) % 4),
    "smooth_l1": (nn.SmoothL1Loss, lambda: numbers(6, 4, seed=5)),
}


def _made(make: Make) -> nn.Module:
    """A module with the same parameters every time, without touching the global generator."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = make()
    for seed, parameter in enumerate(module.parameters()):
        with torch.no_grad():
            parameter.copy_(numbers(*parameter.shape, seed=seed) * 0.3)
    return module


def _forward_backward(module: nn.Module, inputs: torch.Tensor) -> list[torch.Tensor]:
    """The result, the gradient of the input, the gradients of the parameters, and the buffers."""
    inputs.requires_grad_()
    result = module(inputs)
    (result * result).mean().backward()
    assert inputs.grad is not None
    gradients = [parameter.grad for parameter in module.parameters()]
    assert all(gradient is not None for gradient in gradients)
    return [result, inputs.grad, *(gradient for gradient in gradients if gradient is not None), *module.buffers()]


@pytest.mark.parametrize("mode", ["train", "eval"])
@pytest.mark.parametrize("name", MODULES)
def test_module_equals_cpu(device: torch.device, name: str, mode: str) -> None:
    """The module's result, gradients and buffers on the device equal the cpu's."""
    make, shape = MODULES[name]
    expected_module = _made(make).train(mode == "train")
    module, exact_module = copy.deepcopy(expected_module).to(device), copy.deepcopy(expected_module).double()
    inputs = numbers(*shape, seed=77)
    actual = _forward_backward(module, put(inputs, device))
    exact = _forward_backward(exact_module, inputs.double())
    expected = _forward_backward(expected_module, inputs)
    for seen, reference, value in zip(actual, expected, exact, strict=True):
        assert_matches(seen, reference, device, exact=value)


@pytest.mark.parametrize("name", LOSSES)
def test_loss_equals_cpu(device: torch.device, name: str) -> None:
    """The loss and its gradient on the device equal the cpu's."""
    make, target = LOSSES[name]

    def loss(where: torch.device, dtype: torch.dtype = torch.float32) -> tuple[torch.Tensor, torch.Tensor]:
        inputs, goal = put(numbers(6, 4).to(dtype), where).requires_grad_(), target()
        # Logarithms of probabilities, so that every loss may take them.
        value = make()(inputs.log_softmax(1), put(goal.to(dtype) if goal.is_floating_point() else goal, where))
        value.backward()
        assert inputs.grad is not None
        return value, inputs.grad

    for seen, reference, value in zip(loss(device), loss(CPU), loss(CPU, torch.float64), strict=True):
        assert_matches(seen, reference, device, exact=value)


def test_embedding_equals_cpu(device: torch.device) -> None:
    """An embedding looks up the right rows, keeps its padding row still, and sums gradients of repeated indices."""

    def run(where: torch.device) -> list[torch.Tensor]:
        embedding = nn.Embedding(7, 3, padding_idx=2, _weight=numbers(7, 3)).to(where)
        bag = nn.EmbeddingBag(7, 3, mode="mean", _weight=numbers(7, 3, seed=1)).to(where)
        indices = put(torch.tensor([[0, 2, 5], [5, 5, 1]]), where)
        result = embedding(indices).flatten().sum() + bag(indices).sum()
        (result**2).backward()
        gradients = [embedding.weight.grad, bag.weight.grad]
        return [result, *(gradient for gradient in gradients if gradient is not None)]

    for seen, reference in zip(run(device), run(CPU), strict=True):
        assert_matches(seen, reference, device)


def test_moving_keeps_what_a_module_is(device: torch.device) -> None:
    """`Module.to` moves parameters, buffers and gradients, keeps `requires_grad`, and converts dtypes."""
    module = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), nn.Linear(4, 4))
    module[0].bias.requires_grad_(False)
    backward(module(numbers(6, 4)))
    expected = copy.deepcopy(module)
    moved = module.to(device)
    assert moved is module
    for (name, seen), reference in zip(module.named_parameters(), expected.parameters(), strict=True):
        assert isinstance(seen, nn.Parameter), name
        assert seen.requires_grad == reference.requires_grad, name
        assert_matches(seen, reference, device)
        if reference.grad is not None:
            assert seen.grad is not None, name
            assert_matches(seen.grad, reference.grad, device)
    for buffer, reference_buffer in zip(module.buffers(), expected.buffers(), strict=True):
        assert_matches(buffer, reference_buffer, device)
    halves = module.to(torch.bfloat16)
    assert {parameter.dtype for parameter in halves.parameters()} == {torch.bfloat16}
    assert halves[1].num_batches_tracked.dtype == torch.int64
    back = module.to("cpu", torch.float32)
    assert {parameter.device.type for parameter in back.parameters()} == {"cpu"}


def test_parameters_keep_their_identity(device: torch.device) -> None:
    """`Module.to` keeps the Parameter objects themselves, so that every reference to one is to the moved one."""
    module = nn.Linear(3, 2)
    before = module.weight
    module.to(device)
    assert module.weight is before


def test_shared_parameters_stay_shared(device: torch.device) -> None:
    """A parameter that two layers share is still one parameter after `Module.to`."""
    module = nn.Sequential(nn.Linear(4, 4), nn.Linear(4, 4))
    module[1].weight = module[0].weight
    module.to(device)
    assert module[1].weight is module[0].weight, "a shared parameter became two, which train apart"


def test_state_is_loaded_across_devices(device: torch.device) -> None:
    """A state dict of the cpu is loaded by a module on the device, and the other way round, also by assignment."""
    here, there = nn.Linear(4, 3), nn.Linear(4, 3).to(device)
    there.load_state_dict(here.state_dict())
    assert_matches(there.weight, here.weight, device)
    back = nn.Linear(4, 3)
    back.load_state_dict(there.state_dict())
    assert torch.equal(back.weight, here.weight)
    assigned = nn.Linear(4, 3, device="meta")
    assigned.load_state_dict(there.state_dict(), assign=True)
    assert_matches(assigned.weight, here.weight, device)


def test_module_is_made_on_the_device(device: torch.device) -> None:
    """`device=` of a module makes its parameters there, initialised within the bounds of the cpu's."""
    module = nn.Linear(100, 50, device=device)
    assert_on(module.weight, device)
    bound = 1 / 100**0.5
    assert 0.5 * bound < module.weight.cpu().abs().max().item() <= bound


def test_lazy_module(device: torch.device) -> None:
    """A lazy module on the device takes its shape from the first input."""
    made_there = nn.LazyLinear(4, device=device)
    assert_on(made_there(put(numbers(6, 9), device)), device)
    module = nn.Sequential(nn.LazyLinear(4), nn.LazyBatchNorm1d()).to(device)
    result = module(put(numbers(6, 9), device))
    assert_on(result, device)
    assert module[0].weight.shape == (4, 9)
    for parameter in module.parameters():
        assert_on(parameter, device)


def test_packed_sequences(device: torch.device) -> None:
    """A recurrent network takes sequences of different lengths, packed, and gives the cpu's output."""
    layer = _made(lambda: nn.GRU(3, 4, batch_first=True))

    def run(where: torch.device, network: nn.GRU) -> torch.Tensor:
        inputs = put(numbers(3, 5, 3).to(network.weight_hh_l0.dtype), where)
        packed = nn.utils.rnn.pack_padded_sequence(inputs, torch.tensor([5, 3, 1]), batch_first=True)
        output, _ = network(packed)
        padded, lengths = nn.utils.rnn.pad_packed_sequence(output, batch_first=True)
        assert lengths.tolist() == [5, 3, 1]
        return padded

    exact, there = copy.deepcopy(layer).double(), copy.deepcopy(layer).to(device)
    assert_matches(run(device, there), run(CPU, layer), device, exact=run(CPU, exact))


def test_scaled_dot_product_attention(device: torch.device) -> None:
    """Attention with a mask, a causal mask and neither equals the plain formula, with its gradients."""
    queries, keys, values = (numbers(2, 2, 5, 4, seed=seed) for seed in (1, 2, 3))
    mask = torch.ones(5, 5, dtype=torch.bool).tril(1)
    for attention_mask, causal in ((None, False), (mask, False), (None, True)):
        scores = queries @ keys.transpose(2, 3) / 2
        hidden = ~torch.ones(5, 5, dtype=torch.bool).tril() if causal else None
        if attention_mask is not None:
            hidden = ~attention_mask
        if hidden is not None:
            scores = scores.masked_fill(hidden, float("-inf"))
        expected = scores.softmax(-1) @ values
        leaves = tuple(put(tensor, device).requires_grad_() for tensor in (queries, keys, values))
        there = None if attention_mask is None else put(attention_mask, device)
        seen = nn.functional.scaled_dot_product_attention(
            leaves[0], leaves[1], leaves[2], attn_mask=there, is_causal=causal
        )
        assert_matches(seen, expected, device)
        backward(seen)
        for leaf in leaves:
            assert leaf.grad is not None
            assert_on(leaf.grad, device)
            assert leaf.grad.cpu().isfinite().all()


@pytest.mark.parametrize(
    "shape",
    [(2, 2, 5, 6), (5, 6), (2, 1, 5, 6), (1, 2, 1, 6)],
    ids=["whole", "one_for_all", "for_all_heads", "for_all_queries"],
)
def test_attention_mask_has_a_gradient(device: torch.device, shape: tuple[int, ...]) -> None:
    """A mask that is added to the scores of attention, broadcast or not, gets the gradient of the plain formula.

    torch.nn.functional.scaled_dot_product_attention: a float mask is added to the scores.
    """
    values = [numbers(2, 2, length, 4, seed=seed) for length, seed in ((5, 1), (6, 2), (6, 3))]
    values += [numbers(*shape, seed=4), numbers(2, 2, 5, 4, seed=5)]

    def gradients(where: torch.device, plain: bool, dtype: torch.dtype = torch.float32) -> list[torch.Tensor]:
        queries, keys, contents, mask, weights = (put(value.to(dtype), where).requires_grad_() for value in values)
        if plain:
            result = (queries @ keys.transpose(2, 3) / 2 + mask).softmax(-1) @ contents
        else:
            result = nn.functional.scaled_dot_product_attention(queries, keys, contents, attn_mask=mask)
        (result * weights).sum().backward()
        found = [leaf.grad for leaf in (mask, queries, keys, contents)]
        return [grad for grad in found if grad is not None]

    expected, seen = gradients(CPU, plain=True), gradients(device, plain=False)
    assert len(seen) == len(expected)
    for one, other, value in zip(seen, expected, gradients(CPU, plain=True, dtype=torch.float64), strict=True):
        assert_matches(one, other, device, exact=value)


def test_parametrizations_and_hooks(device: torch.device) -> None:
    """Weight normalisation follows its module to the device, and forward hooks see tensors there."""
    module = nn.utils.parametrizations.weight_norm(_made(lambda: nn.Linear(4, 3)))
    expected = module(numbers(2, 4)).detach()
    seen: list[torch.device] = []
    module.register_forward_hook(lambda _module, inputs, output: seen.extend([inputs[0].device, output.device]))
    module.to(device)
    assert_matches(module(put(numbers(2, 4), device)), expected, device)
    assert seen == [device, device]
