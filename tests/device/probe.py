"""Tells what this Python, its torch and the device are, in a file that survives a crash half-way.

Run by the Python under test: ``python probe.py --device NAME --out env.json [--expect-devices N] [--compute]``; without
a device, it is about the one that a plugin registered. The file is rewritten before and after every step that may
end the process, so it always has how far things went. Exit codes: 0 all is well, 10 torch cannot be imported, 11 torch
does not know the device, 12 the device is not available, has too few cards or does not compute. The reason is on stderr
and in the key ``error``.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, entry_points, version
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import ModuleType

NO_TORCH, UNKNOWN, UNAVAILABLE = 10, 11, 12
GROUP = "torch.backends"
MAX_PROPERTIES, MAX_PROPERTY = 40, 200
WHOLES = {
    "a device guard": "PyTorch is not linked with support for",
    "hooks": "Please register PrivateUse1HooksInterface",
}
"""What others are a part of, and how torch refuses all of them where a plugin has not registered it."""
FUNCTIONS = (
    *("current_device", "set_device", "device", "synchronize", "Stream", "stream", "current_stream", "Event"),
    *("manual_seed_all", "get_rng_state", "set_rng_state", "get_amp_supported_dtype"),
)
"""What PyTorch calls on ``torch.<device>`` besides ``is_available`` and ``device_count``."""


@dataclass
class Facts:
    """What is known so far, and the file for it."""

    path: Path
    known: dict[str, object] = field(default_factory=dict)
    device: dict[str, object] = field(default_factory=dict)

    def add(self, **values: object) -> None:
        """Add facts; the file is replaced as a whole, so a reader never sees half of one."""
        self.known.update(values)
        if self.device:
            self.known["device"] = self.device
        draft = self.path.with_name(f"{self.path.name}.{os.getpid()}.part")
        draft.write_text(json.dumps(self.known, indent=2) + "\n", encoding="utf-8")
        draft.replace(self.path)


class Failed(Exception):
    """A step failed: the exit code and the reason."""

    def __init__(self, code: int, reason: str) -> None:
        super().__init__(reason)
        self.code = code


def main() -> int:
    """Probe, and return the exit code."""
    parser = argparse.ArgumentParser(description="Tell what this Python, its torch and the device are.")
    parser.add_argument("--device", metavar="NAME", help="as in torch.device(NAME); that of the plugin when absent")
    parser.add_argument("--out", required=True, type=Path, metavar="FILE", help="where the facts go, as JSON")
    parser.add_argument("--expect-devices", type=int, default=1, metavar="N", help="devices that there must be (1)")
    parser.add_argument("--compute", action="store_true", help="also let the device add two numbers")
    arguments = parser.parse_args()
    facts = Facts(arguments.out)
    facts.add(reached="python", error=None, **host(), plugins=plugins())
    try:
        torch = import_torch()
        facts.add(reached="import", torch=about(torch))
        name = arguments.device or registered(torch)
        known = look_for(torch, name, facts)
        count_cards(known, arguments.expect_devices, facts)
        # What comes now may end the process of a poor plugin; the file already has the count of cards.
        facts.add(reached="available")
        facts.device["missing_functions"] = [function for function in FUNCTIONS if not hasattr(known, function)]
        facts.device["card"] = first_card(known)
        facts.add(reached="described")
        if not arguments.compute:
            ask_for_the_optional(torch, name, facts)
        else:
            compute(torch, name)
            facts.add(reached="computed")
    except Failed as failed:
        facts.add(error=str(failed))
        sys.stderr.write(f"{failed}\n")
        return failed.code
    return 0


def host() -> dict[str, object]:
    """Facts that need no torch."""
    return {
        "python": {"version": platform.python_version(), "implementation": platform.python_implementation()},
        "os": {
            "platform": platform.platform(),
            "machine": platform.machine(),
            "glibc": platform.libc_ver()[1] or None,
            "cpus": os.cpu_count(),
        },
        "numpy": installed("numpy"),
        "pytest": installed("pytest"),
    }


def plugins() -> list[dict[str, str | None]]:
    """The installed plugins that torch would load, by their entry points."""
    found = []
    for point in entry_points(group=GROUP):
        about_it = point.dist.metadata if point.dist else None
        found.append(
            {
                "entry_point": point.name,
                "value": point.value,
                "distribution": about_it["Name"] if about_it else None,
                "version": about_it["Version"] if about_it else None,
            }
        )
    return found


def installed(distribution: str) -> str | None:
    """The version of a distribution, or None when it is not there."""
    try:
        return version(distribution)
    except PackageNotFoundError:
        return None


def import_torch() -> ModuleType:
    """Import torch, and with it the plugins.

    Raises:
        Failed: it cannot be imported.

    """
    try:
        import torch
    except Exception as error:
        # The plugin's own error is the cause of the one that torch raises.
        cause = f" (because of {_one_line(error.__cause__)})" if error.__cause__ is not None else ""
        raise Failed(NO_TORCH, f"`import torch` failed: {_one_line(error)}{cause}") from error
    return torch


def about(torch: ModuleType) -> dict[str, object]:
    """What torch reports about itself."""
    return {
        "version": str(torch.__version__),
        "git_version": torch.version.git_version,
        "debug": torch.version.debug,
        "cxx11_abi": torch.compiled_with_cxx11_abi(),
        "cuda": torch.version.cuda,
        "hip": torch.version.hip,
        "build": torch.__config__.show(),
    }


def registered(torch: ModuleType) -> str:
    """The device that a plugin registered: under the name that PrivateUse1 was given, or as torch's accelerator.

    Raises:
        Failed: there is none.

    """
    try:
        name = torch._C._get_privateuse1_backend_name()
        if name != "privateuseone":
            return str(name)
        return str(torch.accelerator.current_accelerator().type)
    except Exception as error:
        raise Failed(UNKNOWN, "no installed plugin registered a device.") from error


def look_for(torch: ModuleType, name: str, facts: Facts) -> ModuleType:
    """The device's module ``torch.<name>``.

    Raises:
        Failed: torch does not know the device.

    """
    facts.device.update(name=name, known=False, available=False, count=None, error=None)
    facts.add()
    try:
        torch.device(name)
        module: ModuleType = torch.get_device_module(name)
    except Exception as error:
        facts.device["error"] = _one_line(error)
        raise Failed(
            UNKNOWN,
            f"torch {torch.__version__} does not know the device {name}: {_why_unknown(name)} ({_one_line(error)})",
        ) from error
    facts.device["known"] = True
    facts.add(reached="device")
    return module


def _why_unknown(name: str) -> str:
    found = ", ".join(str(plugin["distribution"]) for plugin in plugins())
    if not found:
        return (
            f"no installed package has an entry point in {GROUP}, so that torch loads no plugin; declare one where the "
            f'plugin is packaged: [project.entry-points."{GROUP}"] {name} = "MODULE:FUNCTION" in pyproject.toml'
        )
    return (
        f"the installed plugins with an entry point in {GROUP} are {found}; theirs has to call "
        f'torch.utils.rename_privateuse1_backend("{name}")'
    )


def count_cards(module: ModuleType, expected: int, facts: Facts) -> None:
    """See whether the device is available, with as many cards as expected.

    Raises:
        Failed: it is not.

    """
    name = facts.device["name"]
    try:
        available, count = bool(module.is_available()), int(module.device_count())
    except Exception as error:
        facts.device["error"] = _one_line(error)
        raise Failed(UNAVAILABLE, f"counting the devices of {name} failed: {_one_line(error)}.") from error
    facts.device.update(available=available, count=count)
    facts.add()
    if not available:
        raise Failed(UNAVAILABLE, f"torch knows the device {name}, but it is not available here.")
    if count < expected:
        raise Failed(UNAVAILABLE, f"torch counts {count} device(s) of {name}, expected at least {expected}.")


def first_card(module: ModuleType) -> dict[str, str]:
    """The module's description of its first card, as text; empty when it reports none. The suites judge it."""
    try:
        found = module.get_device_properties(0)
        known = {name: getattr(found, name) for name in dir(found) if not name.startswith("_")}
    except Exception:
        return {}
    told = [(name, value) for name, value in known.items() if isinstance(value, (str, int, float))]
    return {_valid(name): _valid(str(value)[:MAX_PROPERTY]) for name, value in told[:MAX_PROPERTIES]}


def ask_for_the_optional(torch: ModuleType, name: str, facts: Facts) -> None:
    """See what the device does not have of what PyTorch leaves to it; an answer is in the file before the next ask."""
    asks: dict[str, Callable[[], object]] = {
        "waiting for the device": lambda: torch.accelerator.synchronize(),
        "memory with an address": lambda: _see_address(torch, name),
        "gradients": lambda: _see_gradient(torch, name),
        "streams": lambda: torch.Stream(device=name),
        "events": lambda: torch.Event(device=name).record(),  # the object is made without the device
        "a generator": lambda: torch.Generator(device=name),
        "a generator's state": lambda: "a generator" in lacks or torch.Generator(device=name).get_state(),
        "pinned memory": lambda: torch.empty(1).pin_memory(),
        "memory statistics": lambda: torch.accelerator.memory_stats(0),
        "fork detection": lambda: torch.get_device_module(name)._is_in_bad_fork,
    }
    lacks: dict[str, str] = {}
    facts.device["lacks"] = lacks
    for what, ask in asks.items():
        lacks[what] = "the process ended when it was requested"
        facts.add()
        try:
            ask()
        except Exception as error:
            del lacks[what]
            missing = next((whole for whole, words in WHOLES.items() if words in str(error)), what)
            lacks[missing] = _valid(_one_line(error)[:MAX_PROPERTY])
        else:
            del lacks[what]
    facts.add()


def _see_gradient(torch: ModuleType, name: str) -> None:
    """Let autograd go back over a view, which takes no kernel that computes."""
    try:
        leaf = torch.empty(1, device=name).requires_grad_()
        result, gradient = leaf.view(1), torch.empty(1, device=name)
    except Exception:
        return  # no kernel: the suites report it, and nothing is known of gradients
    result.backward(gradient)


def _see_address(torch: ModuleType, name: str) -> None:
    try:
        tensor = torch.empty(1, device=name)
    except Exception:
        return  # no kernel: the suites report it, and nothing is known of its memory
    if tensor.untyped_storage().data_ptr() == 0:
        raise ValueError("its address is 0")


def compute(torch: ModuleType, name: str) -> None:
    """Let the device do the least that a device does.

    Raises:
        Failed: it does not, or the result is wrong.

    """
    try:
        result = (torch.tensor([1.0], device=name) + torch.tensor([2.0], device=name)).tolist()
    except Exception as error:
        raise Failed(UNAVAILABLE, f"the device {name} does not compute: {_one_line(error)}.") from error
    if result != [3.0]:
        raise Failed(UNAVAILABLE, f"the device {name} computes 1 + 2 = {result[0]}.")


def _valid(text: str) -> str:
    return text.encode("utf-8", "replace").decode("utf-8")


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:2000]}"


if __name__ == "__main__":
    sys.exit(main())
