"""Which release is planned: the newest whose wheel is the wanted build, as indexes on loopback list them.

One index is laid out like PyTorch's, with a folder per build and labels such as ``+cpu``. The other one is laid out
like the index that pip asks by default: one page, no labels, and files elsewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from misbehaving import stub_torch_wheel
from torch_server import FOR_CPU, FOR_CUDA, Fault, TorchServer, serve_torch_index

from ootci.adapters import download
from ootci.errors import IndexUnreachable, TorchMissing
from ootci.model.device import Torch
from ootci.model.torch_build import Channel, TorchRequest
from ootci.stages.plan import releases, resolve
from ootci.stages.plan.releases import PINNED_RELEASE

FOR_ROCM = 'triton-rocm==3.9.0; platform_system == "Linux"'
LARGE = 5 << 20


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TorchServer]:
    """Indexes without a nightly and without wheels; pip looks on its own index only."""
    monkeypatch.setattr(download, "PAUSES", (0.0, 0.0))
    with serve_torch_index(tmp_path) as found:
        for name, value in found.variables.items():
            monkeypatch.setenv(name, value)
        monkeypatch.setattr(releases, "pip_pages", lambda project: (f"{found.address}/simple/{project}/",))
        yield found


def _fallback() -> TorchRequest:
    """The torch of a night on which the nightly cannot be had."""
    found = resolve(None, Torch())
    assert found.wanted_channel is Channel.NIGHTLY
    assert "/nightly/cpu/torch/ answered 404" in (found.fallback_reason or found.unavailable_reason or "")
    return found


@pytest.mark.parametrize("beside", [True, False])
def test_the_newest_release_of_an_index_with_labels(server: TorchServer, beside: bool) -> None:
    for version in ("2.9.1+cpu", "2.14.1+cpu", "2.14.0+cpu", "2.15.0rc3+cpu", "2.16.0.dev20261120+cpu"):
        name = server.add("release", version, requires=FOR_CPU, beside=beside)
    server.add("release", "2.15.0+cpu", tag="cp39-cp39-linux_x86_64")
    server.add("release", "2.14.2+cpu")
    server.withdrawn["2.14.2+cpu"] = "imports fail"
    found = _fallback()
    assert (found.channel, found.version) == (Channel.RELEASE, "2.14.1+cpu")
    assert found.index_url == f"{server.address}/release/cpu"
    assert found.url == f"{server.address}/release/cpu/torch/{name.replace('2.16.0.dev20261120', '2.14.1')}".replace(
        "+", "%2B"
    )
    assert found.sha256 is not None


@pytest.mark.parametrize("beside", [True, False])
@pytest.mark.parametrize("requires", [FOR_CUDA, FOR_ROCM], ids=["cuda", "rocm"])
def test_a_build_for_an_accelerator_never_stands_in_for_the_cpu(
    server: TorchServer, beside: bool, requires: str
) -> None:
    for version in ("2.14.0", "2.14.1", "2.15.0"):
        server.add("simple", version, requires=requires, beside=beside, size=LARGE)
    server.add("simple", "2.13.0", requires=FOR_CPU, beside=beside, size=LARGE)
    found = _fallback()
    assert (found.version, found.index_url) == ("2.13.0", None)
    assert found.url == f"{server.address}/packages/ab/cd/torch-2.13.0-py3-none-any.whl"


@pytest.mark.parametrize("beside", [True, False])
def test_what_a_wheel_requires_is_read_before_it_is_downloaded(server: TorchServer, beside: bool) -> None:
    names = [
        server.add("simple", version, requires=requires, beside=beside, size=LARGE)
        for version, requires in (("2.15.0", FOR_CUDA), ("2.14.1", FOR_CPU))
    ]
    assert _fallback().version == "2.14.1"
    for name in names:
        if beside:
            assert name not in server.sent
        else:
            assert server.sent[name] < LARGE / 2
    assert all(asked.part is not None for asked in server.asked if asked.name.endswith(".whl"))


def test_metadata_that_is_promised_and_missing_is_read_from_the_wheel(server: TorchServer) -> None:
    name = server.add("simple", "2.15.0", requires=FOR_CUDA, beside=True)
    server.add("simple", "2.14.1", requires=FOR_CPU, beside=True)
    server.stays[f"{name}.metadata"] = Fault.GONE
    assert _fallback().version == "2.14.1"


@pytest.mark.parametrize("fault", [Fault.GARBAGE, Fault.GONE])
def test_a_wheel_that_cannot_be_looked_into_is_passed_over_and_named(server: TorchServer, fault: Fault) -> None:
    name = server.add("release", "2.15.0+cpu")
    server.add("release", "2.14.1+cpu")
    server.stays[name] = fault
    found = _fallback()
    assert found.version == "2.14.1+cpu"
    assert name.replace("+", "%2B") in (found.fallback_reason or "")


def test_where_parts_are_not_handed_out_the_label_decides(server: TorchServer) -> None:
    server.parts = False
    server.add("simple", "2.15.0")
    server.add("simple", "2.14.1+cpu")
    server.add("simple", "2.14.1+cu130")
    server.add("simple", "2.14.1+rocm7.1")
    assert _fallback().version == "2.14.1+cpu"


def test_pytorch_s_own_index_goes_before_where_pip_looks(server: TorchServer) -> None:
    server.add("simple", "2.15.0")
    server.add("release", "2.14.1+cpu")
    assert _fallback().version == "2.14.1+cpu"
    assert [asked.name for asked in server.asked].count("torch") == 2
    server.stays["torch-2.14.1+cpu-py3-none-any.whl"] = Fault.GONE
    assert _fallback().version == "2.15.0"


def test_where_all_are_for_cuda_there_is_no_torch_and_never_the_pinned_one(server: TorchServer) -> None:
    for version in ("2.15.0", "2.14.1", PINNED_RELEASE):
        server.add("simple", version, requires=FOR_CUDA)
    found = _fallback()
    assert (found.version, found.url, found.fallback_reason) == (None, None, None)
    assert found.unavailable_reason is not None
    assert "no release is known to be the build `cpu` for Python 3" in found.unavailable_reason
    assert "torch-2.15.0-py3-none-any.whl requires cuda-toolkit" in found.unavailable_reason


def test_another_build_is_taken_by_its_label(server: TorchServer) -> None:
    server.add("simple", "2.15.0", requires=FOR_CUDA)
    server.add("simple", "2.14.1+cu128", requires=FOR_CUDA)
    server.add("simple", "2.14.0+cu130", requires=FOR_CUDA)
    assert resolve(None, Torch(variant="cu130", channel=Channel.RELEASE)).version == "2.14.0+cu130"


def test_the_pinned_release_is_for_when_no_index_answers(server: TorchServer) -> None:
    found = _fallback()
    assert (found.channel, found.version, found.url, found.index_url) == (Channel.RELEASE, PINNED_RELEASE, None, None)
    server.add("simple", "2.15.0", tag="cp39-cp39-linux_x86_64")
    assert _fallback().version is None, "an index answers, and has none for this Python"


def test_a_release_in_a_folder_of_pip_is_pinned_by_its_checksum(
    server: TorchServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "wheel house"
    stub_torch_wheel(folder, "2.15.0", requires=FOR_CUDA)
    wheel = stub_torch_wheel(folder, "2.14.1+cpu", requires=FOR_CPU)
    (folder / "torch-9.0-py3-none-any.whl").write_bytes(b"no wheel")
    monkeypatch.setattr(releases, "pip_pages", lambda _: (folder.as_uri(),))
    found = _fallback()
    assert (found.version, found.wheel, found.url) == ("2.14.1+cpu", str(wheel), None)
    assert found.sha256 == download.checksum(wheel)


@pytest.mark.parametrize("channel", ["release", "simple"])
def test_a_version_that_somebody_asks_for_is_that_version(server: TorchServer, channel: str) -> None:
    for version in ("2.14.0+cpu", "2.14.1+cpu", "2.15.0rc1+cpu"):
        server.add(channel, version, requires=FOR_CPU)
    for wanted in ("2.14.0", "2.14.0+cpu", "2.14"):
        assert resolve(wanted, Torch()).version == "2.14.0+cpu"
    assert resolve("2.15.0rc1", Torch()).version == "2.15.0rc1+cpu"


@pytest.mark.parametrize("fallback", ["release", "none"])
def test_a_version_that_does_not_exist_is_an_error_that_names_the_newest(server: TorchServer, fallback: str) -> None:
    server.add("simple", "2.15.0", requires=FOR_CUDA)
    server.add("simple", "2.14.1", requires=FOR_CPU)
    with pytest.raises(TorchMissing, match=r"there is no torch 9\.9\.9 for Python 3") as caught:
        resolve("9.9.9", Torch.model_validate({"fallback": fallback}))
    assert caught.value.where == f"--torch (TORCH= with make), {server.address}/release/cpu"
    assert caught.value.fix == "give another version (the newest is 2.14.1), or the path of a wheel"


def test_a_version_that_is_there_for_cuda_only_is_an_error_that_says_so(server: TorchServer) -> None:
    server.add("simple", "2.15.0", requires=FOR_CUDA)
    server.add("simple", "2.14.1", requires=FOR_CPU)
    with pytest.raises(TorchMissing) as caught:
        resolve("2.15.0", Torch())
    assert caught.value.what == (
        "torch 2.15.0 has no wheel for the build `cpu`: torch-2.15.0-py3-none-any.whl requires cuda-toolkit"
    )
    assert "the newest is 2.14.1" in caught.value.fix


@pytest.mark.parametrize("fault", [Fault.GARBAGE, Fault.BUSY, Fault.GONE])
def test_indexes_that_have_no_list_are_an_error_for_who_asks_for_a_version(server: TorchServer, fault: Fault) -> None:
    server.add("release", "2.14.1+cpu")
    server.add("simple", "2.14.1")
    server.stays["torch"] = fault
    with pytest.raises(IndexUnreachable, match=r"torch 2\.14\.1 cannot be looked for: ") as caught:
        resolve("2.14.1", Torch())
    for page in ("release/cpu", "simple"):
        assert f"{server.address}/{page}/torch/" in caught.value.what


def test_a_version_whose_file_is_broken_is_an_error_of_the_index(server: TorchServer) -> None:
    server.stays[server.add("release", "2.14.1+cpu")] = Fault.GARBAGE
    with pytest.raises(IndexUnreachable, match="is no whole wheel"):
        resolve("2.14.1", Torch())
