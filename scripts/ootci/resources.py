"""The tool's own data: beside the package in an installed wheel, in its own folders in a source checkout."""

from __future__ import annotations

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent
_INSTALLED = _PACKAGE / "data"
_CHECKOUT = _PACKAGE.parent.parent


def suites_folder() -> Path:
    """The suites that run on a device: pytest's root directory for them."""
    return _resource("suites", "tests/device")


def dashboard_folder() -> Path:
    """The dashboard's looks: ``templates/``, ``static/`` and, from others, ``vendor/``."""
    return _resource("dashboard", "dashboard")


def device_schema_file() -> Path:
    """The JSON schema of a device file."""
    return _resource("device.schema.json", "devices/device.schema.json")


def plugin_folder(name: str) -> Path:
    """A plugin of this repository from which new ones are made: ``openreg`` in C++, ``python_only`` in Python."""
    return _resource(f"plugins/{name}", f"devices/{name}")


def workflow_file() -> Path:
    """The workflow that tests a plugin in its own repository, on every push."""
    return _resource("on-push.yml", "workflows/on-push.yml")


def reference_device_file() -> Path:
    """The device file of the reference device; its plugin is in the folder beside it."""
    return _resource("plugins/openreg.yaml", "devices/openreg.yaml")


def _resource(installed: str, checkout: str) -> Path:
    # The wheel puts data/ inside the package; a checkout has none there, not even when it is installed as editable.
    return _INSTALLED / installed if _INSTALLED.is_dir() else _CHECKOUT / checkout
