"""Facts about a run and a device, as labelled values: what was tested, with what, and where it came from."""

from __future__ import annotations

import os
from dataclasses import dataclass

from ootci.adapters.annotation import CALLER
from ootci.model.device import Device, RegisteredDevice, is_registry
from ootci.model.run import Run
from ootci.model.torch_build import TorchBuild, TorchRequest, full_commit
from ootci.model.words import duration

from .links import github_handle, pytorch_commit, web_address
from .text import one_line

_BELOW_THE_PLUGIN = {
    "card.name": "device model",
    "driver": "driver",
    "firmware": "firmware",
    "runtime": "runtime",
    "sdk": "SDK",
}
"""Labels of the facts that a device reports, by their names in run.json."""


@dataclass(frozen=True)
class Fact:
    """One labelled value.

    Attributes:
        href: where it leads, an http(s) address.
        code: whether it is an identifier and not prose.
        whole: the value in full, where ``value`` is shortened.

    """

    label: str
    value: str
    href: str | None = None
    code: bool = False
    whole: str | None = None


@dataclass(frozen=True)
class TorchView:
    """The torch of a run.

    Attributes:
        version: the version that is installed, or else the one that was going to be; null when there is neither.
        marker: a few words when it is not the requested torch; null when it is.
        fallback: the same as a sentence, with the reason.
        unavailable: why there was no torch at all; null when there was one.

    """

    version: str | None
    channel: str
    marker: str | None
    fallback: str | None
    unavailable: str | None


def torch_view(request: TorchRequest, build: TorchBuild | None) -> TorchView:
    """What was wanted and what was got."""
    version = build.version if build else request.version
    version = one_line(version, 60) if version else None
    marker = fallback = None
    if request.fallback_reason is not None:
        marker = f"instead of {one_line(request.wanted, 60)}"
        tested = f"{request.channel.value} {version or '(version unknown)'}"
        fallback = f"{tested} {marker}: {one_line(request.fallback_reason)}"
    return TorchView(version, request.channel.value, marker, fallback, request.unavailable_reason)


def run_facts(run: Run) -> tuple[Fact, ...]:
    """The versions of PyTorch and of the plugin in a run."""
    request, build, plugin = run.torch_request, run.torch, run.plugin
    commit = build.git_version if build else None
    version = build.version if build else None
    facts = [
        Fact("PyTorch requested", request.wanted),
        Fact("PyTorch tested", f"{version} ({request.channel.value})" if version else "none", code=bool(version)),
        _optional("PyTorch origin", request.origin),
        _commit("PyTorch commit", commit, pytorch_commit(commit)),
        Fact("plugin", f"{plugin.package} {plugin.version or 'not built'}" if plugin else "none", code=bool(plugin)),
        _address("plugin source", plugin.source if plugin else None),
        _commit("plugin commit", plugin.commit if plugin else None, web_address(run.links.plugin_commit)),
    ]
    return tuple(fact for fact in facts if fact is not None)


def environment_facts(run: Run) -> tuple[Fact, ...]:
    """The machine of a run, and what was installed on it."""
    place = run.environment
    facts = [
        _optional("python", place.python),
        _optional("compiler", place.compiler),
        _optional("system", place.os),
        _optional("processors", f"{place.cpus}, {place.machine or 'of unknown kind'}" if place.cpus else place.machine),
        _optional("devices", str(place.devices) if place.devices is not None else None),
        _optional("runner", place.runner),
        _optional("built on", place.built_on),
        _image(place.image),
        *_taken_from(run),
        *(_optional(label, place.device_facts.get(key)) for key, label in _BELOW_THE_PLUGIN.items()),
    ]
    return tuple(fact for fact in facts if fact is not None)


def run_files(run: Run) -> tuple[Fact, ...]:
    """The files of a run that a person wants to read: they are in its folder, an artifact of its workflow run."""
    page = web_address(run.url)
    kept = f"{page.partition('#')[0]}#artifacts" if page else None
    files = (("JUnit report", run.links.report), ("log", run.links.log))
    return tuple(Fact(label, one_line(name), kept, code=True) for label, name in files if name)


def is_here(item: RegisteredDevice) -> bool:
    """Whether a device file is in this repository's folder of them, and not in its vendor's."""
    return is_registry(item.path.parent)


def file_of(item: RegisteredDevice) -> str:
    """The path of a device file in its repository, as it was given."""
    return item.path.as_posix().removeprefix(CALLER)


def device_facts(item: RegisteredDevice) -> tuple[Fact, ...]:
    """The device file's settings of how the device is tested."""
    device = item.device
    wanted = device.torch.release if device.torch.channel.value == "release" and device.torch.release else None
    suites = ", ".join(suite.name + ("" if suite.required else " (advisory)") for suite in device.suites)
    facts = [
        Fact("torch", wanted or device.torch.channel.value),
        Fact("variant", device.torch.variant, code=True),
        _optional("also, weekly", ", ".join(other.value for other in device.torch.also)),
        Fact("plugin", device.plugin.distribution, code=True),
        plugin_source(item),
        *_place(device),
        Fact("devices", str(device.check.devices)),
        Fact("suites", suites),
        Fact("runs", device.cadence.value),
    ]
    return tuple(fact for fact in facts if fact is not None)


def _place(device: Device) -> tuple[Fact | None, ...]:
    if device.external is not None:
        return (_address("run elsewhere", device.external.run),)
    group = _optional("runner group", device.runner.group)
    return (Fact("runner", ", ".join(device.runner.labels), code=True), group)


def _taken_from(run: Run) -> tuple[Fact | None, ...]:
    """Where a run was taken from, and how old it was: nobody here saw it."""
    age = age_when_taken(run)
    if run.external is None or age is None:
        return ()
    return (_address("run elsewhere", run.external.address), Fact("age", f"{age} when it was received"))


def age_when_taken(run: Run) -> str | None:
    """How old an external report was when it was imported; None for our own runs."""
    if run.external is None:
        return None
    return duration((run.external.taken_at - run.finished_at).total_seconds())


def contacts(device: Device) -> tuple[Fact, ...]:
    """Who answers for the device, and where to read more."""
    people = [Fact("maintainer", handle, github_handle(handle)) for handle in device.maintainers]
    links = [
        _address(label, address)
        for label, address in (
            ("issues", device.links.issues),
            ("source", device.links.source),
            ("documentation", device.links.documentation),
            ("homepage", device.links.homepage),
        )
    ]
    return (*people, *(link for link in links if link is not None))


def plugin_source(item: RegisteredDevice) -> Fact:
    """Where the plugin comes from."""
    plugin = item.device.plugin
    if plugin.git is not None:
        return Fact("source", f"{_bare(plugin.git.url)} at {plugin.git.ref}", web_address(plugin.git.url))
    if plugin.path is not None:
        folder = f"{os.path.normpath(item.path.parent / plugin.path)}/".removeprefix(CALLER).rstrip("/") or "."
        where = "in this repository" if is_here(item) else f"in the repository of {file_of(item)}"
        return Fact("source", f"{folder} {where}" if folder != "." else f"top of the repository of {file_of(item)}")
    return Fact("source", f"package {plugin.package}")


def _optional(label: str, value: str | None) -> Fact | None:
    return Fact(label, value) if value else None


def _commit(label: str, value: str | None, href: str | None = None) -> Fact | None:
    """A commit, shortened for comparing by eye; any other text is returned unchanged."""
    if value is None:
        return None
    sha, mark, rest = value.partition("-")
    if full_commit(sha) is None:
        return Fact(label, value, href, code=True)
    return Fact(label, f"{sha[:12]}{mark}{rest}", href, code=True, whole=None if href else value)


def _image(value: str | None) -> Fact | None:
    """A container image, its digest shortened for comparing by eye."""
    if value is None:
        return None
    name, mark, digest = value.partition("@sha256:")
    return Fact("image", f"{name}{mark}{digest[:12]}", whole=value if len(digest) > 12 else None)


def _address(label: str, value: str | None) -> Fact | None:
    """Something that may be an address; a link if it is one, and then without the scheme that all of them share."""
    if value is None:
        return None
    href = web_address(value)
    return Fact(label, _bare(value) if href else value, href)


def _bare(address: str) -> str:
    return address.removeprefix("https://").removesuffix("/")
