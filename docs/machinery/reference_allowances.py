"""The page of how far each operator's result may be from the exact one, from what was measured on the cpu."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from markdown_table import table

_HEAD = """\
# Numeric allowances

A result is compared with the exact one: the CPU in float64 or complex128 on the same inputs. An element may be as far
from it as the largest of:

- the tolerance of the dtype ([`harness/tolerance.py`](../../tests/device/harness/tolerance.py));
- PyTorch's own tolerance for the operator and the dtype that it is called with, read from the installed PyTorch, up to
  five tolerances of the result's largest element;
- four times the error that the CPU itself makes on the sample in the tested dtype: in that element, or for gradients of
  attention in any element of the result.

Integer, boolean and rounded results equal the exact ones or the CPU's. Where float64 gives another answer, such as an
eigenvector of the other sign, an element is near the CPU's or near that one.

The table has the largest distance allowed over all samples, in tolerances of the dtype. To make it again, in
`tests/device` with a device's Python: `python -m harness.allowances ../../docs/operator_allowances.json`.

"""


def page(root: Path) -> str:
    """The page's Markdown."""
    found = json.loads((root / "docs" / "operator_allowances.json").read_text(encoding="utf-8"))
    allowances: Mapping[str, Mapping[str, tuple[float, str]]] = found["allowances"]
    rows = [
        [f"`{name}`", kind, f"{times:g}" if times else "0", source]
        for name, kinds in allowances.items()
        for kind, (times, source) in kinds.items()
    ]
    plain = ", ".join(f"`{name}`" for name, kinds in allowances.items() if not kinds)
    measured = f"Measured with PyTorch {found['torch']} on a CPU with {found['cpu_capability']}.\n\n"
    rest = f"\n## The tolerance of the dtype alone\n\n{plain}\n"
    return "".join([_HEAD, measured, table(("Operator or module", "What", "Allowed", "Source"), rows), rest])
