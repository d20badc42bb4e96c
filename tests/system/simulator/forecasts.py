"""What is predicted of the invented devices: one change of PyTorch breaks several, and each state is there."""

from __future__ import annotations

from collections.abc import Iterable

from ootci.model.compat import Checked, Compat, Finding, FindingKind, Forecast, Needs, Prediction
from ootci.model.device import RegisteredDevice
from ootci.model.plan import Plan
from ootci.model.torch_build import Channel, TorchBuild

from .builds import PREVIOUS, RELEASE

SYMBOL = Finding(
    kind=FindingKind.SYMBOL,
    name="_ZN3c1015report_overflowEPKc",
    text="c10::report_overflow(char const*)",
    needed_by=("_C.so",),
    header="c10/util/TypeCast.h",
)
NAMES = tuple(
    Finding(kind=FindingKind.NAME, name=name, text=name, needed_by=("inductor/codegen.py:12",))
    for name in ("torch._inductor.codegen.cpp_utils.DEVICE_TO_ATEN", "torch.distributed.tensor._ops._mm_like_strategy")
)
OPERATOR = Finding(
    kind=FindingKind.OPERATOR, name="full.names", text="aten::full.names", needed_by=("ops/creation.py:40",)
)
SYMBOL_GOES, NAMES_GO, OPERATOR_GOES = 0.75, 0.9, 0.4
"""When each is removed from PyTorch, as a part of the whole time."""
NEEDS: dict[str, tuple[tuple[float, tuple[Finding, ...]], ...]] = {
    "borealis": ((SYMBOL_GOES, (SYMBOL,)), (NAMES_GO, NAMES)),
    "cirrus": ((OPERATOR_GOES, (OPERATOR,)),),
    "halo": ((SYMBOL_GOES, (SYMBOL,)),),
    "indigo": ((SYMBOL_GOES, (SYMBOL,)), (NAMES_GO, NAMES[:1])),
    "jasper": ((SYMBOL_GOES, (SYMBOL,)),),
    "nimbus": (),
    "quartz": (),
}
"""Of each device with a public wheel, what its plugin needs and when that goes."""
SYMBOLS = ("at::TensorBase::dtype() const", "c10::Error::Error(c10::SourceLocation, std::string)")
"""What every plugin needs."""
UNREACHABLE = "nimbus"
"""The index of this device's plugin answers on every other night."""
_CHECKED = Checked(objects=1, symbols=1498, sources=212, names=1096, operators=310)


def forecasts(
    plan: Plan, build: TorchBuild, registry: Iterable[RegisteredDevice], number: int, nights: int
) -> Compat | None:
    """What is predicted for one night; None where the nightly could not be had.

    Args:
        plan: the night's plan.
        build: the nightly's torch.
        registry: the devices of the night.
        number: of the night, counted from 0.
        nights: how many there are.

    """
    if all(run.torch.channel is not Channel.NIGHTLY for run in plan.runs):
        return None
    release, previous = (TorchBuild(version=f"{version}+cpu") for version in (RELEASE, PREVIOUS))
    found = []
    for item in registry:
        name = item.device.name
        gone = [finding for when, needs in NEEDS.get(name, ()) if number >= round(when * nights) for finding in needs]
        found.append(_prediction(name, build.version, gone, number))
        found.append(_prediction(name, release.version, [], number))
        found.append(_prediction(name, previous.version, [SYMBOL] if name == "halo" else [], number))
    needs = {item.digest: item for item in map(_needs, NEEDS)}
    return Compat(
        plan_id=plan.id, torches=(build, release, previous), predictions=tuple(found), needs=tuple(needs.values())
    )


def _needs(name: str) -> Needs:
    of_kind: dict[FindingKind, list[str]] = {kind: [] for kind in FindingKind}
    for _, findings in NEEDS[name]:
        for finding in findings:
            of_kind[finding.kind].append(finding.text.removeprefix("aten::"))
    return Needs(
        symbols=tuple(sorted([*SYMBOLS, *of_kind[FindingKind.SYMBOL]])),
        names=tuple(sorted(["torch.nn.Module", *of_kind[FindingKind.NAME]])),
        operators=tuple(sorted(["add.Tensor", *of_kind[FindingKind.OPERATOR]])),
    )


def _prediction(name: str, torch: str, gone: list[Finding], number: int) -> Prediction:
    if name not in NEEDS:
        why = f"looked for: a wheel of torch-{name} on the package index"
        return Prediction(plugin=name, torch=torch, forecast=Forecast.NOTHING, why=why)
    if name == UNREACHABLE and number % 2:
        why = "torch-nimbus cannot be downloaded: the index does not answer"
        return Prediction(plugin=name, torch=torch, forecast=Forecast.UNCHECKED, why=why)
    counted = ((FindingKind.SYMBOL, "binary", "1,498 symbols"), (FindingKind.NAME, "Python", "1,096 names"))
    counted = (*counted, (FindingKind.OPERATOR, "operators", "310 overloads"))
    parts = [
        f"{label}: {count} of {total} gone"
        for kind, label, total in counted
        if (count := sum(finding.kind is kind for finding in gone))
    ]
    return Prediction(
        plugin=name,
        torch=torch,
        forecast=Forecast.BREAK if gone else Forecast.NO_BREAK,
        why=" · ".join(parts) or "checked 1,498 symbols, 1,096 names, 310 overloads",
        wheel=f"torch_{name}-2.13.0-cp311-cp311-manylinux_2_28_x86_64.whl",
        version="2.13.0",
        baseline=f"{RELEASE}+cpu",
        baseline_guessed=name == "quartz",
        findings=tuple(
            finding.model_copy(update={"needed_by": tuple(f"torch_{name}/{place}" for place in finding.needed_by)})
            for finding in gone
        ),
        checked=_CHECKED,
        needs=_needs(name).digest if ".dev" in torch else None,
    )
