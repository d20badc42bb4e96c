"""Devices unlike the reference device, for the real torch: packages in Python, and the reference device changed."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).parent
DEVICES = HERE.parents[2] / "devices"


def environment(python: Path, folder: Path) -> tuple[Path, Path]:
    """A Python with all that another one has but its plugins; made of links, so that it is quick.

    Args:
        python: an environment's interpreter, with torch.
        folder: where the environment is made.

    Returns:
        Its interpreter, and the folder of its packages.

    """
    subprocess.run([python, "-m", "venv", "--without-pip", folder], check=True)
    (there,) = (python.parent.parent / "lib").glob("python3*/site-packages")
    (here,) = (folder / "lib").glob("python3*/site-packages")
    for path in there.iterdir():
        if not path.name.startswith("torch_openreg"):
            (here / path.name).symlink_to(path)
    return folder / "bin" / "python", here


def install(package: str, site: Path, **constants: object) -> None:
    """Install a subject that is a package here.

    Args:
        package: its name.
        site: the folder of packages.
        constants: of its module ``backend``, which shall be others than the subject's own.

    """
    source = DEVICES / package / package if (DEVICES / package).is_dir() else HERE / package
    shutil.copytree(source, site / package, ignore=shutil.ignore_patterns("__pycache__"))
    for name, value in constants.items():
        backend = site / package / "backend.py"
        source = backend.read_text(encoding="utf-8")
        changed = re.sub(rf"^{name} = .*$", f"{name} = {value!r}", source, count=1, flags=re.MULTILINE)
        assert changed != source, f"{package}/backend.py has changed: it has no line {name}"
        backend.write_text(changed, encoding="utf-8")
    info = site / f"{package}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(f"[torch.backends]\n{package} = {package}:load\n", encoding="utf-8")


def write_device(folder: Path, name: str, distribution: str, suites: tuple[str, ...]) -> Path:
    """The subject's device file."""
    file = folder / f"{name}.yaml"
    listed = "".join(f"  - name: {suite}\n" for suite in suites)
    file.write_text(
        f"""name: {name}
display_name: {name.capitalize()}
vendor: Tests
tier: advisory
maintainers: ["@tests"]
plugin:
  package: {distribution}
  distribution: {distribution}
suites:
{listed}""",
        encoding="utf-8",
    )
    return file
