"""Facts about an installed plugin, for a first device file."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from ootci.adapters.process import ask
from ootci.adapters.python_env import as_it_is, device_environment
from ootci.adapters.terminal import plain
from ootci.model.device.values import MEANINGS
from ootci.model.probe import Probe, read_probe
from ootci.resources import suites_folder

PROBE_SECONDS = 300.0
_NAME = re.compile(next(iter(MEANINGS)))


@dataclass(frozen=True)
class FoundPlugin:
    """The facts that were found; None where nothing was.

    Attributes:
        device: name of the device, as torch knows it.
        distribution: the plugin's distribution.
        entry_point: its entry point in the group ``torch.backends``.
        count: cards that torch counts.
        told: messages for the user on what was found and what was not.

    """

    device: str | None = None
    distribution: str | None = None
    entry_point: str | None = None
    count: int | None = None
    told: tuple[str, ...] = ()


def look_for_plugin(python: Path) -> FoundPlugin:
    """Ask a Python for its plugin: the installed packages, and the device as torch knows it once imported.

    A plugin that cannot be imported still has a name, so that nothing here is an error.
    """
    with TemporaryDirectory() as folder:
        out = Path(folder, "env.json")
        command = [str(python), str(suites_folder() / "probe.py"), "--out", str(out)]
        env = device_environment(python.parent.parent, as_it_is())
        answer = ask(command, cwd=Path(folder), env=env, timeout=PROBE_SECONDS)
        probe = read_probe(out)
    words = plain(answer.err).strip().splitlines() if answer else []
    problem = probe.error or (words[-1] if words else None)
    if probe.reached is None:
        return FoundPlugin(told=(f"{python} could not be asked: {problem or 'it does not start'}",))
    return _found(probe, None if probe.reached in ("available", "described") else problem)


def _found(probe: Probe, problem: str | None) -> FoundPlugin:
    plugins = [plugin for plugin in probe.plugins if plugin.distribution]
    first = plugins[0] if plugins else None
    known = probe.device.name if probe.device.known else None
    # Where torch does not come up, the entry point is often called as the device.
    guess = known or (first.entry_point if first else None)
    told = [f"found {plugin.distribution} {plugin.version}, entry point {plugin.entry_point}" for plugin in plugins]
    if not plugins:
        told.append("found no package with an entry point in torch.backends")
    if known:
        told.append(f"found the device {known} with {probe.device.count or 0} card(s)")
    if problem:
        told.append(f"it does not come up here: {' '.join(plain(problem).split())[:500]}")
    return FoundPlugin(
        device=guess if guess and _NAME.match(guess) else None,
        distribution=first.distribution if first else None,
        entry_point=f"{first.entry_point} = {first.value}" if first else None,
        count=probe.device.count or None,
        told=tuple(told),
    )
