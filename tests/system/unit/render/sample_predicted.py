"""What is predicted of the sample's devices: each of the states, and one symbol that three plugins need."""

from __future__ import annotations

from unit.render.sample_clusters import COMMITS, COMMITS_URL, mark
from unit.render.sample_runs import NIGHTS, SHA

from ootci.model.compat import (
    Checked,
    Compat,
    DevicePrediction,
    Finding,
    FindingKind,
    Forecast,
    MissingPart,
    Needs,
    Predicted,
    PredictedBreak,
    Prediction,
    SourceCheck,
)
from ootci.model.torch_build import TorchBuild

TORCH = TorchBuild(version="2.15.0.dev20261120+cpu", git_version=SHA)
RELEASE = TorchBuild(version="2.14.1+cpu")
HOOKS = MissingPart(
    kind=FindingKind.SYMBOL,
    name="_ZN2at6detail5hooksEv",
    text="at::detail::hooks()",
    header="c10/core/Hooks.h",
)
NAME = MissingPart(kind=FindingKind.NAME, name="torch.utils.gone.helper", text="torch.utils.gone.helper")
OF_HOOKS, OF_NAME = mark(10), mark(12)
_CHECKED = Checked(objects=2, symbols=1498, sources=40, names=1096, operators=12)


COMPILE_ERROR = MissingPart(
    kind=FindingKind.COMPILE_ERROR,
    name="no member named 'hooks' in namespace 'at::detail'",
    text="no member named 'hooks' in namespace 'at::detail'",
)
COMMIT = "5f" * 20
COMPILES = SourceCheck(forecast=Forecast.NO_BREAK, why=f"source compiles (commit {COMMIT[:10]})", commit=COMMIT)
FAILS = SourceCheck(
    forecast=Forecast.BREAK,
    why=f"source does not compile: csrc/Hooks.cpp:12: {COMPILE_ERROR.text}",
    commit=COMMIT,
    baseline=RELEASE.version,
    place="csrc/Hooks.cpp:12",
    error=COMPILE_ERROR.text,
)


def _finding(part: MissingPart, *places: str) -> Finding:
    return Finding(kind=part.kind, name=part.name, text=part.text, header=part.header, needed_by=places)


def _prediction(device: str, torch: TorchBuild, *findings: Finding, **values: object) -> Prediction:
    symbols = sum(finding.kind is FindingKind.SYMBOL for finding in findings)
    names = len(findings) - symbols
    parts = [f"binary: {symbols} of 1,498 symbols gone"] if symbols else []
    parts += [f"Python: {names} of 1,096 names gone"] if names else []
    fields: dict[str, object] = {
        "plugin": device,
        "forecast": Forecast.BREAK if findings else Forecast.NO_BREAK,
        "why": " · ".join(parts) or "checked 1,498 symbols, 1,096 names, 12 overloads",
        "wheel": f"torch_{device}-2.14.0-cp311-cp311-manylinux_2_28_x86_64.whl",
        "version": "2.14.0",
        "torch": torch.version,
        "baseline": RELEASE.version,
        "findings": findings,
        "checked": _CHECKED,
        **values,
    }
    return Prediction.model_validate(fields)


def _device(device: str, *findings: Finding, **values: object) -> DevicePrediction:
    both = tuple(_prediction(device, torch, *found, **values) for torch, found in ((TORCH, findings), (RELEASE, ())))
    since = None if not findings else OF_HOOKS if findings[0].name == HOOKS.name else OF_NAME
    return DevicePrediction(device=device, predictions=both, since=since)


def _compiled(predicted: DevicePrediction, source: SourceCheck) -> DevicePrediction:
    nightly, *others = predicted.predictions
    return predicted.model_copy(update={"predictions": (nightly.with_source(source), *others)})


def _without(device: str, forecast: Forecast, why: str) -> DevicePrediction:
    return _device(device, forecast=forecast, why=why, wheel=None, version=None, baseline=None, checked=Checked())


_OF_A_LIBRARY = _finding(HOOKS, "lib/libbackend.so")
PREDICTED = Predicted(
    plan_id=mark(NIGHTS - 1).plan_id,
    torches=(TORCH, RELEASE),
    checked=5,
    devices=(
        _without("openreg", Forecast.NOTHING, "looked for: a published wheel. It is built from sources."),
        _device("dune", _finding(NAME, "torch_dune/__init__.py:3"), baseline_guessed=True),
        _without("fjord", Forecast.UNCHECKED, "torch-fjord cannot be downloaded: the index does not answer"),
        _compiled(
            _device("halo", _OF_A_LIBRARY, notes=("requires torch==2.14.*, which excludes 2.15.0.dev20261120",)), FAILS
        ),
        _device("indigo", _OF_A_LIBRARY, _finding(NAME, "torch_indigo/ops.py:12")),
        _device("kestrel", _OF_A_LIBRARY).model_copy(update={"explains": HOOKS}),
        _compiled(_device("lumen"), COMPILES),
    ),
    breaks=(
        PredictedBreak(
            parts=(HOOKS,),
            devices=("halo", "indigo", "kestrel"),
            since=OF_HOOKS,
            last_present=TorchBuild(version="2.15.0.dev20261116+cpu", git_version=SHA),
            commits=COMMITS,
            commits_url=COMMITS_URL,
        ),
        PredictedBreak(parts=(NAME,), devices=("dune", "indigo"), since=OF_NAME),
        PredictedBreak(
            parts=(COMPILE_ERROR,),
            devices=("halo",),
            since=OF_HOOKS,
            last_present=TorchBuild(version="2.15.0.dev20261116+cpu", git_version=SHA),
            commits=COMMITS,
            commits_url=COMMITS_URL,
        ),
    ),
)

_OLD = Needs(symbols=("c10::kept()",), names=(), operators=("add.Tensor",))
NEEDS = {
    "halo": Needs(symbols=("c10::kept()", HOOKS.text), names=(), operators=("add.Tensor",)),
    "kestrel": Needs(symbols=(HOOKS.text,), names=(), operators=()),
    "indigo": Needs(symbols=("c10::kept()",), names=(NAME.text,), operators=()),
}
"""What plugins need; of halo an older version needed less."""


def _compat(number: int, needs: dict[str, Needs]) -> Compat:
    found = {item.device: item.nightly for item in PREDICTED.devices}
    predictions = (found[name].model_copy(update={"needs": item.digest}) for name, item in needs.items())
    return Compat(
        plan_id=mark(number).plan_id,
        torches=PREDICTED.torches,
        predictions=tuple(predictions),
        needs=tuple(needs.values()),
    )


COMPAT = (_compat(8, {"halo": _OLD}), _compat(NIGHTS - 1, NEEDS))
"""The predictions that the history has."""
