"""What is cited as PyTorch's demand exists in the torch that is installed: files, and the names in them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest

from ootci.model import need
from ootci.model.need import Need

SMOKE = Path(__file__).parents[3] / "device" / "smoke"
ASKED_BY = re.compile(r" Asked by (.+)\.$")
FILE = re.compile(r"`((?:torch|ATen|c10)/[\w./]+\.(?:py|h))` \(([\w, ]+)\)")
PAGE = re.compile(r"https://docs\.pytorch\.org/docs/stable/[\w/]+\.html")
IN_A_SENTENCE = re.compile(r"(?:torch|ATen|c10)/[\w./]+\.(?:py|h)")


@pytest.fixture(scope="module")
def torch_folders(python_with_torch: str) -> tuple[Path, Path]:
    """Where files of torch lie: the packages' folder, and that of headers."""
    (site,) = (Path(python_with_torch).parent.parent / "lib").glob("python3*/site-packages")
    return site, site / "torch" / "include"


def _text(folders: tuple[Path, Path], name: str) -> str | None:
    found = [folder / name for folder in folders if (folder / name).is_file()]
    return found[0].read_text(encoding="utf-8") if found else None


def _smoke_tests() -> Iterable[tuple[str, str]]:
    for path in sorted(SMOKE.glob("test_*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
                yield f"{path.name}::{node.name}", ast.get_docstring(node) or ""


@pytest.mark.torch
@pytest.mark.parametrize(("name", "said"), [pytest.param(*test, id=test[0]) for test in _smoke_tests()])
def test_a_smoke_test_names_what_makes_it_a_duty(name: str, said: str, torch_folders: tuple[Path, Path]) -> None:
    cited = ASKED_BY.search(" ".join(said.split()))
    assert cited is not None, f"{name} does not say what asks for it: `Asked by FILE (NAME).` or a page"
    files, pages = FILE.findall(cited[1]), PAGE.findall(cited[1])
    assert files or pages
    rest = re.sub(r"[\s,]|and", "", PAGE.sub("", FILE.sub("", cited[1])))
    assert not rest, f"neither a file with names in it nor a page: {rest}"
    for file, words in files:
        text = _text(torch_folders, file)
        assert text is not None, f"{file} is not a part of this torch"
        missing = [word for word in words.split(", ") if not re.search(rf"\b{word}\b", text)]
        assert not missing, f"{file} does not have {missing}"


def _needs() -> Iterable[Need]:
    for value in vars(need).values():
        if isinstance(value, Need):
            yield value
        elif isinstance(value, Mapping):
            yield from (item for item in value.values() if isinstance(item, Need))


OPERATORS = {"PrivateUse1", "convolution_overrideable", "convolution_backward_overrideable"}
"""Words of what is registered, and not of the file that declares how."""


@pytest.mark.torch
def test_what_a_finding_tells_to_implement_is_in_the_file_that_it_names(torch_folders: tuple[Path, Path]) -> None:
    found = {item.name: item for item in _needs()}
    assert len(found) > 25
    for name, item in found.items():
        files = IN_A_SENTENCE.findall(item.implement)
        texts = [text for file in files if (text := _text(torch_folders, file)) is not None]
        assert len(texts) == len(files) > 0, f"{name}: one of {files} is not a part of this torch"
        names = re.findall(r"`(?:\w+(?:::|\.))*(\w+)", item.implement)
        missing = [word for word in names if not any(re.search(rf"\b{word}\b", text) for text in texts)]
        assert not set(missing) - OPERATORS, f"{name}: {missing} are not in {files}"
