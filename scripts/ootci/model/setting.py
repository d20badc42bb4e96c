"""Every setting from outside: variables, secrets and environments, of GitHub's repository and of processes.

``docs/machinery/reference_settings.py`` makes a table of them, and ``ootci setup --check`` looks for them.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from enum import Enum


class Kind(str, Enum):
    """What a setting is, and where it is set."""

    VARIABLE = "repository variable"
    SECRET = "repository secret"  # noqa: S105 - the name of a kind
    ENVIRONMENT = "repository environment"
    PROCESS = "environment variable"


class Form(str, Enum):
    """How the value of a repository variable is written."""

    TEXT = "text"
    ADDRESS = "an https address"
    LABELS = "a JSON list of labels"
    INDEX = "`pypi`"


@dataclass(frozen=True)
class Setting:
    """A setting.

    Attributes:
        name: its name; of secrets that device files name, a pattern.
        default: what happens when it is not set.
        form: how its value is written.

    """

    name: str
    kind: Kind
    default: str
    purpose: str
    form: Form = Form.TEXT


PUBLISH = "OOTCI_PUBLISH"
"""The repository variable that turns publishing to the package index on."""

SETTINGS = (
    Setting(
        "OOTCI_ADDRESS",
        Kind.VARIABLE,
        "the address of GitHub Pages",
        "Address of the dashboard, for a domain of your own.",
        Form.ADDRESS,
    ),
    Setting(
        "OOTCI_RELAY_URL",
        Kind.VARIABLE,
        "nothing is reported",
        "Address of PyTorch's relay, which receives the results of nightlies and pull requests.",
        Form.ADDRESS,
    ),
    Setting(
        "OOTCI_TORCH_RUNNER",
        Kind.VARIABLE,
        "torch is not built; a pull request of which PyTorch's CI has no wheel is `INFRA`",
        'Runner that builds torch where PyTorch\'s CI has none, as a JSON list of labels: `["self-hosted", "large"]`.',
        Form.LABELS,
    ),
    Setting(
        "OOTCI_TORCH_WHEELS",
        Kind.VARIABLE,
        "PyTorch's index of CPU wheels",
        "Where this repository's deep tests find torch: a folder of wheels or a package index.",
    ),
    Setting(
        PUBLISH,
        Kind.VARIABLE,
        "a release is on GitHub only",
        "`pypi` publishes each release on the package index, whose trusted publisher the workflow has to be.",
        Form.INDEX,
    ),
    Setting(
        "<DEVICE>_..._USERNAME",
        Kind.SECRET,
        "the image is pulled without a login",
        "User of a private registry. `credentials` of a device file has the name; a repository variable does as well.",
    ),
    Setting(
        "<DEVICE>_..._PASSWORD",
        Kind.SECRET,
        "the image is pulled without a login",
        "Password for it, which may only pull that image.",
    ),
    Setting(
        "GITHUB_TOKEN",
        Kind.SECRET,
        "made by GitHub for each job; do not create it",
        "Lets a job push the history, write issues or make a release, where its `permissions` allow it.",
    ),
    Setting("github-pages", Kind.ENVIRONMENT, "made by GitHub Pages", "Deployment of the dashboard."),
    Setting("pypi", Kind.ENVIRONMENT, "made without protection", "Publishing on the package index."),
    Setting("release", Kind.ENVIRONMENT, "made without protection", "Releases; its reviewers approve each of them."),
    Setting("OOTCI_DEVICES", Kind.PROCESS, "`devices`", "Folder of device files, or one device file."),
    Setting("OOTCI_IMAGE", Kind.PROCESS, "no container", "Image of the job's container, kept with the run."),
    Setting("OOTCI_NIGHTLY_INDEX", Kind.PROCESS, "PyTorch's", "Mirror of PyTorch's index of nightlies."),
    Setting("OOTCI_RELEASE_INDEX", Kind.PROCESS, "PyTorch's", "Mirror of PyTorch's index of releases."),
    Setting("OOTCI_PYTORCH_GIT", Kind.PROCESS, "PyTorch's", "Mirror of PyTorch's git repository."),
    Setting("OOTCI_PYTORCH_CI", Kind.PROCESS, "PyTorch's", "Mirror of the store of PyTorch's CI with its builds."),
    Setting("OOTCI_GITHUB_API", Kind.PROCESS, "`GITHUB_API_URL`, or github.com's", "Address of GitHub's API."),
    Setting("OOTCI_RELAY_URL", Kind.PROCESS, "nothing is reported", "As the repository variable, for `ootci relay`."),
    Setting("OOTCI_RELAY_TOKEN", Kind.PROCESS, "GitHub's OIDC token", "Token for the relay outside GitHub Actions."),
    Setting("OOTCI_RELAY_PATIENCE", Kind.PROCESS, "the option's default", "The option `--patience` of `ootci relay`."),
    Setting("OOTCI_TORCH_WHEELS", Kind.PROCESS, "PyTorch's index", "As the repository variable, for tests."),
    Setting("GITHUB_TOKEN", Kind.PROCESS, "public data only", "Token for GitHub's API and for pushing the history."),
)
"""All of them, those of the repository first."""


def labels_of(text: str) -> tuple[str, ...] | None:
    """The labels of a runner, from a JSON list; None where it is none."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(found, list) and found and all(isinstance(label, str) and label for label in found):
        return tuple(found)
    return None


def of_kind(kind: Kind) -> tuple[Setting, ...]:
    """The settings of one kind, in order."""
    return tuple(setting for setting in SETTINGS if setting.kind is kind)
