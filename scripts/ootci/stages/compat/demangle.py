"""Mangled C++ names for people, by the program c++filt of binutils."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable
from pathlib import Path

from ootci.adapters.process import run
from ootci.errors import ToolMissing

SECONDS = 20.0
MEMORY = 256 << 20
"""Bytes that c++filt may use: a name of a few hundred characters can stand for gigabytes."""
BATCH = 200
LONGEST = 2000


def demangled(names: Iterable[str]) -> dict[str, str]:
    """Names by mangled name. Those that cannot be demangled within the limits are left out."""
    wanted = [name for name in sorted(set(names)) if len(name) <= LONGEST]
    found: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "names")
        for begin in range(0, len(wanted), BATCH):
            batch = wanted[begin : begin + BATCH]
            log.unlink(missing_ok=True)
            command = ["prlimit", f"--as={MEMORY}", "c++filt", "--", *batch]
            try:
                done = run(command, cwd=Path(folder), env={"PATH": "/usr/bin:/bin"}, log_file=log, timeout=SECONDS)
            except ToolMissing:
                return found
            lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if done.ok else []
            if len(lines) == len(batch):
                found.update(zip(batch, map(_short, lines), strict=True))
    return found


def _short(text: str) -> str:
    text = text.replace(
        "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >", "std::string"
    )
    return re.sub(r"\[abi:\w+\]", "", text)
