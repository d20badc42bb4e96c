"""The text of a first device file, and the facts about an installed plugin that go into it."""

from __future__ import annotations

import json
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

    Nothing here is an error: a plugin that cannot be imported still has a name.
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
    # If torch cannot be imported: the entry point often has the name of the device.
    guess = known or (first.entry_point if first else None)
    told = [f"found {plugin.distribution} {plugin.version}, entry point {plugin.entry_point}" for plugin in plugins]
    if not plugins:
        told.append("found no package with an entry point in torch.backends")
    if known:
        told.append(f"found the device {known}, {probe.device.count or 0} on this machine")
    if problem:
        told.append(f"it does not come up here: {' '.join(plain(problem).split())[:500]}")
    return FoundPlugin(
        device=guess if guess and _NAME.match(guess) else None,
        distribution=first.distribution if first else None,
        entry_point=f"{first.entry_point} = {first.value}" if first else None,
        count=probe.device.count or None,
        told=tuple(told),
    )


@dataclass(frozen=True)
class Source:
    """Where a plugin comes from: the key ``git``, ``path`` or ``package``, and its value."""

    kind: str
    text: str


@dataclass(frozen=True)
class Answers:
    """The required values of a device file, and the device count."""

    name: str
    display_name: str
    vendor: str
    maintainers: tuple[str, ...]
    distribution: str
    source: Source
    devices: int


def device_text(answers: Answers, found: FoundPlugin) -> str:
    """A device file with the required keys, and further common keys as comments."""
    handles = ", ".join(f'"{handle}"' for handle in answers.maintainers)
    by_hand = f"# Its entry point: {found.entry_point}.\n  " if found.entry_point else ""
    return f"""# yaml-language-server: $schema=device.schema.json
#
# Written by `ootci device new`. Remove "# ", with the blank, in front of a key to use it. The documentation's page
# "Device file" lists every key, and devices/openreg.yaml of pytorch-integration-tests has an example of each.

name: {_scalar(answers.name)}
display_name: {_scalar(answers.display_name)}
vendor: {_scalar(answers.vendor)}
# description: One sentence for the device's page.
maintainers: [{handles}]

# Links on the device's page.
# links:
#   documentation: https://example.com/docs
#   issues: https://example.com/issues

plugin:
  {by_hand}distribution: {_scalar(answers.distribution)}
{_source(answers.source)}  # More packages for run time; those that the suites need are installed anyway.
  # requirements: [vendor-runtime]

# Packages that the build needs. The build is not isolated, and torch is installed before it.
# build:
#   requirements: [setuptools, ninja]

# The PyTorch to test with. Default: the newest nightly, built for the CPU.
# torch:
#   channel: release
#   release: 2.13.0

check:
  # Minimum value of torch.accelerator.device_count(). With fewer devices the verdict is INFRA.
  devices: {answers.devices}
  # A command that exits 0 if the hardware is healthy. It runs before anything is downloaded.
  # command: [vendor-smi]

# Environment variables of every process that uses the device. This file is public: no secrets.
# environment:
#   VENDOR_LOG_LEVEL: "1"

# Labels of your self-hosted runner on GitHub Actions.
# runner:
#   labels: [self-hosted, {answers.name}]

# Suites to run. Default: smoke and integration.
# suites:
#   - name: smoke
#   - name: integration
#   - name: ops
#   - name: models
"""


def _source(source: Source) -> str:
    if source.kind == "git":
        return f"""  git:
    url: {_scalar(source.text)}
    # A branch, tag or commit; the repository's default branch when absent.
    # ref: main
"""
    return f"  {source.kind}: {_scalar(source.text)}\n"


def _scalar(text: str) -> str:
    """A YAML scalar: in double quotes, in which YAML reads JSON, unless it is a plain word that can be nothing else."""
    plain = re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]{3,}", text) and text.lower() not in ("true", "false", "null")
    return text if plain else json.dumps(text, ensure_ascii=False)
