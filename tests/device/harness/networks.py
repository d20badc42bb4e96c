"""Small models of the kinds that are trained on accelerators, with the same batches every time. Needs torch."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional

from harness.compare import numbers
from harness.training import Task

BATCH = 8
LENGTH = 6
VOCABULARY = 20
WIDTH = 16
HEADS = 2
CLASSES = 4


class Convolutional(nn.Module):
    """A residual network of images: plain and grouped convolutions, batch normalization, pooling."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU())
        self.block = nn.Sequential(nn.Conv2d(8, 8, 3, padding=1, bias=False), nn.BatchNorm2d(8), nn.ReLU())
        self.grouped = nn.Conv2d(8, WIDTH, 3, stride=2, padding=1, groups=4)
        self.output = nn.Linear(WIDTH, CLASSES)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """The logits of each image."""
        hidden = functional.max_pool2d(self.stem(images), 2)
        hidden = self.grouped(hidden + self.block(hidden)).relu()
        result: torch.Tensor = self.output(hidden.mean((2, 3)))
        return result


class Encoder(nn.Module):
    """A transformer encoder of sequences that end in padding, the token 0."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.positions = nn.Parameter(torch.randn(LENGTH, WIDTH))
        layer = nn.TransformerEncoderLayer(WIDTH, HEADS, 32, 0.0, "gelu", batch_first=True, norm_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.output = nn.Linear(WIDTH, CLASSES)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """The logits of each sequence."""
        padding = tokens == 0
        hidden = self.encoder(self.embedding(tokens) + self.positions, src_key_padding_mask=padding)
        kept = ~padding.unsqueeze(-1)
        result: torch.Tensor = self.output((hidden * kept).sum(1) / kept.sum(1))
        return result


class _CausalLayer(nn.Module):
    """Causal attention with rotary positions, and a gated network."""

    def __init__(self) -> None:
        super().__init__()
        self.norms = nn.ModuleList(nn.RMSNorm(WIDTH) for _ in range(2))
        self.project = nn.Linear(WIDTH, 3 * WIDTH, bias=False)
        self.merge = nn.Linear(WIDTH, WIDTH, bias=False)
        self.gate, self.up = nn.Linear(WIDTH, 32, bias=False), nn.Linear(WIDTH, 32, bias=False)
        self.down = nn.Linear(32, WIDTH, bias=False)

    def forward(
        self, hidden: torch.Tensor, angles: torch.Tensor, cache: torch.Tensor | None, start: int
    ) -> torch.Tensor:
        batch, length, _ = hidden.shape
        parts = self.project(self.norms[0](hidden)).view(batch, length, 3, HEADS, WIDTH // HEADS)
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        query, key = _rotated(query, angles), _rotated(key, angles)
        if cache is not None:
            cache[0, :, :, start : start + length] = key
            cache[1, :, :, start : start + length] = value
            key, value = cache[:, :, :, : start + length]
        attended = functional.scaled_dot_product_attention(query, key, value, is_causal=length > 1)
        hidden = hidden + self.merge(attended.transpose(1, 2).flatten(2))
        inner = self.norms[1](hidden)
        result: torch.Tensor = hidden + self.down(functional.silu(self.gate(inner)) * self.up(inner))
        return result


def _rotated(heads: torch.Tensor, angles: torch.Tensor) -> torch.Tensor:
    left, right = heads.chunk(2, -1)
    sine, cosine = angles.sin(), angles.cos()
    return torch.cat((left * cosine - right * sine, right * cosine + left * sine), -1).to(heads.dtype)


class Decoder(nn.Module):
    """A transformer decoder, with a cache of keys and values for generating token by token."""

    angles: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.layers = nn.ModuleList(_CausalLayer() for _ in range(2))
        self.norm = nn.RMSNorm(WIDTH)
        frequencies = 10.0 ** -torch.arange(WIDTH // HEADS // 2)
        self.register_buffer("angles", torch.arange(2.0 * LENGTH).unsqueeze(1) * frequencies)

    def empty_cache(self, batch: int) -> torch.Tensor:
        """A cache: by layer, keys and values; as long as any sequence may become."""
        return self.angles.new_zeros(len(self.layers), 2, batch, HEADS, len(self.angles), WIDTH // HEADS)

    def forward(self, tokens: torch.Tensor, cache: torch.Tensor | None = None, start: int = 0) -> torch.Tensor:
        """The logits of the token after each; the cache has the keys and values of the ``start`` tokens before."""
        hidden = self.embedding(tokens)
        angles = self.angles[start : start + tokens.shape[1]]
        for number, layer in enumerate(self.layers):
            hidden = layer(hidden, angles, None if cache is None else cache[number], start)
        return functional.linear(self.norm(hidden), self.embedding.weight)  # the weights of both ends are the same


class Recurrent(nn.Module):
    """An embedding and a recurrent network of two layers."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, 8)
        self.recurrent = nn.LSTM(8, 12, num_layers=2, batch_first=True)
        self.output = nn.Linear(12, CLASSES)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """The logits of each sequence."""
        states, _ = self.recurrent(self.embedding(tokens))
        result: torch.Tensor = self.output(states[:, -1])
        return result


class MessagePassing(nn.Module):
    """A graph network: each node gets the mean and the largest of what its neighbors send along the edges."""

    def __init__(self) -> None:
        super().__init__()
        self.enter = nn.Linear(5, WIDTH)
        self.send = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(2))
        self.keep = nn.ModuleList(nn.Linear(WIDTH, WIDTH) for _ in range(2))
        self.output = nn.Linear(WIDTH, CLASSES)

    def forward(self, nodes: torch.Tensor, senders: torch.Tensor, receivers: torch.Tensor) -> torch.Tensor:
        """The logits of each node."""
        hidden = self.enter(nodes).tanh()
        degrees = nodes.new_zeros(len(nodes)).index_add(0, receivers, nodes.new_ones(len(receivers)))
        for send, keep in zip(self.send, self.keep, strict=True):
            sent = send(hidden)[senders]
            none = torch.zeros_like(hidden, dtype=sent.dtype)
            mean = none.index_add(0, receivers, sent) / degrees.clamp(min=1).unsqueeze(1)
            largest = none.scatter_reduce(0, receivers.unsqueeze(1).expand_as(sent), sent, "amax", include_self=False)
            hidden = (keep(hidden) + mean + largest).tanh()
        result: torch.Tensor = self.output(hidden)
        return result


class Denoiser(nn.Module):
    """The network of a diffusion model: down, up, the skipped connection, and the time as sines and cosines."""

    frequencies: torch.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("frequencies", 10.0 ** torch.linspace(0, 1, 4))
        self.time = nn.Sequential(nn.Linear(8, WIDTH), nn.SiLU(), nn.Linear(WIDTH, WIDTH))
        self.enter = nn.Conv2d(1, 8, 3, padding=1)
        self.norms = nn.ModuleList((nn.GroupNorm(2, 8), nn.GroupNorm(4, WIDTH), nn.GroupNorm(4, WIDTH)))
        self.down = nn.Conv2d(8, WIDTH, 3, stride=2, padding=1)
        self.middle = nn.Conv2d(WIDTH, WIDTH, 3, padding=1)
        self.up = nn.Conv2d(WIDTH, 8, 3, padding=1)
        self.leave = nn.Conv2d(WIDTH, 1, 3, padding=1)

    def forward(self, images: torch.Tensor, times: torch.Tensor) -> torch.Tensor:
        """The noise in each image."""
        angles = times.unsqueeze(1) * self.frequencies
        time = self.time(torch.cat((angles.sin(), angles.cos()), 1))
        entered = self.enter(images)
        hidden = self.down(functional.silu(self.norms[0](entered))) + time[:, :, None, None]
        hidden = hidden + self.middle(functional.silu(self.norms[1](hidden)))
        hidden = self.up(functional.interpolate(hidden, scale_factor=2.0, mode="nearest"))
        result: torch.Tensor = self.leave(functional.silu(self.norms[2](torch.cat((hidden, entered), 1))))
        return result


class MixtureOfExperts(nn.Module):
    """Tokens that a router sends to two of four experts each."""

    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, WIDTH)
        self.router = nn.Parameter(torch.randn(4, WIDTH) / 2)
        self.up = nn.Parameter(torch.randn(4, WIDTH, 32) / 4)
        self.down = nn.Parameter(torch.randn(4, 32, WIDTH) / 6)
        self.output = nn.Linear(WIDTH, CLASSES)

    def scores(self, tokens: torch.Tensor) -> torch.Tensor:
        """How well each expert suits each token.

        No matrix product, which autocast would compute in the lower precision: it decides, and does not round.
        """
        return (self.embedding(tokens).unsqueeze(-2) * self.router).sum(-1)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """The logits of each sequence."""
        hidden = self.embedding(tokens)
        best, chosen = self.scores(tokens).topk(2)
        inner = functional.gelu(torch.einsum("bld,bledh->bleh", hidden, self.up[chosen]))
        outputs = torch.einsum("bleh,blehd->bled", inner, self.down[chosen])
        hidden = hidden + (best.softmax(-1).unsqueeze(-1) * outputs).sum(-2)
        result: torch.Tensor = self.output(hidden.mean(1))
        return result


def _images(step: int) -> tuple[tuple[torch.Tensor, ...], torch.Tensor]:
    return (numbers(BATCH, 3, 8, 8, seed=step),), torch.arange(BATCH) % CLASSES


def _tokens(step: int) -> torch.Tensor:
    return numbers(BATCH, LENGTH, dtype=torch.int64, seed=step) % VOCABULARY


def _sequences(step: int) -> tuple[tuple[torch.Tensor, ...], torch.Tensor]:
    return (_tokens(step),), torch.arange(BATCH) % CLASSES


def _padded(step: int) -> tuple[tuple[torch.Tensor, ...], torch.Tensor]:
    tokens = _tokens(step).clamp(min=1)
    kept = torch.arange(LENGTH) < (torch.arange(BATCH) % LENGTH + 1).unsqueeze(1)
    return (tokens * kept,), torch.arange(BATCH) % CLASSES


def _text(step: int) -> tuple[tuple[torch.Tensor, ...], torch.Tensor]:
    tokens = numbers(BATCH, LENGTH + 1, dtype=torch.int64, seed=step) % VOCABULARY
    return (tokens[:, :-1],), tokens[:, 1:]


def _graph(step: int) -> tuple[tuple[torch.Tensor, ...], torch.Tensor]:
    nodes = 3 * BATCH
    senders, receivers = numbers(2, 4 * nodes, dtype=torch.int64, seed=step).cumsum(1) % nodes
    return (numbers(nodes, 5, seed=step), senders, receivers), torch.arange(nodes) % CLASSES


def _noisy(step: int) -> tuple[tuple[torch.Tensor, ...], torch.Tensor]:
    clean, noise = numbers(BATCH, 1, 8, 8, seed=step).cumsum(-1) / 4, numbers(BATCH, 1, 8, 8, seed=step + 100)
    times = torch.arange(1.0, BATCH + 1) / (BATCH + 1)
    kept = times.view(-1, 1, 1, 1)
    return (clean * kept.sqrt() + noise * (1 - kept).sqrt(), times), noise


def _of_each_token(logits: torch.Tensor, tokens: torch.Tensor) -> torch.Tensor:
    return functional.cross_entropy(logits.flatten(0, 1), tokens.flatten())


def _sgd(parameters: object) -> torch.optim.Optimizer:
    return torch.optim.SGD(parameters, lr=0.05, momentum=0.9)  # type: ignore[arg-type]


def _adamw(parameters: object) -> torch.optim.Optimizer:
    # Adam makes a whole step of a gradient that is zero but for rounding, unless eps is larger.
    return torch.optim.AdamW(parameters, lr=0.01, eps=1e-5)  # type: ignore[arg-type]


TASKS: dict[str, Task] = {
    "cnn": Task(Convolutional, _images, optimizer=_sgd),
    "encoder": Task(Encoder, _padded, optimizer=_adamw),
    "decoder": Task(Decoder, _text, _of_each_token, optimizer=_adamw),
    "lstm": Task(Recurrent, _sequences, optimizer=_adamw),
    "graph": Task(MessagePassing, _graph, optimizer=_sgd),
    "unet": Task(Denoiser, _noisy, functional.mse_loss, optimizer=_adamw),
    "experts": Task(MixtureOfExperts, _sequences, optimizer=_adamw),
}
