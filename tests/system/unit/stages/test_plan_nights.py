"""Which nightly is planned when an index on loopback is as it should be, and when not: never silently another.

The newest nightly may be replaced, and says so. One night that somebody asks for is that night or an error.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

import pytest
from misbehaving import COMMIT
from torch_server import FOR_CUDA, Fault, TorchServer, serve_torch_index

from ootci.adapters import download
from ootci.errors import BadOption, IndexUnreachable, TorchMissing
from ootci.model.device import Torch
from ootci.model.torch_build import Channel, TorchRequest
from ootci.stages.plan import releases, resolve

OTHER = "89abcdef" * 5
LAST, BEFORE = "2.15.0.dev20261120+cpu", "2.15.0.dev20261119+cpu"
RELEASE = "2.14.1+cpu"


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TorchServer]:
    """An index with three nights in a row, one long ago, and the release."""
    monkeypatch.setattr(download, "PAUSES", (0.0, 0.0))
    monkeypatch.setattr(releases, "pip_pages", lambda _: ())
    with serve_torch_index(tmp_path) as found:
        found.add("nightly", LAST, commit=OTHER)
        for day in ("1119", "1118", "1001"):
            found.add("nightly", f"2.15.0.dev2026{day}+cpu")
        found.add("release", RELEASE)
        for name, value in found.variables.items():
            monkeypatch.setenv(name, value)
        yield found


def _name(version: str) -> str:
    return f"torch-{version}-py3-none-any.whl"


def _got(found: TorchRequest) -> tuple[str | None, str | None, str | None]:
    return found.version, found.commit, found.fallback_reason


@pytest.mark.parametrize("wanted", ["nightly", "nightly@2026-11-20"])
def test_the_nightly_and_the_commit_it_says_it_is_from(server: TorchServer, wanted: str) -> None:
    found = resolve(wanted, Torch())
    assert _got(found) == (LAST, OTHER, None)
    assert (found.wanted, found.channel, found.deviation) == (wanted, Channel.NIGHTLY, None)
    assert found.sha256 is not None


@pytest.mark.parametrize("days", [0, 3, 4, 12])
def test_an_index_that_gets_no_nightlies_any_more_is_told_of(server: TorchServer, days: int) -> None:
    today = date(2026, 11, 20) + timedelta(days=days)
    stopped = f"the newest nightly of the index is of 2026-11-20, {days} days ago" if days > 3 else None
    assert _got(resolve("nightly", Torch(), today)) == (LAST, OTHER, stopped)
    assert _got(resolve("nightly@2026-11-20", Torch(), today)) == (LAST, OTHER, None)
    strict = resolve("nightly", Torch(fallback="none"), today)
    assert (strict.version, strict.unavailable_reason) == (
        (None, f"nightly wanted, and no fallback is allowed: {stopped}") if stopped else (LAST, None)
    )


@pytest.mark.parametrize("wanted", ["nightly@2026-11-18", "2.15.0.dev20261118"])
def test_a_night_of_the_past_is_that_very_night(server: TorchServer, wanted: str) -> None:
    assert _got(resolve(wanted, Torch())) == ("2.15.0.dev20261118+cpu", COMMIT, None)


@pytest.mark.parametrize(
    ("wanted", "nearest"),
    [
        ("nightly@2026-11-21", "2026-11-18, 2026-11-19, 2026-11-20"),
        ("nightly@2026-10-09", "2026-10-01, 2026-11-18, 2026-11-19"),
        ("2.15.0.dev20261122", "2026-11-18, 2026-11-19, 2026-11-20"),
        ("2.14.0.dev20261120", "2026-10-01, 2026-11-18, 2026-11-19"),
    ],
)
def test_a_night_that_is_missing_is_an_error_that_names_the_nearest(
    server: TorchServer, wanted: str, nearest: str
) -> None:
    with pytest.raises(TorchMissing, match=f"the index has no torch {wanted} for Python 3") as caught:
        resolve(wanted, Torch())
    assert caught.value.where == f"--torch (TORCH= with make), {server.address}/nightly/cpu"
    assert f"(the nearest are {nearest})" in caught.value.fix


def test_a_night_in_the_future_is_an_error_and_no_index_is_asked(server: TorchServer) -> None:
    with pytest.raises(BadOption, match="2031-01-01 is in the future"):
        resolve("nightly@2031-01-01", Torch(), date(2026, 11, 20))
    assert server.asked == []


@pytest.mark.parametrize(("why", "said"), [("", ""), ("imports fail", " (imports fail)")])
def test_a_withdrawn_night_is_named_and_the_one_before_taken(server: TorchServer, why: str, said: str) -> None:
    server.withdrawn[LAST] = why
    found = resolve("nightly", Torch())
    assert _got(found) == (BEFORE, COMMIT, f"the file of 2026-11-20 was withdrawn{said}")
    assert found.deviation == f"nightly {BEFORE} instead of nightly: {found.fallback_reason}"


@pytest.mark.parametrize("wanted", ["nightly@2026-11-20", LAST])
def test_a_withdrawn_night_that_somebody_asks_for_is_an_error(server: TorchServer, wanted: str) -> None:
    server.withdrawn[LAST] = "imports fail"
    with pytest.raises(TorchMissing, match=r"the file of 2026-11-20 was withdrawn \(imports fail\)"):
        resolve(wanted, Torch())


@pytest.mark.parametrize("wanted", ["nightly@2026-11-20", LAST])
def test_a_night_whose_file_is_not_there_is_an_error_of_the_index(server: TorchServer, wanted: str) -> None:
    server.stays[_name(LAST)] = Fault.GONE
    with pytest.raises(IndexUnreachable, match=r"the file of 2026-11-20 cannot be used: .* answered 404"):
        resolve(wanted, Torch())


@pytest.mark.parametrize("wanted", ["nightly@2026-11-20", LAST])
@pytest.mark.parametrize("fault", [Fault.GARBAGE, Fault.BUSY, Fault.GONE])
def test_an_index_that_has_no_list_is_an_error_for_who_asks_for_a_night(
    server: TorchServer, wanted: str, fault: Fault
) -> None:
    server.stays["torch"] = fault
    with pytest.raises(IndexUnreachable, match=f"torch {wanted[:8]}.* cannot be looked for: {server.address}/nightly"):
        resolve(wanted, Torch())


def test_a_night_for_cuda_is_none_for_the_cpu(server: TorchServer) -> None:
    name = server.add("nightly", LAST, OTHER, requires=FOR_CUDA)
    version, _, reason = _got(resolve("nightly", Torch()))
    assert (version, reason) == (BEFORE, f"{name} requires cuda-toolkit")
    with pytest.raises(IndexUnreachable, match="requires cuda-toolkit"):
        resolve("nightly@2026-11-20", Torch())


def test_a_night_fits_the_python_of_the_device(server: TorchServer) -> None:
    server.add("nightly", "2.15.0.dev20261121+cpu", tag="cp312-none-any")
    assert resolve("nightly", Torch(), python="3.12").version == "2.15.0.dev20261121+cpu"
    assert resolve("nightly", Torch(), python="3.13").version == LAST


def test_a_file_that_the_index_lists_but_does_not_have(server: TorchServer) -> None:
    server.stays[_name(LAST)] = Fault.GONE
    version, _, reason = _got(resolve("nightly", Torch()))
    assert version == BEFORE
    assert reason is not None
    assert reason.startswith("the file of 2026-11-20 cannot be used: ")
    assert reason.endswith("answered 404")


@pytest.mark.parametrize("kept", [0.5, 0.99])
def test_a_file_of_which_the_index_has_only_the_beginning(server: TorchServer, kept: float) -> None:
    path = f"/nightly/cpu/torch/{_name(LAST)}"
    server.files[path] = server.files[path][: int(len(server.files[path]) * kept)]
    version, _, reason = _got(resolve("nightly", Torch()))
    assert version == BEFORE
    assert reason is not None
    assert reason.endswith("is no whole wheel")


def test_each_night_that_was_passed_over_is_named(server: TorchServer) -> None:
    server.withdrawn[LAST], server.withdrawn[BEFORE] = "", "cannot be imported"
    version, _, reason = _got(resolve("nightly", Torch()))
    assert version == "2.15.0.dev20261118+cpu"
    assert reason == "the file of 2026-11-20 was withdrawn; the file of 2026-11-19 was withdrawn (cannot be imported)"


def test_a_night_too_long_before_the_newest_is_no_substitute(server: TorchServer) -> None:
    for version in (LAST, BEFORE, "2.15.0.dev20261118+cpu"):
        server.withdrawn[version] = ""
    found = resolve("nightly", Torch())
    assert (found.channel, found.version) == (Channel.RELEASE, RELEASE)
    server.add("nightly", "2.15.0.dev20261113+cpu")
    assert resolve("nightly", Torch()).version == "2.15.0.dev20261113+cpu"


def test_where_no_fallback_is_allowed_no_other_night_is_one(server: TorchServer) -> None:
    server.withdrawn[LAST] = ""
    found = resolve("nightly", Torch(fallback="none"))
    assert (found.version, found.fallback_reason) == (None, None)
    why = "the file of 2026-11-20 was withdrawn"
    assert found.unavailable_reason == f"nightly wanted, and no fallback is allowed: {why}"


@pytest.mark.parametrize("faults", [[Fault.BUSY], [Fault.BUSY, Fault.HALF], [Fault.HALF, Fault.BUSY]])
def test_an_index_that_is_fine_in_the_end_makes_no_fallback(server: TorchServer, faults: list[Fault]) -> None:
    server.faults["torch"], server.faults[_name(LAST)] = list(faults), list(faults)
    assert _got(resolve("nightly", Torch())) == (LAST, OTHER, None)


def test_an_index_that_stays_broken_makes_a_fallback_to_the_release(server: TorchServer) -> None:
    server.faults["torch"] = [Fault.BUSY] * download.ATTEMPTS
    found = resolve("nightly", Torch())
    assert (found.channel, found.version) == (Channel.RELEASE, RELEASE)
    assert found.fallback_reason is not None
    assert found.fallback_reason.endswith("answered 503")


def test_an_index_that_says_nothing_makes_a_fallback_to_the_release(
    server: TorchServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "TIMEOUT_SECONDS", (5, 0.1))
    server.faults["torch"] = [Fault.SILENT] * download.ATTEMPTS
    found = resolve("nightly", Torch())
    assert (found.channel, found.version) == (Channel.RELEASE, RELEASE)


def test_a_server_of_whole_files_only_leaves_the_commit_unknown(server: TorchServer) -> None:
    server.parts = False
    path = f"/nightly/cpu/torch/{_name(LAST)}"
    server.files[path] += b"\0" * (2 << 20)  # longer than what is read at once
    assert _got(resolve("nightly", Torch())) == (LAST, None, None)


def test_of_two_files_of_a_night_the_one_that_was_not_withdrawn_is_taken(server: TorchServer) -> None:
    higher = "2.16.0.dev20261120+cpu"
    server.add("nightly", higher)
    server.withdrawn[higher] = ""
    assert _got(resolve("nightly", Torch())) == (LAST, OTHER, None)


def test_a_release_after_a_night_of_the_same_version_is_no_night(server: TorchServer) -> None:
    server.add("nightly", "2.15.0+cpu")
    assert resolve("nightly", Torch()).version == LAST


@pytest.mark.parametrize("wanted", ["nightly@", "nightly@20261120", "nightly@2026-13-01", "nightly@yesterday"])
def test_what_is_no_date_is_refused(server: TorchServer, wanted: str) -> None:
    with pytest.raises(BadOption, match="is not a date"):
        resolve(wanted, Torch())
    assert server.asked == []
