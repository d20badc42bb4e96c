"""The reference pages, made from the code at every build, so that none of them can be out of date."""

from __future__ import annotations

from pathlib import Path

import reference_allowances
import reference_command_line
import reference_device_file
import reference_errors
import reference_schemas
import reference_settings
import reference_torch_versions
import reference_workflows


def files(root: Path) -> dict[str, str]:
    """Every file that is made, by its place below docs/.

    Args:
        root: the repository.

    """
    return {
        "reference/device-file.md": reference_device_file.page(root),
        "reference/command-line.md": reference_command_line.page(),
        "reference/errors.md": reference_errors.page(),
        "reference/workflows.md": reference_workflows.page(root),
        "reference/settings.md": reference_settings.page(root),
        "reference/numeric-allowances.md": reference_allowances.page(root),
        "reference/torch-versions.md": reference_torch_versions.page(root),
        **reference_schemas.files(),
    }
