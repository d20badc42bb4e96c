"""The packages that the suites import besides torch, from the suites' own requirements file."""

from __future__ import annotations

from pathlib import Path

from packaging.requirements import Requirement

FILE = "requirements.txt"


def suite_requirements(suites: Path) -> tuple[Requirement, ...]:
    """The packages that the suites folder asks for; none where it has no such file."""
    file = suites / FILE
    lines = file.read_text(encoding="utf-8").splitlines() if file.is_file() else []
    return tuple(Requirement(text) for line in lines if (text := line.partition("#")[0].strip()))
