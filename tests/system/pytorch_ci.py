"""What PyTorch's own CI shows of its builds, as two servers on this machine: GitHub's API, and the store of artifacts.

GitHub lists the runs of a workflow for one commit, and the jobs of a run, a page at a time; a run whose jobs wait for
approval is completed with the conclusion ``action_required``. The store is a bucket of S3 that shows nobody its list:
it answers 403 for what is not there, as S3 does then.

Source: GitHub's documentation, "REST API endpoints for workflow runs" and "... for workflow jobs"; Amazon's,
"GetObject"; pytorch/pytorch, ``.github/workflows/_linux-build.yml``.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from fake_github import FakeGithub, Handler
from loopback import Quiet, Server, running
from misbehaving import stub_torch_wheel

BUILD = "linux-jammy-py3.10-gcc11"
TOP = "/repos/pytorch/pytorch/actions"
DENIED = b"<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"


class Store(Server):
    """The store.

    Attributes:
        objects: content by path.
        asked: every path that was asked for.
        leaked: whether a token was sent along.

    """

    def __init__(self) -> None:
        super().__init__(_StoreHandler)
        self.objects: dict[str, bytes] = {}
        self.asked: list[str] = []
        self.leaked = False


class _StoreHandler(Quiet):
    server: Store

    def do_GET(self) -> None:
        self.server.asked.append(self.path)
        self.server.leaked |= "Authorization" in self.headers
        content = self.server.objects.get(self.path)
        if content is None:
            self.answer(403, DENIED, {"Content-Type": "application/xml"})
            return
        self.answer(200, content, {"ETag": '"1"', "Accept-Ranges": "bytes"})


class PyTorchCi(FakeGithub):
    """The API, and the store beside it.

    Attributes:
        runs: of ``pull.yml``, as GitHub shows them, by number.
        jobs: those of each run.

    """

    def __init__(self, store: Store) -> None:
        super().__init__(_CiHandler)
        self.store = store
        self.runs: dict[int, dict[str, object]] = {}
        self.jobs: dict[int, list[dict[str, object]]] = {}

    @property
    def environment(self) -> dict[str, str]:
        """What makes the tool take this for GitHub, and the store for that of PyTorch's CI."""
        return {**super().environment, "OOTCI_PYTORCH_CI": self.store.url}

    def run(self, commit: str, status: str = "completed", conclusion: str | None = "failure") -> int:
        """A run for a commit; hardly any run of PyTorch's CI is a success."""
        number = 9000 + len(self.runs)
        self.runs[number] = {"id": number, "head_sha": commit, "status": status, "conclusion": conclusion}
        # More than a page of other jobs.
        others = (f"linux-jammy-py3.10-clang18 / test (default, {shard})" for shard in range(120))
        self.jobs[number] = [{"name": name, "status": "completed", "conclusion": "success"} for name in others]
        return number

    def job(self, run: int, build: str = BUILD, status: str = "completed", conclusion: str | None = "success") -> None:
        """A job of a run that builds."""
        self.jobs[run].append({"name": f"{build} / build", "status": status, "conclusion": conclusion})
        self.jobs[run].append({"name": f"{build} / build-osdc", "status": "completed", "conclusion": "skipped"})

    def upload(self, run: int, files: Mapping[str, bytes], build: str = BUILD) -> None:
        """Keep the archive of a build."""
        content = io.BytesIO()
        with zipfile.ZipFile(content, "w") as archive:
            for path, text in {"build/bin/test_api": b"\x7fELF", ".additional_ci_files/x": b"", **files}.items():
                archive.writestr(path, text)
        self.store.objects[f"/pytorch/pytorch/{run}/{build}/artifacts.zip"] = content.getvalue()

    def built(self, folder: Path, commit: str, *, binaries: str = "", build: str = BUILD, tag: str = "") -> int:
        """A run with a build of a commit, or with that commit's Python files in a build of another one."""
        run = self.run(commit)
        self.job(run, build)
        found = re.search(r"py3\.(\d+)", build)
        tag = tag or f"cp3{found[1] if found else ''}-none-any"
        wheel = stub_torch_wheel(folder, f"2.15.0a0+git{commit[:7]}", binaries or commit, tag=tag)
        self.upload(
            run, {f"dist/{wheel.name}": wheel.read_bytes(), "dist/torchvision-1.0-py3-none-any.whl": b""}, build
        )
        return run


class _CiHandler(Handler):
    server: PyTorchCi

    def list(self) -> None:
        parts = urlsplit(self.path)
        query = {key: values[0] for key, values in parse_qs(parts.query).items()}
        jobs = re.fullmatch(rf"{TOP}/runs/(\d+)/jobs", parts.path)
        if parts.path == f"{TOP}/workflows/pull.yml/runs" and query.keys() <= {"head_sha", "per_page", "page"}:
            runs = [run for run in self.server.runs.values() if run["head_sha"] == query.get("head_sha")]
            self.paged(list(reversed(runs)), "workflow_runs")
        elif jobs and int(jobs[1]) in self.server.jobs and query.keys() <= {"filter", "per_page", "page"}:
            self.paged(self.server.jobs[int(jobs[1])], "jobs")
        else:
            super().list()


@contextmanager
def pytorch_ci() -> Iterator[PyTorchCi]:
    """Run both on free ports."""
    with running(Store()) as store, running(PyTorchCi(store)) as api:
        yield api
