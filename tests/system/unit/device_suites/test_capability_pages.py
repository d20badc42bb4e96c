"""What the pages about capabilities name of torch is in the torch under test."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from small_suites import SUITES, DevicePython

PAGES = sorted((SUITES.parents[1] / "docs" / "capabilities").glob("[a-z]*.md"))
HEADER = re.compile(r"`((?:ATen|c10|torch)/[\w/]+\.(?:h|hpp))`")
MODULE = re.compile(r"`(torch/[\w/]+\.py)`")


@pytest.mark.torch
def test_headers_and_modules_are_in_the_wheel(forking_python: DevicePython) -> None:
    done = forking_python("-c", "import torch; print(torch.__path__[0])")
    torch = Path(done.stdout.splitlines()[-1])
    missing, named = [], 0
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        wanted = [torch / "include" / path for path in HEADER.findall(text)]
        wanted += [torch.parent / path for path in MODULE.findall(text)]
        named += len(wanted)
        missing += [f"{page.name}: {path}" for path in wanted if not path.is_file()]
    assert named > 30
    assert not missing
