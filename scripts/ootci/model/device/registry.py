"""Reading device files: one, all of a folder, and the one of a name."""

from __future__ import annotations

import difflib
import hashlib
import json
from pathlib import Path

from pydantic import ValidationError

from ootci.errors import DeviceFileInvalid, DeviceFileMisnamed, NoDevices, NoSuchDevice
from ootci.model.strict_yaml import read_document

from .keys import Device, RegisteredDevice, Tier
from .sentences import invalid

DEFAULT_FOLDER = Path("devices")


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
        raise invalid(error, document, shown) from error
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
