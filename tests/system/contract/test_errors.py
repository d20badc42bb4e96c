"""Every failure that a user can see has an id of its own, is used, and is provoked by a test."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ootci import errors
from ootci.errors import EXIT_INFRASTRUCTURE, EXIT_INPUT, InfrastructureError, InputError, OotciError

ROOT = Path(__file__).parents[3]


def _classes(of: type[OotciError] = OotciError) -> list[type[OotciError]]:
    found = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, of)]
    return [kind for kind in found if kind not in (OotciError, InputError, InfrastructureError)]


def _texts(folder: str, besides: str) -> str:
    paths = [path for path in sorted((ROOT / folder).rglob("*.py")) if path.name != besides]
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


def test_ids_are_unique() -> None:
    ids = [kind.id for kind in _classes()]
    assert len(ids) == len(set(ids))
    assert len(ids) > 15


@pytest.mark.parametrize("kind", _classes(), ids=lambda kind: kind.__name__)
def test_each_has_an_id_a_meaning_and_an_exit_code(kind: type[OotciError]) -> None:
    assert re.fullmatch(r"[A-Z]{3,5}-\d{3}", kind.id)
    assert kind.meaning.endswith(".")
    assert kind.exit_code == (EXIT_INPUT if issubclass(kind, InputError) else EXIT_INFRASTRUCTURE)


@pytest.mark.parametrize("kind", _classes(), ids=lambda kind: kind.__name__)
def test_each_is_used_by_the_code(kind: type[OotciError]) -> None:
    assert re.search(rf"\b{kind.__name__}\(", _texts("scripts/ootci", "errors.py")), "no code raises it"


@pytest.mark.parametrize("kind", _classes(), ids=lambda kind: kind.__name__)
def test_each_is_provoked_by_a_test(kind: type[OotciError]) -> None:
    assert re.search(rf"\b({kind.__name__}|{kind.id})\b", _texts("tests/system", Path(__file__).name)), (
        "no test provokes it"
    )


def test_a_message_has_three_parts() -> None:
    error = errors.DeviceFileSyntax("it is broken", where="devices/x.yaml:12", fix="mend it")
    assert str(error) == "it is broken\n  where: devices/x.yaml:12\n  what to do: mend it"
