"""Defects of torch itself, recorded so that no plugin is blamed for them. Needs torch.

Whether torch has a defect is measured in the process of the tests, by the feature that is broken: a nightly is the
version after the newest release, so its number is not used. The versions in the table are documentation, and tell when
an entry can be removed. ``harness/repaired_runs.py`` decides which failures a defect excuses.

``python -m harness.defects`` prints which of them the installed torch has.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch

from harness.device import is_privateuse1
from harness.process import run_python


@dataclass(frozen=True)
class CoreDefect:
    """One defect of torch, of PrivateUse1 devices only.

    Attributes:
        what: what torch does wrong, in one sentence.
        since: first minor version on which it was measured.
        is_present: whether torch has it, measured for a device of this name; None where this device cannot show it.
        repaired: torch without the defect, for this process; None where only another torch is without it, and then the
            tests that are marked with the defect are the only ones that it excuses.
        before: first minor version on which it was not measured; None while none is.
        issue: where it is discussed, if it is.

    """

    what: str
    since: tuple[int, int]
    is_present: Callable[[str], bool | None]
    repaired: Callable[[], AbstractContextManager[None]] | None = None
    before: tuple[int, int] | None = None
    issue: str | None = None


def _dlpack_device_is_refused(name: str) -> bool:
    """Ask a tensor that is on the device and has no memory there, so that no kernel of the plugin takes part."""

    class WithoutMemory(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, *_: Any, **__: Any) -> Any:
            raise NotImplementedError

    there = torch.Tensor._make_wrapper_subclass(WithoutMemory, (1,), device=torch.device(name, 0))
    try:
        torch.Tensor.__dlpack_device__(there)
    except ValueError:
        return True
    return False


@contextmanager
def _dlpack_device_is_known() -> Iterator[None]:
    from torch.utils.dlpack import DLDeviceType

    original = torch.Tensor.__dlpack_device__

    def dlpack_device(tensor: torch.Tensor) -> tuple[Any, int]:
        if is_privateuse1(tensor.device.type):
            return DLDeviceType.kDLExtDev, tensor.device.index or 0
        return original(tensor)

    torch.Tensor.__dlpack_device__ = dlpack_device  # type: ignore[method-assign,assignment]
    try:
        yield
    finally:
        torch.Tensor.__dlpack_device__ = original  # type: ignore[method-assign]


def _emptying_the_host_cache_crashes(name: str) -> bool | None:
    """Compare two fresh processes that differ in one call; a device that pins memory has what torch looks for."""
    try:
        torch.empty(1).pin_memory()
    except RuntimeError:
        allocate = "import sys, torch; torch.ones(1, device=sys.argv[1])"
        run_python(allocate, name)
        try:
            run_python(f"{allocate}; torch.accelerator.empty_host_cache()", name)
        except AssertionError as error:
            return "ended with -" in str(error)
        return False
    return None


def _storage_is_pinned_for_cuda(_: str) -> bool:
    return inspect.signature(torch.UntypedStorage.is_pinned).parameters["device"].default == "cuda"


@contextmanager
def _storage_is_pinned_for_the_accelerator() -> Iterator[None]:
    names = ("is_pinned", "pin_memory")
    originals = {name: getattr(torch.UntypedStorage, name) for name in names}

    def repaired(original: Callable[..., Any]) -> Callable[..., Any]:
        return lambda storage, device=None: original(storage, device or torch.accelerator.current_accelerator())

    for name, original in originals.items():
        setattr(torch.UntypedStorage, name, repaired(original))
    try:
        yield
    finally:
        for name, original in originals.items():
            setattr(torch.UntypedStorage, name, original)


def _pipeline_saves_the_state_of_cuda(_: str) -> bool | None:
    """Whether the call of fork_rng, which takes CUDA's generators by default, leaves out the type of the device."""
    from torch.distributed.pipelining import schedules

    code = schedules._PipelineSchedule._initialize_pp_stages.__code__
    if "fork_rng" not in code.co_names:
        return None
    return ("devices",) in code.co_consts


CORE_DEFECTS = {
    "storage-pinned-for-cuda": CoreDefect(
        "UntypedStorage.is_pinned() and pin_memory() ask CUDA and not the accelerator",
        since=(2, 12),
        before=(2, 13),
        is_present=_storage_is_pinned_for_cuda,
        repaired=_storage_is_pinned_for_the_accelerator,
    ),
    "pipeline-cuda-generator": CoreDefect(
        "torch.distributed.pipelining saves the state of CUDA's generators for stages on any device",
        since=(2, 12),
        before=(2, 13),
        is_present=_pipeline_saves_the_state_of_cuda,
    ),
    "dlpack-device-type": CoreDefect(
        "Tensor.__dlpack_device__ fails for every renamed PrivateUse1 device",
        since=(2, 12),
        is_present=_dlpack_device_is_refused,
        repaired=_dlpack_device_is_known,
        issue="https://github.com/pytorch/pytorch/issues/195815",
    ),
    "empty-host-cache-crashes": CoreDefect(
        "torch.accelerator.empty_host_cache() crashes when no host allocator is registered",
        since=(2, 13),
        before=(2, 15),
        is_present=_emptying_the_host_cache_crashes,
        issue="https://github.com/pytorch/pytorch/issues/197561",
    ),
}


@cache
def measure(name: str, device: str) -> bool | None:
    """Whether this torch has a defect of the table, measured once; None where the device cannot show it.

    A probe that fails, because a later torch has changed what it asks, shows nothing either.

    Args:
        name: of the defect.
        device: the name in ``torch.device(name)``.

    """
    try:
        return CORE_DEFECTS[name].is_present(device) if is_privateuse1(device) else False
    except Exception:
        return None


def is_listed(name: str) -> bool:
    """Whether the installed version of torch has a defect, by the table."""
    defect, found = CORE_DEFECTS[name], re.match(r"(\d+)\.(\d+)", torch.__version__)
    if found is None:
        return False
    minor = (int(found[1]), int(found[2]))
    return defect.since <= minor and (defect.before is None or minor < defect.before)


def excuse(name: str, seen: str) -> str:
    """Why a test is an expected failure, in one line.

    Args:
        name: of the defect.
        seen: the failure, in one line.

    """
    defect = CORE_DEFECTS[name]
    where = f" ({defect.issue})" if defect.issue else ""
    return f"torch {torch.__version__} is at fault, not the device: {defect.what}{where}. Entry: {name}. Seen: {seen}"


def not_seen(name: str) -> str:
    """The text of a test that shows a listed defect and passes."""
    defect = CORE_DEFECTS[name]
    where = f" ({defect.issue})" if defect.issue else ""
    return (
        f"the defect {name} of torch{where} was not seen with torch {torch.__version__}: give its entry in "
        "harness/defects.py the version that is without it, unless this plugin has a way around"
    )


if __name__ == "__main__":
    installed = torch._C._get_privateuse1_backend_name()
    measured = {name: measure(name, installed) for name in CORE_DEFECTS}
    json.dump({"torch": torch.__version__, "device": installed, "defects": measured}, sys.stdout)
