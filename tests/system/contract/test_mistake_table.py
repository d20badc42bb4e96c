"""The page that says which check finds which mistake says what is so."""

from __future__ import annotations

from contract.mistake_table import PAGE, TOOLS, measure, page
from contract.workflow_linters import are_there
from e2e.conftest import missing


def test_the_page_says_what_each_tool_finds_now() -> None:
    if not are_there():
        missing("npm or the linters from there", "install npm, and call `make test`")
    measured = measure()
    assert all(any(row[tool] for row in measured) for tool in TOOLS)
    assert PAGE.read_text(encoding="utf-8") == page(measured), f"run python {PAGE.with_suffix('.py').name} again"
