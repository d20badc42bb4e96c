"""What ProperDocs calls while it builds the site: pages made from the code, links into the repository, the looks."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import reference
import repository
from properdocs.config.defaults import ProperDocsConfig
from properdocs.structure.files import File, Files
from properdocs.structure.pages import Page

ROOT = Path(__file__).parents[2]
LOOKS = ROOT / "dashboard" / "static"
FONTS = sorted((ROOT / "dashboard" / "vendor").glob("*.woff2"))


_NAME = re.compile(r"<code>[^<\s]{16,}</code>")


def on_config(config: ProperDocsConfig) -> ProperDocsConfig:
    """Link pages to the form that edits them on GitHub, and to versions and dashboard where ``.ci/docs`` builds."""
    version = os.environ.get("DOCS_VERSION", "")
    if (repository_name := os.environ.get("GITHUB_REPOSITORY")) and not version:
        server = os.environ.get("GITHUB_SERVER_URL", "https://github.com")
        config.repo_url = f"{server}/{repository_name}/"
        config.edit_uri = f"edit/{os.environ.get('GITHUB_REF_NAME', 'main')}/docs/"  # HEAD cannot be edited
    versions, dashboard = os.environ.get("DOCS_VERSIONS", "").split(), os.environ.get("DOCS_DASHBOARD", "")
    config.extra = {"version": version, "versions": versions, "dashboard": dashboard}
    return config


def on_files(files: Files, config: ProperDocsConfig) -> Files:
    """Add the pages that are made, and those of the repository that any page links to."""
    for name, content in reference.files(ROOT).items():
        files.append(File.generated(config, name, content=content))
    for path in (*(LOOKS / name for name in ("style.css", "fonts.css", "theme.js", "icon.svg")), *FONTS):
        files.append(File.generated(config, f"static/{path.name}", abs_src_path=str(path)))
    waiting = [(file.src_uri, file.content_string) for file in files.documentation_pages()]
    known = {source for source, _ in waiting}
    while waiting:
        source, text = waiting.pop()
        for path in repository.targets(text, source):
            page = repository.page_of(path, ROOT)
            content = None if page in known or path.startswith(("..", "docs")) else repository.shown(path, ROOT)
            if content is not None:
                known.add(page)
                files.append(File.generated(config, page, content=content))
                waiting.append((page, content if path.endswith(".md") or page.endswith("/README.md") else ""))
    return files


def on_page_markdown(markdown: str, page: Page, config: ProperDocsConfig, files: Files) -> str:
    """Lead links to the repository to the site's own pages; a page that is made has no source."""
    if page.file.generated_by is not None:
        page.edit_url = None
    if _is_code(page.file.src_uri):
        return markdown
    known = frozenset(file.src_uri for file in files.documentation_pages())
    return repository.linked_in_site(markdown, page.file.src_uri, ROOT, known)


def on_page_content(html: str, page: Page, config: ProperDocsConfig, files: Files) -> str:
    """Make tables and code that can be scrolled and read aloud, without styles of their own."""
    html = re.sub(r' align="(right|center|left)"', lambda found: ' class="n"' if found[1] == "right" else "", html)
    html = html.replace("<pre>", '<pre tabindex="0">')  # so that a long line can be scrolled to with keys
    html = re.sub(r"<th(?=[ >])", '<th scope="col"', html)
    html = re.sub(r"<table>.*?</table>", lambda found: _NAME.sub(_breakable, found[0]), html, flags=re.S)
    html = html.replace("<table>", '<div class="scroll" tabindex="0" role="group" aria-label="Table"><table>')
    return html.replace("</table>", "</table></div>")


def on_post_build(config: ProperDocsConfig) -> None:
    """Leave code out of the search: ProperDocs' plugin, which has run before, takes everything."""
    path = Path(config.site_dir) / "search" / "search_index.json"
    index = json.loads(path.read_text(encoding="utf-8"))
    prefix = f"{repository.FOLDER}/"
    index["docs"] = [
        entry
        for entry in index["docs"]
        if not entry["location"].startswith(prefix) or entry["location"].partition("#")[0].endswith("index.html")
    ]
    path.write_text(json.dumps(index, separators=(",", ":")), encoding="utf-8")


def _breakable(name: re.Match[str]) -> str:
    """A long name in a table's cell, which may go on in the next line after a dot or a slash."""
    return re.sub(r"[./](?=\w)", r"\g<0><wbr>", name[0].removesuffix("</code>")) + "</code>"


def _is_code(source: str) -> bool:
    place = source.removeprefix(f"{repository.FOLDER}/").removesuffix(".md")
    return place != source and not (ROOT / f"{place}.md").is_file() and (ROOT / place).is_file()
