"""The pull request or push of PyTorch that is tested instead of a nightly."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

from ootci.adapters import git
from ootci.errors import BadOption, PullRequestMissing
from ootci.model.delivery import Delivery, PushDelivery, read_delivery
from ootci.model.plan import Proposal
from ootci.stages.plan import Proposed

DELIVERED = "delivered"
REPOSITORY = "pytorch/pytorch"


def proposed(text: str, payload: Path | None) -> Callable[[], Proposed]:
    """The value of ``--pull-request``, a number or ``delivered``, as a function that looks it up.

    The function raises PullRequestMissing where there is no such pull request or it cannot be merged, and
    PyTorchUnreachable where PyTorch's repository cannot be asked.

    Raises:
        BadOption: it is neither a number nor ``delivered``, or nothing was delivered.
        DeliveryInvalid: what was delivered is no pull request and no push.

    """
    if text == DELIVERED:
        return partial(_of_delivery, delivered(payload))
    if not re.fullmatch(r"[1-9]\d{0,8}", text):
        raise BadOption(
            f"`{text}` is no pull request", where="--pull-request", fix=f"give a number such as 4711, or {DELIVERED}"
        )
    return partial(_numbered, int(text))


def delivered(payload: Path | None) -> Delivery:
    """What the relay delivered.

    Raises:
        BadOption: nothing was delivered.
        DeliveryInvalid: it is no pull request and no push.

    """
    if payload is not None:
        return read_delivery(payload, event_file=False)
    event = os.environ.get("GITHUB_EVENT_PATH")
    if not event:
        raise BadOption("nothing was delivered", where="--payload", fix="name a file with what the relay delivered")
    return read_delivery(Path(event), event_file=True)


def _of_delivery(found: Delivery) -> Proposed:
    if isinstance(found, PushDelivery):
        pushed = found.payload
        what = Proposal(repository=pushed.repository.full_name, commit=pushed.after, ref=pushed.ref)
        return Proposed(what, event="push", is_over=pushed.deleted)
    request = found.payload.pull_request
    what = Proposal(
        repository=found.payload.repository.full_name,
        pull_request=request.number,
        commit=request.head.sha,
        ref=f"refs/pull/{request.number}/merge",
    )
    return Proposed(what, event="pull_request", is_over=found.payload.action == "closed")


def _numbered(number: int) -> Proposed:
    url = git.pytorch_repository()
    head, merge = f"refs/pull/{number}/head", f"refs/pull/{number}/merge"
    refs = git.refs_of(url, head, merge)
    if head not in refs or merge not in refs:
        what = "cannot be merged: it is closed, or conflicts" if head in refs else "does not exist"
        raise PullRequestMissing(f"pull request {number} {what}", where=url, fix="give the number of an open one")
    what_is = Proposal(repository=REPOSITORY, pull_request=number, commit=refs[head], ref=merge)
    return Proposed(what_is, event=None)
