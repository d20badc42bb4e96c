"""The published documentation: releases in folders beside the default branch's, and links that edit a page."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import repositories
from properdocs.config import load_config

from commands import run_command  # isort: skip

PYTHON = """\
#!/usr/bin/env bash
# A stub of Python, pip and ProperDocs: the site is a line with the version, the menu and the source.
set -e
case "$2" in
  venv) mkdir -p "${@: -1}/bin"; cp "$0" "${@: -1}/bin/python" ;;
  properdocs) if test -e broken; then exit 1; fi; rm -rf .ootci/docs; mkdir -p .ootci/docs
    echo "${DOCS_VERSION:-main} [$DOCS_VERSIONS] $DOCS_DASHBOARD $(cat page)" > .ootci/docs/index.html ;;
esac
"""


@pytest.fixture
def repository(tmp_path: Path, root: Path) -> Path:
    """A repository with this one's script, and a stub in the place of Python."""
    (tmp_path / "python").write_text(PYTHON, encoding="utf-8")
    (tmp_path / "python").chmod(0o755)
    folder = tmp_path / "repository"
    (folder / ".ci").mkdir(parents=True)
    shutil.copy(root / ".ci/docs", folder / ".ci/docs")
    for tag in ("v0.9.0", "v1.0.0", "v1.1.0", "v1.1.9", "v1.1.10", "v1.2.0", "v1.3.0-rc1", ""):
        (folder / "page").write_text(tag or "newest", encoding="utf-8")
        (folder / "broken").unlink(missing_ok=True)
        if tag == "v1.0.0":
            (folder / "broken").touch()
        repositories.repository(folder)
        if tag:
            repositories.git(folder, "tag", tag)
    return folder


def test_the_last_minor_versions_are_folders_of_the_site(repository: Path) -> None:
    """The third one does not build: the site is published without it, and without a link to it."""
    built = run_command([".ci/docs"], repository, {"PYTHON": str(repository.parent / "python")})
    assert built.code == 0, built.err
    site = repository / ".ootci/docs"
    pages = {path.relative_to(site).as_posix(): path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    assert pages == {
        "index.html": "main [v1.2 v1.1] ../ newest\n",
        "v1.2/index.html": "v1.2 [v1.2] ../../ v1.2.0\n",
        "v1.1/index.html": "v1.1 [v1.1] ../../ v1.1.10\n",
    }
    assert "the documentation of v1.0.0 does not build" in built.out


@pytest.mark.parametrize(
    ("environment", "links"),
    [
        ({"DOCS_VERSIONS": "v1.2 v1.1"}, ["./index.html", "./v1.2/index.html", "./v1.1/index.html"]),
        ({"DOCS_VERSIONS": "v1.2", "DOCS_VERSION": "v1.2"}, ["./../index.html", "./../v1.2/index.html"]),
        ({}, []),
    ],
)
def test_the_menu_leads_to_the_other_versions(
    root: Path, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], links: list[str]
) -> None:
    for name in ("DOCS_VERSION", "DOCS_VERSIONS"):
        monkeypatch.setenv(name, environment.get(name, ""))
    text = _page(root, "index.html", ".")
    menu = text.partition('class="versions"')[2].partition("</p>")[0]
    assert [part.partition('"')[0] for part in menu.split('href="')[1:]] == links


def _page(root: Path, url: str, base: str) -> str:
    config = load_config(str(root / "properdocs.yml"))
    config = config.plugins.on_config(config)
    page = {"title": "Page", "content": "", "edit_url": None, "toc": None, "url": url}
    return config.theme.get_env().get_template("main.html").render(config=config, page=page, nav=[], base_url=base)


@pytest.mark.parametrize("dashboard", ["../", "../../", ""])
def test_a_published_page_leads_to_the_dashboard(root: Path, monkeypatch: pytest.MonkeyPatch, dashboard: str) -> None:
    """A page of the course leads to the results of its tests; a site that is built alone has no dashboard above it."""
    monkeypatch.setenv("DOCS_DASHBOARD", dashboard)
    for url, base, course in (("back-end/amp.html", "..", True), ("index.html", ".", False)):
        text = _page(root, url, base)
        assert (f'"{base}/{dashboard}index.html">Dashboard<' in text) == bool(dashboard)
        assert (f'"{base}/{dashboard}capabilities/index.html"' in text) == (course and bool(dashboard))


def test_pages_are_edited_on_the_branch_that_they_were_built_from(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A release cannot be edited, and neither can a page where no repository is known."""
    for name in ("DOCS_VERSION", "GITHUB_REPOSITORY", "GITHUB_SERVER_URL"):
        monkeypatch.delenv(name, raising=False)
    config = load_config(str(root / "properdocs.yml"))
    assert config.plugins.on_config(config).repo_url is None
    monkeypatch.setenv("GITHUB_REPOSITORY", "owner/name")
    monkeypatch.setenv("GITHUB_REF_NAME", "trunk")
    config = config.plugins.on_config(config)
    assert f"{config.repo_url}{config.edit_uri}" == "https://github.com/owner/name/edit/trunk/docs/"
    monkeypatch.setenv("DOCS_VERSION", "v1.2")
    config = load_config(str(root / "properdocs.yml"))
    assert config.plugins.on_config(config).repo_url is None
