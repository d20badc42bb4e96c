"""What the tests with a real device and those with a real browser share."""

from __future__ import annotations

import importlib.resources
import importlib.util
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import pytest
from browsing import Sites, serving
from chromium import HOW, chromium
from e2e.packages import compiled, wheelhouse
from fake_actions import FakeActions, fake_actions
from preparation import prepare_once

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@pytest.fixture(scope="session")
def device_python(python_with_torch: str) -> Path:
    """The Python with torch and the reference plugin."""
    return Path(python_with_torch)


@pytest.fixture(scope="session")
def packages(root: Path, shared: Path, tool_python: Path) -> Mapping[str, str]:
    """Environment variables for workflows: every package without a network; what jobs install and compile, once."""
    found = prepare_once(shared, "wheelhouse", lambda: wheelhouse(shared / "wheelhouse", root / "requirements.txt"))
    modules = prepare_once(shared, "compiled", lambda: compiled(root / "scripts", shared / "compiled-scripts"))
    return {
        **found,
        "STUB_PYTHON": str(tool_python),
        "STUB_INSTALLED": str(shared / "installed"),
        "STUB_COMPILED": str(modules),
    }


def missing(what: str, how: str) -> NoReturn:
    """Skip where a person may do without, fail where nobody would notice."""
    message = f"{what} is not there; {how}"
    if os.environ.get("CI") == "true":
        pytest.fail(message)
    pytest.skip(message)


@pytest.fixture(scope="module")
def executable() -> str:
    found = chromium()
    return found or missing("Chromium", HOW)


@pytest.fixture(scope="module")
def browser(executable: str) -> Iterator[Browser]:
    if importlib.util.find_spec("playwright") is None:
        missing("playwright", "install it with `pip install playwright`")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=list(ARGUMENTS))
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def sites(site: Path, hostile_site: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sites]:
    """The sample site and the hostile one, to be opened from the disk and from a sub-path of a server."""
    top, below = tmp_path_factory.mktemp("browser"), "some/sub/path"
    folder = top / below
    folder.mkdir(parents=True)
    (folder / "sample").symlink_to(site)
    (folder / "hostile").symlink_to(hostile_site)
    with serving(top, folder / "sample" / "404.html") as address:
        yield Sites(folder, f"{address}{below}/")


@pytest.fixture(scope="module")
def axe() -> str:
    if importlib.util.find_spec("axe_playwright_python") is None:
        missing("axe-core", "install it with `pip install axe-playwright-python`")
    return (importlib.resources.files("axe_playwright_python") / "axe.min.js").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def hub() -> Iterator[FakeActions]:
    """A server that plays GitHub's issues and workflow runs."""
    with fake_actions() as server:
        yield server
