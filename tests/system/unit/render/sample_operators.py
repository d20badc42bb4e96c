"""What the suite ops finds on three devices of the sample: one that counts, one that does not, and one that fails."""

from __future__ import annotations

from ootci.model.accuracy import Accuracy
from ootci.model.outcome import Outcome, OutcomeName, Way
from ootci.model.verdict import VerdictName

SUITE = "ops"
DEVICES = ("openreg", "ember", "jasper")
FORWARD = ("float32", "float16", "complex64", "bool")
NAMES = ("add", "bernoulli", "cumsum", "erfinv", "fft.rfft", "linalg.qr", "mm", "nn.functional.conv2d", "zeros")
MEASURED = ("float32", "float16")
CPU_ERRORS = {"linalg.qr": (410.0, 0.64), "fft.rfft": (2.6e7, 0.5), "erfinv": (1.8, 0.42), "zeros": (0.0, 0.0)}
SLOW = ("erfinv", "linalg.qr")
REFUSED = (
    "2 of 3 samples are refused, first sample 1: {name}(Tensor[5, 5]): the cpu computes it, the device raised "
    "NotImplementedError: Could not run 'aten::{name}' with arguments from the backend"
)
DIFFERS = "AssertionError: 1 of 3 samples differ from the cpu, first sample 2: cumsum(Tensor[5], 0): values differ"


def operator_outcomes(device: str, verdict: VerdictName) -> list[Outcome]:
    """The tests of the suite on a device, when its verdict is this one."""
    if device not in DEVICES:
        return []
    failing = verdict in (VerdictName.FAILING, VerdictName.REGRESSED)
    tests = [("forward", name, dtype) for dtype in FORWARD for name in NAMES]
    tests += [("backward", name, "float32") for name in NAMES[:-1]]
    tests += [("out", name, "float32") for name in NAMES[2:5]] + [("errors", name, "") for name in NAMES[:3]]
    return [_outcome(device, kind, name, dtype, failing) for kind, name, dtype in tests]


def _outcome(device: str, kind: str, name: str, dtype: str, failing: bool) -> Outcome:
    outcome, message = _came(device, kind, name, dtype, failing)
    counted = device == "openreg" and outcome is OutcomeName.PASSED
    return Outcome(
        id=f"ops/test_{kind}.py::test_{kind}[{name}-{dtype}]".replace("-]", "]"),
        suite=SUITE,
        outcome=outcome,
        capability="ops",
        title="An operator gives the cpu's results, on the device, for every sample in PyTorch's own list.",
        duration=0.02,
        message=message,
        ran=(Way.FALLBACK if name in SLOW else Way.NATIVE) if counted else None,
        accuracy=_errors(device, name, failing) if kind == "forward" and dtype in MEASURED else None,
    )


def _errors(device: str, name: str, failing: bool) -> Accuracy:
    """Those of jasper grow when it fails, for one operator within the tolerance."""
    own, typical = CPU_ERRORS.get(name, (0.5, 0.25))
    largest = {"erfinv": 84.0, "cumsum": None}.get(name, own) if device == "jasper" and failing else own
    return Accuracy(1200, largest, 2 * typical if device == "jasper" else typical, own, typical)


def _came(device: str, kind: str, name: str, dtype: str, failing: bool) -> tuple[OutcomeName, str | None]:
    if name == "bernoulli" and kind == "errors":
        return OutcomeName.SKIPPED, "fails on the CPU: there are no samples"
    if device == "ember" and (name == "linalg.qr" or dtype == "complex64"):
        return OutcomeName.UNSUPPORTED, REFUSED.format(name=name)
    if device == "jasper" and failing and name == "cumsum":
        return OutcomeName.FAILED, DIFFERS
    if device == "jasper" and failing and (kind, name) == ("backward", "fft.rfft"):
        return OutcomeName.CRASHED, "the process ended during this test: killed by SIGSEGV"
    return OutcomeName.PASSED, None
