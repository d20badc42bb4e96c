"""Where and when a run took place, as exactly as it can be known."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path

from ootci import __version__
from ootci.model.build import Build, StageResult, StageStatus
from ootci.model.commit import full_commit
from ootci.model.device import Device
from ootci.model.plan import Plan
from ootci.model.probe import Probe
from ootci.model.run import Environment, Links
from ootci.model.torch_build import TorchRequest
from ootci.model.workspace import RunFolder

IMAGE = "OOTCI_IMAGE"
"""The variable by which a workflow says in which image its job runs."""
MAX_FACTS = 50
MAX_FACT = 200


def environment(
    probe: Probe, build: Build, checked: Mapping[str, str], variables: Mapping[str, str], *, here: bool = True
) -> Environment:
    """Where the run took place.

    Args:
        checked: what the check command said.
        variables: environment variables of the job.
        here: whether the run took place on this machine; shares may come from several others.

    """
    properties = {f"card.{name}": value for name, value in probe.device.card.items()}
    lacks = {"lacks": ", ".join(probe.device.lacks)} if probe.device.lacks else {}
    missing = ", ".join(f"torch.{probe.device.name}.{function}" for function in probe.device.missing_functions)
    functions = {"missing functions": missing} if missing else {}
    facts = list({**checked, **lacks, **functions, **properties}.items())[:MAX_FACTS]
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


def queued_at(plan: Plan, attempt: int, started: datetime) -> datetime | None:
    """When the run began to wait: when the plan was made, which is the last that GitHub tells a job of without being
    asked. None for a later attempt, and when two clocks disagree.
    """
    return plan.created_at if attempt == 1 and plan.created_at <= started else None


def without_paths(torch: TorchRequest) -> TorchRequest:
    """The torch that was wanted, without the folder in which its wheel lies on this machine."""
    return torch.model_copy(update={"wheel": Path(torch.wheel).name if torch.wheel else None})


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
