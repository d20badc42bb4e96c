"""Files of the repository that a page links to, taken into the site so that the link leads somewhere.

A page of Markdown is shown as a page, a folder as its README or a list, anything else as it is written.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable
from pathlib import Path

FOLDER = "repository"
"""Where in the site they are."""

_LINK = re.compile(r"(?<=\]\()(?![a-z]+:|#)(?P<path>[^)\s#]+)(?P<rest>#[^)\s]*)?(?=\))")
_FENCE = re.compile(r"^( *)(```+|~~~+).*?^\1\2 *$", re.DOTALL | re.MULTILINE)
_LANGUAGES = {
    ".cpp": "cpp",
    ".h": "cpp",
    ".py": "python",
    ".yaml": "yaml",
    ".yml": "yaml",
    ".toml": "toml",
    ".json": "json",
}
_HIDDEN = re.compile(r"(?<![^/])\.")
_SIZE = 200_000


def place_of(source: str) -> str:
    """Where a file of the site stands in the repository: the inverse of ``page_of``."""
    if source.startswith(f"{FOLDER}/"):
        return source.removeprefix(f"{FOLDER}/")
    return f"docs/{source}"


def page_of(path: str, root: Path) -> str:
    """The site's source for a path of the repository."""
    if path == "docs" or path.startswith("docs/"):
        inner = path.removeprefix("docs").lstrip("/")
        return inner if Path(inner).suffix else f"{inner}/README.md".lstrip("/")
    # ProperDocs leaves out whatever begins with a dot.
    place = f"{FOLDER}/{_HIDDEN.sub('', path)}"
    if (root / path).is_dir():
        return f"{place}/README.md"
    return place if path.endswith(".md") else f"{place}.md"


def targets(text: str, source: str) -> Iterable[str]:
    """Paths, relative to the repository, of everything that a page links to."""
    place = place_of(source)
    for found in _LINK.finditer(_FENCE.sub("", text)):
        yield posixpath.normpath(posixpath.join(posixpath.dirname(place), found["path"]))


def linked_in_site(text: str, source: str, root: Path, known: frozenset[str]) -> str:
    """A page's text with its links to the repository led to the site's own pages.

    Args:
        text: the Markdown.
        source: where the page is in the site.
        root: the repository.
        known: every source of the site.

    """
    place, here = place_of(source), posixpath.dirname(source)

    def lead(found: re.Match[str]) -> str:
        path = posixpath.normpath(posixpath.join(posixpath.dirname(place), found["path"]))
        target = page_of(path, root)
        if target not in known:
            return found[0]  # ProperDocs says that it leads nowhere
        return posixpath.relpath(target, here or ".") + (found["rest"] or "")

    parts, end = [], 0
    for fence in _FENCE.finditer(text):
        parts += [_LINK.sub(lead, text[end : fence.start()]), fence[0]]
        end = fence.end()
    return "".join([*parts, _LINK.sub(lead, text[end:])])


def shown(path: str, root: Path) -> str | None:
    """The Markdown of the page for a path of the repository; None when there is no such file."""
    found = root / path
    if not found.resolve().is_relative_to(root.resolve()):
        return None
    if found.is_dir():
        readme = found / "README.md"
        return readme.read_text(encoding="utf-8") if readme.is_file() else _listed(found, path)
    if not found.is_file():
        return None
    if path.endswith(".md"):
        return found.read_text(encoding="utf-8")
    text = found.read_text(encoding="utf-8", errors="replace")
    if len(text) > _SIZE:
        text = text[:_SIZE] + "\n(cut here)\n"
    language = _LANGUAGES.get(found.suffix, "text")
    return f"# {found.name}\n\n`{path}` of the repository:\n\n~~~~{language}\n{text}\n~~~~\n"


def _listed(folder: Path, path: str) -> str:
    names = sorted(item.name for item in folder.iterdir() if not item.name.startswith((".", "__")))
    lines = "\n".join(f"- `{name}`" for name in names)
    return f"# {path}\n\nThe folder `{path}` of the repository holds\n\n{lines}\n"
