"""Wheels of torch that PyTorch's own CI built: found with GitHub's API, downloaded from the CI's public store.

A stranger's pull request made them, so all of it is bounded, and nothing of it is run here.

Source: pytorch/pytorch, ``pull.yml`` and ``_linux-build.yml`` in ``.github/workflows``: a job that builds has the name
of its build environment, and uploads ``artifacts.zip``, with the wheel in ``dist/``, which is kept for 14 days.
"""

from __future__ import annotations

import os
import re
import shutil
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from ootci.adapters.download import DownloadProblem, download
from ootci.adapters.github_rest import GithubRest
from ootci.adapters.remote_wheel import is_bounded

STORE = "https://gha-artifacts.s3.amazonaws.com"
WORKFLOW = "pull.yml"
MAX_ARCHIVE = 4 << 30
"""Bytes of an archive, which also has the libraries and programs of the build."""
MAX_WHEEL = 2 << 30
"""Bytes of the wheel: one for the CPU has 200 MB."""

_JOB = re.compile(r"(linux-[a-z]{1,20}-py(3\.\d{1,2})-gcc\d{1,2}) / build(?:-osdc)?")
"""The jobs that build for the CPU of x86-64, with nothing special, and for which Python."""
_WHEEL = re.compile(r"dist/torch-[A-Za-z0-9_.+!-]{1,200}\.whl")


@dataclass(frozen=True)
class CiBuild:
    """A build of torch by PyTorch's CI.

    Attributes:
        page: of the workflow run.
        archive: address of its archive.
        python: the Python that it is for, such as ``3.10``.

    """

    page: str
    archive: str
    python: str


@dataclass(frozen=True)
class CiBuilds:
    """What PyTorch's CI has of a commit.

    Attributes:
        built: those that are there, of the newest run first.
        state: why there is none, or not yet.
        may_come: whether one may still come.

    """

    built: tuple[CiBuild, ...]
    state: str
    may_come: bool


def builds_of(rest: GithubRest, repository: str, commit: str) -> CiBuilds:
    """What PyTorch's CI has of a commit.

    Args:
        repository: ``owner/name``.

    Raises:
        GithubUnreachable, GithubRefused: see the client.

    """
    top = f"/repos/{quote(repository)}/actions"
    built, running, failed, seen = list[CiBuild](), False, False, False
    for item in rest.pages(f"{top}/workflows/{WORKFLOW}/runs", {"head_sha": commit}, within="workflow_runs"):
        number = item.get("id") if isinstance(item, dict) and item.get("head_sha") == commit else None
        if not isinstance(item, dict) or not isinstance(number, int):
            continue
        seen = True
        # One that waits for approval, as a first contribution does, counts as completed.
        running |= item.get("status") != "completed" or item.get("conclusion") == "action_required"
        for environment, python, is_over, conclusion in _jobs(rest, f"{top}/runs/{number}/jobs"):
            if conclusion == "success":
                page = f"https://github.com/{repository}/actions/runs/{number}"
                store = os.environ.get("OOTCI_PYTORCH_CI", STORE).rstrip("/")
                built.append(CiBuild(page, f"{store}/{repository}/{number}/{environment}/artifacts.zip", python))
            failed |= is_over and conclusion not in ("success", "skipped")
    if not seen:
        return CiBuilds((), f"there is no run of {WORKFLOW} for {commit[:10]}", may_come=True)
    state = "it did not build there" if failed else "it is being built" if running else "nothing was built for the CPU"
    return CiBuilds(tuple(built), state, may_come=running and not failed)


def _jobs(rest: GithubRest, path: str) -> Iterator[tuple[str, str, bool, object]]:
    for job in rest.pages(path, {}, within="jobs", may_miss=True):
        found = _JOB.fullmatch(str(job.get("name"))) if isinstance(job, dict) else None
        if isinstance(job, dict) and found is not None:
            yield found[1], found[2], job.get("status") == "completed", job.get("conclusion")


def take_wheel(build: CiBuild, folder: Path, *, seconds: float) -> Path:
    """Download the wheel of a build into a folder.

    Raises:
        DownloadProblem: it is not there, too large, or damaged.

    """
    archive = folder / "artifacts.zip"
    download(build.archive, archive, sha256=None, seconds=seconds, at_most=MAX_ARCHIVE)
    try:
        with archive.open("rb") as stream:
            if not is_bounded(stream):
                raise DownloadProblem(f"{build.archive} is no whole archive, or holds too many files")
        with zipfile.ZipFile(archive) as found:
            wheels = [item for item in found.infolist() if _WHEEL.fullmatch(item.filename)]
            if len(wheels) != 1:
                raise DownloadProblem(f"{build.archive} holds {len(wheels)} wheels of torch, not one")
            wheel = folder / wheels[0].filename.removeprefix("dist/")
            if wheels[0].file_size > MAX_WHEEL:
                raise DownloadProblem(f"{wheel.name} in {build.archive} is larger than {MAX_WHEEL >> 20} MiB")
            with found.open(wheels[0]) as source, wheel.open("wb") as target:
                shutil.copyfileobj(source, target, 1 << 20)
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError) as error:
        raise DownloadProblem(f"{build.archive} cannot be read ({type(error).__name__})") from error
    finally:
        archive.unlink(missing_ok=True)
    return wheel
