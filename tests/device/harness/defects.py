"""Defects of torch itself, recorded so that no plugin is blamed for them. Needs torch.

A test states its expectation of every device, and wraps the part that a defect spoils. Nothing is skipped beforehand:
where the expectation holds on a plugin's device although the table has the defect for this torch, the test ends as
``xpassed``, which asks for a look at the entry.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
import torch

from harness.device import is_privateuse1
from harness.stale_defects import tell_not_seen
from harness.text import first_line


@dataclass(frozen=True)
class CoreDefect:
    """One defect of torch, of PrivateUse1 devices only.

    Attributes:
        what: what torch does wrong, in one sentence.
        since: first minor version known to have it.
        before: first minor version known to be without it; None while none is.
        issue: where it is discussed, if it is.

    """

    what: str
    since: tuple[int, int]
    before: tuple[int, int] | None = None
    issue: str | None = None


CORE_DEFECTS = {
    "module-to-makes-new-parameters": CoreDefect(
        "Module.to() makes new Parameters on a PrivateUse1 device: `tensor.data = other` leaves it out of the devices "
        "whose tensors can take each other's place (has_compatible_shallow_copy_type in TensorImpl.h), and is said not "
        "to ask the operator any more with which a plugin could say otherwise",
        since=(2, 14),
        issue="https://github.com/pytorch/pytorch/issues/196975",
    ),
    "dlpack-device-type": CoreDefect(
        "Tensor.__dlpack_device__ fails for every renamed PrivateUse1 device",
        since=(2, 13),
        issue="https://github.com/pytorch/pytorch/issues/195815",
    ),
    "empty-host-cache-crashes": CoreDefect(
        "torch.accelerator.empty_host_cache() crashes when no host allocator is registered",
        since=(2, 13),
        issue="https://github.com/pytorch/pytorch/issues/197561",
    ),
}


@contextmanager
def core_defect(name: str, device: torch.device) -> Iterator[None]:
    """Call a failure of the block expected, where this torch has the defect and the device comes from a plugin."""
    defect = CORE_DEFECTS[name]
    applies = is_privateuse1(device.type) and present(defect, torch.__version__)
    where = f" ({defect.issue})" if defect.issue else ""
    try:
        yield
    except Exception as error:
        if not applies:
            raise
        seen = first_line(str(error)) or type(error).__name__
        pytest.xfail(f"torch {torch.__version__} is at fault, not the device: {defect.what}{where}. Seen: {seen}")
    if applies:
        tell_not_seen(
            f"the defect {name} of torch{where} was not seen with torch {torch.__version__}: give its entry in "
            "harness/defects.py the version that is without it, unless this plugin has a way around"
        )


def present(defect: CoreDefect, version: str) -> bool:
    """Whether a torch version has a defect, as far as is known."""
    found = re.match(r"(\d+)\.(\d+)", version)
    if found is None:
        return False
    minor = (int(found[1]), int(found[2]))
    return defect.since <= minor and (defect.before is None or minor < defect.before)
