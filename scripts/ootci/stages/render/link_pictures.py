"""Pictures that chats and issues show beside a link to the site: one of the site and one of each device.

They are drawn only where the site's address is known, since the protocol (https://ogp.me) wants absolute addresses.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING

from ootci.model.verdict import Verdicts
from ootci.resources import dashboard_folder

from .nights import NightsOf
from .pages.front import DeviceEntry, Group, headline
from .publish import File
from .status import GATE, VERDICTS
from .text import one_line
from .words import short_day

if TYPE_CHECKING:
    from PIL import ImageDraw, ImageFont

WIDTH, HEIGHT = 1200, 630
"""Pixels, as Facebook and LinkedIn ask for and others take."""
_MARGIN = 72
_LOGO = ("ok", "ok", "ok", "new")
_DRAWN = re.compile(r"[^\u0020-\u024f\u2010-\u2026]")
"""What the vendored part of the font has no picture of."""
_STYLE, _FONT = Path("static", "style.css"), Path("vendor", "inter.woff2")


def link_pictures(
    verdicts: Verdicts, rows: Sequence[DeviceEntry], groups: Sequence[Group], nights: Mapping[str, NightsOf]
) -> Iterator[File]:
    """The picture of the site, with the gate's answer and the devices in their groups, and one of each device."""
    night = f"Nightly of {short_day(verdicts.planned_at)}" if verdicts.planned_at else "Before the first nightly"
    made = _Maker(dashboard_folder(), night)
    head = headline(verdicts.gate, rows)
    heading = GATE[verdicts.gate.answer].word if _DRAWN.search(head.word) else head.word
    bars = [(group.look, len(group.rows)) for group in groups]
    said = " · ".join(f"{len(group.rows)} {group.title.lower()}" for group in groups)
    yield picture_path(None), made.picture(f"{len(rows)} devices", heading, head.tone, said, bars)
    for row in rows:
        strip = [(cell.look, 1) for cell in nights[row.device].cells]
        name = row.device if _DRAWN.search(row.display_name) else row.display_name
        status = VERDICTS[row.verdict]
        yield (
            picture_path(row.device),
            made.picture(name, status.word.capitalize(), status.tone, row.what, strip),
        )


def picture_path(device: str | None) -> str:
    """Address of a device's picture, or of the site's, from the top."""
    return f"static/link/{device}.png" if device else "static/link.png"


class _Maker:
    def __init__(self, looks: Path, night: str) -> None:
        self._night = night
        # Those of the light theme.
        style = (looks / _STYLE).read_text(encoding="utf-8")
        self._colours: dict[str, str] = dict(re.findall(r"--([\w-]+): (?:light-dark\()?(#\w+)", style))
        self._font = partial(_font, looks / _FONT)

    def picture(self, title: str, word: str, tone: str, said: str, bars: Sequence[tuple[str, int]]) -> bytes:
        """A picture: device, state, sentence, and nights or numbers as bars."""
        from PIL import Image, ImageDraw  # here, because most commands draw nothing

        image = Image.new("RGB", (WIDTH, HEIGHT), self._colours["card"])
        draw = ImageDraw.Draw(image)
        draw.rectangle((0, 0, 15, HEIGHT), fill=self._colours[tone])
        for place, look in enumerate(_LOGO):
            x, y = _MARGIN + place % 2 * 22, 62 + place // 2 * 22
            draw.rounded_rectangle((x, y, x + 18, y + 18), 4, fill=self._colours[look])
        self._write(draw, 60, "PyTorch integration tests", 32, 600, "text", left=_MARGIN + 60)
        self._write(draw, 150, title, 76, 700, "text")
        self._write(draw, 258, word, 60, 700, tone)
        self._write(draw, 350, said, 32, 400, "muted")
        self._draw_bars(draw, bars)
        self._write(draw, 548, self._night, 28, 400, "muted")
        stream = io.BytesIO()
        image.quantize(64).save(stream, "PNG", optimize=True)
        return stream.getvalue()

    def _write(
        self, draw: ImageDraw.ImageDraw, y: int, text: str, size: int, weight: int, colour: str, left: int = _MARGIN
    ) -> None:
        font = self._font(size, weight)
        shown = _DRAWN.sub("?", one_line(text, 120))
        while draw.textlength(shown, font) > WIDTH - left - _MARGIN:
            shown = f"{shown[:-2].rstrip()}…"
        draw.text((left, y), shown, fill=self._colours[colour], font=font)

    def _draw_bars(self, draw: ImageDraw.ImageDraw, bars: Sequence[tuple[str, int]]) -> None:
        total, room = sum(size for _, size in bars) or 1, WIDTH - 2 * _MARGIN
        x = float(_MARGIN)
        for look, size in bars:
            end = x + room * size / total
            draw.rounded_rectangle(
                (round(x), 430, max(round(x), round(end) - 5), 510), 5, fill=self._colours.get(look, "#888")
            )
            x = end


@lru_cache
def _font(path: Path, size: int, weight: int) -> ImageFont.FreeTypeFont:
    from PIL import ImageFont

    font = ImageFont.truetype(path, size)
    font.set_variation_by_axes([weight])
    return font
