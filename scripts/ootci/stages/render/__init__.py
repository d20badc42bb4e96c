"""render: verdicts and history as pages to look at. Nothing is judged here."""

from __future__ import annotations

from .site import render
from .summary import step_summary

__all__ = ["render", "step_summary"]
