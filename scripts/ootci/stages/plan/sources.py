"""What the nightly of a plan was made of: the commit of PyTorch's main branch, and the commits since the one before."""

from __future__ import annotations

from collections.abc import Sequence

from ootci.adapters.pytorch_source import PytorchSource
from ootci.model.plan import NewCommits, Plan
from ootci.model.torch_build import Channel, TorchRequest


def with_sources(plan: Plan, earlier: Sequence[Plan]) -> Plan:
    """The plan with that, as far as PyTorch's repository tells it; ``earlier`` are the nightlies before, in order."""
    commits = {item.commit for item in plan.requests if item.channel is Channel.NIGHTLY and item.commit}
    if not commits:
        return plan
    with PytorchSource() as repository:
        made_of = {commit: repository.made_of(commit) for commit in sorted(commits)}
        runs, also = (
            tuple(run.model_copy(update={"torch": _told(run.torch, made_of)}) for run in runs)
            for runs in (plan.runs, plan.also)
        )
        nightly = _told(plan.nightly, made_of) if plan.nightly else None
        plan = plan.model_copy(update={"runs": runs, "also": also, "nightly": nightly})
        until = plan.source
        before = (other.source for other in reversed(earlier))
        since = next((source for source in before if source not in (None, until)), None)
        count = repository.count(since, until) if since and until else None
    if since is None or until is None or count is None:
        return plan
    return plan.model_copy(update={"new_commits": NewCommits(since=since, until=until, count=count)})


def _told(request: TorchRequest, made_of: dict[str, str | None]) -> TorchRequest:
    source = made_of.get(request.commit or "")
    return request.model_copy(update={"made_of": source}) if source else request
