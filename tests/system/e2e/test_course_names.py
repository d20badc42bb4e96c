"""The course names only what exists: symbols and headers of torch, of the reference plugin or of the suites."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from contract.course_blocks import OF_TORCH, PAGES, PATH, PLUGIN, ROOT, spans

pytestmark = [pytest.mark.torch]

_WORD = re.compile(r"[A-Za-z_]\w{2,}")
_PLACEHOLDERS = {"mydevice"}
"""What a reader replaces by an own name."""


def _words(folder: Path, *kinds: str) -> set[str]:
    files = [path for kind in kinds for path in folder.rglob(kind) if "build" not in path.parts]
    return {word for path in files for word in _WORD.findall(path.read_text(encoding="utf-8", errors="replace"))}


def test_every_symbol_and_header_exists_in_torch_the_plugin_or_the_suites(device_python: Path) -> None:
    command = [str(device_python), "-c", "import importlib.util as u; print(u.find_spec('torch').origin)"]
    torch = Path(subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()).parent
    ours = _words(PLUGIN, "*.cpp", "*.h", "*.py", "*.toml", "*.cmake", "*.in") | _words(
        ROOT / "tests" / "device", "*.py"
    )
    ours |= set(_WORD.findall((ROOT / "Makefile").read_text(encoding="utf-8"))) | _PLACEHOLDERS
    unknown: dict[str, str] = {}
    for page in sorted(PAGES.glob("*.md")):
        for span in spans(page.read_text(encoding="utf-8")):
            if span.startswith(OF_TORCH) and re.search(r"\.(h|hpp|py|yaml)$", span):
                places = (
                    torch / "include" / span,
                    torch.parent / span,
                    torch / "include/torch/csrc/api/include" / span,
                )
                assert any(place.is_file() for place in places), f"{page.name}: {span}"
            elif not PATH.fullmatch(span):
                unknown |= {word: f"{page.name}: {span}" for word in _WORD.findall(span) if word not in ours}
    known = _words(torch, "*.py", "*.h", "*.hpp", "*.pyi") | _registered(device_python)
    assert {word: place for word, place in unknown.items() if word not in known} == {}


def _registered(python: Path) -> set[str]:
    """The words of the names of all operators."""
    program = "import torch; print(*torch._C._dispatch_get_all_op_names())"
    names = subprocess.run([str(python), "-c", program], check=True, capture_output=True, text=True).stdout
    return set(_WORD.findall(names))
