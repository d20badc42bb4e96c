"""What a wheel says of itself: the packages that it requires, and what is no metadata or no wheel."""

from __future__ import annotations

from pathlib import Path

import pytest
from misbehaving import COMMIT, stub_torch_wheel, write_wheel
from torch_server import FOR_CPU, FOR_CUDA

from ootci.adapters.download import DownloadProblem
from ootci.adapters.remote_wheel import MAX_MEMBER_BYTES, accelerator_packages, local_contents

HEAD = "Metadata-Version: 2.4\nName: torch\nVersion: 2.15.0\n"


def _metadata(*requirements: str) -> bytes:
    return (HEAD + "".join(f"Requires-Dist: {text}\n" for text in requirements)).encode()


@pytest.mark.parametrize(
    ("requirement", "found"),
    [
        ("nvidia-cublas-cu12==12.8.4.1", True),
        ("NVIDIA_cuDNN_cu13", True),
        ("cuda-toolkit[cublas]==13.2.2", True),
        ("cuda-bindings<14,>=13.0.3; python_version < '3.99'", True),
        ("rocm[libraries]==7.2", True),
        ("pytorch-triton-rocm==3.4.0", True),
        ("triton-rocm", True),
        ("vendor-math-cu130", True),
        ("triton~=3.9.0", False),
        ("filelock", False),
        ("cudatext", False),
        ("rocmoon", False),
        ("nvidia-cublas-cu12; platform_machine == 'z80'", False),
        ("nvidia-cublas-cu12; extra == 'cuda'", False),
    ],
)
def test_a_requirement_for_cuda_or_rocm_is_known_by_its_name(requirement: str, found: bool) -> None:
    assert bool(accelerator_packages(_metadata("filelock", requirement), None)) is found


def test_requirements_are_those_on_the_python_of_the_device() -> None:
    metadata = _metadata("cuda-bindings; python_version >= '3.14'")
    assert accelerator_packages(metadata, "3.9") == ()
    assert accelerator_packages(metadata, "3.14") == ("cuda-bindings",)


def test_real_lists_of_requirements() -> None:
    assert accelerator_packages(_metadata(*FOR_CUDA.splitlines()), "3.11") == ("cuda-toolkit", "nvidia-cudnn-cu13")
    assert accelerator_packages(_metadata(*FOR_CPU.splitlines()), "3.11") == ()


@pytest.mark.parametrize("metadata", [b"", b"\x00\xff" * 50, b"<html>", b"Name: numpy\n", _metadata("not a ==name")])
def test_what_is_no_metadata_of_torch_is_none(metadata: bytes) -> None:
    with pytest.raises(DownloadProblem, match=r"the metadata (is not that of torch|cannot be understood)"):
        accelerator_packages(metadata, None)


def test_a_wheel_on_this_machine(tmp_path: Path) -> None:
    found = local_contents(stub_torch_wheel(tmp_path, "2.15.0", requires=FOR_CPU))
    assert found.commit == COMMIT
    assert accelerator_packages(found.metadata, None) == ()


@pytest.mark.parametrize(
    "files", [{"torch/__init__.py": ""}, {"torch/version.py": "x" * (MAX_MEMBER_BYTES + 1)}], ids=["none", "too long"]
)
def test_a_zip_file_that_is_no_torch_is_told_from_a_broken_one(tmp_path: Path, files: dict[str, str]) -> None:
    with pytest.raises(DownloadProblem, match="is no torch wheel"):
        local_contents(write_wheel(tmp_path, "torch", "1.0", files))
    (tmp_path / "torch.whl").write_bytes(b"PK\x03\x04")
    with pytest.raises(DownloadProblem, match="is no whole wheel"):
        local_contents(tmp_path / "torch.whl")
    with pytest.raises(DownloadProblem, match="cannot be read"):
        local_contents(tmp_path / "gone.whl")
