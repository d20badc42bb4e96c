"""The words of a failure on one device and one night: message, traceback, and the ending that the suites add."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random

from ootci.model.outcome import OutcomeName

from .catalogue import Case
from .causes import (
    CHECK,
    FETCH,
    FLAKY,
    NETWORK,
    OWN_WORDS,
    PLUGIN,
    PLUGIN_BUILD,
    PLUGIN_IMPORT,
    UPSTREAM,
    UPSTREAM_BUILD,
    UPSTREAM_IMPORT,
    Cause,
)
from .event import Blame, Event, Kind
from .fleet import MAKERS

MAX_MESSAGE = 500
MESSAGES = {
    OutcomeName.CRASHED: "the process ended during this test: killed by SIGSEGV",
    OutcomeName.TIMED_OUT: "still running when the test's 120 s were up; the process was ended",
}

WORDS = (
    *("lane", "ring", "engine", "tile", "cluster", "slab", "fabric", "warp", "sheaf", "mesh", "block", "strand"),
    *("spindle", "bank", "sector", "column", "plane", "shard", "pipe", "cell"),
)
WORD_OF = {maker.name: word for maker, word in zip(MAKERS, WORDS, strict=True)}
"""What each vendor calls its parts."""


class Words:
    """What one event says on one device and one night.

    Args:
        seed: of the world.
        event: what happened.
        capability: what the event's tests are about, if it has tests.
        device: name of the device.
        cards: how many it has.
        night: the night.

    """

    def __init__(self, seed: int, event: Event, capability: str | None, device: str, cards: int, night: int) -> None:
        self._event = event
        self._cause = cause_of(event, capability, device)
        self._device = device
        random = Random(f"{seed}/words/{event.number}/{device}/{night}")  # noqa: S311 - nothing secret
        many = random.randrange(64, 4096)
        some = random.randrange(1, many)
        self._site = (
            random.choice(("/opt/ci", f"/home/runner-{device}", "/mnt/work")) + "/env/lib/python3.11/site-packages"
        )
        self._values = {
            "device": device,
            "cards": cards,
            "word": WORD_OF[device],
            "card": random.randrange(cards),
            "address": f"0x{random.randrange(2**44, 2**47):012x}",
            "line": random.randrange(40, 2400),
            "small": random.randrange(1, 9),
            "some": some,
            "many": many,
            "percent": f"{100 * some / many:.1f}",
            "difference": f"{random.random() * 9:.6f}",
            "ratio": f"{random.random() * 3:.6f}",
            "site": self._site,
        }

    def of_test(self, case: Case, outcome: OutcomeName) -> tuple[str, str]:
        """Message and text of a failing test."""
        cause = self._cause
        if outcome in MESSAGES:
            return MESSAGES[outcome], self._of_process(case, cause, MESSAGES[outcome])
        error = self._filled(cause.error)
        first = error.splitlines()[0][:MAX_MESSAGE]
        return first, "\n".join([*self._traceback(case, cause, error), *self._ending(case, first)])

    def _traceback(self, case: Case, cause: Cause, error: str) -> list[str]:
        """As pytest shows it: the first and the last function with their source, those between in short."""
        file, _, name = case.id.partition("::")
        function = name.partition("[")[0]
        own = (f"torch_{self._device}/dispatch.py", "call", "return kernel(*operands)")
        frames = [] if error.startswith("AssertionError") and not cause.frames else [own, *cause.frames]
        places = [f"{self._site}/{path}:{self._lines(path)}" for path, _, _ in frames]
        lines = [f"device = device(type='{self._device}', index={self._values['card']})", ""]
        lines += [f'    @pytest.mark.capability("{case.capability}")', f"    def {function}(device):"]
        lines += [f'        """{case.title}"""', f">       check_{case.capability}(device, like=cpu)"]
        last = f"{file}:{self._lines(file)}"
        if frames:
            lines += ["", f"{last}: "]
            for place, (_, caller, source) in zip(places[:-1], frames[:-1], strict=True):
                lines += ["_ " * 40, f"{place}: in {caller}", f"    {source}"]
            last, (_, raising, source) = places[-1], frames[-1]
            lines += ["_ " * 40, "", f"    def {raising}(*args, **kwargs):", f">       {source}"]
        lines += [f"E       {line}".rstrip() for line in error.splitlines()]
        return [*lines, "", f"{last}: {error.partition(':')[0].rpartition('.')[2]}"]

    def _of_process(self, case: Case, cause: Cause, message: str) -> str:
        frames = cause.frames or (("torch_" + self._device + "/dispatch.py", "call", ""),)
        head = "Fatal Python error: Segmentation fault\n\n" if "SIGSEGV" in message else ""
        lines = [f"{message}\n{head}Current thread {self._values['address']} (most recent call first):"]
        for file, name, _ in reversed(frames):
            lines.append(f'  File "{self._site}/{file}", line {self._values["line"]} in {name}')
        lines.append(
            f'  File "{case.id.partition("::")[0]}", line {self._lines(case.id)} in {case.id.partition("::")[2]}'
        )
        return "\n".join([*lines, *self._ending(case, message)])

    def _ending(self, case: Case, happened: str) -> Sequence[str]:
        return (
            f"{' about this test ':-^80}",
            f"Expected: {case.title}",
            f"Happened: {happened}",
            f"Capability: {case.capability}",
            f"Documentation: capabilities/{case.capability}",
            f"Reproduce (from the suites folder): python -m pytest '{case.id}' --device {self._device}",
        )

    def of_stage(self, torch: str) -> tuple[str, str | None]:
        """Reason and excerpt of a stage that did not pass."""
        event, upstream = self._event, self._event.blame is Blame.UPSTREAM
        if event.kind is Kind.FETCH_OUTAGE:
            return _chosen(FETCH, event).format(torch=torch), None
        if event.kind in (Kind.BUILD_BREAK_UPSTREAM, Kind.BUILD_BREAK_PLUGIN):
            error = self._filled(_chosen(UPSTREAM_BUILD if upstream else PLUGIN_BUILD, event))
            where = f"csrc/{self._device}/Guard.cpp:{self._values['line']}:{self._values['small']}"
            return f"the plugin does not build: {where}: {error} (exit code 1)", self._build_log(where, error)
        if event.kind in (Kind.IMPORT_BREAK_UPSTREAM, Kind.IMPORT_BREAK_PLUGIN):
            error = self._filled(_chosen(UPSTREAM_IMPORT if upstream else PLUGIN_IMPORT, event))
            failed = f"RuntimeError: Failed to load the backend extension: torch_{self._device} (because of {error})"
            return f"`import torch` failed: {failed}"[:MAX_MESSAGE], failed
        return self._filled(_chosen(CHECK, event)), None

    def _build_log(self, where: str, error: str) -> str:
        step = self._values["small"]
        return "\n".join(
            [
                f"[{step}/42] Building CXX object CMakeFiles/_C.dir/csrc/{self._device}/Guard.cpp.o",
                f"FAILED: CMakeFiles/_C.dir/csrc/{self._device}/Guard.cpp.o",
                f"{where}: {error}",
                "ninja: build stopped: subcommand failed.",
            ]
        )

    def _filled(self, text: str) -> str:
        return text.format_map(self._values)

    def _lines(self, file: str) -> int:
        """A line of a file; in what is installed each device may have another."""
        return 20 + len(file) * 7 % 90 + (self._event.number + len(self._device) if "/torch" in f"/{file}" else 0)


def cause_of(event: Event, capability: str | None, device: str) -> Cause:
    """What goes wrong in an event on a device.

    Args:
        event: the event.
        capability: what its tests are about, if it has tests.
        device: name of the device.

    """
    causes = {Kind.FLAKY: FLAKY, Kind.REFUSED: NETWORK, Kind.OWN_WORDS: OWN_WORDS}.get(
        event.kind, UPSTREAM if event.blame is Blame.UPSTREAM else PLUGIN
    )
    fitting = [cause for cause in causes if capability in cause.about] or [cause for cause in causes if not cause.about]
    own = event.devices.index(list(WORD_OF).index(device)) if event.kind is Kind.OWN_WORDS else 0
    return fitting[(event.number + own) % len(fitting)]


def _chosen(texts: Sequence[str], event: Event) -> str:
    return texts[event.number % len(texts)]
