"""A build backend that packs the plugin, or fails like a compiler."""

import os
import sys
import zipfile
from pathlib import Path

INFO = "torch_DEVICE_NAME-1.0.dist-info"


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    if os.environ.get("FAKE_BEHAVIOUR") == "build-fails":
        print("kernel.cpp:12:10: error: no member named 'gone' in namespace 'c10'", file=sys.stderr)
        raise SystemExit(1)
    name = "torch_DEVICE_NAME-1.0-py3-none-any.whl"
    files = {
        "torch_DEVICE_NAME/__init__.py": Path("torch_plugin.py").read_text(encoding="utf-8"),
        f"{INFO}/METADATA": "Metadata-Version: 2.1\nName: torch-DEVICE_NAME\nVersion: 1.0\n",
        f"{INFO}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{INFO}/entry_points.txt": "[torch.backends]\nDEVICE_NAME = torch_DEVICE_NAME:autoload\n",
    }
    record = "".join(f"{path},,\n" for path in [*files, f"{INFO}/RECORD"])
    with zipfile.ZipFile(Path(wheel_directory) / name, "w") as archive:
        for path, text in {**files, f"{INFO}/RECORD": record}.items():
            archive.writestr(zipfile.ZipInfo(path), text)
    return name
