"""What a nightly was made of: asked of a repository whose branches are as PyTorch's, and what the rest makes of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from pytorch_branches import Pytorch, pytorch_branches
from unit.samples import plan, run

from ootci.history.nights import CommitCounts, build_of_nightly, mark_of
from ootci.model.commits import NewCommits
from ootci.model.plan import Plan
from ootci.model.torch_build import Channel, TorchBuild, TorchRequest, commits_between
from ootci.stages.plan import with_sources


@pytest.fixture
def pytorch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Pytorch:
    """The repository that is asked."""
    made = pytorch_branches(tmp_path)
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)
    monkeypatch.setenv("OOTCI_PYTORCH_GIT", made.address)
    return made


def nightly(number: int, made_from: str | None) -> Plan:
    """The plan of a nightly of a commit."""
    planned = plan(number)
    torch = TorchRequest(
        wanted="nightly", wanted_channel=Channel.NIGHTLY, channel=Channel.NIGHTLY, version="1", commit=made_from
    )
    runs = tuple(item.model_copy(update={"torch": torch}) for item in planned.runs)
    return planned.model_copy(update={"runs": runs})


def test_a_nightly_is_told_by_the_commit_of_main_that_it_was_made_of(pytorch: Pytorch) -> None:
    first = with_sources(nightly(0, pytorch.nightlies[0]), ())
    assert (first.source, first.new_commits) == (pytorch.main[0], None)
    second = with_sources(nightly(1, pytorch.nightlies[1]), (first,))
    assert [item.torch.made_of for item in second.runs] == [pytorch.main[2]] * len(second.runs)
    assert second.new_commits == NewCommits(since=pytorch.main[0], until=pytorch.main[2], count=2)


def test_the_same_nightly_again_is_compared_with_the_one_before_it(pytorch: Pytorch) -> None:
    first = with_sources(nightly(0, pytorch.nightlies[0]), ())
    second = with_sources(nightly(1, pytorch.nightlies[1]), (first,))
    again = with_sources(nightly(2, pytorch.nightlies[1]), (first, second))
    assert again.new_commits == second.new_commits


def test_a_build_of_main_itself_was_made_of_its_own_commit(pytorch: Pytorch) -> None:
    assert with_sources(nightly(0, pytorch.main[3]), ()).source == pytorch.main[3]


@pytest.mark.parametrize("made_from", [None, "0" * 40], ids=["no-commit", "not-there"])
def test_what_nobody_tells_is_left_out(pytorch: Pytorch, made_from: str | None) -> None:
    planned = nightly(1, made_from)
    assert with_sources(planned, (with_sources(nightly(0, pytorch.nightlies[0]), ()),)) == planned


def test_a_repository_that_is_not_there_stops_no_plan(
    pytorch: Pytorch, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OOTCI_PYTORCH_GIT", (tmp_path / "gone.git").as_uri())
    planned = nightly(0, pytorch.nightlies[0])
    assert with_sources(planned, ()) == planned


def test_ranges_and_their_numbers_are_of_main(pytorch: Pytorch) -> None:
    plans: list[Plan] = []
    for number, made_from in enumerate(pytorch.nightlies):
        plans.append(with_sources(nightly(number, made_from), plans))
    builds = [TorchBuild(version="1", git_version=made_from) for made_from in pytorch.nightlies]
    told = [item.told(build) for item, build in zip(plans, builds, strict=True)]
    assert [item.git_version for item in told] == pytorch.nightlies
    assert [mark_of(item, build).torch_commit for item, build in zip(plans, builds, strict=True)] == [
        pytorch.main[0],
        pytorch.main[2],
        pytorch.main[4],
    ]
    address = commits_between(told[0], told[2])
    assert address == f"https://github.com/pytorch/pytorch/compare/{pytorch.main[0]}...{pytorch.main[4]}"
    counts = CommitCounts(item.new_commits for item in plans)
    first, second, third = (item.source for item in told)
    assert (counts.between(second, third), counts.between(first, third)) == (2, 4)
    assert counts.between(builds[0].git_version, builds[2].git_version) is None
    head = run(0).model_copy(update={"torch": told[1]})
    assert build_of_nightly([(plans[1].runs[0].torch, head.torch)]) == TorchBuild(
        version="1", git_version=pytorch.nightlies[1], made_of=pytorch.main[2]
    )
