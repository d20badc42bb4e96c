"""The device file: one out-of-tree accelerator, as data. The only module that reads device YAML."""

from __future__ import annotations

import difflib
import hashlib
import json
import re
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, StringConstraints, ValidationError, field_validator, model_validator

from ootci.errors import DeviceFileInvalid, DeviceFileMisnamed, NoDevices, NoSuchDevice
from ootci.model.record import Record
from ootci.model.strict_yaml import Document, read_document
from ootci.model.torch_build import Channel

DEFAULT_FOLDER = Path("devices")

MEANINGS = {
    r"^[a-z][a-z0-9_]{0,30}$": "lower-case letters, digits and underscores, beginning with a letter, at most 31",
    r"^https?://[^\s<>]+$": "an address that begins with http:// or https://",
    r"^@[A-Za-z0-9](?:[A-Za-z0-9-]{0,38})(?:/[A-Za-z0-9_.-]+)?$": (
        "a GitHub handle with a leading @, of a person (`@me`) or a team (`@company/team`)"
    ),
    r"^[A-Za-z0-9_.:-]{1,100}$": "a runner label of letters, digits and `_.:-`",
    r"^[A-Za-z0-9]": "a Python requirement, which begins with a letter or digit",
    r"^[A-Za-z_][A-Za-z0-9_]*$": "the name of an environment variable",
    r"^[^/\s].*$": "a path relative to its folder, not an absolute one",
    r"^[a-z0-9.]+$": "a build variant such as cpu or cu130",
    r"^\d+\.\d+\.\d+$": "a release such as 2.13.0",
}
"""What each pattern of a device file asks for, in words."""

Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,30}$")]
Text = Annotated[str, StringConstraints(min_length=1, max_length=500, strip_whitespace=True)]
Url = Annotated[str, StringConstraints(pattern=r"^https?://[^\s<>]+$", max_length=500)]
Handle = Annotated[str, StringConstraints(pattern=r"^@[A-Za-z0-9](?:[A-Za-z0-9-]{0,38})(?:/[A-Za-z0-9_.-]+)?$")]
Label = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.:-]{1,100}$")]
Requirement = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9]", min_length=1, max_length=300)]
Variable = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]


def _stays_inside(path: str) -> str:
    if ".." in path.split("/"):
        raise ValueError("the path must not leave its folder with `..`")
    return path


RelativePath = Annotated[str, StringConstraints(pattern=r"^[^/\s].*$", max_length=300), AfterValidator(_stays_inside)]


class Tier(str, Enum):
    """How much a device's verdict weighs."""

    REFERENCE = "reference"
    GATING = "gating"
    ADVISORY = "advisory"


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


class GitSource(Record):
    """A git repository that holds the plugin."""

    url: Text
    """What `git clone` takes."""
    ref: Text = "HEAD"
    """Branch, tag or commit to build."""
    subdirectory: RelativePath | None = None
    """Folder of the Python project inside the repository, where it is not the top."""
    submodules: bool = False
    """Whether to fetch submodules too."""


class Plugin(Record):
    """Where the plugin comes from: exactly one of `path`, `git` and `package`."""

    distribution: Requirement
    """Name of the plugin's distribution, as `pip show` knows it."""
    path: RelativePath | None = None
    """Folder of the plugin's Python project, relative to the device file."""
    git: GitSource | None = None
    """Git repository of the plugin; built from source."""
    package: Requirement | None = None
    """Requirement that pip installs ready-made, such as `torch-vendor==2.13.0`."""
    index_url: Url | None = None
    """Additional package index for `package` and `requirements`."""
    requirements: tuple[Requirement, ...] = ()
    """Further packages that the device's environment needs at run time."""

    @model_validator(mode="after")
    def _one_source(self) -> Plugin:
        named = [key for key in ("path", "git", "package") if getattr(self, key) is not None]
        if len(named) != 1:
            found = " and ".join(f"`{key}`" for key in named) or "none of them"
            raise ValueError(f"exactly one of `path`, `git` and `package` says where the plugin is; found {found}")
        return self


class Torch(Record):
    """Which torch the device is tested on."""

    channel: Literal[Channel.NIGHTLY, Channel.RELEASE] = Channel.NIGHTLY
    """`nightly` for the newest nightly build, `release` for the pinned release."""
    variant: Annotated[str, StringConstraints(pattern=r"^[a-z0-9.]+$")] = "cpu"
    """Build variant of PyTorch's package index: `cpu`, `cu130`, `rocm7.1` and so on."""
    release: Annotated[str, StringConstraints(pattern=r"^\d+\.\d+\.\d+$")] | None = None
    """Release for the channel `release` and for the fallback; the tool's pinned release when absent."""
    fallback: Literal["release", "none"] = "release"
    """What to do when the nightly cannot be had: test the release, visibly, or report INFRA."""


class BuildSettings(Record):
    """How the plugin is built from source. Not used with `plugin.package`."""

    requirements: tuple[Requirement, ...] = ()
    """Packages that building needs; installed beforehand, as the build is not isolated from torch."""
    environment: dict[Variable, str] = Field(default_factory=dict)
    """Environment variables of the build."""
    jobs: Annotated[int, Field(ge=1, le=512)] | None = None
    """Parallel compile jobs (`MAX_JOBS`, `CMAKE_BUILD_PARALLEL_LEVEL`); the number of processors when absent."""
    timeout_minutes: Annotated[int, Field(ge=1, le=720)] = 60
    """Time-out of fetching and of building, each."""


class Runner(Record):
    """Where GitHub Actions runs the device's job."""

    labels: Annotated[tuple[Label, ...], Field(min_length=1)] = ("ubuntu-latest",)
    """Runner labels (`runs-on`)."""


class Check(Record):
    """Is the hardware there? Its failure is INFRA, never red for the plugin."""

    command: Annotated[tuple[Text, ...], Field(min_length=1)] | None = None
    """Command that exits 0 when the hardware is well, as a list of words; run without a shell."""
    devices: Annotated[int, Field(ge=1, le=1024)] = 1
    """Cards that torch must count."""
    timeout_seconds: Annotated[int, Field(ge=1, le=3600)] = 120
    """Time-out of the command and of importing torch, each."""


class Suite(Record):
    """A suite to run on the device."""

    name: Literal["smoke", "integration", "ops"]
    """Name of the suite."""
    required: bool = True
    """False makes it advisory: shown, but it does not decide the verdict."""
    min_tests: Annotated[int, Field(ge=1)] = 1
    """Fewer collected tests than this are lost tests, not a pass."""


class Limits(Record):
    """Time-outs, so that a hang costs one test and not the night."""

    job_minutes: Annotated[int, Field(ge=1, le=1440)] = 120
    """Time-out of the whole device job."""
    suite_minutes: Annotated[int, Field(ge=1, le=720)] = 45
    """Time-out of one suite; what did not run by then is `not_run`."""
    test_seconds: Annotated[int, Field(ge=1, le=7200)] = 300
    """Time-out of one test."""


class Device(Record):
    """One out-of-tree accelerator under test, `torch.device(name)`."""

    name: Name
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
    paused: Paused | None = None
    """Present when the device is not to be run for the time being."""
    plugin: Plugin
    """Where the plugin comes from."""
    torch: Torch = Torch()
    """Which torch the device is tested on."""
    build: BuildSettings = BuildSettings()
    """How the plugin is built from source."""
    environment: dict[Variable, str] = Field(default_factory=dict)
    """Environment variables of every process that uses the device."""
    runner: Runner = Runner()
    """Where GitHub Actions runs the device's job."""
    check: Check = Check()
    """Is the hardware there?"""
    suites: Annotated[tuple[Suite, ...], Field(min_length=1)] = (Suite(name="smoke"), Suite(name="integration"))
    """Suites to run, in order."""
    limits: Limits = Limits()
    """Time-outs."""

    @field_validator("suites")
    @classmethod
    def _suites_decide(cls, suites: tuple[Suite, ...]) -> tuple[Suite, ...]:
        names = [suite.name for suite in suites]
        if len(names) != len(set(names)):
            raise ValueError("a suite is named twice")
        if not any(suite.required for suite in suites):
            raise ValueError("every suite is advisory, so that nothing could decide the verdict; make one required")
        return suites

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
    """Checksum of its file."""


def load_device(path: Path) -> RegisteredDevice:
    """Read and validate one device file.

    Raises:
        DeviceFileUnreadable, DeviceFileTooLarge, DeviceFileSyntax, DeviceFileDuplicateKey, DeviceFileTooComplex,
        DeviceFileInvalid, DeviceFileMisnamed: each with file, line, what is wrong and what to do.

    """
    shown = path.as_posix()
    document = read_document(path, shown)
    if not isinstance(document.value, dict):
        raise DeviceFileInvalid(
            "the file holds no keys" if document.value is None else "the file is not a mapping of keys to values",
            where=f"{shown}:1",
            fix="start from devices/openreg.yaml",
        )
    try:
        # Through JSON, because only there strict validation takes a list for a tuple and text for an enumeration.
        device = Device.model_validate_json(json.dumps(document.value), strict=True)
    except ValidationError as error:
        raise _invalid(error, document, shown) from error
    if path.stem != device.name or path.suffix != ".yaml":
        raise DeviceFileMisnamed(
            f"the file is named `{path.name}` but the device `{device.name}`",
            where=f"{shown}:{document.line_of(('name',))}",
            fix=f"rename the file to {device.name}.yaml, or change `name`",
        )
    return RegisteredDevice(device=device, path=path, sha256=hashlib.sha256(path.read_bytes()).hexdigest())


def load_registry(folder: Path) -> tuple[RegisteredDevice, ...]:
    """Every device file of a folder, in registry order: reference first, then gating, then advisory, each by name.

    Raises:
        NoDevices: the folder does not exist or holds no device file.
        InputError: a file is not valid, as for :func:`load_device`.

    """
    paths = sorted(folder.glob("*.y*ml")) if folder.is_dir() else []
    if not paths:
        raise NoDevices(
            "no device files found",
            where=folder.as_posix(),
            fix="run this in a checkout of the repository, or name the folder with --devices",
        )
    rank = {tier: index for index, tier in enumerate(Tier)}
    devices = [load_device(path) for path in paths]
    return tuple(sorted(devices, key=lambda item: (rank[item.device.tier], item.device.name)))


def find_device(registry: tuple[RegisteredDevice, ...], name: str) -> RegisteredDevice:
    """The device of that name.

    Raises:
        NoSuchDevice: with the nearest names.

    """
    for item in registry:
        if item.device.name == name:
            return item
    names = [item.device.name for item in registry]
    near = difflib.get_close_matches(name, names, n=1)
    hint = f"did you mean `{near[0]}`? " if near else ""
    raise NoSuchDevice(
        f"there is no device `{name}`", where=registry[0].path.parent.as_posix(), fix=f"{hint}known: {', '.join(names)}"
    )


def _invalid(error: ValidationError, document: Document, shown: str) -> DeviceFileInvalid:
    found = error.errors(include_url=False)
    # A list that is too short because its items are wrong is no second problem.
    inner = {item["loc"][:-depth] for item in found for depth in range(1, len(item["loc"]))}
    problems = [_problem(item, document) for item in found if item["type"] != "too_short" or item["loc"] not in inner]
    (line, first), *rest = sorted(problems)
    what = first if not rest else f"{first} (and {len(rest)} more: {'; '.join(f'line {n}: {t}' for n, t in rest[:5])})"
    return DeviceFileInvalid(
        what, where=f"{shown}:{line}", fix="see `ootci device schema` for every key, or devices/openreg.yaml"
    )


def _problem(item: Any, document: Document) -> tuple[int, str]:
    path = tuple(part for part in item["loc"] if part != "[key]")
    line = document.line_of(path)
    key = ".".join(str(part) for part in path)
    kind = item["type"]
    if kind == "extra_forbidden":
        near = difflib.get_close_matches(str(path[-1]), _keys_at(path[:-1]), n=1)
        return line, f"unknown key `{key}`" + (f"; did you mean `{near[0]}`?" if near else "")
    if kind == "missing":
        return line, f"the key `{key}` is missing"
    if kind == "value_error":
        return line, f"{item['ctx']['error']}" if not key else f"`{key}`: {item['ctx']['error']}"
    if kind == "string_pattern_mismatch" and (meaning := MEANINGS.get(item["ctx"]["pattern"])):
        return line, f"`{key}` should be {meaning}, not {_shown(item.get('input'))}"
    message = re.sub(r"<\w+\.\w+: ('[^']*')>", r"\1", str(item["msg"]))
    return line, f"`{key}`: {message[0].lower()}{message[1:]}, not {_shown(item.get('input'))}"


def _shown(value: object) -> str:
    kind = {bool: "yes/no", int: "number", float: "number", str: "text", list: "list", dict: "mapping"}
    if value is None:
        return "nothing"
    text = str(value).lower() if isinstance(value, bool) else repr(value)
    return f"the {kind.get(type(value), 'value')} {text if len(text) <= 60 else text[:57] + '...'}"


def _keys_at(path: tuple[str | int, ...]) -> list[str]:
    model: Any = Device
    for part in path:
        if isinstance(part, int):
            continue
        field = model.model_fields.get(part) if isinstance(model, type) and issubclass(model, Record) else None
        if field is None:
            return []
        model = next(iter(_records_in(field.annotation)), None)
    return list(model.model_fields) if isinstance(model, type) and issubclass(model, Record) else []


def _records_in(annotation: Any) -> list[type[Record]]:
    if isinstance(annotation, type) and issubclass(annotation, Record):
        return [annotation]
    found: list[type[Record]] = []
    for argument in getattr(annotation, "__args__", ()):
        found += _records_in(argument)
    return found
