"""The tests' Python once more, with one difference: a virtual environment that is made from it gets pip by hard links.

`python -m venv` unpacks and compiles pip anew each time, which takes six seconds of processor, and the tests make more
than fifty environments for devices.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

ENSUREPIP = """
import os
import shutil
import sys
from pathlib import Path

seed, environment = Path({seed!r}), Path(sys.prefix)
shutil.copytree(seed / "lib", environment / "lib", copy_function=os.link, dirs_exist_ok=True)
for program in (seed / "bin").glob("pip*"):
    copy = environment / "bin" / program.name
    copy.write_text(program.read_text(encoding="utf-8").replace(str(seed), str(environment)), encoding="utf-8")
    copy.chmod(0o755)
"""


def make_seeded_python(folder: Path) -> Path:
    """Make it below an empty folder; gives the interpreter of an environment that has what this process can import."""
    real = Path(sys.executable).resolve()
    seed, base, tool = (folder / name for name in ("seed", "base", "tool"))
    subprocess.run([real, "-m", "venv", seed], capture_output=True, check=True)
    stdlib = Path(sysconfig.get_path("stdlib"))
    copy = base / stdlib.relative_to(sys.base_prefix)
    (copy / "ensurepip").mkdir(parents=True)
    (copy / "ensurepip" / "__init__.py").touch()
    (copy / "ensurepip" / "__main__.py").write_text(ENSUREPIP.format(seed=str(seed)), encoding="utf-8")
    for path in stdlib.iterdir():
        if path.name not in ("ensurepip", "site-packages"):
            (copy / path.name).symlink_to(path)
    # No link: Python would follow it, and find the real library.
    (base / "bin").mkdir()
    shutil.copy(real, base / "bin")
    subprocess.run([base / "bin" / real.name, "-m", "venv", "--without-pip", tool], capture_output=True, check=True)
    (site,) = tool.glob("lib/python3.*/site-packages")
    ours = sysconfig.get_path("purelib")
    (site / "ours.pth").write_text(f"import site; site.addsitedir({ours!r})\n", encoding="utf-8")
    return tool / "bin" / "python"
