"""Every failure that a user can see: a stable id, an exit code, and a message in three parts.

The three parts are *what* happened, *where* (a file and line, a URL, a command) and *what to do* about it.
Exit codes: 0 fine, 1 the device failed or the gate says no, 2 the input is wrong, 3 our or the host's infrastructure
failed.
"""

from __future__ import annotations

from typing import ClassVar

EXIT_FINE = 0
EXIT_DEVICE = 1
EXIT_INPUT = 2
EXIT_INFRASTRUCTURE = 3


class OotciError(Exception):
    """Base of all errors that are shown to people.

    Args:
        what: what happened, one sentence without a full stop.
        where: the place, such as ``devices/x.yaml:12`` or a URL.
        fix: what the reader can do about it, in the imperative.

    """

    id: ClassVar[str]
    exit_code: ClassVar[int]
    meaning: ClassVar[str]

    def __init__(self, what: str, *, where: str, fix: str) -> None:
        super().__init__(what)
        self.what = what
        self.where = where
        self.fix = fix

    def __str__(self) -> str:
        return f"{self.what}\n  where: {self.where}\n  what to do: {self.fix}"


class InputError(OotciError):
    """The input is wrong: a device file, a flag, or a file of another stage."""

    exit_code = EXIT_INPUT


class InfrastructureError(OotciError):
    """Our own or the host's infrastructure failed."""

    exit_code = EXIT_INFRASTRUCTURE


class DeviceFileUnreadable(InputError):
    id = "DEV-001"
    meaning = "The device file cannot be read: it is missing, not a regular file, or not UTF-8 text."


class DeviceFileTooLarge(InputError):
    id = "DEV-002"
    meaning = "The device file is larger than a device file can sensibly be."


class DeviceFileSyntax(InputError):
    id = "DEV-003"
    meaning = "The device file is not valid YAML."


class DeviceFileDuplicateKey(InputError):
    id = "DEV-004"
    meaning = "The same key stands twice in one mapping, so that one of the two values would be lost."


class DeviceFileTooComplex(InputError):
    id = "DEV-005"
    meaning = "The device file expands to more values, or nests deeper, than a device file can sensibly do."


class DeviceFileInvalid(InputError):
    id = "DEV-006"
    meaning = "The device file is valid YAML but not a valid device: an unknown key, a missing key or a wrong value."


class DeviceFileMisnamed(InputError):
    id = "DEV-007"
    meaning = "The file's name and the device's `name` differ."


class NoSuchDevice(InputError):
    id = "DEV-008"
    meaning = "No device file has that name."


class NoDevices(InputError):
    id = "DEV-009"
    meaning = "The devices folder does not exist or holds no device file."


class StageFileMissing(InputError):
    id = "FILE-001"
    meaning = "A stage was started without the file that the stage before it writes."


class StageFileInvalid(InputError):
    id = "FILE-002"
    meaning = "A file that another stage wrote does not follow its schema."


class StageFileVersion(InputError):
    id = "FILE-003"
    meaning = "A file that another stage wrote has a schema version that this version of the tool does not read."


class StageFileTooLarge(InputError):
    id = "FILE-004"
    meaning = "A file that another stage wrote is larger than any that the tool writes."


class BadOption(InputError):
    id = "CLI-001"
    meaning = "An option has a value that cannot be used."


class TorchWheelMissing(InputError):
    id = "TORCH-002"
    meaning = "TORCH names a wheel file that does not exist or is not a torch wheel."


class TorchNotBuilt(InfrastructureError):
    id = "TORCH-004"
    meaning = "No wheel of torch came of a ref or pull request: its sources cannot be had, or do not build."


class NothingToBisect(InputError):
    id = "BIS-001"
    meaning = "The history shows no nightly on which the test passed and a later one on which it failed."


class NightlyMissing(InputError):
    id = "BIS-002"
    meaning = "A nightly was named that the package index does not have, or two in the wrong order."


class BisectionChanged(InputError):
    id = "BIS-003"
    meaning = "What a bisection holds fixed, the plugin or the device file, has changed since it began."


class NoSuchRun(InputError):
    id = "RUN-001"
    meaning = "A run was named that the history does not hold, or a name that fits more than one."


class PullRequestMissing(InputError):
    id = "PULL-001"
    meaning = "PyTorch's repository has no pull request of that number that could be merged."


class NotANightly(InputError):
    id = "HIST-006"
    meaning = "A plan tests a pull request or another commit of PyTorch; the history keeps nightlies only."


class PyTorchUnreachable(InfrastructureError):
    id = "PULL-002"
    meaning = "PyTorch's repository cannot be asked about a pull request."


class IndexUnreachable(InfrastructureError):
    id = "TORCH-003"
    meaning = "PyTorch's package index cannot be reached, or lists no torch for this Python and machine."


class ToolMissing(InfrastructureError):
    id = "HOST-001"
    meaning = "A program that the stage needs is not on this machine."


class HostFailure(InfrastructureError):
    id = "HOST-002"
    meaning = "The machine refused something that the tool needs: a folder, a file, disk space."


class Busy(InfrastructureError):
    id = "HOST-003"
    meaning = "Another run of the tool holds the lock of the same folder."


class DeviceAbsent(InfrastructureError):
    id = "HOST-004"
    meaning = "The device is not there on this machine, or its check failed."


class HistoryConflict(InputError):
    id = "HIST-001"
    meaning = "The history already holds a different record under the same identity; history is never rewritten."


class HistoryCorrupt(InfrastructureError):
    id = "HIST-002"
    meaning = "A record of the history cannot be read back."


class HistoryUnreachable(InfrastructureError):
    id = "HIST-003"
    meaning = "The data branch cannot be fetched from, or pushed to, its remote."


class HistoryOutdated(InputError):
    id = "HIST-004"
    meaning = "The history folder is of a version of the format before the one that this tool reads."


class NotInHistory(InputError):
    id = "HIST-005"
    meaning = "A device or a test was named of which the history holds nothing."


class DeliveryInvalid(InputError):
    id = "RELAY-001"
    meaning = "What PyTorch's cross-repository CI relay delivered cannot be read, or is no pull request and no push."


class RelayRefused(InputError):
    id = "RELAY-002"
    meaning = "The relay takes no reports of whoever sends one, or there is no token to say who that is."


class RelayOutOfOrder(RelayRefused):
    id = "RELAY-004"
    meaning = "The relay refuses a report because of what came before it, or did not come before it."


class RelayUnreachable(InfrastructureError):
    id = "RELAY-003"
    meaning = "The relay, or who gives out the token for it, does not answer, or answers that it cannot just now."


class NightlyStale(InfrastructureError):
    id = "NIGHT-001"
    meaning = "The newest nightly is too old, or there has been none: what runs it every night is broken."


class GithubUnreachable(InfrastructureError):
    id = "HUB-001"
    meaning = "GitHub's API did not answer, or its rate limit is used up for longer than one waits."


class GithubRefused(InfrastructureError):
    id = "HUB-002"
    meaning = "GitHub's API refused a request, or answered something that cannot be used."
