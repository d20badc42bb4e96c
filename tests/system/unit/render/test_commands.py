"""The commands that reproduce a run: one function makes them, and every page and message prints what it makes."""

from __future__ import annotations

import html
import re
from pathlib import Path

import pytest
from unit.render.sample import Sample
from unit.render.test_alert_texts import alert, texts
from unit.render.test_answer import FIRST, answer, blocked, effect, judged

from ootci.model.verdict import VerdictName
from ootci.stages.render import nightly_answer, pull_request_answer
from ootci.stages.render.commands import commands

_COMMAND = re.compile(r"(?:git checkout \w+ && )?(?:make nightly DEVICE=|ootci nightly \S+\.ya?ml)[^\n<\"]*")


def printed(text: str) -> set[str]:
    """Every command in a page, feed, file or message, as somebody copies it."""
    # A feed has HTML that is escaped once more; a page has an element around each word.
    shown = html.unescape(html.unescape(re.sub("</?span>", "", text)))
    return {found.strip() for found in _COMMAND.findall(shown) if "DEVICE=mydevice" not in found}


def of_run(sampled: Sample, device: str) -> set[str]:
    """The commands for the runs of a device; without pins where nothing was tested on the newest nightly."""
    item = next(item for item in sampled.registry if item.device.name == device)
    heads = [run.head for run in sampled.history.stored_runs(device)]
    found = {commands(item, head)[0] for head in heads}
    assert all("PLUGIN=" in command or "git checkout" in command for command in found)
    return found if judged(sampled)[device].run_id else found | {commands(item, None)[0]}


def test_every_file_of_the_site_prints_the_commands_of_a_run(site: Path, sampled: Sample) -> None:
    allowed = {command for item in sampled.registry for command in of_run(sampled, item.device.name)}
    found = {
        file.relative_to(site).as_posix(): printed(file.read_text(encoding="utf-8"))
        for file in site.rglob("*")
        if file.suffix in (".html", ".json", ".xml")
    }
    assert {path: extra for path, said in found.items() if (extra := said - allowed)} == {}
    kinds = ["d/dune/index.html", "d/dune/feed.xml", "feed.xml", r"d/dune/\d[^/]*/index.html", r"n/\d[^/]*/index.html"]
    kinds += [r"c/\w{12}/index.html", r"api/v1/nightlies/.*json"]
    for kind in kinds:
        assert any(said for path, said in found.items() if re.fullmatch(kind, path)), kind


@pytest.mark.parametrize("name", ["openreg", "borealis", "dune"])
def test_issues_and_answers_print_the_commands_of_the_newest_run(sampled: Sample, name: str) -> None:
    verdicts = judged(sampled)
    wanted = {commands(next(item for item in sampled.registry if item.device.name == name), verdicts[name])[0]}
    gate = blocked(device=name, verdict=VerdictName.REGRESSED, is_new=True)
    assert printed(nightly_answer(gate, sampled.registry, verdicts)) == wanted
    assert printed(pull_request_answer(answer(effect(name, first=FIRST)), sampled.registry, verdicts)) == wanted
    if name != "openreg":
        assert printed(texts(sampled).body(alert(sampled, f"device-broken/{name}"), 0)) == wanted
