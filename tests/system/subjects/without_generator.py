"""The reference device without a generator: as of a vendor who has written everything else."""

from __future__ import annotations

import shutil
from pathlib import Path

PLUGIN = Path(__file__).parents[3] / "devices" / "openreg"
HOOKS = """
  const at::Generator& getDefaultGenerator(c10::DeviceIndex device) const override {
    return default_generator(device);
  }
  at::Generator getNewGenerator(c10::DeviceIndex device) const override {
    return at::make_generator<DeviceGenerator>(existing(index_or_current(c10::Device(kDeviceType, device))));
  }
"""
"""With these gone torch refuses by itself (ATen/detail/PrivateUse1HooksInterface.h)."""
RANDOM = "csrc/Generator.cpp", "torch_openreg/openreg/random.py"
"""The generator, and the functions of ``torch.openreg`` that seed it and keep its state."""
REFUSES = """#include "Generator.h"

namespace openreg {

at::Generator engine_for(const std::optional<at::Generator>&, c10::DeviceIndex) {
  TORCH_CHECK_NOT_IMPLEMENTED(false, "this device has no generator");
}

}  // namespace openreg
"""
"""What the kernels of random numbers then ask."""


def write_source(folder: Path) -> None:
    """The plugin's source."""
    shutil.copytree(PLUGIN, folder, ignore=shutil.ignore_patterns("build"))
    _cut(folder / "csrc" / "Hooks.cpp", HOOKS)
    generator, functions = (folder / name for name in RANDOM)
    generator.write_text(REFUSES, encoding="utf-8")
    functions.unlink()
    _cut(folder / "steps.cmake", f"\n    {RANDOM[1]}")


def _cut(path: Path, part: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert text.count(part) == 1, f"{path.name} has changed: it does not have once\n{part}"
    path.write_text(text.replace(part, ""), encoding="utf-8")
