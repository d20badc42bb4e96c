"""An artifact that a stranger made costs no more memory than its own size."""

from __future__ import annotations

import io
import tracemalloc
import zipfile
from pathlib import Path
from typing import cast

import pytest
from loopback import running, serving

from ootci.adapters.github_artifacts import Artifact, ArtifactProblem, Limits, artifact_file
from ootci.adapters.github_rest import GithubRest

ENTRIES = 20_000


class Points:
    """Answers with the address of an artifact's archive, as GitHub does."""

    def __init__(self, address: str) -> None:
        self.address = address

    def points_to(self, path: str) -> str:
        return self.address


def test_a_list_of_too_many_files_is_not_read(tmp_path: Path) -> None:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for number in range(ENTRIES):
            archive.writestr(str(number), b"")
    (tmp_path / "zip").write_bytes(made.getvalue())
    with running(serving(tmp_path)) as server:
        rest = cast("GithubRest", Points(f"{server.url}/zip"))
        artifact = Artifact("/repos/o/n/actions/artifacts/1/zip", "run-dev-1", len(made.getvalue()), "c")
        tracemalloc.start()
        try:
            with pytest.raises(ArtifactProblem, match="more than 100 files"):
                artifact_file(rest, artifact, "run.json", Limits(archive=8 << 20))
            _, peak = tracemalloc.get_traced_memory()
        finally:
            tracemalloc.stop()
    assert peak < 3 * len(made.getvalue())
