"""What a run says of where it took place, of its operators, and of where more is to be found."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from random import Random

from ootci import __version__
from ootci.model.build import PluginBuild, StageResult, StageStatus
from ootci.model.outcome import Way
from ootci.model.run import Environment, Links, OperatorCount

from .fleet import Maker

COUNTING = ("openreg", "borealis", "opal")
"""Devices that count their operators."""
SLOW = {"openreg": 7, "borealis": 1, "opal": 3}
"""How many operators of ten each of them leaves to the CPU."""
NATIVE = (
    *(
        "_copy_from",
        "add.Tensor",
        "mul.Tensor",
        "mm",
        "addmm",
        "sum.dim_IntList",
        "relu",
        "gelu",
        "bmm",
        "cat",
        "fill_",
    ),
    *("convolution_overrideable", "native_layer_norm", "empty_strided", "as_strided", "view", "_local_scalar_dense"),
)
FALLBACK = ("erfinv", "linalg_qr", "linalg_svd", "median", "unique_dim", "cdist", "grid_sampler_2d", "multinomial")


def environment(maker: Maker, night: int, *, counted: bool) -> Environment:
    """Where a run took place; ``counted`` says whether anybody got as far as counting the cards."""
    facts = {"driver": f"{3 + night // 120}.{night // 30 % 4}.1", "firmware": f"{1 + night // 200}.2"}
    return Environment(
        python="3.11.14",
        os="Linux-6.8.0-x86_64-with-glibc2.39",
        glibc="2.39",
        machine="x86_64",
        cpus=16 * maker.cards,
        compiler="g++ (GCC) 13.3.0",
        runner=f"{maker.name}-{1 + night % 2}",
        devices=maker.cards if counted else None,
        image=f"registry.example/{maker.name}/ci@sha256:{sum(maker.name.encode()):064x}",
        device_facts={**facts, "card.name": maker.display_name, "card.total_memory": "68719476736"} if counted else {},
        ootci=__version__,
    )


def operators(maker: Maker, executed: int) -> tuple[OperatorCount, ...]:
    """How often operators ran, where the device counts them."""
    if maker.name not in COUNTING or not executed:
        return ()
    random = Random(f"operators/{maker.name}")  # noqa: S311 - nothing secret
    native = [OperatorCount(operator=f"aten::{name}", native=executed * random.randint(1, 9)) for name in NATIVE]
    slow = random.sample(FALLBACK, random.randint(3, len(FALLBACK)))
    fallback = [OperatorCount(operator=f"aten::{name}", fallback=random.randint(1, 40)) for name in slow]
    return tuple(sorted((*native, *fallback), key=lambda item: item.operator))


def way(maker: Maker, test_id: str) -> Way | None:
    """How the work of a test of the suite ops was done, where the device counts that: by its operator."""
    if maker.name not in COUNTING:
        return None
    operator = test_id.partition("[")[2].partition("-")[0]
    return Way.FALLBACK if zlib.crc32(f"{maker.name}/{operator}".encode()) % 10 < SLOW[maker.name] else Way.NATIVE


def links(plugin: PluginBuild | None, stages: Sequence[StageResult]) -> Links:
    """Where more is to be found."""
    failed = (stage.log for stage in stages if stage.status is not StageStatus.PASSED and stage.log)
    repository = plugin.source.partition(".git")[0] if plugin else None
    return Links(
        plugin_commit=f"{repository}/commit/{plugin.commit}" if plugin else None,
        report="report.xml",
        log=next(failed, None),
    )
