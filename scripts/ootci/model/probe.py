"""env.json: what the device's Python, its torch and the device report about themselves.

``tests/device/probe.py`` writes it step by step, so that a crash on the way leaves what was known by then. It comes
from the device's process, so a reader takes what is there and passes over the rest.
"""

from __future__ import annotations

from pathlib import Path

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    ValidatorFunctionWrapHandler,
    field_validator,
)

from .record import open_plain

MAX_BYTES = 1024 * 1024


class _Facts(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)

    @field_validator("*", mode="wrap")
    @classmethod
    def _or_unknown(cls, value: object, handler: ValidatorFunctionWrapHandler, info: ValidationInfo) -> object:
        """One fact of the wrong type is unknown; it must not take the others with it."""
        try:
            return handler(value)
        except ValidationError:
            return cls.model_fields[info.field_name or ""].get_default(call_default_factory=True)


class PythonFacts(_Facts):
    """The device environment's Python."""

    version: str | None = None
    """Its version."""
    implementation: str | None = None
    """Its implementation, CPython as a rule."""


class HostFacts(_Facts):
    """The machine."""

    platform: str | None = None
    """Platform string."""
    machine: str | None = None
    """Processor architecture."""
    glibc: str | None = None
    """Version of the C library."""
    cpus: int | None = None
    """Processors."""


class TorchFacts(_Facts):
    """The torch that was imported."""

    version: str | None = None
    """``torch.__version__``."""
    git_version: str | None = None
    """``torch.version.git_version``."""
    debug: bool | None = None
    """Whether it is a debug build."""
    cxx11_abi: bool | None = None
    """Whether it uses the C++11 ABI of the standard library."""
    cuda: str | None = None
    """CUDA version that it was built for."""
    hip: str | None = None
    """HIP version that it was built for."""
    build: str | None = None
    """``torch.__config__.show()``."""


class PluginFacts(_Facts):
    """An entry point of the group ``torch.backends``."""

    entry_point: str | None = None
    """Its name."""
    value: str | None = None
    """What it loads."""
    distribution: str | None = None
    """The distribution that brought it."""
    version: str | None = None
    """That distribution's version."""


class DeviceFacts(_Facts):
    """The device, as torch sees it."""

    name: str | None = None
    """Its name."""
    known: bool = False
    """Whether ``torch.device`` accepts the name."""
    available: bool = False
    """Whether its module reports it as available."""
    count: int | None = None
    """Cards that torch counts."""
    error: str | None = None
    """What went wrong while asking."""
    lacks: dict[str, str] = Field(default_factory=dict)
    """What it lacks of what PyTorch leaves to a device, with the error of the attempt."""
    missing_functions: tuple[str, ...] = ()
    """What PyTorch calls on ``torch.<name>``, and is not there."""
    card: dict[str, str] = Field(default_factory=dict)
    """``torch.<name>.get_device_properties(0)``: the properties that are text or numbers, as text."""


class Probe(_Facts):
    """env.json as a whole."""

    reached: str | None = None
    """The last step that was reached: ``python``, ``import``, ``device``, ``available``, ``described`` or, where it was
    asked to compute, ``computed``."""
    error: str | None = None
    """Why the probe did not get to its end."""
    python: PythonFacts = PythonFacts()
    """The device environment's Python."""
    os: HostFacts = HostFacts()
    """The machine."""
    numpy: str | None = None
    """Version of numpy, if it is installed."""
    pytest: str | None = None
    """Version of pytest, if it is installed."""
    plugins: tuple[PluginFacts, ...] = ()
    """Plugins that torch would load."""
    torch: TorchFacts = TorchFacts()
    """The torch that was imported."""
    device: DeviceFacts = DeviceFacts()
    """The device, as torch sees it."""


def read_probe(path: Path) -> Probe:
    """The contents of env.json; empty when it is missing, too large or invalid."""
    try:
        with open_plain(path) as stream:
            return Probe.model_validate_json(stream.read(MAX_BYTES))
    except (OSError, ValidationError):
        return Probe()
