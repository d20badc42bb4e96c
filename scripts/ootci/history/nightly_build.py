"""Which PyTorch a nightly was about, by what its devices said of the torch that they had."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ootci.model.commit import full_commit
from ootci.model.torch_build import Channel, TorchBuild, TorchRequest


def build_of_nightly(runs: Iterable[tuple[TorchRequest, TorchBuild | None]]) -> TorchBuild | None:
    """The nightly build that most runs had; None where none of them said the commit of one.

    Builds of one commit for different processors or cards are one build here. A run that got a release instead of the
    nightly says nothing. Where two commits have as many runs, the newer version counts.

    Args:
        runs: the torch wanted and the torch had, of the runs of one nightly.

    """
    found: Counter[str] = Counter()
    versions: dict[str, str] = {}
    for request, build in runs:
        commit = full_commit(build.git_version if build else None)
        if build is not None and commit is not None and request.channel is Channel.NIGHTLY:
            found[commit] += 1
            versions[commit] = max(versions.get(commit, ""), build.version.partition("+")[0])
    if not found:
        return None
    commit = max(found, key=lambda commit: (found[commit], versions[commit], commit))
    return TorchBuild(version=versions[commit], git_version=commit)
