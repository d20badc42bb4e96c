"""Generators: seeds, states, and independence of one another."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from types import ModuleType

import pytest
import torch

from harness.compare import assert_on

pytestmark = pytest.mark.capability("rng")

Draw = Callable[[torch.device, torch.Generator], torch.Tensor]

SIZE = 200

DRAWS: dict[str, Draw] = {
    "rand": lambda d, g: torch.rand(SIZE, device=d, generator=g),
    "randn": lambda d, g: torch.randn(SIZE, device=d, generator=g),
    "randint": lambda d, g: torch.randint(0, 10_000, (SIZE,), device=d, generator=g),
    "randperm": lambda d, g: torch.randperm(SIZE, device=d, generator=g),
    "bernoulli": lambda d, g: torch.bernoulli(torch.full((SIZE,), 0.5, device=d), generator=g),
    "multinomial": lambda d, g: torch.multinomial(torch.ones(SIZE, device=d), SIZE // 2, generator=g),
    "normal": lambda d, g: torch.normal(torch.zeros(SIZE, device=d), torch.ones(SIZE, device=d), generator=g),
    "uniform_": lambda d, g: torch.empty(SIZE, device=d).uniform_(-1, 1, generator=g),
    "normal_": lambda d, g: torch.empty(SIZE, device=d).normal_(1, 2, generator=g),
    "exponential_": lambda d, g: torch.empty(SIZE, device=d).exponential_(generator=g),
    "cauchy_": lambda d, g: torch.empty(SIZE, device=d).cauchy_(generator=g),
    "log_normal_": lambda d, g: torch.empty(SIZE, device=d).log_normal_(generator=g),
    "geometric_": lambda d, g: torch.empty(SIZE, device=d).geometric_(0.1, generator=g),
    "random_": lambda d, g: torch.empty(SIZE, dtype=torch.int64, device=d).random_(generator=g),
    "bernoulli_": lambda d, g: torch.empty(SIZE, device=d).bernoulli_(0.3, generator=g),
    "poisson": lambda d, g: torch.poisson(torch.full((SIZE,), 20.0, device=d), generator=g),
}

# Drawn from the default generator: these take none.
DEFAULT_DRAWS: dict[str, Callable[[torch.device], torch.Tensor]] = {
    "dropout": lambda d: torch.nn.functional.dropout(torch.ones(SIZE, device=d)),
    "alpha_dropout": lambda d: torch.nn.functional.alpha_dropout(torch.ones(SIZE, device=d), training=True),
    "rand_like": lambda d: torch.rand_like(torch.empty(SIZE, device=d)),
    "randint_like": lambda d: torch.randint_like(torch.empty(SIZE, device=d), 10_000),
    "rrelu": lambda d: torch.nn.functional.rrelu(-torch.ones(SIZE, device=d), training=True),
    "trunc_normal_": lambda d: torch.nn.init.trunc_normal_(torch.empty(SIZE, device=d)),
    "kaiming_uniform_": lambda d: torch.nn.init.kaiming_uniform_(torch.empty(SIZE, 3, device=d)),
}


@pytest.mark.parametrize("name", DRAWS)
def test_generator_decides_the_numbers(device: torch.device, name: str) -> None:
    """The same seed of a generator gives the same numbers on the device, and drawing moves the generator on."""
    draw = DRAWS[name]
    generator = torch.Generator(device).manual_seed(5)
    first = draw(device, generator)
    second = draw(device, generator)
    assert_on(first, device)
    assert torch.equal(draw(device, torch.Generator(device).manual_seed(5)).cpu(), first.cpu())
    assert not torch.equal(first.cpu(), second.cpu()), "the generator did not move on"
    assert not torch.equal(draw(device, torch.Generator(device).manual_seed(6)).cpu(), first.cpu())


@pytest.mark.parametrize("name", [*DRAWS, *DEFAULT_DRAWS])
@pytest.mark.device_only("its generator is the cpu's")
def test_cpu_generator_is_left_alone(device: torch.device, name: str) -> None:
    """Drawing on the device, with a generator and without, does not advance the cpu's generator."""
    generator = torch.Generator(device)  # a device that has none may take the cpu's
    before = torch.get_rng_state()
    if name in DRAWS:
        DRAWS[name](device, generator.manual_seed(5))
        assert torch.equal(torch.get_rng_state(), before), "with a generator of the device"
        DRAWS[name](device, None)  # type: ignore[arg-type]
    else:
        DEFAULT_DRAWS[name](device)
    assert torch.equal(torch.get_rng_state(), before)
    if name == "dropout":
        _check_other_thread(device)


def _check_other_thread(device: torch.device) -> None:
    """The numbers that the cpu draws while another thread draws on the device are those of the cpu's seed."""
    ones = torch.ones(500_000, device=device)
    torch.manual_seed(5)
    with ThreadPoolExecutor(1) as pool:
        drawn = pool.submit(lambda: [torch.nn.functional.dropout(ones) for _ in range(10)])
        numbers = [torch.rand(1)]
        while not drawn.done():
            numbers.append(torch.rand(1))
    drawn.result()
    torch.manual_seed(5)
    expected = torch.cat([torch.rand(1) for _ in numbers])
    assert torch.equal(torch.cat(numbers), expected), "another thread drew on the device"


@pytest.mark.parametrize("name", DEFAULT_DRAWS)
def test_global_seed_decides_the_numbers(device: torch.device, name: str) -> None:
    """`torch.manual_seed` decides what comes from the device's default generator."""
    torch.manual_seed(5)
    first = DEFAULT_DRAWS[name](device)
    second = DEFAULT_DRAWS[name](device)
    torch.manual_seed(5)
    assert torch.equal(DEFAULT_DRAWS[name](device).cpu(), first.cpu())
    assert not torch.equal(first.cpu(), second.cpu())


def test_distributions_have_the_right_moments(device: torch.device) -> None:
    """Means and deviations of the common distributions are right on the device."""
    generator = torch.Generator(device).manual_seed(0)
    count = 40_000

    def check(drawn: torch.Tensor, mean: float, deviation: float) -> None:
        drawn = drawn.cpu().double()
        # Seven standard errors, for distributions without heavy tails.
        assert abs(drawn.mean().item() - mean) < 7 * deviation / count**0.5
        assert drawn.std().item() == pytest.approx(deviation, rel=0.05)

    empty = torch.empty(count, device=device)
    check(empty.normal_(2, 3, generator=generator), 2, 3)
    check(empty.uniform_(-1, 3, generator=generator), 1, 4 / 12**0.5)
    check(empty.exponential_(2.0, generator=generator), 0.5, 0.5)
    check(empty.bernoulli_(0.3, generator=generator), 0.3, (0.3 * 0.7) ** 0.5)
    check(torch.randint(0, 10, (count,), device=device, generator=generator), 4.5, (99 / 12) ** 0.5)
    permutation = torch.randperm(1000, device=device, generator=generator)
    assert torch.equal(permutation.sort().values.cpu(), torch.arange(1000))


def test_state_round_trip(device: torch.device) -> None:
    """A generator's state can be taken and set, and the numbers after it come again."""
    generator = torch.Generator(device).manual_seed(1)
    torch.rand(7, device=device, generator=generator)
    state = generator.get_state()
    expected = [torch.randn(33, device=device, generator=generator).cpu() for _ in range(3)]
    other = torch.Generator(device)
    other.set_state(state)
    for reference in expected:
        assert torch.equal(torch.randn(33, device=device, generator=other).cpu(), reference)
    generator.set_state(state)
    assert torch.equal(torch.randn(33, device=device, generator=generator).cpu(), expected[0])


def test_generator_tells_its_device_and_seed(device: torch.device) -> None:
    """A generator knows its device and its initial seed, and `seed()` gives it a fresh one."""
    generator = torch.Generator(device)
    assert generator.device.type == device.type
    generator.manual_seed(123)
    assert generator.initial_seed() == 123
    assert generator.seed() == generator.initial_seed()
    assert generator.initial_seed() != 123


def test_cloned_state_is_independent(device: torch.device) -> None:
    """`clone_state` gives an independent generator that continues the same sequence."""
    generator = torch.Generator(device).manual_seed(4)
    twin = generator.clone_state()
    expected = torch.rand(9, device=device, generator=generator)
    assert torch.equal(torch.rand(9, device=device, generator=twin).cpu(), expected.cpu())


@pytest.mark.device_only("its generator is the cpu's")
def test_generator_of_another_device_is_refused(device: torch.device) -> None:
    """A generator of the cpu is refused for numbers on the device, and the other way round."""
    generator = torch.Generator(device)
    with pytest.raises(RuntimeError):
        torch.rand(3, device=device, generator=torch.Generator())
    with pytest.raises(RuntimeError):
        torch.rand(3, generator=generator)


@pytest.mark.device_only("it has no module with states")
def test_module_keeps_the_state(device: torch.device, device_module: ModuleType) -> None:
    """The states and seeds of `torch.<name>` are those of the default generator."""
    device_module.manual_seed(11)
    expected = torch.rand(5, device=device).cpu()
    device_module.manual_seed_all(11)
    state = device_module.get_rng_state()
    assert state.device.type == "cpu"
    assert state.dtype == torch.uint8
    assert torch.equal(torch.rand(5, device=device).cpu(), expected)
    device_module.set_rng_state(state)
    assert torch.equal(torch.rand(5, device=device).cpu(), expected)


@pytest.mark.device_only("fork_rng keeps its state in any case")
@pytest.mark.parametrize("named", [True, False], ids=["devices_named", "all_devices"])
def test_fork_rng(device: torch.device, device_name: str, named: bool) -> None:
    """`torch.random.fork_rng` restores the device's generator and the cpu's."""
    torch.manual_seed(2)
    torch.rand(3, device=device)
    cpu = torch.get_rng_state()
    devices = [device.index] if named else list(range(torch.accelerator.device_count()))
    with torch.random.fork_rng(devices=devices, device_type=device_name):
        inside = torch.rand(5, device=device).cpu()
        torch.rand(5)
    assert torch.equal(torch.get_rng_state(), cpu)
    assert torch.equal(torch.rand(5, device=device).cpu(), inside)


def test_fork_rng_of_no_device(device_name: str) -> None:
    """`fork_rng(devices=[])` keeps the cpu's state only and asks nothing of the device."""
    before = torch.get_rng_state()
    with torch.random.fork_rng(devices=[], device_type=device_name):
        torch.rand(5)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.needs_devices(2)
def test_cards_have_their_own_generators(device_name: str) -> None:
    """Drawing on one card does not move the generator of another."""
    first, second = torch.device(device_name, 0), torch.device(device_name, 1)
    torch.manual_seed(3)
    expected = torch.rand(5, device=second).cpu()
    torch.manual_seed(3)
    torch.rand(100, device=first)
    assert torch.equal(torch.rand(5, device=second).cpu(), expected)


def test_seed_makes_numbers_repeat(device: torch.device) -> None:
    """After the same seed come the same numbers, after them come others, and they are on the device."""
    torch.manual_seed(7)
    first = torch.randn(100, device=device)
    next_ones = torch.randn(100, device=device)
    torch.manual_seed(7)
    again = torch.randn(100, device=device)
    assert_on(first, device)
    assert torch.equal(first.cpu(), again.cpu())
    assert not torch.equal(first.cpu(), next_ones.cpu())


def test_numbers_are_distributed_as_asked(device: torch.device) -> None:
    """Normal numbers have about the right mean and deviation, uniform ones stay within their bounds."""
    torch.manual_seed(0)
    normal = torch.randn(20_000, device=device).cpu()
    # Six standard errors of 20,000 numbers: a right generator does not get there by chance.
    assert abs(normal.mean().item()) < 0.045
    assert abs(normal.std().item() - 1) < 0.035
    uniform = torch.rand(20_000, device=device).cpu()
    assert uniform.min() >= 0
    assert uniform.max() < 1
    assert abs(uniform.mean().item() - 0.5) < 0.015
