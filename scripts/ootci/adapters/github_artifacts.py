"""One file out of an artifact of a workflow run. A stranger may have made the artifact, so all of it is bounded."""

from __future__ import annotations

import io
import zipfile
import zlib
from urllib.parse import quote

from ootci.adapters.download import DownloadProblem, read
from ootci.adapters.github_rest import GithubRest
from ootci.errors import GithubUnreachable

MAX_ARCHIVE_BYTES = 1 << 20
MAX_ENTRIES = 100
SECONDS = 60.0


class ArtifactProblem(Exception):
    """There is no such file that can be used. Its text is a reason for people."""


def artifact_file(
    rest: GithubRest, repository: str, run: int, *, artifact: str, name: str, commit: str, at_most: int
) -> bytes:
    """The content of a file of an artifact.

    Args:
        repository: ``owner/name``.
        commit: the commit that the run was for.
        at_most: bytes of the file.

    Raises:
        ArtifactProblem: there is no such artifact or file, or it is too large or broken.
        GithubUnreachable, GithubRefused: see the client.

    """
    path = f"/repos/{quote(repository)}/actions"
    listed = rest.find(f"{path}/runs/{run}/artifacts", {"name": artifact, "per_page": "10"})
    found = listed.get("artifacts") if isinstance(listed, dict) else None
    for item in found if isinstance(found, list) else []:
        if not isinstance(item, dict) or item.get("name") != artifact or item.get("expired") is not False:
            continue
        made_by = item.get("workflow_run")
        if not isinstance(made_by, dict) or made_by.get("head_sha") != commit:
            continue
        size, number = item.get("size_in_bytes"), item.get("id")
        if not isinstance(size, int) or not isinstance(number, int) or size > MAX_ARCHIVE_BYTES:
            raise ArtifactProblem(f"the artifact {artifact} is larger than {MAX_ARCHIVE_BYTES >> 10} KiB")
        return _extracted(_archive(rest, f"{path}/artifacts/{number}/zip", artifact), name, at_most)
    raise ArtifactProblem(f"the run left no artifact {artifact}")


def _archive(rest: GithubRest, path: str, artifact: str) -> bytes:
    # GitHub points to a store of its own, which is asked without the token.
    address = rest.points_to(path)
    try:
        content, _ = read(address, at_most=MAX_ARCHIVE_BYTES, seconds=SECONDS)
    except DownloadProblem as problem:
        if "more than" in str(problem):
            raise ArtifactProblem(f"the artifact {artifact} is larger than {MAX_ARCHIVE_BYTES >> 10} KiB") from problem
        # The address contains its own credentials.
        raise GithubUnreachable(
            "the artifact cannot be downloaded", where=artifact, fix="run it again later: nothing is done twice"
        ) from None
    return content


def _extracted(archive: bytes, name: str, at_most: int) -> bytes:
    try:
        with zipfile.ZipFile(io.BytesIO(archive)) as opened:
            if len(opened.infolist()) > MAX_ENTRIES:
                raise ArtifactProblem(f"the artifact holds more than {MAX_ENTRIES} files")
            with opened.open(name) as stream:
                content = stream.read(at_most + 1)
    except KeyError:
        raise ArtifactProblem(f"the artifact holds no {name}") from None
    except (zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError, ValueError, OSError) as error:
        raise ArtifactProblem(f"the artifact cannot be read ({type(error).__name__})") from error
    if len(content) > at_most:
        raise ArtifactProblem(f"{name} is larger than {at_most >> 10} KiB")
    return content
