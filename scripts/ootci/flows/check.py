"""The checks of one device file, for the command and for the review of a pull request."""

from __future__ import annotations

from pathlib import Path

from ootci.adapters.github_rest import GithubRest
from ootci.errors import OotciError
from ootci.flows.context import clock
from ootci.model.device import BAD_RANGES, load_bad_ranges
from ootci.model.review import CheckResult, CheckState, FileReview
from ootci.stages.onboard.checks import Checked, check_file, failed_by, require_no_link
from ootci.stages.onboard.online import check_online


def checked(path: Path, rest: GithubRest | None) -> tuple[FileReview, Checked | None]:
    """Check one file below devices/, online where there is a client; the result, and what is in a device file."""
    name = path.as_posix()[-500:]
    if path.parts[-2:] == BAD_RANGES.parts:
        return FileReview(path=name, checks=(_bad_ranges(path),)), None
    found = check_file(path, clock().date())
    results = found.results + (check_online(found.file, rest) if rest else ())
    return FileReview(path=name, device=found.file.device.name if found.file else None, checks=results), found


def _bad_ranges(path: Path) -> CheckResult:
    """Check the file with the nights that are excluded for all devices."""
    try:
        require_no_link(path)
        load_bad_ranges(path)
    except OotciError as error:
        return failed_by("nights", error)
    return CheckResult(check="nights", state=CheckState.PASSED)
