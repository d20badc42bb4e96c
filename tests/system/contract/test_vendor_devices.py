"""The device files of real back ends: honest about what was not tried, and known by name to nobody but their files."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from contract.test_imports import VENDORS

from ootci.model.device import RegisteredDevice, Tier, load_registry

ROOT = Path(__file__).parents[3]
FILES = [item for item in load_registry(ROOT / "devices") if item.device.tier is not Tier.REFERENCE]


def test_there_are_real_back_ends() -> None:
    names = {item.device.name for item in FILES}
    assert {"npu", "hpu"} < names
    assert len(names) >= 6


@pytest.mark.parametrize("item", FILES, ids=lambda item: item.device.name)
def test_it_says_what_was_verified_and_what_was_not(item: RegisteredDevice) -> None:
    comment = re.match(r"(?:#.*\n)+", item.path.read_text(encoding="utf-8"))
    assert comment is not None
    said = re.sub(r"\n?# ?", " ", comment[0])
    assert re.search(r"Verified here \(\d{4}-\d{2}-\d{2}\): \w", said)
    assert re.search(r"Not verified here: \w", said)
    links = item.device.links
    assert links.source
    assert links.issues
    assert links.documentation


@pytest.mark.parametrize("item", FILES, ids=lambda item: item.device.name)
def test_it_does_not_ask_github_s_machines_for_a_card(item: RegisteredDevice) -> None:
    """What runs there computes on the CPU, and has no card to check."""
    runs_there = item.device.paused is None and item.device.runner.labels[0].startswith("ubuntu")
    assert not runs_there or item.device.check.command is None


def test_their_names_are_looked_for_in_code() -> None:
    # Short words that mean something else, too, are looked for by themselves.
    words = {item.device.name for item in FILES} - {"xla", "tpu", "ocl", "opencl"}
    assert words <= set(VENDORS)
