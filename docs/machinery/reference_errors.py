"""The catalogue of errors, from their classes."""

from __future__ import annotations

from pathlib import Path

from ootci import errors


def page(root: Path) -> str:
    """The page's Markdown."""
    del root
    kinds = sorted(
        (kind for kind in vars(errors).values() if isinstance(kind, type) and "id" in vars(kind)), key=lambda k: k.id
    )
    return "# Errors\n\n" + "\n".join(f"## {kind.id}\n\n{kind.meaning}\n" for kind in kinds)
