"""A device file of the repository that calls device.yml: its errors are in words of the caller's inputs and paths."""

from __future__ import annotations

from pathlib import Path

import pytest
from unit.samples import DEVICE_YAML

from commands import Ran, Tool  # isort: skip


def _check(ootci: Tool, folder: Path, file: str) -> Ran:
    (folder / "caller" / "ci").mkdir(parents=True)
    (folder / "caller" / "ci" / "dev.yaml").write_text(DEVICE_YAML.format(name="dev"), encoding="utf-8")
    (folder / "outside.yaml").write_text(DEVICE_YAML.format(name="outside"), encoding="utf-8")
    (folder / "caller" / "link.yaml").symlink_to(folder / "outside.yaml")
    (folder / "caller" / "bad.yaml").write_text("name: [\n", encoding="utf-8")
    environment = {"GITHUB_ACTIONS": "true", "OOTCI_DEVICES": (file and f"caller/{file}") or "caller"}
    return ootci("device", "list", cwd=folder, env=environment)


@pytest.mark.parametrize(
    ("file", "what", "where"),
    [
        ("", "neither a device file nor a device is named", "the inputs `device-file` and `device`"),
        ("ci/gone.yaml", "there is no such file in your repository", "device-file: ci/gone.yaml"),
        ("ci", "there is no such file in your repository", "device-file: ci"),
        ("../outside.yaml", "the device file is not in your repository", "device-file: ../outside.yaml"),
        ("link.yaml", "the device file is not in your repository", "device-file: link.yaml"),
    ],
)
def test_a_file_that_the_caller_does_not_have_is_refused(
    ootci: Tool, tmp_path: Path, file: str, what: str, where: str
) -> None:
    ran = _check(ootci, tmp_path, file)
    assert ran.code == 2
    assert f"{what}\n  where: {where}\n  what to do: give `device-file` the path" in ran.err


def test_an_error_in_it_names_the_callers_path(ootci: Tool, tmp_path: Path) -> None:
    ran = _check(ootci, tmp_path, "bad.yaml")
    assert ran.code == 2
    assert "::error file=bad.yaml,line=" in ran.err
    assert "caller/" not in ran.err


def test_a_file_that_is_there_is_taken(ootci: Tool, tmp_path: Path) -> None:
    assert _check(ootci, tmp_path, "ci/dev.yaml").code == 0
