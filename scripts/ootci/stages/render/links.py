"""Which addresses a page may link to, and where the site and its pages are."""

from __future__ import annotations

import hashlib
import re
from urllib.parse import urlsplit

from ootci.errors import BadOption
from ootci.model.torch_build import full_commit

PYTORCH_COMMIT = "https://github.com/pytorch/pytorch/commit/"

LATEST = "latest"
"""The folder in which a device's newest report is shown."""
TRENDS = "trends"
"""The folder in which a device's last months are shown."""
ACCURACY = "accuracy"
"""The folder in which its operators' errors are shown."""
RUNS = "runs"
"""The folder in which all runs of a device are listed. No nightly's folder has one of these names."""

_ISSUE_OF_TORCH = re.compile(r"https://github\.com/pytorch/pytorch/(?:issues|pull)/[0-9]{1,9}")
_FOLDER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,79}")


def web_address(value: str | None) -> str | None:
    """The address if it is a plain http(s) one, else None: a page links to nothing else."""
    if value is None or len(value) > 2000 or re.search(r"[\s\x00-\x1f\x7f<>\"\\]", value):
        return None
    try:
        parts = urlsplit(value)
    except ValueError:
        return None
    return value if parts.scheme in ("http", "https") and parts.hostname and not parts.username else None


def site_address(value: str) -> str:
    """The address under which the site is published, with a slash at its end.

    Raises:
        BadOption: it is no plain http(s) address of a folder.

    """
    parts = urlsplit(value) if web_address(value) else None
    if parts is None or parts.query or parts.fragment:
        raise BadOption(
            f"`{value}` is not the address of a site",
            where="--address (variable OOTCI_ADDRESS, on the page Settings > Secrets and variables > Actions)",
            fix="give the front page's, such as https://example.github.io/tests/",
        )
    return value.rstrip("/") + "/"


def torch_issue(text: str | None) -> str | None:
    """The first issue or pull request of PyTorch that a text names."""
    found = _ISSUE_OF_TORCH.search(text or "")
    return found.group() if found else None


def pytorch_commit(git_version: str | None) -> str | None:
    """The commit's page, if the version is a full commit and nothing else."""
    return f"{PYTORCH_COMMIT}{git_version}" if full_commit(git_version) else None


def github_handle(handle: str) -> str:
    """The page of a GitHub user or team, from a handle that the device file's schema has checked."""
    owner, _, team = handle.removeprefix("@").partition("/")
    return f"https://github.com/orgs/{owner}/teams/{team}" if team else f"https://github.com/{owner}"


def device_path(name: str, folder: str | None = None) -> str:
    """Address of a device's page, from the top; with a folder, that of the page of one of its runs."""
    return f"d/{name}/{folder}/index.html" if folder else f"d/{name}/index.html"


def operators_path(device: str | None = None) -> str:
    """Address of the matrix of operators, from the top; with a device, of its own."""
    return f"operators/{device}/index.html" if device else "operators/index.html"


def models_path() -> str:
    """Address of the page of the models that devices train, from the top."""
    return "models/index.html"


def parity_path(device: str | None = None) -> str:
    """Address of the heat map of PyTorch's own tests, from the top; with a device, of its page."""
    return f"parity/{device}/index.html" if device else "parity/index.html"


def cluster_path(signature_id: str) -> str:
    """Address of the page of a failure's name, from the top."""
    return f"c/{folder_name(signature_id)}/index.html"


def nightly_path(plan_id: str) -> str:
    """Address of the page of a nightly, from the top."""
    return f"n/{folder_name(plan_id)}/index.html"


def folder_name(plan_id: str) -> str:
    """A folder for a nightly's pages: its id, or a digest where the id could not be a folder."""
    if _FOLDER.fullmatch(plan_id) and plan_id not in (LATEST, TRENDS, ACCURACY, RUNS):
        return plan_id
    return f"night-{hashlib.sha256(plan_id.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"
