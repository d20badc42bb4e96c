"""Describes what a nightly would do with a device, without doing it."""

from __future__ import annotations

from ootci.model.device import Cadence, Device, Plugin, variants_of
from ootci.model.plan import Plan

from .checks import HOSTED


def dry_run(device: Device, plan: Plan) -> tuple[str, ...]:
    """What would run where, by a plan that names the device."""
    run = plan.run_of(device.name)
    request = run.torch
    torch = f"torch {request.version} ({request.channel.value})" if request.version else "no torch"
    why = request.unavailable_reason or request.fallback_reason
    suites = ", ".join(suite.name + ("" if suite.required else " (advisory)") for suite in run.suites)
    lines = [
        f"{torch}; wanted is {request.wanted}" + (f": {why}" if why else ""),
        f"the plugin {_source(device.plugin)}",
        _place(device),
        f"the suites {suites}, within {device.limits.suite_minutes} minutes each",
    ]
    if device.python is not None:
        lines.append(f"on Python {device.python}")
    if device.torch.also:
        lines.append(f"on Sundays (UTC) on torch {' and '.join(other.value for other in device.torch.also)}, too")
    for item in variants_of(device):
        python = f", Python {item.python}" if item.python else ""
        lines.append(f"beside it the variant {item.name}: {_place(item)}{python}")
    if device.external is not None:
        lines = [f"nothing: what was reported elsewhere is imported from {device.external.run}"]
    if device.paused is not None:
        lines.insert(0, f"nothing for the time being, because it is paused: {device.paused.reason}")
    elif device.cadence is Cadence.WEEKLY:
        lines.insert(0, "only on Sundays (UTC), because its cadence is weekly")
    return tuple(lines)


def _source(plugin: Plugin) -> str:
    if plugin.git is not None:
        return f"{plugin.distribution}, built from {plugin.git.ref} of {plugin.git.url}"
    if plugin.path is not None:
        return f"{plugin.distribution}, built from {plugin.path}"
    return f"{plugin.package}, from {plugin.index_url or 'the package index'}"


def _place(device: Device) -> str:
    runner, limits = device.runner, device.limits
    hosted = len(runner.labels) == 1 and HOSTED.fullmatch(runner.labels[0]) is not None
    where = "GitHub's own machine" if hosted else "a machine that has to be registered with the labels"
    jobs = f"{runner.shares} jobs" if runner.shares > 1 else "1 job"
    inside = f", in the container {runner.container.image}" if runner.container else ""
    return f"{jobs} on {where} {', '.join(runner.labels)}{inside}, at most {limits.job_minutes} minutes"
