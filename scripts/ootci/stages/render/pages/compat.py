"""Predicted breaks: what the newest nightly of PyTorch lacks that published plugins need, and since when."""

from __future__ import annotations

from collections.abc import Iterator

from ootci.model.compat import Predicted

from ..looks import PageMaker
from ..publish import File
from .published import Compact, api_file

_TOP = "../../"


class CompatFile(Compact):
    """compat.json: what is predicted from public wheels, without hardware. No verdict and no gate rests on it."""

    page: str
    """Address of the same for people."""
    predicted: Predicted | None
    """The predictions for the newest nightly that has some; null where none has."""


def compat_page(maker: PageMaker, predicted: Predicted | None) -> Iterator[File]:
    """The page and its file."""
    file = CompatFile(page=f"{_TOP}compat/index.html", predicted=predicted)
    yield maker.show("compat/index.html", "compat.html", page=file)
    yield api_file("compat.json", file)
