"""Devices with scripted behaviour, and a torch without weight, so that the whole system can be tested in seconds.

The stand-in for torch is a pure Python wheel that loads ``torch.backends`` entry points as torch does. The stand-in
for a plugin is one Python package whose build backend, import and tests do what ``FAKE_BEHAVIOUR`` in the device
file's ``environment`` tells them to.
"""

from __future__ import annotations

import base64
import hashlib
import shutil
import zipfile
from pathlib import Path

_SOURCES = Path(__file__).parent
_ROOT = Path(__file__).parents[3]


def write_wheel(
    folder: Path,
    name: str,
    version: str,
    files: dict[str, str],
    *,
    requires: str = "",
    entry_points: str = "",
    tag: str = "py3-none-any",
) -> Path:
    """A wheel made of texts (PyPA specification, binary distribution format); one requirement a line."""
    info = f"{name}-{version}.dist-info"
    contents = {
        **files,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        + "".join(f"Requires-Dist: {line}\n" for line in requires.splitlines()),
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: {tag}\n",
        f"{info}/entry_points.txt": entry_points,
    }
    records = []
    for path, text in contents.items():
        digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()
        records.append(f"{path},sha256={digest},{len(text.encode())}")
    contents[f"{info}/RECORD"] = "\n".join([*records, f"{info}/RECORD,,"]) + "\n"
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / f"{name}-{version}-{tag}.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, text in contents.items():
            archive.writestr(zipfile.ZipInfo(path), text)
    return wheel


COMMIT = "0123456789abcdef0123456789abcdef01234567"


def stub_torch_wheel(
    folder: Path,
    version: str = "0.1.0+stub",
    commit: str = COMMIT,
    *,
    requires: str = "",
    tag: str = "py3-none-any",
    size: int = 0,
    fails: str = "",
) -> Path:
    """The stand-in for torch, as a wheel; ``size`` bytes lie in it before all else, as torch's libraries do.

    Importing it ``fails`` with that text.
    """
    texts = {"torch/lib.txt": "x" * size} if size else {}
    texts |= {
        f"torch/{path.name}": path.read_text(encoding="utf-8")
        .replace("STUB_VERSION", version)
        .replace("STUB_COMMIT", commit)
        for path in sorted((_SOURCES / "stub_torch").glob("*.py"))
    }
    if fails:
        texts["torch/__init__.py"] = f"raise ImportError({fails!r})\n"
    return write_wheel(folder, "torch", version, texts, requires=requires, tag=tag)


def write_device(devices: Path, name: str, behaviour: str, *, source: str = "", extra: str = "") -> Path:
    """A device file and the plugin in a folder beside it, of which ``source`` says where else it comes from.

    ``extra`` is YAML that is appended.
    """
    devices.mkdir(parents=True, exist_ok=True)
    plugin = devices / name
    shutil.copytree(_SOURCES / "plugin", plugin)
    for path in plugin.rglob("*"):
        if path.is_file():
            path.write_text(path.read_text(encoding="utf-8").replace("DEVICE_NAME", name), encoding="utf-8")
    file = devices / f"{name}.yaml"
    file.write_text(
        f"""name: {name}
display_name: {name.capitalize()}
vendor: Tests
tier: {"reference" if behaviour == "passes" else "gating"}
maintainers: ["@tests"]
plugin:
  distribution: torch-{name}
  {source or f"path: {name}"}
environment:
  FAKE_BEHAVIOUR: {behaviour}
  FAKE_FOLDER: {devices.resolve()}
limits:
  suite_minutes: 2
  test_seconds: {3 if behaviour == "hang" else 60}
{extra}""",
        encoding="utf-8",
    )
    return file


def plugin_wheel(folder: Path, name: str, *, requires: str = "", files: dict[str, str] | None = None) -> Path:
    """A stand-in's wheel as an index would have it, with what else it brings."""
    plugin = (_SOURCES / "plugin" / "torch_plugin.py").read_text(encoding="utf-8")
    return write_wheel(
        folder,
        f"torch_{name}",
        "1.0",
        {f"torch_{name}/__init__.py": plugin.replace("DEVICE_NAME", name), **(files or {})},
        requires=requires,
        entry_points=f"[torch.backends]\n{name} = torch_{name}:autoload\n",
    )


def install(site: Path, name: str) -> Path:
    """Put the stand-ins for torch and for a plugin into a folder that PYTHONPATH can name, as pip would."""
    wheels = site.parent / "wheels"
    for wheel in (stub_torch_wheel(wheels), plugin_wheel(wheels, name)):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(site)
    return site


def write_suites(folder: Path) -> Path:
    """A suites folder with the real harness and a few scripted tests in place of the real ones."""
    real = _ROOT / "tests" / "device"
    shutil.copytree(
        real, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("smoke", "integration", "__pycache__")
    )
    for suite in ("smoke", "integration"):
        shutil.rmtree(folder / suite, ignore_errors=True)
        shutil.copytree(_SOURCES / "suites" / suite, folder / suite)
    # The scripted tests import no more, and numpy takes its time to be installed.
    (folder / "requirements.txt").write_text("pytest>=8.2\n", encoding="utf-8")
    return folder
