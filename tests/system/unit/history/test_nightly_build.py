"""Which PyTorch a nightly was about."""

from __future__ import annotations

from ootci.history.nights import build_of_nightly
from ootci.model.torch_build import Channel, TorchBuild, TorchRequest

ONE, TWO = "1" * 40, "2" * 40


def had(version: str, commit: str | None, channel: Channel = Channel.NIGHTLY) -> tuple[TorchRequest, TorchBuild]:
    request = TorchRequest(wanted="nightly", wanted_channel=Channel.NIGHTLY, channel=channel, version=version)
    return request, TorchBuild(version=version, git_version=commit)


def test_most_runs_decide_and_a_build_for_another_card_is_the_same_one() -> None:
    runs = [had("2.15.0.dev2+cpu", ONE), had("2.15.0.dev2+rocm7.1", ONE), had("2.15.0.dev3+cpu", TWO)]
    assert build_of_nightly(runs) == TorchBuild(version="2.15.0.dev2", git_version=ONE)


def test_of_as_many_runs_the_newer_version_counts_in_any_order() -> None:
    runs = [had("2.15.0.dev2+cpu", TWO), had("2.15.0.dev3+cpu", ONE)]
    assert build_of_nightly(runs) == build_of_nightly(runs[::-1]) == TorchBuild(version="2.15.0.dev3", git_version=ONE)


def test_a_release_and_what_is_no_commit_say_nothing() -> None:
    runs = [
        had("2.14.0+cpu", TWO, Channel.RELEASE),
        had("2.15.0.dev2+cpu", "../../" + ONE),
        had("2.15.0.dev2+cpu", None),
        (had("2.15.0.dev2+cpu", ONE)[0], None),
    ]
    assert build_of_nightly(runs) is None
