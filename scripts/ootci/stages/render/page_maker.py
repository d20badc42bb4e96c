"""What makes pages of templates: everything that a template prints is cleaned and escaped, whatever it is."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from itertools import groupby
from pathlib import Path
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from ootci.adapters.terminal import clean
from ootci.model.device import RegisteredDevice, bad_range
from ootci.model.outcome import FAILURES, OutcomeName
from ootci.model.record import utc_text
from ootci.model.verdict import KnownFailureState, Verdicts
from ootci.model.words import duration, many

from .changes import streak_of
from .facts import contacts, device_facts, environment_facts, run_facts, run_files, torch_view
from .link_pictures import picture_path
from .links import cluster_path, device_path, folder_name, github_handle, pytorch_commit, torch_issue, web_address
from .nights import before_words, in_words
from .status import CHANGES, KNOWN, Status, outcomes, shown, verdict_of_each, works
from .text import excerpt, one_line
from .words import (
    age,
    ago,
    changed,
    commit_count,
    day,
    day_of_year,
    expectation_note,
    known_note,
    moment,
    short_day,
    ulp_words,
)

TEXT_LIMIT = 8_000
"""No text that a template prints is longer than this."""
MARKED_LINES = 60
_REMEMBERED = 2_000

_SYMBOL = re.compile(r'<(symbol|g) id="([^"]+)".*?</\1>\n')
_EMPTY_SPRITE = re.compile(r'<svg class="sprite"[^>]*>\n</svg>\n')
_USED = re.compile(r'<use [^>]*?href="#([^"]+)"')
_WORD = re.compile(r"(\S+)")
_CODE = re.compile(r"`([^`]{1,200})`")
CODE_PIECES = 8
"""Pieces of code in one sentence; markup must not make a text much longer."""
_ERROR_LINE = re.compile(r"^E( |$)|\b(?:error|FAILED):")


@dataclass(frozen=True)
class NamedDevice:
    """A device in a list; ``page`` is its folder's address from the top, None where it is not registered."""

    display_name: str
    page: str | None
    tier: str = "not registered"
    gates: bool = False


def _device_names(registry: Iterable[RegisteredDevice]) -> Callable[[str], NamedDevice]:
    """What names a device in a list; one that is not registered has no page to link to."""
    found = {
        device.name: NamedDevice(
            one_line(device.display_name, 60), device_path(device.name), device.tier.value, device.gates
        )
        for device in (item.device for item in registry)
    }
    return lambda name: found.get(name) or NamedDevice(one_line(name, 60), None)


class PageMaker:
    """Makes pages, each of which knows its own address.

    Args:
        folder: the templates.
        address: where the site is published, if that is known.
        known: what every template may ask for besides, by name.

    """

    def __init__(
        self,
        folder: Path,
        registry: Sequence[RegisteredDevice],
        verdicts: Verdicts,
        address: str | None,
        **known: object,
    ) -> None:
        self._address = address
        self.registry = registry
        self.verdicts = verdicts
        self.runs: dict[str, dict[str, str]] = {}
        """By device and nightly, the page of the run, from the top; each device is added when its pages are made."""
        # Cleaning happens in ``finalize``, which Jinja calls for every expression, so that no template can forget it.
        self._environment = Environment(
            loader=FileSystemLoader(folder),
            autoescape=True,
            undefined=StrictUndefined,
            finalize=_finalize,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
            auto_reload=False,
        )
        self._environment.filters.update(_FILTERS)
        self.judged = verdict_of_each(registry, verdicts)
        """What the judge found of every registered device, by name and in the order of the registry."""
        # A table's thousand cells show few different things; what a macro is given then has to be hashable.
        once = lru_cache(_REMEMBERED, typed=True)(lambda macro, *given: macro(*given))
        self._environment.globals.update(_NAMES, named=_device_names(registry), once=once)
        self._environment.globals.update(verdicts=verdicts, judged=self.judged, address=address, **known)

    def show(self, path: str, template: str, /, **values: object) -> tuple[str, bytes]:
        """A page: its path from the top, and its content."""
        where = {"root": "../" * path.count("/"), "here": template, "canonical": self.canonical(path)}
        text = self._environment.get_template(template).render({**where, **values})
        return path, _with_used_symbols(text).encode("utf-8")

    def canonical(self, path: str) -> str | None:
        """The absolute address of a page, without the name of its file; None where the site's is not known."""
        return f"{self._address}{quote(path.removesuffix('index.html'))}" if self._address else None


def in_the_page(name: str, path: Path) -> dict[str, str]:
    """A style or script in the page itself, and its hash for the content security policy."""
    text = path.read_text(encoding="utf-8")
    source = base64.b64encode(hashlib.sha256(text.encode("utf-8")).digest()).decode("ascii")
    return {name: Markup(text), f"{name}_hash": f"sha256-{source}"}  # noqa: S704 (it is our own)


def _with_used_symbols(text: str) -> str:
    """The page without the symbols that nothing on it shows: of thousands of pages each has but a few."""
    used = set(_USED.findall(text))
    end = text.find('<a class="skip"')
    head = _SYMBOL.sub(lambda found: found[0] if found[2] in used else "", text[:end])
    return _EMPTY_SPRITE.sub("", head) + text[end:]


def marked(text: str) -> Markup:
    """A log, cleaned and escaped, with the lines marked that pytest and compilers mean by an error."""
    lines = clean(text).split("\n")
    errors = [number for number, line in enumerate(lines) if _ERROR_LINE.search(line)]
    # A log that is nothing but errors gains nothing from marks, and they must not make it much longer.
    chosen = set(errors[:MARKED_LINES])
    groups = groupby(range(len(lines)), chosen.__contains__)
    texts = ((is_error, escape("\n".join(lines[number] for number in group))) for is_error, group in groups)
    return Markup("\n".join(f"<b>{text}</b>" if is_error else text for is_error, text in texts))  # noqa: S704 (escaped)


def from_top(address: str) -> str:
    """The address from the top of the site, of one that a file of the API names."""
    while address.startswith("../"):
        address = address[3:]
    return address


def number(count: int, tone: str = "") -> Markup:
    """The cell of a table that counts; a page has hundreds, for which a macro would take most of its time."""
    look = "n zero" if not count else f"n {tone}" if tone else "n"
    return Markup(f'<td class="{look}">{count:,}</td>')  # noqa: S704 (a number, and a word of a template)


@lru_cache(_REMEMBERED)
def status(look: Status, size: str = "") -> Markup:
    """A state as a glyph and a word."""
    classes = escape(f"status {look.tone} {size}".rstrip())
    return Markup(f'<span class="{classes}">{icon(look.glyph)}{escape(clean(look.word))}</span>')  # noqa: S704 (escaped)


@lru_cache(_REMEMBERED)
def icon(name: str) -> Markup:
    """A symbol of the page's sprite."""
    return Markup(f'<svg class="i" aria-hidden="true"><use href="#{escape(name)}"/></svg>')  # noqa: S704 (escaped)


def time(value: datetime) -> Markup:
    """A time to the minute."""
    return Markup(f'<time datetime="{utc_text(value)}">{moment(value)}</time>')  # noqa: S704 (digits)


def prose(text: str) -> Markup:
    """A sentence of a person or of ours on one line, cleaned and escaped, in which `code` looks like code."""
    pieces = _CODE.split(one_line(text), maxsplit=CODE_PIECES)
    return _around_each_second("code", pieces)


def sentence(text: str) -> Markup:
    """The same with a capital letter at its beginning; a name in `code` keeps its own."""
    return prose(text[:1].upper() + text[1:])


def whole_words(command: str) -> Markup:
    """A command whose lines break at spaces only, cleaned and escaped; what is copied of it is the command."""
    return _around_each_second("span", _WORD.split(clean(command)))


def _around_each_second(element: str, pieces: Iterable[str]) -> Markup:
    """The pieces, escaped; each second one is in an element."""
    shown = (f"<{element}>{escape(piece)}</{element}>" if at % 2 else escape(piece) for at, piece in enumerate(pieces))
    return Markup("".join(shown))  # noqa: S704 (escaped)


def _finalize(value: object) -> object:
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    # What is meant to be long was cut before; this is for texts that nobody thought of as long.
    return clean(value) if len(value) <= TEXT_LIMIT else one_line(value)


_FILTERS: Mapping[str, Callable[..., object]] = {
    "iso": utc_text,
    "moment": moment,
    "day": day,
    "short_day": short_day,
    "day_of_year": day_of_year,
    "age": age,
    "ago": ago,
    "duration": duration,
    "many": many,
    "one_line": one_line,
    "marked": marked,
    "prose": prose,
    "whole_words": whole_words,
    "sentence": sentence,
    "shown": shown,
    "works": works,
    "before_words": before_words,
    "contacts": contacts,
    "device_facts": device_facts,
    "run_facts": run_facts,
    "environment_facts": environment_facts,
    "nights_in_words": in_words,
    "run_files": run_files,
    "outcomes": outcomes,
    "others": lambda counts: outcomes(counts, OutcomeName.PASSED),
    "known_note": known_note,
    "expectation_note": expectation_note,
    "folder": folder_name,
    "web": web_address,
    "excerpt": excerpt,
    "torch_issue": torch_issue,
    "cluster_page": cluster_path,
    "changed": changed,
    "ulp": ulp_words,
    "commit_page": pytorch_commit,
    "handle_page": github_handle,
    "top": from_top,
}
"""What templates may put a value through."""

_NAMES: Mapping[str, object] = {
    "preview_of": None,
    "scripts": (),
    "styles": (),
    "has_controls": False,
    "past_only": None,
    "linked": None,
    "picture_path": picture_path,
    "docs": False,
    "failures": FAILURES,
    "known_failure": KNOWN[KnownFailureState.COVERS],
    "streak_of": streak_of,
    "torch_view": torch_view,
    "bad_range": bad_range,
    "change_status": {name.value: look for name, look in CHANGES.items()},
    "number": number,
    "commit_count": commit_count,
    "status": status,
    "Status": Status,
    "icon": icon,
    "time": time,
}
"""What every template may name; the defaults of all pages."""
