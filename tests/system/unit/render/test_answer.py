"""May one merge, in markdown: under a pull request and in a step's summary."""

from __future__ import annotations

from pathlib import Path

import pytest
from unit.render.pages import markdown_rows, pasted
from unit.render.sample import ADDRESS, Sample

from ootci.model.pull_request import Effect, EffectName, PullRequestGate
from ootci.model.verdict import Blocker, DeviceVerdict, Gate, VerdictName
from ootci.stages.render import nightly_answer, pull_request_answer
from ootci.stages.render.answer import LIMIT_BYTES
from ootci.stages.render.commands import commands

FIRST = tuple(f"integration/test_x.py::test_{number}" for number in range(20))


def effect(device: str, **fields: object) -> Effect:
    usual: dict[str, object] = {
        "device": device,
        "effect": EffectName.NEWLY_BROKEN,
        "verdict": VerdictName.REGRESSED,
        "reason": "31 tests newly failing",
        "newly_failing": 31,
        "first": FIRST,
        "gates": True,
        "base": f"night-{device}",
        "base_torch": "2.14.0.dev20261101+cpu",
    }
    return Effect.model_validate(usual | fields)


def answer(*effects: Effect) -> PullRequestGate:
    blocking = tuple(item.device for item in effects if item.effect is EffectName.NEWLY_BROKEN)
    return PullRequestGate(
        answer="no" if blocking else "yes", reason="1 of 2 say no", blocking=blocking, devices=effects
    )


def blocked(**fields: object) -> Gate:
    """The gate that one device blocks."""
    usual = {"device": "x", "reason": "3 tests newly failing", "new_failures": 3, "first": FIRST[:2]}
    blocker = Blocker.model_validate(usual | fields)
    return Gate(answer="no", blocking=("x",), blockers=(blocker,), reason="1 of 1 not as expected")


def judged(sampled: Sample) -> dict[str, DeviceVerdict]:
    return {item.device: item for item in sampled.verdicts.devices}


def test_a_device_that_is_newly_broken_is_named_with_its_tests(sampled: Sample) -> None:
    name = sampled.registry[0].device.name
    text = pull_request_answer(answer(effect(name)), sampled.registry, judged(sampled), ADDRESS)
    assert text.startswith("### ❌ May one merge: no\n\n1 of 2 say no\n")
    (row,) = markdown_rows(text)
    shown = sampled.registry[0].device
    assert row[:5] == [
        "❌ newly broken",
        f"[{shown.display_name}]({ADDRESS}d/{name}/)",
        shown.tier.value,
        "31 tests newly failing",
        "31",
    ]
    assert row[8] == f"night-{name}, torch 2.14.0.dev20261101+cpu"
    assert f"<summary>{name}: 31 new failures</summary>" in text
    assert "- <code>integration/test&#95;x.py::test&#95;19</code>\n- and 11 more\n" in text
    assert pasted(text) == commands(sampled.registry[0], judged(sampled)[name], FIRST)


def test_in_a_vendor_s_repository_the_commands_are_for_it(sampled: Sample) -> None:
    item = sampled.registry[0].model_copy(update={"path": Path("caller/ci/x.yaml")})
    text = pull_request_answer(answer(effect(item.device.name)), [item], judged(sampled))
    assert pasted(text) == commands(item, judged(sampled)[item.device.name], FIRST)
    assert " && ootci nightly ci/x.yaml --torch nightly@" in pasted(text)[0]


def test_without_an_address_no_link_is_made(sampled: Sample) -> None:
    text = pull_request_answer(answer(effect(sampled.registry[0].device.name)), sampled.registry, judged(sampled))
    assert "](" not in text


def test_one_may_merge_and_an_override_is_told(sampled: Sample) -> None:
    calm = effect("a", effect=EffectName.NOT_WORSE, newly_failing=0, first=())
    gate = answer(calm).model_copy(update={"overridden": {"b": "broken by #12345"}})
    text = pull_request_answer(gate, sampled.registry, judged(sampled))
    assert text.startswith("### ✅ May one merge: yes\n")
    assert "<details>" not in text
    assert "b is not asked, overridden: broken by &#35;12345" in text


def test_the_nightly_says_whose_it_probably_is(sampled: Sample) -> None:
    gate = blocked(verdict=VerdictName.REGRESSED, is_new=True, cause_reason="only this plugin changed")
    text = nightly_answer(gate, sampled.registry, judged(sampled))
    assert markdown_rows(text) == [["❌ REGRESSED", "x", "-", "3 tests newly failing", "3", "new"]]
    assert "- and 1 more\n\nonly this plugin changed\n" in text


def test_what_fails_in_a_first_run_is_not_called_new(sampled: Sample) -> None:
    gate = blocked(verdict=VerdictName.FAILING, is_new=False, is_first=True, reason="3 tests failed")
    text = nightly_answer(gate, sampled.registry, judged(sampled))
    assert markdown_rows(text) == [["❌ FAILING", "x", "-", "3 tests failed", "3 (first run)", "-"]]
    assert "<summary>x: 3 failures in its first run</summary>" in text


@pytest.mark.parametrize("hostile", ["<img src=x>", "a | b", "@someone", "[x](javascript:y)", "`` ` ``", "a\n\n# b"])
def test_hostile_text_stays_text(sampled: Sample, hostile: str) -> None:
    bad = effect(hostile, reason=hostile, base=hostile, base_torch=hostile, first=(hostile,), newly_failing=1)
    text = pull_request_answer(answer(bad), sampled.registry, judged(sampled), ADDRESS)
    (row,) = markdown_rows(text)
    assert len(row) == 9
    for cell in (row[1], row[3], row[8]):
        assert not set("<>[]`*@\\") & set(cell)
    for sign in ("<img", "](", "@someone", "\n# b"):
        assert sign not in text


def test_what_is_cut_is_counted(sampled: Sample) -> None:
    long = tuple(f"integration/{'<' * 250}::{number}" for number in range(20))
    text = pull_request_answer(
        answer(*(effect(f"d{number}", first=long) for number in range(200))), sampled.registry, judged(sampled)
    )
    assert len(text.encode()) <= LIMIT_BYTES
    named = text.count("<details>")
    assert text.count("</details>") == named
    assert f"{200 - named} more devices with new failures did not fit here." in text
    text = pull_request_answer(
        answer(*(effect(f"d{number}") for number in range(2000))), sampled.registry, judged(sampled)
    )
    assert len(text.encode()) <= LIMIT_BYTES
    assert f"{2000 - len(markdown_rows(text)):,} more devices did not fit here." in text
    assert "2,000 more devices with new failures did not fit here." in text
