"""Where and when a run took place, as exactly as it can be known."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime

from pydantic import TypeAdapter, ValidationError

from ootci import __version__
from ootci.model.build import Build, StageResult, StageStatus
from ootci.model.commit import full_commit
from ootci.model.device import Device
from ootci.model.plan import Plan
from ootci.model.probe import Probe
from ootci.model.record import Time
from ootci.model.run import Environment, Links
from ootci.model.workspace import RunFolder

QUEUED_AT, IMAGE = "OOTCI_QUEUED_AT", "OOTCI_IMAGE"
"""Variables by which a workflow says when its job was queued (ISO 8601) and in which image it runs."""
MAX_FACTS = 50
MAX_FACT = 200
_TIME: TypeAdapter[datetime] = TypeAdapter(Time)


def environment(
    probe: Probe, build: Build, checked: Mapping[str, str], variables: Mapping[str, str], *, here: bool = True
) -> Environment:
    """Where the run took place.

    Args:
        probe: env.json.
        build: build.json.
        checked: what the check command said.
        variables: environment variables of the job.
        here: whether the run took place on this machine; shares may come from several others.

    """
    properties = {f"card.{name}": value for name, value in probe.device.card.items()}
    facts = list({**checked, **properties}.items())[:MAX_FACTS]
    return Environment(
        python=probe.python.version or build.python_version,
        os=probe.os.platform,
        glibc=probe.os.glibc,
        machine=probe.os.machine,
        cpus=probe.os.cpus,
        compiler=build.compiler,
        built_on=(build.built_on or "")[:MAX_FACT] or None,
        runner=variables.get("RUNNER_NAME") if here else None,
        devices=probe.device.count,
        image=variables.get(IMAGE, "")[: 2 * MAX_FACT] or None,
        device_facts={name[:MAX_FACT]: value[:MAX_FACT] for name, value in facts},
        ootci=__version__,
    )


def queued_at(plan: Plan, attempt: int, started: datetime, variables: Mapping[str, str]) -> datetime | None:
    """When the run began to wait; None when nobody says so, or two clocks disagree."""
    try:
        said: datetime | None = _TIME.validate_python(variables[QUEUED_AT])
    except (KeyError, ValidationError):
        said = plan.created_at if attempt == 1 else None
    return said if said is not None and said <= started else None


def links(device: Device, build: Build, stages: Sequence[StageResult], folder: RunFolder) -> Links:
    """Where more is to be found about a run."""
    failed = (stage.log for stage in stages if stage.status is not StageStatus.PASSED and stage.log)
    return Links(plugin_commit=_commit_page(device, build), report=folder.report.name, log=next(failed, None))


def _commit_page(device: Device, build: Build) -> str | None:
    """GitHub, GitLab, Gitee and Gitea have a commit's page at ``<repository>/commit/<hash>``."""
    source = device.plugin.git
    commit = full_commit(build.plugin.commit) if build.plugin else None
    if source is None or commit is None or not re.match("https?://", source.url):
        return None
    return f"{source.url.rstrip('/').removesuffix('.git')}/commit/{commit}"
