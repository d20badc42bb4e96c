"""Known failures and unsupported capabilities in a device file: what they match, for how long, what is refused."""

from __future__ import annotations

import re
from datetime import date, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from unit.model.device_files import GOOD, NEXT, loaded

from ootci.errors import DeviceFileInvalid, DeviceFileSyntax
from ootci.model.device import KnownFailure, load_device

ENTRY = {
    "id": "smoke/test_x.py::test_y",
    "reason": "why",
    "issue": "https://example.com/1",
    "added": "2026-11-01",
    "expires": "2026-12-31",
}


def _entry(**values: str) -> KnownFailure:
    return KnownFailure.model_validate({**ENTRY, **values})


def _listed(**values: str | None) -> str:
    """A list of one entry as YAML; a value of None leaves the key out."""
    fields = {key: value for key, value in {**ENTRY, **values}.items() if value is not None}
    lines = [f'{key}: "{value}"' for key, value in fields.items()]
    return "known_failures:\n  - " + "\n    ".join(lines) + "\n"


@pytest.mark.parametrize(
    ("glob", "test_id", "matches"),
    [
        ("smoke/a.py::test[x]", "smoke/a.py::test[x]", True),
        ("smoke/a.py::test[x]", "smoke/a.py::testx", False),
        ("smoke/a.py::test[*]", "smoke/a.py::test[float32-[2, 3]]", True),
        ("smoke/a.py::test[*]", "smoke/a.py::test", False),
        ("smoke/a.py::test[?]", "smoke/a.py::test[ab]", False),
        ("smoke/*", "smoke/a/b.py::c::d", True),
        ("smoke/a.py::t", "smoke/a.py::t2", False),
        ("smoke/a.py::T", "smoke/a.py::t", False),
        ("smoke/a.py::t.[!x]", "smoke/a.py::tzy", False),
        ("smoke/a.py::t[!x]", "smoke/a.py::t[!x]", True),
        ("smoke/a.py::t*", "smoke/a.py::t\nnext", True),
    ],
)
def test_only_the_star_and_the_question_mark_are_special(glob: str, test_id: str, matches: bool) -> None:
    assert _entry(id=glob).matches(test_id) is matches


_IDS = st.text(alphabet="ab[]!-.:*?\\^$(", max_size=12)


@given(_IDS, _IDS)
def test_a_glob_matches_as_the_plain_expression_for_it_does(glob: str, test_id: str) -> None:
    plain = "".join({"*": ".*", "?": "."}.get(letter, re.escape(letter)) for letter in "s/x" + glob)
    expected = re.fullmatch(plain, "s/x" + test_id, re.DOTALL) is not None
    assert _entry(id="s/x" + glob).matches("s/x" + test_id) is expected


def test_a_glob_of_many_stars_is_matched_in_bounded_steps() -> None:
    assert not _entry(id="s/" + "a*" * 200 + "b").matches("s/" + "a" * 1000)


@pytest.mark.parametrize(
    ("torch", "version", "counts"),
    [
        (None, None, True),
        (">=2.13", "2.14.0.dev20261120+cpu", True),
        (">=2.14", "2.14.0.dev20261120+cpu", True),
        ("<2.14", "2.14.0.dev20261120+cpu", False),
        (">=2.13,<2.14", "2.13.1+cu130", True),
        ("==2.13.*", "2.13.0a0+git1234567", True),
        ("!=2.13.0", "2.13.0+cpu", False),
        ("<2.14.0.dev20261120", "2.14.0.dev20261119+cpu", True),
        ("<2.14.0.dev20261120", "2.14.0.dev20261120+cpu", False),
        (">=2.13,<=2.14.0.dev20261120", "2.14.0.dev20261120+cpu", True),
        (">=2.13", "2.12.1", False),
        (">=2.13", "unknown", False),
        (">=2.13", None, False),
    ],
)
def test_a_nightly_counts_as_the_release_that_it_becomes(torch: str | None, version: str | None, counts: bool) -> None:
    entry = KnownFailure.model_validate({**ENTRY, "torch": torch})
    assert entry.is_about(version) is counts


def test_the_last_day_counts_and_the_next_one_does_not() -> None:
    entry = _entry()
    assert not entry.expired(date(2026, 12, 31))
    assert entry.expired(date(2027, 1, 1))


@given(st.dates(date(2000, 1, 1), date(2100, 1, 1)), st.integers(-800, 800))
def test_an_entry_lasts_a_year_at_most(added: date, days: int) -> None:
    values = {"added": added.isoformat(), "expires": (added + timedelta(days=days)).isoformat()}
    if 0 <= days <= 366:
        assert _entry(**values).expires >= added
    else:
        with pytest.raises(ValueError, match="expires"):
            _entry(**values)


@pytest.mark.parametrize(
    ("values", "line", "what"),
    [
        ({"expires": None}, 1, "the required key `known_failures[0].expires` is missing"),
        ({"issue": None}, 1, "the required key `known_failures[0].issue` is missing"),
        ({"expires": "2026-10-01"}, 1, "it expires on 2026-10-01, before it was added on 2026-11-01"),
        ({"expires": "2028-01-01"}, 1, "more than a year after it was added; 2027-11-02 is the latest day possible"),
        ({"expires": "soon"}, 5, "`known_failures[0].expires` must be a day such as 2026-11-21"),
        ({"added": "20261101"}, 4, "`known_failures[0].added`"),
        ({"id": "test_y"}, 1, "`known_failures[0].id` must be a test id that begins with its suite"),
        ({"id": "*"}, 1, "`known_failures[0].id` must be a test id that begins with its suite"),
        ({"issue": "javascript:x"}, 3, "`known_failures[0].issue` must be an address"),
        ({"torch": "2.13"}, 6, "`2.13` is no range of versions"),
        ({"torch": "===2.13"}, 6, "`===2.13` is no range of versions"),
        ({"torch": ""}, 6, "`` is no range of versions"),
        ({"reasn": "x"}, 6, "unknown key `known_failures[0].reasn`; did you mean `reason`?"),
    ],
)
@pytest.mark.parametrize("in_folder", [False, True])
def test_what_is_wrong_with_an_entry_is_said_with_its_line(
    tmp_path: Path, values: dict[str, str | None], line: int, what: str, in_folder: bool
) -> None:
    path = tmp_path / "dev.yaml"
    path.write_text(GOOD if in_folder else GOOD + _listed(**values), encoding="utf-8")
    if in_folder:
        (tmp_path / "dev").mkdir()
        (tmp_path / "dev" / "known_failures.yaml").write_text(_listed(**values), encoding="utf-8")
    with pytest.raises(DeviceFileInvalid) as caught:
        load_device(path)
    error = caught.value
    assert what in error.what
    shown = "dev/known_failures.yaml" if in_folder else "dev.yaml"
    assert error.where == f"{(tmp_path / shown).as_posix()}:{line + (1 if in_folder else NEXT)}"
    assert error.fix


@pytest.mark.parametrize(
    ("glob", "refused"),
    [
        ("smoke/*", True),
        ("smoke/**", True),
        ("smoke/*::*", True),
        ("smoke/test_*", True),
        ("smoke/????*", True),
        ("smoke/test_x.py::*", False),
        ("smoke/*float64*", False),
        ("integration/test_x.py::*[*]", False),
        ("ops/*", False),
    ],
)
@pytest.mark.parametrize("in_folder", [False, True])
def test_an_entry_that_covers_a_required_suite_is_refused_on_a_gating_device(
    tmp_path: Path, glob: str, refused: bool, in_folder: bool
) -> None:
    path, folder = tmp_path / "dev.yaml", tmp_path / "dev"
    folder.mkdir()
    (folder if in_folder else tmp_path).joinpath("known_failures.yaml").write_text(_listed(id=glob), encoding="utf-8")
    text = GOOD if in_folder else GOOD + _listed(id=glob)
    path.write_text(text, encoding="utf-8")
    load_device(path)  # An advisory device blocks nobody.
    for gating in ("tier: gating\n", "variants:\n  - name: new\n    tier: gating\n"):
        path.write_text(text + gating, encoding="utf-8")
        if not refused:
            load_device(path)
            continue
        with pytest.raises(DeviceFileInvalid) as caught:
            load_device(path)
        assert f"the known failure `{glob}` covers the whole suite `smoke`" in caught.value.what
        line = 2 if in_folder else 1 + NEXT
        shown = "dev/known_failures.yaml" if in_folder else "dev.yaml"
        assert caught.value.where == f"{(tmp_path / shown).as_posix()}:{line}"


def test_a_loss_is_accepted_in_words_for_a_time(tmp_path: Path) -> None:
    entry = "lost_tests:\n  - id: integration/test_x.py::*\n    reason: split\n    added: 2026-11-01\n"
    (found,) = loaded(tmp_path, f"{GOOD}{entry}    expires: 2026-11-03\n").lost_tests
    days = [found.is_valid(date(2026, 11, number)) for number in range(1, 5)]
    assert days == [True, True, True, False]
    assert found.matches("integration/test_x.py::two")
    assert not found.matches("integration/test_y.py::two")
    (tmp_path / "dev.yaml").write_text(f"{GOOD}{entry}    expires: 2026-10-03\n", encoding="utf-8")
    with pytest.raises(DeviceFileInvalid, match="before it was added"):
        load_device(tmp_path / "dev.yaml")


def test_the_lists_of_file_and_folder_are_joined(tmp_path: Path) -> None:
    (tmp_path / "dev.yaml").write_text(GOOD + _listed(), encoding="utf-8")
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev" / "known_failures.yaml").write_text(_listed(id="ops/a.py::*", torch=">=2.13"), encoding="utf-8")
    device = load_device(tmp_path / "dev.yaml").device
    assert [entry.id for entry in device.known_failures] == ["smoke/test_x.py::test_y", "ops/a.py::*"]
    assert device.known_failures[0].suite == "smoke"


@pytest.mark.parametrize(
    ("text", "kind"),
    [("", DeviceFileInvalid), ("- id: x\n", DeviceFileInvalid), ("known_failures: [", DeviceFileSyntax)],
)
def test_a_folder_s_list_that_is_none_is_an_error_of_that_file(
    tmp_path: Path, text: str, kind: type[DeviceFileInvalid]
) -> None:
    (tmp_path / "dev.yaml").write_text(GOOD, encoding="utf-8")
    (tmp_path / "dev").mkdir()
    (tmp_path / "dev" / "known_failures.yaml").write_text(text, encoding="utf-8")
    with pytest.raises(kind) as caught:
        load_device(tmp_path / "dev.yaml")
    assert "dev/known_failures.yaml:1" in caught.value.where


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("unsupported: [{capability: quantisation, reason: x}]", "did you mean `quantization`?"),
        ("unsupported: [{capability: zzz, reason: x}]", "known: registration, autoload"),
        ("unsupported: [{capability: sparse}]", "the required key `unsupported[0].reason` is missing"),
        ("unsupported: [sparse]", "`unsupported[0]`"),
        (
            "unsupported: [{capability: sparse, reason: x}, {capability: sparse, reason: y}]",
            "a capability is named twice",
        ),
    ],
)
def test_a_claim_names_a_capability_once_with_a_reason(tmp_path: Path, text: str, what: str) -> None:
    (tmp_path / "dev.yaml").write_text(f"{GOOD}{text}\n", encoding="utf-8")
    with pytest.raises(DeviceFileInvalid) as caught:
        load_device(tmp_path / "dev.yaml")
    assert what in caught.value.what
    assert caught.value.where.endswith(f":{NEXT}")
