"""What the suite upstream is told: where PyTorch's own tests are, and which of them are run."""

from __future__ import annotations

from ootci.model.build import Build
from ootci.model.commit import full_commit
from ootci.model.device import RegisteredDevice, upstream_list
from ootci.model.workspace import Workspace


def suite_options(item: RegisteredDevice, build: Build, workspace: Workspace) -> dict[str, tuple[str, ...]]:
    """The options of the suites, by suite, that depend on where things lie."""
    commit = full_commit(build.torch.git_version if build.torch else None)
    if commit is None:
        return {}
    tests = workspace.upstream(commit) / "test"
    allowed = upstream_list(item.path, item.device.torch_name)
    return {"upstream": (f"--upstream-tests={tests.resolve()}", f"--upstream-allow={allowed.resolve()}")}
