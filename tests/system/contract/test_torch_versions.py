"""The reference device on several versions of torch: the data, the table of defects, and the command that measures."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch_versions
from packaging.tags import sys_tags
from unit.samples import run

ROOT = Path(__file__).parents[3]
TAG = str(next(sys_tags()))


@pytest.fixture
def machinery(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module that makes the page."""
    monkeypatch.syspath_prepend(str(ROOT / "docs" / "machinery"))
    import reference_torch_versions

    return reference_torch_versions


def test_the_table_of_defects_lists_what_was_measured(machinery: Any) -> None:
    listed, versions = machinery.listed_defects(ROOT), machinery.measured_versions(ROOT)
    assert listed
    assert versions
    for version, found in versions.items():
        assert set(found["defects"]) == set(listed)
        seen = {name: present for name, present in found["defects"].items() if present is not None}
        assert seen == {name: listed[name].has(version) for name in seen}, version


def test_the_page_shows_every_version_and_every_failure(
    machinery: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "docs").mkdir()
    harness = tmp_path / "tests" / "device" / "harness"
    harness.mkdir(parents=True)
    (harness / "defects.py").write_text(
        'CORE_DEFECTS = {"forgets": CoreDefect("It forgets", since=(2, 13), before=(2, 15), is_present=seen)}\n',
        encoding="utf-8",
    )
    monkeypatch.setattr(torch_versions, "DATA", tmp_path / "docs" / "torch_versions.json")
    for version, present in (("2.15.0", False), ("2.9.1", None), ("2.14.1", True)):
        measured = {"torch": f"{version}+cpu", "defects": {"forgets": present}}
        failing = run(0, smoke={"test_a": "failed"}) if present else run(0)
        torch_versions.record({version: torch_versions.result(failing, "OK", measured, "AVX2")})
    assert list(machinery.measured_versions(tmp_path)) == ["2.15.0", "2.14.1", "2.9.1"]
    text = machinery.page(tmp_path)
    assert "| It forgets | 2.13 to before 2.15 | no | yes | not shown |" in text
    assert text.count("Failed on `") == 1
    assert "AVX2" in text


def _folder(path: Path, *names: str) -> str:
    path.mkdir()
    for name in names:
        (path / name).touch()
    return str(path)


def test_a_wheel_of_the_version_and_of_this_python_is_found(tmp_path: Path) -> None:
    names = (
        f"torch-2.15.0+cpu-{TAG}.whl",
        f"torch-2.15.1-{TAG}.whl",
        "torch-2.14.1-cp27-cp27m-win32.whl",
        "torch-x.whl",
    )
    wheels = _folder(tmp_path / "wheels", *names)
    assert torch_versions.find_wheel("2.15.0", wheels, tmp_path).name == names[0]
    with pytest.raises(torch_versions.TorchWheelMissing, match=r"no wheel of torch 2\.14\.1 for this Python"):
        torch_versions.find_wheel("2.14.1", wheels, tmp_path)


@pytest.mark.parametrize(
    ("wheels", "said"),
    [
        ("", "it is not known where wheels of torch are\n  where: the environment variable OOTCI_TORCH_WHEELS"),
        ("wheels", "there is no wheel of torch 2.99.0 for this Python"),
        ("http://127.0.0.1:9/simple", "torch 2.99.0 cannot be downloaded"),
    ],
)
def test_a_missing_wheel_is_an_error_before_anything_is_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], wheels: str, said: str
) -> None:
    _folder(tmp_path / "wheels", f"torch-2.15.0-{TAG}.whl")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(torch_versions, "WORK", tmp_path / "work")
    monkeypatch.setattr(torch_versions, "measure", lambda *_: pytest.fail("a version was run"))
    monkeypatch.setenv("OOTCI_TORCH_WHEELS", wheels)
    monkeypatch.setenv("PIP_RETRIES", "0")
    assert torch_versions.main(["2.15.0", "2.99.0"] if wheels == "wheels" else ["2.99.0"]) == 2
    assert "error TORCH-" in (err := capsys.readouterr().err)
    assert said in err


@pytest.mark.parametrize(
    ("verdicts", "code"), [(("OK", "OK"), 0), (("OK", "FAILING"), 1), ((None, "OK"), 1)], ids=["ok", "failing", "none"]
)
def test_one_version_that_is_not_ok_fails_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verdicts: tuple[str | None, ...], code: int
) -> None:
    versions = ("2.14.1", "2.15.0")
    wheels = _folder(tmp_path / "wheels", *(f"torch-{version}-{TAG}.whl" for version in versions))
    told = dict(zip(versions, verdicts, strict=True))
    monkeypatch.setattr(torch_versions, "measure", lambda version, _: told[version] and {"verdict": told[version]})
    monkeypatch.setattr(torch_versions, "DATA", tmp_path / "data.json")
    monkeypatch.setenv("OOTCI_TORCH_WHEELS", wheels)
    assert torch_versions.main(["--record", *versions] if code else list(versions)) == code
    kept = json.loads((tmp_path / "data.json").read_text(encoding="utf-8")) if code else {}
    assert kept == ({version: {"verdict": verdict} for version, verdict in told.items() if verdict} if code else {})
