"""What PyTorch's cross-repository CI relay delivers: an event of PyTorch's repository, as a ``repository_dispatch``.

The relay passes on GitHub's webhook body, at most 65 kB of it. It holds what anybody wrote into a pull request, so that
it is hostile: only what is used is read, with its type and its length, and all else is passed over.

Source: pytorch/test-infra, ``aws/lambda/cross_repo_ci_relay``; GitHub's documentation, "Webhook events and payloads".
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import ConfigDict, Field, StringConstraints, TypeAdapter, ValidationError

from ootci.errors import DeliveryInvalid
from ootci.model.record import Record

MAX_BYTES = 1 << 20
"""GitHub's event file holds the delivery, and facts about the repository that received it."""

Commit = Annotated[str, StringConstraints(pattern=r"^[0-9a-f]{40}$")]
Repository = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.-]{1,100}/[A-Za-z0-9_.-]{1,100}$")]
Ref = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_][^\s\x00-\x1f\x7f~^:?*\[\\]*$", max_length=255)]
BranchName = Annotated[str, StringConstraints(pattern=r"^[^\x00-\x20\x7f-][^\x00-\x20\x7f]*$", max_length=255)]
"""Git allows nearly everything, such as ``#12345-fix`` or ``+a``, and the name is only handed back to the relay.

Source: git's documentation, "git-check-ref-format".
"""
DeliveryId = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,100}$")]


class Received(Record):
    """A part of a delivery: what it has besides is passed over, and not handed on."""

    model_config = ConfigDict(extra="ignore")


class RepositoryName(Received):
    """A repository on GitHub."""

    full_name: Repository
    """Owner and name, such as ``pytorch/pytorch``."""


class Label(Received):
    """A label of a pull request."""

    name: Annotated[str, StringConstraints(min_length=1, max_length=100)]
    """Its name, such as ``ciflow/crcr/openreg``."""


class Head(Received):
    """The commit that a pull request proposes."""

    sha: Commit
    """The commit."""
    ref: BranchName
    """Its branch."""
    repo: RepositoryName | None = None
    """The repository that it is in; null when a fork was deleted."""


class Base(Received):
    """Where a pull request is to be merged."""

    sha: Commit
    """The commit at the head of the branch."""
    ref: BranchName
    """The branch."""


class PullRequest(Received):
    """A pull request."""

    number: Annotated[int, Field(ge=1, le=10**9)]
    """Its number."""
    head: Head
    """What it proposes."""
    base: Base
    """Where to."""
    labels: Annotated[tuple[Label, ...], Field(max_length=100)] = ()
    """Its labels when the event happened."""


class PullRequestEvent(Received):
    """Something happened to a pull request."""

    action: Annotated[str, StringConstraints(pattern=r"^[a-z_]{1,40}$")]
    """What happened: ``opened``, ``synchronize``, ``reopened``, ``closed``."""
    pull_request: PullRequest
    """The pull request."""
    repository: RepositoryName
    """Where it is."""


class PushEvent(Received):
    """A branch or a tag was pushed."""

    ref: Ref
    """The branch or tag, in full, such as ``refs/heads/main``."""
    after: Commit
    """Its newest commit."""
    deleted: bool = False
    """Whether it is gone instead."""
    repository: RepositoryName
    """Where it is."""


class PullRequestDelivery(Received):
    """A delivery about a pull request."""

    event_type: Literal["pull_request"]
    """What it is about."""
    delivery_id: DeliveryId
    """Identity of the delivery; the relay knows a report by it."""
    payload: PullRequestEvent
    """The event."""


class PushDelivery(Received):
    """A delivery about a push."""

    event_type: Literal["push"]
    """What it is about."""
    delivery_id: DeliveryId
    """Identity of the delivery; the relay knows a report by it."""
    payload: PushEvent
    """The event."""


Delivery = PullRequestDelivery | PushDelivery

_Either = Annotated[Delivery, Field(discriminator="event_type")]


class _EventFile(Received):
    """GitHub's event file of a ``repository_dispatch``."""

    client_payload: _Either


_DELIVERY: TypeAdapter[Delivery] = TypeAdapter(_Either)


def read_delivery(path: Path, *, event_file: bool) -> Delivery:
    """Read what the relay delivered.

    Args:
        event_file: whether it is GitHub's event file, which has the delivery in ``client_payload``.

    Raises:
        DeliveryInvalid: the file cannot be read, is too large, or holds no delivery.

    """
    try:
        with path.open("rb") as stream:
            text = stream.read(MAX_BYTES + 1)
    except OSError as error:
        raise _invalid(f"it cannot be read: {error.strerror}", path) from error
    if len(text) > MAX_BYTES:
        raise _invalid(f"it is larger than {MAX_BYTES >> 10} KiB", path)
    try:
        if event_file:
            return _EventFile.model_validate_json(text, strict=True).client_payload
        return _DELIVERY.validate_json(text, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        place = ".".join(str(part) for part in first["loc"]) or "the file"
        raise _invalid(f"{place}: {first['msg']}", path) from error


def _invalid(what: str, path: Path) -> DeliveryInvalid:
    # What is wrong may quote the file, which must reach no terminal and no runner as a command.
    return DeliveryInvalid(
        f"what the relay delivered is not valid: {ascii(what[:300])[1:-1]}",
        where=str(path),
        fix="run this in a workflow that a `repository_dispatch` of the relay started, or name the delivery's file",
    )
