"""The invented devices, and what is special about each."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ootci.model.capability import Capability
from ootci.model.device import (
    Device,
    GitSource,
    KnownFailure,
    Links,
    LostTests,
    Paused,
    Plugin,
    RegisteredDevice,
    Runner,
    Suite,
    Tier,
    Torch,
    Unsupported,
)
from ootci.model.torch_build import Channel

PAUSE = "The only machine is being moved to another building."


@dataclass(frozen=True)
class Maker:
    """One invented device.

    Attributes:
        name: as in ``torch.device(name)``.
        display_name: for people.
        vendor: who makes it.
        tier: how much its verdict weighs.
        every: nights between two commits of its plugin, on average.
        cards: how many it has.
        unreliable: how often its machine fails, as a multiple of the usual.
        variant: of PyTorch's builds.
        release: whether it is tested on the pinned release and not on nightlies.
        unsupported: capabilities that it does not have, with the reason.
        missing: parts of the names of operators, or dtypes, for which it has no kernel.
        joins: the night on which it is registered, as a part of the whole time; None when it never reports.

    """

    name: str
    display_name: str
    vendor: str
    tier: Tier
    every: float
    cards: int = 2
    unreliable: float = 1.0
    variant: str = "cpu"
    release: bool = False
    unsupported: tuple[tuple[Capability, str], ...] = ()
    missing: tuple[str, ...] = ()
    joins: float | None = 0.0

    def has_kernel(self, test_id: str) -> bool:
        """Whether it can do at all what a test of the suite ops asks for."""
        _, _, parameter = test_id.partition("[")
        return not any(part in parameter for part in self.missing)

    def first_night(self, nights: int) -> int:
        """The night on which it is registered, of so many."""
        return round((self.joins or 0.0) * nights)


_C = Capability
_NO_INTEGERS = (_C.QUANTIZATION, "The card has no integer matrix units.")
_ONE_QUEUE = (_C.STREAMS_EVENTS, "The card has one queue only.")
_NO_COMPILER = (_C.COMPILE, "There is no code generator for the card yet.")
_ONE_CARD = (_C.DISTRIBUTED, "The cards of a machine cannot reach each other.")

MAKERS = (
    Maker("openreg", "OpenReg", "pytorch-integration-tests", Tier.REFERENCE, 9.0),
    Maker("borealis", "Borealis B2", "Borealis Compute", Tier.GATING, 2.0, 8),
    Maker("cobalt", "Cobalt Tensor Card", "Cobalt Semiconductors", Tier.GATING, 1.5, 4),
    Maker("dune", "Dune NPU", "Dune Systems", Tier.GATING, 3.0, 8, 1.5),
    Maker("ember", "Ember X1", "Ember AI", Tier.GATING, 2.5, 4, unsupported=(_NO_INTEGERS,), missing=("fft.",)),
    Maker("alder", "Alder Vector", "Alder Machines", Tier.ADVISORY, 4.0, missing=("-complex64", "linalg.eigh")),
    Maker("basalt", "Basalt 16", "Basalt Computing", Tier.ADVISORY, 2.0, 16, 2.0),
    Maker(
        "cirrus",
        "Cirrus C7",
        "Cirrus Silicon",
        Tier.ADVISORY,
        5.0,
        1,
        unsupported=(_ONE_CARD, _NO_COMPILER),
        missing=("fft.", "linalg.", "-complex64"),
    ),
    Maker("fjord", "Fjord 400", "Fjord Accelerators", Tier.ADVISORY, 3.0, 4, 3.0, missing=("linalg.",)),
    Maker("garnet", "Garnet", "Garnet Labs", Tier.ADVISORY, 1.2, 2, 4.0),
    Maker(
        "halo",
        "Halo Edge",
        "Halo",
        Tier.ADVISORY,
        8.0,
        1,
        unsupported=(_ONE_QUEUE, _ONE_CARD),
        missing=("fft.", "linalg.", "nn.functional.grid_sample"),
    ),
    Maker("indigo", "Indigo Q", "Indigo Devices", Tier.ADVISORY, 6.0, joins=None),
    Maker("jasper", "Jasper DSP", "Jasper Works", Tier.ADVISORY, 7.0, 1, unsupported=(_NO_COMPILER, _ONE_CARD)),
    Maker("kestrel", "Kestrel", "Kestrel Microsystems", Tier.ADVISORY, 2.2, 4),
    Maker("lumen", "Lumen Photonic", "Lumen", Tier.ADVISORY, 3.5, 2, unsupported=(_NO_INTEGERS, _ONE_QUEUE)),
    Maker("marble", "Marble S", "Marble Silicon", Tier.ADVISORY, 4.0, 2, release=True),
    Maker("nimbus", "Nimbus", "Nimbus", Tier.ADVISORY, 1.8, 8, 1.5),
    Maker("opal", "Opal", "Opal Computing", Tier.ADVISORY, 2.6, 4, variant="rocm7.1"),
    Maker(
        "quartz", "Quartz One", "Quartz Foundry", Tier.ADVISORY, 3.0, joins=0.4, missing=("multinomial", "log_normal")
    ),
    Maker(
        "sable",
        "Sable Inference Card",
        "Sable",
        Tier.ADVISORY,
        5.0,
        4,
        unsupported=(_NO_COMPILER,),
        missing=("linalg.", "put"),
    ),
)
"""In registry order."""


def registered(
    maker: Maker,
    *,
    tests: dict[str, int],
    paused: bool,
    known: tuple[KnownFailure, ...],
    given_up: Sequence[str] = (),
    lost: tuple[LostTests, ...] = (),
) -> RegisteredDevice:
    """A device as its file says on some night.

    Args:
        maker: the device.
        tests: how many tests each suite has.
        paused: whether it is paused.
        known: its list of known failures.
        given_up: capabilities that it had once.
        lost: its list of accepted losses.

    """
    where = f"https://github.com/example/torch-{maker.name}"
    reference = maker.tier is Tier.REFERENCE
    distribution = f"torch-{maker.name}"
    device = Device(
        name=maker.name,
        display_name=maker.display_name,
        vendor=maker.vendor,
        description="The reference device, an accelerator simulated on the CPU. When it breaks, PyTorch broke."
        if reference
        else f"An accelerator by {maker.vendor}, {maker.cards} to a machine.",
        tier=maker.tier,
        pull_requests=maker.tier is not Tier.ADVISORY,
        maintainers=(f"@{maker.name}-maintainers",),
        links=Links(homepage=f"https://example.com/{maker.name}", source=where, issues=f"{where}/issues"),
        paused=Paused(reason=PAUSE) if paused else None,
        plugin=Plugin(distribution=distribution, path=maker.name)
        if reference
        else Plugin(distribution=distribution, git=GitSource(url=f"{where}.git", ref="main")),
        torch=Torch(channel=Channel.RELEASE if maker.release else Channel.NIGHTLY, variant=maker.variant),
        runner=Runner(labels=("ubuntu-latest",) if reference else ("self-hosted", maker.name)),
        suites=tuple(
            Suite.model_validate({"name": name, "min_tests": max(1, count // 3)}) for name, count in tests.items()
        ),
        known_failures=known,
        lost_tests=lost,
        unsupported=(
            *(Unsupported(capability=which, reason=why) for which, why in maker.unsupported),
            *(Unsupported(capability=Capability(name), reason="It was given up.") for name in given_up),
        ),
    )
    checksum = hashlib.sha256(device.model_dump_json().encode()).hexdigest()
    return RegisteredDevice(device=device, path=Path(f"devices/{maker.name}.yaml"), sha256=checksum)
