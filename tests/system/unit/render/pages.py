"""Reading rendered pages back: a small strict HTML tree, so that tests look at elements and not at text."""

from __future__ import annotations

import html
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

VOID = frozenset({"meta", "link", "br", "hr", "img", "input", "wbr"})


def content(path: Path) -> Any:
    """What a JSON file has."""
    return json.loads(path.read_text(encoding="utf-8"))


def markdown_rows(markdown: str) -> list[list[str]]:
    """The cells of the only table of an issue, comment or summary."""
    lines = [line for line in markdown.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def pasted(markdown: str) -> tuple[str, ...]:
    """The commands of the only such element of an issue or comment, as somebody copies them from GitHub."""
    (found,) = re.findall("<pre>(.*?)</pre>", markdown)
    return tuple(html.unescape(found).split("\n"))


@dataclass
class Element:
    """One element."""

    tag: str
    attributes: dict[str, str]
    children: list[Element | str] = field(default_factory=list)

    def find(self, tag: str | None = None, **attributes: str) -> list[Element]:
        """Every element below, and this one, with the tag and the attributes; ``class_`` must be among the classes."""
        return [item for item in self.walk() if item.matches(tag, attributes)]

    def one(self, tag: str | None = None, **attributes: str) -> Element:
        """The only such element."""
        found = self.find(tag, **attributes)
        assert len(found) == 1, f"{len(found)} elements {tag} {attributes}"
        return found[0]

    def walk(self) -> Iterator[Element]:
        """This element and all below it, in the order of the page."""
        yield self
        for child in self.children:
            if isinstance(child, Element):
                yield from child.walk()

    def matches(self, tag: str | None, attributes: dict[str, str]) -> bool:
        """Whether the element is one of those asked for."""
        if tag is not None and tag != self.tag:
            return False
        for name, value in attributes.items():
            if name == "class_":
                if value not in self.attributes.get("class", "").split():
                    return False
            elif self.attributes.get(name.replace("_", "-")) != value:
                return False
        return True

    @property
    def text(self) -> str:
        """All text below, with single spaces."""
        return " ".join("".join(self._texts()).split())

    @property
    def cells(self) -> list[list[str]]:
        """The text of each cell of the only table below, row by row, without its head."""
        rows = self.one("tbody").find("tr")
        return [[cell.text for cell in row.children if isinstance(cell, Element)] for row in rows]

    @property
    def copied(self) -> str:
        """All text below, as it is copied from a ``pre``."""
        return "".join(child if isinstance(child, str) else child.copied for child in self.children)

    def _texts(self) -> Iterator[str]:
        for child in self.children:
            if isinstance(child, str):
                yield child
            elif child.tag not in ("style", "title"):
                yield from child._texts()
                yield " "


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.root = Element("document", {})
        self.open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        assert len(names) == len(set(names)), f"an attribute twice in <{tag}>: {names}"
        element = Element(tag, {name: value or "" for name, value in attrs})
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open[-1].tag == tag, f"</{tag}> closes <{self.open[-1].tag}> at {self.getpos()}"
        self.open.pop()

    def handle_data(self, data: str) -> None:
        self.open[-1].children.append(data)


def parse(html: str) -> Element:
    """The tree of a page; an element that is not closed in its place fails the test."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    assert len(reader.open) == 1, f"never closed: {[item.tag for item in reader.open[1:]]}"
    return reader.root


def read(path: Path) -> Element:
    """The tree of a page in a file."""
    return parse(path.read_text(encoding="utf-8"))


def addresses(page: Element) -> list[tuple[Element, str]]:
    """Everything that a page leads to or takes in."""
    return [
        (item, item.attributes[name]) for item in page.walk() for name in ("href", "src") if name in item.attributes
    ]


def follow(site: Path, pages: Mapping[Path, Element]) -> int:
    """Follow every relative link to a file, and every fragment to an element; how many there were."""
    followed = 0
    ids = {
        path: {item.attributes["id"] for item in page.walk() if "id" in item.attributes} for path, page in pages.items()
    }
    for path, page in pages.items():
        for _, address in addresses(page):
            parts = urlsplit(address)
            if parts.scheme:
                continue
            assert not parts.netloc
            assert not address.startswith("/"), f"{path}: {address} would not work under a sub-path"
            target = Path(os.path.normpath(path.parent / unquote(parts.path))) if parts.path else path
            assert target.is_relative_to(site), f"{path}: {address} leaves the site"
            assert target.is_file(), f"{path}: {address} leads nowhere"
            if parts.fragment:
                assert unquote(parts.fragment) in ids[target], f"{path}: {address} has no such element"
            followed += 1
    return followed


def check_markup(pages: Mapping[Path, Element]) -> None:
    """Check that pages have headings, landmarks and distinct ids, and fetch and run nothing but files of their site."""
    for path, page in pages.items():
        assert page.one("html").attributes["lang"] == "en", path
        assert page.one("head").one("title").children, path
        assert page.one("h1").text, path
        assert page.one("main").attributes["id"] == "main", path
        ids = [element.attributes["id"] for element in page.walk() if "id" in element.attributes]
        assert len(ids) == len(set(ids)), path
        for header in page.find("th"):
            assert header.attributes.get("scope") in ("col", "row"), path
        for element in page.walk():
            assert "style" not in element.attributes, path
            assert not any(name.startswith("on") for name in element.attributes), path
        for element, address in addresses(page):
            scheme = urlsplit(address).scheme
            assert scheme in ("", "http", "https"), f"{path}: {address}"
            assert not scheme or element.tag == "a", f"{path}: <{element.tag}> would fetch {address}"
        policy = page.one("meta", http_equiv="Content-Security-Policy").attributes["content"]
        assert policy.startswith("default-src 'none'; "), path
        assert "unsafe" not in policy, path
