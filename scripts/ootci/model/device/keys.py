"""The top of a device file: who, how much it weighs, and the groups of keys."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from enum import Enum
from pathlib import Path
from typing import Annotated

from pydantic import Field, StringConstraints, field_validator, model_validator

from ootci.model.record import Record

from .expectations import BadRanges, KnownFailure, LostTests, Unsupported
from .plugin import BuildSettings, CompatSource, Plugin, Torch
from .running import Check, Credentials, External, Limits, Runner, Suite
from .values import Handle, OutOfTreeName, PythonVersion, Text, Url, Variable


class Tier(str, Enum):
    """How much a device's verdict weighs."""

    REFERENCE = "reference"
    GATING = "gating"
    ADVISORY = "advisory"


class Cadence(str, Enum):
    """How often nightlies run a device."""

    NIGHTLY = "nightly"
    WEEKLY = "weekly"

    @property
    def stale_after(self) -> timedelta:
        """A device that nobody ran for longer has no data, whatever it reported last."""
        return timedelta(hours=36) if self is Cadence.NIGHTLY else timedelta(days=8)

    def is_due(self, now: datetime) -> bool:
        """Whether the nightly of that aware time runs such a device: a weekly one on Sundays, in UTC."""
        return self is Cadence.NIGHTLY or now.astimezone(timezone.utc).isoweekday() == 7


class Links(Record):
    """Where to read more. Each is shown on the device's page."""

    homepage: Url | None = None
    """The vendor's page about the device or the plugin."""
    source: Url | None = None
    """The plugin's public repository."""
    documentation: Url | None = None
    """The plugin's documentation."""
    issues: Url | None = None
    """Where a PyTorch maintainer reports a problem with the plugin."""


class Paused(Record):
    """The device is registered but not run; the reason is shown instead of results."""

    reason: Text
    """Why it is paused, one sentence."""


class Variant(Record):
    """The same plugin on another Python, SDK or machine: a device of its own, `<name>_<variant>`, with its own row."""

    name: Annotated[str, StringConstraints(pattern=r"^[a-z0-9][a-z0-9_]{0,14}$")]
    """Name of the variant, such as py313."""
    title: Text | None = None
    """What it is called behind the device's name, such as "Python 3.13"; its name when absent."""
    tier: Tier | None = None
    """How much its verdict weighs; as the device's when absent."""
    cadence: Cadence | None = None
    """How often nightlies run it; as the device when absent."""
    python: PythonVersion | None = None
    """Its Python; the device's when absent."""
    torch: Torch | None = None
    """Which torch it is tested on, where that differs; keys that are absent are the device's, but for `also`."""
    runner: Runner | None = None
    """Where its job runs, where that differs; keys that are absent are the device's."""
    build: BuildSettings | None = None
    """How its plugin is built, where that differs; keys that are absent are the device's."""
    environment: dict[Variable, str] = Field(default_factory=dict)
    """Environment variables besides the device's, or in place of them."""


class Device(Record):
    """One out-of-tree accelerator under test, `torch.device(name)`."""

    name: OutOfTreeName
    """Name of the device as in `torch.device(name)`; also the name of this file."""
    display_name: Text
    """Name for people, shown on the dashboard."""
    vendor: Text
    """Who makes the device."""
    description: Text | None = None
    """One sentence for the device's page."""
    tier: Tier = Tier.ADVISORY
    """`gating` devices block the gate, `advisory` ones are only shown, `reference` is the control and blocks too."""
    maintainers: Annotated[tuple[Handle, ...], Field(min_length=1)]
    """GitHub handles of people or teams who answer for the device, each with a leading `@`."""
    links: Links = Links()
    """Where to read more."""
    cadence: Cadence = Cadence.NIGHTLY
    """How often nightlies run it: every time, or `weekly`, on Sundays (UTC). Named in a command, it runs on any day."""
    pull_requests: bool = False
    """Whether it is tested on the pull requests and pushes of PyTorch that PyTorch's relay delivers."""
    paused: Paused | None = None
    """Present when the device is not to be run for the time being."""
    plugin: Plugin
    """Where the plugin comes from."""
    torch: Torch = Torch()
    """Which torch the device is tested on."""
    python: PythonVersion | None = None
    """Version of the Python that its environment is made from, such as "3.12"; the tool's own when absent."""
    build: BuildSettings = BuildSettings()
    """How the plugin is built from source."""
    compat: CompatSource | None = None
    """What is public of the plugin, for predictions without the hardware; `plugin.package` when absent."""
    environment: dict[Variable, str] = Field(default_factory=dict)
    """Environment variables of every process that uses the device; `{venv}` in a value stands for the folder of the
    device's virtual environment, for libraries that a requirement brings."""
    external: External | None = None
    """Present when the vendor runs the device and nightlies only import its report; named in a command, it is
    run where the nightly is."""
    runner: Runner = Runner()
    """Where GitHub Actions runs the device's job."""
    check: Check = Check()
    """Is the hardware there?"""
    suites: Annotated[tuple[Suite, ...], Field(min_length=1)] = (Suite(name="smoke"), Suite(name="integration"))
    """Suites to run, in order."""
    limits: Limits = Limits()
    """Time-outs."""
    known_failures: Annotated[tuple[KnownFailure, ...], Field(max_length=500)] = ()
    """Tests that the vendor knows to fail, for a time; more of them may be listed in <name>/known_failures.yaml."""
    lost_tests: Annotated[tuple[LostTests, ...], Field(max_length=100)] = ()
    """Tests that are no longer run and whose loss is accepted, such as those of a file that was renamed."""
    unsupported: tuple[Unsupported, ...] = ()
    """Capabilities that the device does not have."""
    variants: Annotated[tuple[Variant, ...], Field(max_length=16)] = ()
    """The same plugin on other Pythons or SDKs, each tested beside the device itself, on nightlies only."""
    bad_ranges: BadRanges = ()
    """Nights that are excluded for the device, because something else was broken; `_all/bad_ranges.yaml` names
    those of all devices. They are drawn hatched and left out of trends and flakiness, and keep their verdicts."""

    @field_validator("suites")
    @classmethod
    def _suites_decide(cls, suites: tuple[Suite, ...]) -> tuple[Suite, ...]:
        if len({suite.name for suite in suites}) != len(suites):
            raise ValueError("a suite is named twice")
        if not any(suite.required for suite in suites):
            raise ValueError("every suite is advisory, so that nothing could decide the verdict; make one required")
        return suites

    @field_validator("variants")
    @classmethod
    def _named_once(cls, variants: tuple[Variant, ...]) -> tuple[Variant, ...]:
        if len({variant.name for variant in variants}) != len(variants):
            raise ValueError("a variant is named twice")
        return variants

    @field_validator("unsupported")
    @classmethod
    def _claimed_once(cls, claims: tuple[Unsupported, ...]) -> tuple[Unsupported, ...]:
        if len({claim.capability for claim in claims}) != len(claims):
            raise ValueError("a capability is named twice")
        return claims

    @model_validator(mode="after")
    def _has_a_source(self) -> Device:
        if self.compat and self.compat.compile and self.plugin.package and not self.compat.git:
            raise ValueError("`compat.compile` is true, and `plugin.package` is no source: name one with `compat.git`")
        return self

    @property
    def torch_name(self) -> str:
        """The name as in ``torch.device(name)``."""
        return self.name

    @property
    def wanted_torch(self) -> str | None:
        """What it is tested on, in the words of ``ootci plan --torch``; None where the key `torch` tells."""
        return None

    @property
    def credentials(self) -> Credentials | None:
        """Credentials for the registry of its containers; one pair for both."""
        places = (self.runner.container, self.build.runner and self.build.runner.container)
        return next((place.credentials for place in places if place and place.credentials), None)

    @property
    def is_built_apart(self) -> bool:
        """Whether a job of its own builds the plugin before others test it."""
        return self.plugin.package is None and (self.build.runner is not None or self.runner.shares > 1)

    @property
    def minutes(self) -> int:
        """Most time that building and testing may take, in all jobs."""
        return self.limits.job_minutes + (self.build.timeout_minutes if self.is_built_apart else 0)

    @property
    def public_package(self) -> tuple[str | None, str | None]:
        """The requirement of the plugin's public wheel and its additional index; None where there is no such wheel."""
        if self.compat is not None:
            return self.compat.package, self.compat.index_url
        return self.plugin.package, self.plugin.index_url

    @property
    def source_to_compile(self) -> Plugin | None:
        """The plugin as a source that compiles without the vendor's SDK; None where the file names none."""
        if self.compat is None or not self.compat.compile:
            return None
        own, git = self.plugin, self.compat.git or self.plugin.git
        path = None if git else own.path
        return Plugin(distribution=own.distribution, path=path, git=git, index_url=own.index_url)

    @property
    def looked_for(self) -> str:
        """Where there is no public wheel: what was looked for."""
        if self.compat is not None and self.compat.nothing_public is not None:
            return f"looked for: {self.compat.nothing_public}"
        return "looked for: a public wheel (`compat.package` or `plugin.package` in the device file)"

    @property
    def gates(self) -> bool:
        """Whether the device's verdict can block the gate."""
        return self.tier in (Tier.REFERENCE, Tier.GATING)


class RegisteredDevice(Record):
    """A device and the file that it came from."""

    device: Device
    """The device."""
    path: Path
    """Its file."""
    sha256: str
    """Checksum of its file, followed by the `known_failures.yaml` of its folder, if there is one."""


class KnownFailuresFile(Record):
    """``devices/<name>/known_failures.yaml``: a list too long for the device file, in the same words."""

    known_failures: Annotated[tuple[KnownFailure, ...], Field(max_length=500)]
    """Tests that the vendor knows to fail; they are added to those in the device file."""


class BadRangesFile(Record):
    """``devices/_all/bad_ranges.yaml``: nights that are excluded for all devices, in the same form."""

    bad_ranges: BadRanges
    """Excluded nights; they are added to those in every device file."""
