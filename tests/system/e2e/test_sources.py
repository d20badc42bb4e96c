"""Where torch and the plugin come from: a loopback index, a git repository, a package; and when they do not come."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
from base64 import b64encode
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from commands import Ran, Tool
from drawn import deep_but
from e2e.packages import NIGHTLY, RELEASE, serve_torch
from loopback import Quiet, Server, running
from misbehaving import plugin_wheel, write_device, write_suites
from repositories import commit, git, repository

pytestmark = pytest.mark.long

PASSWORD = "s3cret-of-a-vendor"  # noqa: S105 - it opens nothing
AUTHORIZATION = b64encode(f"tests:{PASSWORD}".encode())


@pytest.fixture
def index(tmp_path: Path) -> Iterator[dict[str, str]]:
    """PyTorch's indexes, on loopback, with one stand-in for torch each."""
    with serve_torch(tmp_path / "index") as variables:
        yield variables


def _packed(folder: Path, name: str, extra: str = "") -> dict[str, str]:
    """A device that passes, whose plugin is a package; gives the variables with which pip finds it."""
    write_device(folder / "devices", name, "passes", source=f"package: torch-{name}==1.0", extra=extra)
    return {"PIP_FIND_LINKS": str(plugin_wheel(folder / "wheels", name).parent)}


def _nightly(folder: Path, ootci: Tool, env: dict[str, str]) -> tuple[Ran, dict[str, Any]]:
    write_suites(folder / "suites")
    ran = ootci("nightly", "--suites", "suites", cwd=folder, env=env)
    found = json.loads((folder / ".ootci" / "verdicts.json").read_text(encoding="utf-8"))
    return ran, {item["device"]: item for item in found["devices"]}


def _plugin(folder: Path, device: str) -> dict[str, Any]:
    """What the device's last run tells of its plugin."""
    run = json.loads((folder / ".ootci" / "runs" / device / "run.json").read_text(encoding="utf-8"))
    plugin: dict[str, Any] = run["plugin"]
    return plugin


def test_a_plugin_from_a_branch_of_a_repository_is_built_on_the_nightly(
    tmp_path: Path, ootci: Tool, index: dict[str, str]
) -> None:
    folder = tmp_path / "repository"
    source = f"git: {{url: {folder}, ref: stable, subdirectory: python}}"
    file = write_device(tmp_path / "devices", "cloned", "passes", source=source)
    folder.mkdir()
    file.with_suffix("").rename(folder / "python")
    git(folder, "init", "--quiet", "--initial-branch=main")
    git(folder, "commit", "--quiet", "--allow-empty", "-m", "empty")
    git(folder, "checkout", "--quiet", "-b", "stable")
    head = commit(folder, "plugin")
    ran, devices = _nightly(tmp_path, ootci, index)
    assert ran.code == 0, ran.out + ran.err
    assert devices["cloned"]["torch"]["version"] == NIGHTLY
    assert devices["cloned"]["torch_request"]["channel"] == "nightly"
    assert devices["cloned"]["torch_request"]["fallback_reason"] is None
    plugin = _plugin(tmp_path, "cloned")
    assert (plugin["commit"], plugin.get("new_commits")) == (head, None)
    # The plugin's sources change, and then a file outside them, for which the wheel that is there is taken.
    for changed, count in (("python/notes.txt", 1), ("notes.txt", 2)):
        before = head
        for number in range(count):
            (folder / changed).write_text(str(number), encoding="utf-8")
            head = commit(folder)
        ran = ootci("nightly", "--suites", "suites", cwd=tmp_path, env=index)
        assert ran.code == 0, ran.out + ran.err
        plugin = _plugin(tmp_path, "cloned")
        assert (plugin["commit"], plugin["new_commits"]) == (head, {"since": before, "until": head, "count": count})


@pytest.mark.deep
def test_a_plugin_whose_package_lies_beside_its_build_script_is_built_every_night(
    tmp_path: Path, ootci: Tool, index: dict[str, str]
) -> None:
    file = write_device(tmp_path / "devices", "renewed", "passes")
    plugin = file.with_suffix("")
    backend = plugin / "backend.py"
    backend.write_text("import torch\n" + backend.read_text(encoding="utf-8"), encoding="utf-8")
    package = plugin / "torch_renewed" / "__init__.py"
    package.parent.mkdir()
    package.write_text("from torch_renewed import _C\n", encoding="utf-8")  # which is compiled into the wheel only
    first, _ = _nightly(tmp_path, ootci, index)
    assert first.code == 0, first.out + first.err
    (plugin / "README.md").write_text("Another commit.\n", encoding="utf-8")
    second = ootci("nightly", "--suites", "suites", cwd=tmp_path, env=index)
    assert second.code == 0, second.out + second.err
    text = file.read_text(encoding="utf-8")
    file.write_text(text.replace("distribution: torch-renewed", "distribution: torch-renwed"), encoding="utf-8")
    third = ootci("nightly", "--suites", "suites", cwd=tmp_path, env=index)
    assert third.code == 1, third.out + third.err
    assert "not one wheel of `torch-renwed` (`plugin.distribution`)" in third.out


@pytest.mark.deep
def test_a_plugin_that_is_a_package_is_installed_ready_made(tmp_path: Path, ootci: Tool, index: dict[str, str]) -> None:
    ran, devices = _nightly(tmp_path, ootci, {**index, **_packed(tmp_path, "packed")})
    assert ran.code == 0, ran.out + ran.err
    assert devices["packed"]["verdict"] == "OK"


SOURCES = {
    "no-repository": ("{folder}/nowhere", "main", "BUILD_BROKEN", "does not appear to be a git repository"),
    "no-branch": ("{folder}/repository", "wrong", "BUILD_BROKEN", "couldn't find remote ref wrong"),
    "no-server": ("http://127.0.0.1:1/plugin.git", "main", "INFRA", "Failed to connect to 127.0.0.1 port 1"),
}


@pytest.mark.parametrize("case", deep_but({"no-branch"}, SOURCES))
def test_what_the_device_file_names_wrongly_is_the_vendor_s_and_what_cannot_be_reached_is_not(
    tmp_path: Path, ootci: Tool, index: dict[str, str], case: str
) -> None:
    url, ref, verdict, reason = SOURCES[case]
    (tmp_path / "repository").mkdir()
    repository(tmp_path / "repository")
    source = f"git: {{url: {url.format(folder=tmp_path)}, ref: {ref}}}"
    write_device(tmp_path / "devices", "gone", "passes", source=source)
    ran, devices = _nightly(tmp_path, ootci, index)
    assert (ran.code, devices["gone"]["verdict"]) == ({"INFRA": 3}.get(verdict, 1), verdict)
    assert devices["gone"]["reason"].startswith("fetch: the plugin's sources cannot be fetched: ")
    assert reason in devices["gone"]["reason"]


@pytest.mark.deep
def test_a_private_repository_is_fetched_with_the_password_of_the_user_that_runs_the_nightly(
    tmp_path: Path, ootci: Tool, index: dict[str, str]
) -> None:
    with running(Server(partial(_Private, tmp_path))) as server:
        source = f"git: {{url: {server.url}/plugin, ref: main}}"
        file = write_device(tmp_path / "devices", "private", "passes", source=source)
        file.with_suffix("").rename(tmp_path / "plugin")
        repository(tmp_path / "plugin")
        home = tmp_path / "home"
        home.mkdir()
        ran, devices = _nightly(tmp_path, ootci, {**index, "HOME": str(home)})
        assert (ran.code, devices["private"]["verdict"]) == (1, "BUILD_BROKEN"), ran.err
        assert "could not read Username" in devices["private"]["reason"]
        (home / ".netrc").write_text(f"machine 127.0.0.1 login tests password {PASSWORD}\n", encoding="utf-8")
        ran, devices = _nightly(tmp_path, ootci, {**index, "HOME": str(home)})
        assert (ran.code, devices["private"]["verdict"]) == (0, "OK"), ran.err
    kept = (path for part in (".ootci/runs", "data", "site") for path in (tmp_path / part).rglob("*") if path.is_file())
    seen = [ran.out.encode(), ran.err.encode(), *(path.read_bytes() for path in kept)]
    assert len(seen) > 10
    assert not any(word in text for text in seen for word in (PASSWORD.encode(), AUTHORIZATION)), (
        "the password was kept"
    )


class _Private(Quiet):
    """Serves the repositories of a folder by git's own program, to whoever knows the password."""

    def __init__(self, folder: Path, *given: Any) -> None:
        self._folder = folder
        super().__init__(*given)

    def do_GET(self) -> None:
        self._serve()

    def do_POST(self) -> None:
        self._serve()

    def _serve(self) -> None:
        if self.headers.get("Authorization") != f"Basic {AUTHORIZATION.decode()}":
            self.answer(401, headers={"WWW-Authenticate": 'Basic realm="private"'})
            return
        path, _, query = self.path.partition("?")
        variables = {
            "GIT_PROJECT_ROOT": str(self._folder),
            "GIT_HTTP_EXPORT_ALL": "1",
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
        }
        sent = self.rfile.read(int(self.headers.get("Content-Length", "0")))
        sent = gzip.decompress(sent) if self.headers.get("Content-Encoding") == "gzip" else sent
        command = ("git", "http-backend")
        done = subprocess.run(command, input=sent, env={**os.environ, **variables}, capture_output=True, check=True)
        head, _, body = done.stdout.partition(b"\r\n\r\n")
        headers = dict(line.split(": ", 1) for line in head.decode().split("\r\n"))
        self.answer(int(headers.pop("Status", "200").split()[0]), body, headers)


@pytest.mark.deep
def test_a_torch_that_is_not_what_its_index_says_is_refused(tmp_path: Path, ootci: Tool, index: dict[str, str]) -> None:
    _packed(tmp_path, "tampered")
    page = tmp_path / "index" / "nightly" / "cpu" / "torch" / "index.html"
    text = page.read_text(encoding="utf-8")
    digest = text.split("sha256=")[1][:64]
    page.write_text(text.replace(digest, "0" * 64), encoding="utf-8")
    ran, devices = _nightly(tmp_path, ootci, index)
    assert (ran.code, devices["tampered"]["verdict"]) == (3, "INFRA")
    assert "torch cannot be installed" in devices["tampered"]["reason"]


def test_without_a_nightly_the_release_is_tested_and_said_everywhere(
    tmp_path: Path, ootci: Tool, index: dict[str, str]
) -> None:
    packed = _packed(tmp_path, "falling")
    unreachable = {**index, "OOTCI_NIGHTLY_INDEX": "http://127.0.0.1:9/nightly", **packed}
    ran, devices = _nightly(tmp_path, ootci, unreachable)
    assert ran.code == 0, ran.out + ran.err
    reason = devices["falling"]["torch_request"]["fallback_reason"]
    assert devices["falling"]["torch"]["version"] == RELEASE
    assert "connection refused" in reason
    assert f"FALLBACK: release {RELEASE} instead of nightly: {reason}" in ran.out
    for page in ("index.html", "d/falling/index.html"):
        assert "Tested on another PyTorch" in (tmp_path / "site" / page).read_text(encoding="utf-8")


def test_a_device_that_allows_no_fallback_is_infra_without_a_nightly(tmp_path: Path, ootci: Tool) -> None:
    _packed(tmp_path, "strict", "torch:\n  fallback: none\n")
    ran, devices = _nightly(tmp_path, ootci, {"OOTCI_NIGHTLY_INDEX": "http://127.0.0.1:9/nightly"})
    assert (ran.code, devices["strict"]["verdict"]) == (3, "INFRA")
    assert "no fallback is allowed" in devices["strict"]["reason"]
