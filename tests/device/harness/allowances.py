"""How much each operator and module is allowed on this machine, and by what. Needs torch, numpy and expecttest.

``python -m harness.allowances FILE`` in the suites' folder writes, as JSON, the largest distance allowed from the exact
result over all samples, as a multiple of the tolerance of the dtype.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from harness import module_database, operator_database
from harness.module_database import MODULE_TEST, modules
from harness.operator_database import BACKWARD, FORWARD, operators
from harness.operator_runs import BACKWARD_TEST, FORWARD_TEST, backward, forward
from harness.ops_dtypes import dtype_name
from harness.parity import Case, ControlResult, Run, control_result, differentiates_attention, exact_result
from harness.samples import Sample
from harness.tolerance import TOLERANCES, Allowance, Tolerance, allowance, torch_tolerance

DEVICE_TYPE = "privateuse1"
"""Tolerances that PyTorch declares for one kind of device do not count."""


def measured() -> dict[str, dict[str, tuple[float, str]]]:
    """By name of an operator or module, by direction and dtype, the largest allowance and its source."""
    found: dict[str, dict[str, tuple[float, str]]] = {}
    for case, samples, run, direction, counterpart in _cases():
        own = torch_tolerance(case.info, counterpart, case.dtype, DEVICE_TYPE)
        given = list(_allowances(case, samples, run, own))
        largest = max(given, key=lambda pair: pair[0], default=None)
        if largest is not None:
            kind = f"{direction} {dtype_name(case.dtype)}"
            known = found.setdefault(case.name, {}).get(kind, (-1.0, ""))
            found[case.name][kind] = max(known, largest, key=lambda pair: pair[0])
    return found


def _cases() -> Iterator[tuple[Any, Iterable[Sample], Run, str, tuple[str, str]]]:
    for dtype in FORWARD:
        for operator in operators(dtype, backward=False):
            yield operator, operator.samples(), forward, "forward", FORWARD_TEST
    for dtype in BACKWARD:
        for operator in operators(dtype, backward=True):
            yield operator, operator.samples(requires_grad=True), backward, "backward", BACKWARD_TEST
    for module in modules(torch.float32):
        yield module, module.samples(), module_database.forward, "forward", MODULE_TEST
        given = module.samples(requires_grad=True)
        yield module, given, module_database.backward, "backward", MODULE_TEST


def _allowances(case: Case, samples: Iterable[Sample], run: Run, own: Tolerance | None) -> Iterator[tuple[float, str]]:
    for sample in samples:
        if case.rounds:
            yield 0.0, "equal to the exact or the cpu's"
            continue
        control = control_result(case, run, sample)
        if not isinstance(control, ControlResult) or control.is_random or not control.is_determined:
            continue
        seen = tree_leaves((control.seen.made, control.seen.inputs))  # type: ignore[attr-defined]
        whole = exact_result(case, run, sample)
        exact = [] if whole is None else tree_leaves((whole.made, whole.inputs))
        for index, leaf in enumerate(seen):
            if isinstance(leaf, torch.Tensor) and leaf.layout is torch.strided and leaf.dtype in TOLERANCES:
                value = exact[index] if len(exact) == len(seen) else None
                value = value.detach() if isinstance(value, torch.Tensor) else None
                given = allowance(leaf.detach(), value, own, as_one=differentiates_attention(case, sample))
                several = not given.is_exact and value is not None
                source = "the cpu's result: float64 gives another answer" if several else given.source
                yield 1.0 if several else _multiple(given, TOLERANCES[leaf.dtype]), source


def _multiple(given: Allowance, tolerance: Tolerance) -> float:
    """The largest allowed distance, in tolerances of the dtype."""
    unit = tolerance.distance(given.references[0])
    times = torch.where(unit > 0, given.distances[0] / unit, 1.0)
    return float(times.max()) if times.numel() else 1.0


def main(target: Path) -> None:
    """Measure, and write the file."""
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    found = {
        name: {kind: [float(f"{times:.3g}"), source] for kind, (times, source) in sorted(kinds.items()) if times != 1.0}
        for name, kinds in sorted(measured().items())
    }
    about = {"torch": torch.__version__, "cpu_capability": torch.backends.cpu.get_cpu_capability()}
    listed = operator_database.MAX_SAMPLES
    lines = [f"  {json.dumps(name)}: {json.dumps(kinds)}" for name, kinds in found.items()]
    body = ",\n".join(lines)
    head = json.dumps({**about, "max_samples": listed})[1:-1]
    target.write_text(f'{{{head}, "allowances": {{\n{body}\n}}}}\n', encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
