"""The last thing that a failure says: how to see it again."""

from __future__ import annotations

import shlex


def reproduce(test_id: str, device: str) -> str:
    """The command that runs one test again. Ids are relative to the suites folder, so it is to be run there."""
    command = shlex.join(["python", "-m", "pytest", test_id, "--device", device])
    return f"Reproduce (from the suites folder): {command}"
