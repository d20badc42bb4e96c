"""What fails alike in the sample: one cluster of each kind that a page shows in its own way."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from unit.render.sample_runs import FIRST_NIGHT, NIGHTS, SHA, plan_id

from ootci.model.cluster import Cause, Cluster, ClusterDevice, Mark, Signature, Streak
from ootci.model.verdict import ChangeName, DeviceVerdict

COMMITS = "abc1234...def5678"
COMMITS_URL = f"https://github.com/pytorch/pytorch/compare/{'a' * 40}...{SHA}"
LAST = NIGHTS - 1
ALIKE = Signature.of("AssertionError: Tensor-likes are not equal!")
GONE = Signature.of("check: <n> cards found, <n> expected")
"""What stages failed of on several nights, and which is none of the clusters."""


def mark(number: int) -> Mark:
    """A night of the sample."""
    return Mark(
        plan_id=plan_id(number), date=FIRST_NIGHT + timedelta(days=number), torch_version="2.15.0.dev", torch_commit=SHA
    )


def part(device: str, *first: str, number: int = LAST, changed: bool | None = None) -> ClusterDevice:
    """A device's part, of as many tests as are named."""
    return ClusterDevice(
        device=device,
        is_reference=device == "openreg",
        tests=len(first),
        new=len(first) if number == LAST else 0,
        first=first,
        plugin_changed=changed,
        since=mark(number),
    )


def cluster(text: str, cause: Cause, reason: str, *parts: ClusterDevice, commits: bool = False) -> Cluster:
    """A cluster that began when its first device did."""
    return Cluster(
        signature=Signature.of(text),
        plan_id=plan_id(LAST),
        cause=cause,
        reason=reason,
        devices=parts,
        since=parts[0].since,
        commits=COMMITS if commits else None,
        commits_url=COMMITS_URL if commits else None,
    )


VIEWS = tuple(f"integration/test_views.py::test_{name}" for name in ("slice_writes_through", "transpose"))
CLUSTERS = (
    cluster(
        ALIKE.text,
        Cause.UPSTREAM,
        "2 independent plugins broke together on one nightly: probably upstream",
        part("borealis", *VIEWS, changed=False),
        part("nimbus", "smoke/test_tensors.py::test_round_trip[bfloat16]", changed=True),
        commits=True,
    ),
    cluster(
        "marble: 8 tests never reported",
        Cause.PLUGIN,
        "only this device: its plugin changed, PyTorch did not",
        part("marble", "integration", changed=True),
    ),
    cluster(
        "RuntimeError: a device that is not registered",
        Cause.UNKNOWN,
        "it has never passed, so nothing is known of how it began",
        part("removed", "smoke/test_device.py::test_name"),
    ),
    cluster(
        "AssertionError: values differ",
        Cause.SUSPECTED_UPSTREAM,
        "only this device: PyTorch changed, its plugin did not",
        part("jasper", VIEWS[0], number=3, changed=False),
        commits=True,
    ),
    cluster(
        "build: ninja ended with exit code <n>",
        Cause.UNKNOWN,
        "only this device: its plugin changed, PyTorch changed",
        part("dune", "build", number=LAST - 2),
        commits=True,
    ),
)


STREAKS = (
    Streak(first_failed=mark(3)),
    Streak(first_failed=mark(LAST), last_passed=mark(LAST - 1), commits=COMMITS, commits_url=COMMITS_URL),
)
FAILING = (ChangeName.REGRESSION, ChangeName.NEW_FAILURE, ChangeName.STILL_FAILING)


def with_spells(verdict: DeviceVerdict) -> DeviceVerdict:
    """The verdict with a row of failures and a cluster for each failing test: its own for what keeps failing."""
    changes = tuple(
        replace(
            change,
            signature=CLUSTERS[3 if change.change is ChangeName.STILL_FAILING else 0].signature.id,
            streak=0 if change.change is ChangeName.STILL_FAILING else 1,
        )
        if change.change in FAILING
        else change
        for change in verdict.changes
    )
    update = {"changes": changes, "streaks": STREAKS, "torch_changed": True, "plugin_changed": False}
    return verdict.model_copy(update=update)
