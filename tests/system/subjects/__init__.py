"""Devices unlike the reference device, each a package without a build, for the real torch."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).parent


def environment(python: Path, folder: Path, package: str) -> Path:
    """A Python with all that another one has but its plugins, and with a subject; made of links, so that it is quick.

    Args:
        python: an environment's interpreter, with torch.
        folder: where the environment is made.
        package: the subject.

    """
    subprocess.run([python, "-m", "venv", "--without-pip", folder], check=True)
    (there,) = (python.parent.parent / "lib").glob("python3*/site-packages")
    (here,) = (folder / "lib").glob("python3*/site-packages")
    for path in there.iterdir():
        if not path.name.startswith("torch_openreg"):
            (here / path.name).symlink_to(path)
    shutil.copytree(HERE / package, here / package, ignore=shutil.ignore_patterns("__pycache__"))
    info = here / f"{package}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(f"[torch.backends]\n{package} = {package}:load\n", encoding="utf-8")
    return folder / "bin" / "python"


def write_device(folder: Path, package: str, suites: tuple[str, ...]) -> Path:
    """The subject's device file."""
    name = package.replace("_", "")
    file = folder / f"{name}.yaml"
    listed = "".join(f"  - name: {suite}\n" for suite in suites)
    file.write_text(
        f"""name: {name}
display_name: {name.capitalize()}
vendor: Tests
tier: advisory
maintainers: ["@tests"]
plugin:
  package: {package}
  distribution: {package}
suites:
{listed}""",
        encoding="utf-8",
    )
    return file
