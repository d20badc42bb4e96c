"""The step summary: the front page's facts in markdown, harmless and of bounded size."""

from __future__ import annotations

import pytest
from unit.render.pages import markdown_rows
from unit.render.sample import DEVICES, Sample, registered

from ootci.model.device import RegisteredDevice
from ootci.model.verdict import Verdicts
from ootci.stages.render import step_summary
from ootci.stages.render.summary import LIMIT_BYTES


def with_reason(sampled: Sample, reason: str) -> Verdicts:
    devices = tuple(item.model_copy(update={"reason": reason}) for item in sampled.verdicts.devices)
    return sampled.verdicts.model_copy(update={"devices": devices})


def test_what_fails_in_a_first_run_is_not_called_new(sampled: Sample) -> None:
    first = tuple(item.model_copy(update={"is_first": True, "new_failures": 2}) for item in sampled.verdicts.devices)
    rows = markdown_rows(step_summary(sampled.verdicts.model_copy(update={"devices": first}), sampled.registry))
    assert {row[5] for row in rows} == {"2 (first run)"}


@pytest.mark.parametrize(
    "hostile",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[click](javascript:alert(1))",
        "![x](https://evil.example/pixel.png)",
        "a | b | c",
        "```\ncode\n```",
        "**bold** `code` ~~gone~~",
        "@someone #1 :tada:",
        "https://evil.example and www.evil.example",
        "$\\frac{a}{b}$",
        "one\n\n## two",
        "\u202ereversed",
        "\x1b[31mred",
    ],
)
def test_hostile_text_stays_text(sampled: Sample, hostile: str) -> None:
    summary = step_summary(with_reason(sampled, hostile), sampled.registry)
    rows = markdown_rows(summary)
    assert len(rows) == len(DEVICES)
    for row in rows:
        assert len(row) == 9
        for sign in "<>[]`*@$\\~!\x1b\u202e":
            assert sign not in row[4]
        assert "://" not in row[4]
        assert "www." not in row[4]
        assert ":tada:" not in row[4]


def test_many_devices_are_cut_and_counted(sampled: Sample) -> None:
    verdict = sampled.verdicts.devices[1].model_copy(update={"reason": "<" * 240})
    devices: list[RegisteredDevice] = []
    verdicts = []
    for number in range(2000):
        name = f"device{number}"
        devices.append(registered(sampled.registry[1].device.model_copy(update={"name": name})))
        verdicts.append(verdict.model_copy(update={"device": name}))
    summary = step_summary(sampled.verdicts.model_copy(update={"devices": tuple(verdicts)}), tuple(devices))
    assert len(summary.encode()) <= LIMIT_BYTES
    shown = len(markdown_rows(summary))
    assert f"{2000 - shown:,} more devices did not fit here" in summary
