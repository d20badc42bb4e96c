"""Which PyTorch and which plugin there were on a night."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from random import Random

from ootci.model.build import PluginBuild
from ootci.model.commits import NewCommits
from ootci.model.torch_build import Channel, TorchBuild, TorchRequest

from .event import Blame, Event, Kind
from .fleet import Maker

NO_NIGHTLY = 0.12
"""How often PyTorch has no new nightly."""
RELEASE, PREVIOUS = "2.13.0", "2.12.1"
RELEASES = ((0, "2.14.0"), (150, "2.15.0"), (270, "2.16.0"))
"""The version that nightlies become, from which night on."""


class Builds:
    """Which PyTorch and which plugin there were on a night.

    Args:
        seed: of the world.
        start: when the first night was planned.
        nights: how many there are.
        makers: the devices.

    """

    def __init__(self, seed: int, start: datetime, nights: int, makers: Sequence[Maker]) -> None:
        self._seed = seed
        self._start = start
        self._makers = makers
        random = Random(f"{seed}/nightlies")  # noqa: S311 - nothing secret
        ends = (0, nights - 1)
        self.fresh = frozenset(night for night in range(nights) if night in ends or random.random() >= NO_NIGHTLY)
        self._changed = [self._commits(maker, nights) for maker in makers]
        self._fallbacks: set[tuple[int, int]] = set()

    def _commits(self, maker: Maker, nights: int) -> set[int]:
        random = Random(f"{self._seed}/commits/{maker.name}")  # noqa: S311 - nothing secret
        return {0} | {night for night in range(1, nights) if random.random() < 1 / maker.every}

    def follow(self, events: Iterable[Event]) -> None:
        """Let plugins change, and not change, as the events need it.

        What a plugin broke or mended, it did with a commit. Where PyTorch broke one device only, that device's plugin
        did not change, or nobody could tell.
        """
        for event in events:
            for device in event.devices:
                if event.kind is Kind.FALLBACK:
                    self._fallbacks |= {(device, night) for night in range(event.first, event.last + 1)}
                if event.blame is Blame.PLUGIN:
                    self._changed[device] |= {event.first, event.last + 1}
                elif event.blame is Blame.UPSTREAM and len(event.devices) == 1:
                    self._changed[device].discard(event.first)

    def _night_of_torch(self, night: int) -> int:
        return max(fresh for fresh in range(night + 1) if fresh in self.fresh) if night not in self.fresh else night

    def torch(self, device: int, night: int) -> TorchBuild:
        """The PyTorch that a device got."""
        if self._makers[device].release or (device, night) in self._fallbacks:
            return TorchBuild(version=f"{RELEASE}+cpu", git_version=_sha(f"{self._seed}/release"))
        built = self._night_of_torch(night)
        release = next(name for first, name in reversed(RELEASES) if built >= first)
        day = self._start + timedelta(days=built - 1)
        variant = self._makers[device].variant
        return TorchBuild(
            version=f"{release}.dev{day:%Y%m%d}+{variant}", git_version=_sha(f"{self._seed}/torch/{built}")
        )

    def request(self, device: int, night: int) -> TorchRequest:
        """The PyTorch that the plan wanted."""
        wanted = Channel.RELEASE if self._makers[device].release else Channel.NIGHTLY
        fallback = (device, night) in self._fallbacks
        return TorchRequest(
            wanted=RELEASE if wanted is Channel.RELEASE else wanted.value,
            wanted_channel=wanted,
            channel=Channel.RELEASE if fallback else wanted,
            version=self.torch(device, night).version,
            fallback_reason="the index answered 503 (Service Unavailable)" if fallback else None,
        )

    def new_commits(self, night: int) -> NewCommits | None:
        """How many commits PyTorch's nightly has that the one before did not have; none where there was no new one."""
        before, now = (self._night_of_torch(max(at, 0)) for at in (night - 1, night))
        return _step(*(_sha(f"{self._seed}/torch/{built}") for built in (before, now)), 8)

    def plugin(self, device: int, night: int) -> PluginBuild:
        """The plugin that was built."""
        before, changed = (
            max(changed for changed in self._changed[device] if changed <= max(at, 0)) for at in (night - 1, night)
        )
        name = self._makers[device].name
        version = f"2.14.{len([other for other in self._changed[device] if other <= changed])}"
        since, commit = (_sha(f"{self._seed}/{name}/{built}") for built in (before, changed))
        sources = hashlib.sha256(f"{self._seed}/{name}/{changed}".encode()).hexdigest()
        return PluginBuild(
            package=f"torch-{name}",
            version=version,
            source=f"https://github.com/example/torch-{name}.git at main",
            commit=commit,
            new_commits=_step(since, commit, 1),
            sources_sha256=sources,
            wheel=f"torch_{name}-{version}-cp311-cp311-linux_x86_64.whl",
            sha256=hashlib.sha256(f"{sources}/{self.torch(device, night).version}".encode()).hexdigest(),
        )


def _step(since: str, until: str, least: int) -> NewCommits | None:
    """So many commits at least from one build to the next; none where that is the same."""
    return NewCommits(since=since, until=until, count=least + int(until[:2], 16) // 3) if since != until else None


def _sha(text: str) -> str:
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()
