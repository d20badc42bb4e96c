"""The text of a first device file."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from .installed_plugin import FoundPlugin


@dataclass(frozen=True)
class Source:
    """Where a plugin comes from: the key ``git``, ``path`` or ``package``, and its value."""

    kind: str
    text: str


@dataclass(frozen=True)
class Answers:
    """What a device file cannot do without, and the number of cards."""

    name: str
    display_name: str
    vendor: str
    maintainers: tuple[str, ...]
    distribution: str
    source: Source
    devices: int


def device_text(answers: Answers, found: FoundPlugin) -> str:
    """A device file with the keys that must be there, and as comments those that are wanted next."""
    handles = ", ".join(f'"{handle}"' for handle in answers.maintainers)
    by_hand = f"# Its entry point: {found.entry_point}.\n  " if found.entry_point else ""
    return f"""# yaml-language-server: $schema=device.schema.json
#
# Written by `ootci device new`. Keys behind a single # are off; take the # away to use one. There are more:
# `ootci device schema` lists them all, and devices/openreg.yaml of pytorch-integration-tests shows each.

name: {_scalar(answers.name)}
display_name: {_scalar(answers.display_name)}
vendor: {_scalar(answers.vendor)}
# description: One sentence for the device's page.
maintainers: [{handles}]

# Where people read on, and where they report what is broken.
# links:
#   documentation: https://example.com/docs
#   issues: https://example.com/issues

plugin:
  {by_hand}distribution: {_scalar(answers.distribution)}
{_source(answers.source)}  # Further packages at run time; what the suites import is there already.
  # requirements: [vendor-runtime]

# What building needs beside torch, which is installed beforehand: the build is not isolated.
# build:
#   requirements: [setuptools, ninja]

# It is tested on the newest nightly of PyTorch, built for the CPU, unless you say otherwise.
# torch:
#   channel: release
#   release: 2.13.0

check:
  # Cards that torch must count; with fewer the night is INFRA, and the plugin is not blamed.
  devices: {answers.devices}
# Say whether the card is well before anything is fetched: a command that exits 0 when it is.
#   command: [vendor-smi]

# Environment variables of every process that uses the device; the file is public, so no secrets.
# environment:
#   VENDOR_LOG_LEVEL: "1"

# Your own machine on GitHub Actions, by the labels of its runner.
# runner:
#   labels: [self-hosted, {answers.name}]

# What is tested: these two suites unless you say otherwise.
# suites:
#   - name: smoke
#   - name: integration
#   - name: ops
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
