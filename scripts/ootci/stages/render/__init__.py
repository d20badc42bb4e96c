"""render: verdicts and history as pages to look at. Nothing is judged here."""

from __future__ import annotations

from .alert import AlertTexts, DeepTestTexts
from .answer import nightly_answer, pull_request_answer
from .documentation import require_documentation
from .permalinks import site_address
from .review import review_answer, review_lines
from .site import render
from .summary import step_summary

__all__ = [
    "AlertTexts",
    "DeepTestTexts",
    "nightly_answer",
    "pull_request_answer",
    "render",
    "require_documentation",
    "review_answer",
    "review_lines",
    "site_address",
    "step_summary",
]
