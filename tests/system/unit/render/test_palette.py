"""Every pair of the palette can be read, in light and dark: what axe cannot decide in a browser is computed here.

axe leaves open what lies on a gradient or a picture, or is one glyph long. Contrasts and limits are those of WCAG 2.2:
4.5 for text (1.4.3), 3 for glyphs and large text (1.4.3, 1.4.11).
"""

from __future__ import annotations

import re
from itertools import chain, product
from pathlib import Path

import pytest

from ootci.stages.render.badge import COLOURS

STATIC = Path(__file__).parents[4] / "dashboard" / "static"
STYLES = {path.name: path.read_text(encoding="utf-8") for path in STATIC.glob("*.css")}
THEMES = ("light", "dark")

GROUNDS = ("bg", "page", "card", "raised")
TONES = ("good", "bad", "warn", "off", "predicted")
WORDS = ("text", "muted", "accent", *TONES)
NIGHTS = ("ok", "known", "new", "failing", "broken", "lost", "flaky", "silent", "idle")
"""The colours of a night; a glyph of its own ink is in each but those that are the rule, `ok`, and nothing, `idle`."""
BARE = ("ok", "new", "broken", "lost")
"""Those that the eye has to find without the glyph."""
LINES = ("line",)

Colour = tuple[float, float, float]


def _colours(theme: str) -> dict[str, Colour]:
    """The custom properties that are colours."""
    found = {}
    for name, value in re.findall(r"--([\w-]+): (light-dark\(.*?\)|#\w+);", STYLES["style.css"]):
        values = re.findall(r"#\w+", value)
        found[name] = _parsed(values[THEMES.index(theme) if len(values) > 1 else 0])
    return found


def _parsed(text: str) -> Colour:
    digits = text[1:] if len(text) == 7 else "".join(2 * digit for digit in text[1:])
    red, green, blue = (int(digits[place : place + 2], 16) / 255 for place in (0, 2, 4))
    return red, green, blue


def _mixed(over: Colour, share: float, under: Colour) -> Colour:
    """A colour of which a share is laid over another, as ``color-mix(in srgb, over share, transparent)`` is."""
    red, green, blue = (share * one + (1 - share) * other for one, other in zip(over, under, strict=True))
    return red, green, blue


def _luminance(colour: Colour) -> float:
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in colour]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def _contrast(one: Colour, other: Colour) -> float:
    darker, lighter = sorted((_luminance(one), _luminance(other)))
    return (lighter + 0.05) / (darker + 0.05)


def _share(style: str, rule: str) -> float:
    """The share of the tone in the background of a rule."""
    found = re.search(rf"^{re.escape(rule)} \{{.*?color-mix\(in srgb, var\(--\w+\) (\d+)%", STYLES[style], re.MULTILINE)
    assert found is not None, f"{rule} of {style} has no such background"
    return int(found[1]) / 100


def _too_faint(pairs: dict[str, tuple[Colour, Colour]], least: float) -> dict[str, float]:
    contrasts = {name: round(_contrast(*pair), 2) for name, pair in pairs.items()}
    return {name: contrast for name, contrast in contrasts.items() if contrast < least}


@pytest.mark.parametrize("theme", THEMES)
def test_every_colour_has_its_place_here(theme: str) -> None:
    placed = {*GROUNDS, *WORDS, *NIGHTS, *LINES, *(f"{name}-ink" for name in NIGHTS)}
    assert set(_colours(theme)) == placed


@pytest.mark.parametrize("theme", THEMES)
def test_words_can_be_read_on_every_ground(theme: str) -> None:
    of = _colours(theme)
    pairs = {f"{word} on {ground}": (of[word], of[ground]) for word, ground in product(WORDS, GROUNDS)}
    pairs |= {"card on text": (of["card"], of["text"]), "bg on accent": (of["bg"], of["accent"])}
    tinted = {
        "decision": _share("board.css", ".decision"),
        "pill": _share("style.css", ".pill"),
        "operator": _share("operators.css", ".ops td:is(.f, .l, .x, .u, .m, .c, .t, .e)"),
        "forecast": _share("style.css", ".forecast.breaks"),
    }
    for name, tone in chain(
        product(("decision", "pill", "operator"), ("good", "bad", "warn", "off")), [("forecast", "predicted")]
    ):
        ground = _mixed(of[tone], tinted[name], of["card"])
        words = (tone, *(("text", "muted", "accent") if name == "decision" else ()))
        pairs |= {f"{word} on a {name} of {tone}": (of[word], ground) for word in words}
    assert _too_faint(pairs, 4.5) == {}


@pytest.mark.parametrize("theme", THEMES)
def test_the_glyph_of_a_night_stands_out_of_its_colour_and_the_colour_of_the_card(theme: str) -> None:
    of = _colours(theme)
    pairs = {f"{name}-ink on {name}": (of[f"{name}-ink"], of[name]) for name in NIGHTS}
    pairs |= {f"{name} on card": (of[name], of["card"]) for name in BARE}
    assert _too_faint(pairs, 3) == {}


def test_white_text_can_be_read_on_every_half_of_a_badge() -> None:
    white = _parsed("#fff")
    assert _too_faint({colour: (white, _parsed(f"#{colour}")) for colour in (*COLOURS.values(), "3a424b")}, 4.5) == {}
