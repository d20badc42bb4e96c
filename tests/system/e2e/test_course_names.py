"""The course names only what exists: symbols and headers of torch, of the reference plugin or of the suites."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from contract.course_blocks import OF_TORCH, PAGES, PATH, ROOT, spans

pytestmark = [pytest.mark.torch]

_WORD = re.compile(r"[A-Za-z_]\w{2,}")
_SOURCES = {".cpp", ".h", ".in", ".py", ".toml", ".cmake"}
_OURS = ("devices/openreg", "devices/python_only", "tests/device", "scripts/ootci/model", "scripts/ootci/cli")
_PLACEHOLDERS = {"mydevice"}
"""What a reader replaces by an own name."""


def _words(folder: Path) -> set[str]:
    files = [path for path in folder.rglob("*") if path.suffix in _SOURCES and "build" not in path.parts]
    return {word for path in files for word in _WORD.findall(path.read_text(encoding="utf-8"))}


def _found(words: set[str], torch: Path) -> set[str]:
    """Those of the words that torch's headers and Python files have."""
    kinds = [f"--include=*{suffix}" for suffix in (".h", ".hpp", ".py", ".pyi")]
    command = ["grep", "--recursive", "--no-filename", "--only-matching", "--word-regexp", "--fixed-strings", *kinds]
    run = subprocess.run(
        [*command, "--file=-", torch], input="\n".join(words), check=True, capture_output=True, text=True
    )
    return set(run.stdout.split())


def test_every_symbol_and_header_exists_in_torch_the_plugin_or_the_suites(device_python: Path) -> None:
    program = "import torch; print(torch.__file__, *torch._C._dispatch_get_all_op_names())"
    run = subprocess.run([device_python, "-c", program], check=True, capture_output=True, text=True)
    file, *operators = run.stdout.split()
    torch = Path(file).parent
    ours = {word for folder in _OURS for word in _words(ROOT / folder)} | _PLACEHOLDERS
    ours |= {word for name in operators for word in _WORD.findall(name)}
    unknown: dict[str, str] = {}
    for page in sorted(PAGES.glob("*.md")):
        for span in spans(page.read_text(encoding="utf-8")):
            if span.startswith(OF_TORCH) and re.search(r"\.(h|hpp|py|yaml)$", span):
                places = (torch / "include" / span, torch.parent / span)
                assert any(place.is_file() for place in places), f"{page.name}: {span}"
            elif not PATH.fullmatch(span):
                unknown |= {word: f"{page.name}: {span}" for word in _WORD.findall(span) if word not in ours}
    assert {word: unknown[word] for word in unknown.keys() - _found(set(unknown), torch)} == {}
