"""Badges: a device's verdict, prediction, test parity and releases, as a picture and for shields.io."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from ootci.history.parity import Parity
from ootci.model.compat import DevicePrediction
from ootci.model.device import Device
from ootci.model.torch_build import Channel
from ootci.model.verdict import DeviceVerdict, VerdictName

from .pages.support import NIGHTLY, SupportCell
from .status import VERDICTS
from .text import one_line
from .words import day

COLOURS: Mapping[str, str] = MappingProxyType(
    {"good": "1a7a3a", "bad": "bf1f2c", "warn": "8a5700", "off": "656d78", "predicted": "6b4fc0"}
)
"""By tone, and of a predicted break; white text is readable on each."""

CACHE_SECONDS = 3600
"""How long the endpoint may be kept: there is a nightly a day, and the watcher may find it stale in between."""

_NARROW, _WIDE = frozenset(" .,:;!'·()[]fijlrtI-"), frozenset("mwMW@%&")
_MARGIN = 6


@dataclass(frozen=True)
class Badge:
    """A badge, with widths in pixels.

    Attributes:
        label: the left half: the PyTorch that is tested.
        message: the right half: the verdict, and the date that it is about, so that an old badge shows its age.
        colour: six hexadecimal digits; grey when nothing is known.

    """

    label: str
    message: str
    title: str
    colour: str
    label_width: int
    message_width: int

    def endpoint(self) -> bytes:
        """The JSON that shields.io requires. Source: https://shields.io/badges/endpoint-badge."""
        body = {
            "schemaVersion": 1,
            "label": self.label,
            "message": self.message,
            "color": self.colour,
            "cacheSeconds": CACHE_SECONDS,
        }
        return (json.dumps(body, indent=1, ensure_ascii=False) + "\n").encode("utf-8")


def badge(device: Device, verdict: DeviceVerdict) -> Badge:
    """A device's badge. Silence is grey: a verdict that became too old is NO_DATA already."""
    status = VERDICTS[verdict.verdict]
    silent = verdict.verdict is VerdictName.NO_DATA
    label = f"PyTorch {device.torch.channel.value}"
    message = status.word
    request = verdict.torch_request
    if request is not None and request.fallback_reason is not None:
        message += f" on {request.channel.value}"
    if verdict.since is not None and (silent or verdict.broken_since is not None):
        message = f"{status.word} since {day(verdict.since)}"
    elif verdict.history:
        message += f" · {day(verdict.history[-1].date)}"
    return _made(device, label, message, COLOURS["off" if silent else status.tone])


def predicted_badge(device: Device, predicted: DevicePrediction) -> Badge:
    """A badge of what is predicted of a device: never green, because nothing was tested."""
    message = predicted.nightly.forecast.value
    if predicted.is_break and predicted.since is not None:
        message += f" since {day(predicted.since.date)}"
    return _made(device, "PyTorch nightly, not tested", message, COLOURS["predicted" if predicted.is_break else "off"])


def parity_badge(device: Device, parity: Parity) -> Badge:
    """A badge of how many of PyTorch's own tests pass: red for a regression alone, because the rest is progress."""
    message = f"{parity.share} of {parity.asked:,}"
    message += f" · {parity.regressed:,} regressed" if parity.regressed else ""
    return _made(device, "PyTorch's own tests", message, COLOURS["bad" if parity.regressed else "good"])


def tests_releases(device: Device) -> bool:
    """Whether a device is tested on releases by its file, so that it has a badge of them."""
    return bool(device.torch.also) or device.torch.channel is Channel.RELEASE


def support_badge(device: Device, cells: Iterable[SupportCell]) -> Badge:
    """A badge of the releases that a device works with, newest first; those with which it does not come last."""
    found = [(cell.torch, VERDICTS[cell.verdict]) for cell in cells if cell.torch != NIGHTLY and cell.verdict]
    good = [torch for torch, status in found if status.tone == "good"]
    others = [f"{torch} {status.word.lower()}" for torch, status in found if status.tone != "good"]
    tones = {status.tone for _, status in found}
    tone = next((tone for tone in ("bad", "warn", "good") if tone in tones), "off")
    return _made(device, "torch", " · ".join([*good, *others]) or "not tested", COLOURS[tone])


def _made(device: Device, label: str, message: str, colour: str) -> Badge:
    return Badge(
        label=label,
        message=message,
        title=f"{one_line(device.display_name, 60)} on {label}: {message}",
        colour=colour,
        label_width=_width(label) + 2 * _MARGIN,
        message_width=_width(message) + 2 * _MARGIN,
    )


def _width(text: str) -> int:
    """About the pixels that a sans-serif of 11 pixels needs; the picture then tells the text to be exactly as wide."""
    return round(sum(_advance(sign) for sign in text))


def _advance(sign: str) -> float:
    if sign in _NARROW:
        return 4.2
    if sign in _WIDE:
        return 9.5
    return 7.9 if sign.isupper() else 6.7
