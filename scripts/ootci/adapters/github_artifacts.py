"""Files out of artifacts of workflow runs. A stranger may have made an artifact, so all of it is bounded."""

from __future__ import annotations

import io
import shutil
import stat
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from ootci.adapters.download import DownloadProblem, read
from ootci.adapters.github_rest import GithubRest
from ootci.errors import GithubUnreachable

SECONDS = 300.0
_ENTRY = b"PK\x01\x02"
"""Begin of each entry in an archive's list of files. Source: APPNOTE.TXT, "Central directory structure"."""


class ArtifactProblem(Exception):
    """There is no such file that can be used. Its text is a reason for people."""


@dataclass(frozen=True)
class Limits:
    """How large an artifact may be.

    Attributes:
        archive: bytes of the archive.
        entries: files in it.
        content: bytes of what is taken out of it.

    """

    archive: int = 1 << 20
    entries: int = 100
    content: int = 1 << 20


@dataclass(frozen=True)
class Artifact:
    """An artifact that has not expired.

    Attributes:
        path: of its archive in GitHub's API.
        size: bytes of the archive, as GitHub counts them.
        commit: the commit that its run was for.

    """

    path: str
    name: str
    size: int
    commit: str


def artifacts(rest: GithubRest, repository: str, run: int, name: str = "") -> Iterator[Artifact]:
    """The artifacts of a workflow run, of all its attempts; none where there is no such run.

    Args:
        repository: ``owner/name``.
        name: the one name that is looked for; any when empty.

    Raises:
        GithubUnreachable, GithubRefused: see the client.

    """
    path, query = f"/repos/{quote(repository)}/actions/runs/{run}/artifacts", {"name": name} if name else {}
    for item in rest.pages(path, query, within="artifacts", may_miss=True):
        if not isinstance(item, dict) or item.get("expired") is not False:
            continue
        number, named, size, made_by = (item.get(key) for key in ("id", "name", "size_in_bytes", "workflow_run"))
        if not (isinstance(number, int) and isinstance(named, str) and isinstance(size, int)):
            continue
        if isinstance(made_by, dict) and named == (name or named):
            archive = f"/repos/{quote(repository)}/actions/artifacts/{number}/zip"
            yield Artifact(archive, named, size, str(made_by.get("head_sha")))


def artifact_file(rest: GithubRest, artifact: Artifact, name: str, limits: Limits = Limits()) -> bytes:
    """The content of a file of an artifact.

    Raises:
        ArtifactProblem: there is no such file, or it or the artifact is too large or broken.
        GithubUnreachable, GithubRefused: see the client.

    """
    with _opened(rest, artifact, limits) as archive:
        try:
            stream = archive.open(name)
        except KeyError:
            raise ArtifactProblem(f"the artifact holds no {name}") from None
        with stream:
            content = stream.read(limits.content + 1)
    if len(content) > limits.content:
        raise ArtifactProblem(f"{name} is larger than {limits.content >> 10} KiB")
    return content


def artifact_folder(rest: GithubRest, artifact: Artifact, folder: Path, limits: Limits) -> None:
    """Put every file of an artifact into a folder, in place of what is there.

    Raises:
        ArtifactProblem: it is too large or broken, or leads out of the folder; then there is no folder.
        GithubUnreachable, GithubRefused: see the client.

    """
    shutil.rmtree(folder, ignore_errors=True)
    left = limits.content
    with _opened(rest, artifact, limits) as archive:
        members = [member for member in archive.infolist() if not member.is_dir()]
        for member in members:
            path = PurePosixPath(member.filename)
            kind = stat.S_IFMT(member.external_attr >> 16)
            if path.is_absolute() or ".." in path.parts or "\\" in member.filename or kind not in (0, stat.S_IFREG):
                raise ArtifactProblem("the artifact holds what is no plain file in it")
        try:
            for member in members:
                target = folder.joinpath(*PurePosixPath(member.filename).parts)
                target.parent.mkdir(parents=True, exist_ok=True)
                with archive.open(member) as stream:
                    content = stream.read(left + 1)
                left -= len(content)
                if left < 0:
                    raise ArtifactProblem(f"the artifact holds more than {limits.content >> 20} MiB")
                target.write_bytes(content)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise


@contextmanager
def _opened(rest: GithubRest, artifact: Artifact, limits: Limits) -> Iterator[zipfile.ZipFile]:
    content = _archive(rest, artifact, limits)
    # Before it is opened: Python keeps half a kilobyte for each entry, of which an archive may have millions.
    if content.count(_ENTRY) > limits.entries:
        raise ArtifactProblem(f"the artifact holds more than {limits.entries} files")
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            yield archive
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, OSError) as error:
        raise ArtifactProblem(f"the artifact cannot be read ({type(error).__name__})") from error


def _archive(rest: GithubRest, artifact: Artifact, limits: Limits) -> bytes:
    too_large = ArtifactProblem(f"the artifact {artifact.name} is larger than {limits.archive >> 10} KiB")
    if artifact.size > limits.archive:
        raise too_large
    # GitHub points to a store of its own, which is asked without the token.
    address = rest.points_to(artifact.path)
    try:
        content, _ = read(address, at_most=limits.archive, seconds=SECONDS)
    except DownloadProblem as problem:
        if "more than" in str(problem):
            raise too_large from problem
        # The address contains its own credentials.
        raise GithubUnreachable(
            "the artifact cannot be downloaded", where=artifact.name, fix="run it again later: nothing is done twice"
        ) from None
    return content
