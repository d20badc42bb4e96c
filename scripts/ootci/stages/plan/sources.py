"""What the nightly of a plan was made of: the commit of PyTorch's main branch, and the commits since the one before."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ootci.adapters.git import pytorch_repository
from ootci.adapters.remote_commits import RemoteCommits
from ootci.model.commits import NewCommits
from ootci.model.plan import Plan
from ootci.model.torch_build import Channel, TorchRequest

_NAMED = re.compile(r"nightly release \(([0-9a-f]{40})\)")
"""How the subject of a nightly's commit names the commit of ``main`` that it was made of.

A nightly is built from a commit of PyTorch's branch ``nightly``, which has all changes since the nightly before in one
commit (PyTorch, tools/nightly.py). Some builds name the commit of ``main`` themselves.
"""


def with_sources(plan: Plan, earlier: Sequence[Plan]) -> Plan:
    """The plan with that, as far as PyTorch's repository tells it; ``earlier`` are the nightlies before, in order."""
    commits = {item.commit for item in plan.requests if item.channel is Channel.NIGHTLY and item.commit}
    if not commits:
        return plan
    with RemoteCommits(pytorch_repository()) as repository:
        made_of = {commit: _made_of(commit, repository.subject(commit)) for commit in sorted(commits)}
        runs, also = (
            tuple(run.model_copy(update={"torch": _told(run.torch, made_of)}) for run in runs)
            for runs in (plan.runs, plan.also)
        )
        nightly = _told(plan.nightly, made_of) if plan.nightly else None
        plan = plan.model_copy(update={"runs": runs, "also": also, "nightly": nightly})
        until = plan.source
        before = (other.source for other in reversed(earlier))
        since = next((source for source in before if source not in (None, until)), None)
        new = NewCommits.counted(since, until, repository.count(since, until)) if since and until else None
    return plan.model_copy(update={"new_commits": new})


def _made_of(nightly: str, subject: str | None) -> str | None:
    """The commit of ``main`` that a nightly's commit was made of, which may be itself; None where not known."""
    if subject is None:
        return None
    named = _NAMED.search(subject)
    return named[1] if named else nightly


def _told(request: TorchRequest, made_of: dict[str, str | None]) -> TorchRequest:
    source = made_of.get(request.commit or "")
    return request.model_copy(update={"made_of": source}) if source else request
