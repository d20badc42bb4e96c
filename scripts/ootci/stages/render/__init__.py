"""render: verdicts and history as pages to look at. Nothing is judged here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .alert import AlertTexts, DeepTestTexts
from .answer import nightly_answer, pull_request_answer
from .links import site_address
from .publish import require_documentation
from .review import review_answer, review_lines
from .summary import step_summary
from .words import spoken

if TYPE_CHECKING:
    from .site import render


def __getattr__(name: str) -> object:
    # All pages take as long to import as a command that only wants a line has to do.
    if name == "render":
        from .site import render

        return render
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
