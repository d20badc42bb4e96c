"""What pulls a container's image: which secrets a device file may name, and for what."""

from __future__ import annotations

from collections.abc import Iterator

from .keys import Device, PullRequests
from .running import Container

Keys = tuple[str, ...]


def amiss(device: Device) -> tuple[Keys, str] | None:
    """The problem with the credentials of a device's containers, and its place in the file; None without one."""
    used = device.credentials
    for keys, container in _containers(device):
        given = container.credentials
        if given is None or used is None:
            continue
        # Who may name any secret of the repository has it sent to the registry of an image of their own.
        prefix = f"{device.torch_name.upper()}_REGISTRY_"
        for key, name in (("username", given.username), ("password", given.password)):
            if not name.startswith(prefix):
                return (*keys, "credentials", key), f"a device names secrets of its own, which begin with {prefix}"
        if given != used:
            return (*keys, "credentials"), "`runner` and `build.runner` name different `credentials`; name the same"
        if device.pull_requests is not PullRequests.NEVER:
            return ("pull_requests",), (
                "a device with `credentials` is not tested on pull requests: a stranger's code gets no secret"
            )
    return None


def _containers(device: Device) -> Iterator[tuple[Keys, Container]]:
    if device.runner.container is not None:
        yield ("runner", "container"), device.runner.container
    if device.build.runner is not None and device.build.runner.container is not None:
        yield ("build", "runner", "container"), device.build.runner.container
