"""Every failure that a user can see: a stable id, an exit code, and a message in three parts.

The three parts are *what* happened, *where* (a file and line, a URL, a command) and *what to do* about it.
Exit codes: 0 fine, 1 the device failed or the gate answers no, 2 the input is wrong, 3 our or the host's infrastructure
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

    A class has what its errors have in common: ``meaning``, and ``remedy``, what mends most of them. The catalogue in
    the documentation is made of both.

    Args:
        what: what happened, one sentence without a full stop.
        where: the place, such as ``devices/x.yaml:12`` or a URL.
        fix: what the reader can do about it, in the imperative.

    """

    id: ClassVar[str]
    exit_code: ClassVar[int]
    meaning: ClassVar[str]
    remedy: ClassVar[str]
    others: tuple[OotciError, ...] = ()
    """Further errors of the same input, found in the same pass."""

    def __init__(self, what: str, *, where: str, fix: str) -> None:
        super().__init__(what)
        self.what = self.alone = what
        self.where = where
        self.fix = fix

    @property
    def rest(self) -> tuple[str, str]:
        """Where it happened and what to do, a line each."""
        return f"  where: {self.where}", f"  what to do: {self.fix}"

    def __str__(self) -> str:
        return "\n".join((self.what, *self.rest))


class InputError(OotciError):
    """The input is wrong: a device file, a flag, or a file of another stage."""

    exit_code = EXIT_INPUT


class InfrastructureError(OotciError):
    """Our own or the host's infrastructure failed."""

    exit_code = EXIT_INFRASTRUCTURE


class DeviceFileUnreadable(InputError):
    id = "DEV-001"
    meaning = "The device file cannot be read: it is missing, not a regular file, or not UTF-8 text."
    remedy = (
        "Check the path: it is looked for from the current folder. It has to be a plain file, no link and no "
        "folder, and text in UTF-8."
    )


class DeviceFileTooLarge(InputError):
    id = "DEV-002"
    meaning = "The device file is larger than a device file can sensibly be."
    remedy = (
        "A device file has a few hundred lines at most. Move long lists of known failures into the device's folder, "
        "and remove what does not belong there."
    )


class DeviceFileSyntax(InputError):
    id = "DEV-003"
    meaning = "The device file is not valid YAML."
    remedy = (
        "Look at the line that is named. Mostly it is indentation, a tab, or text with a colon in it that needs quotes."
    )


class DeviceFileDuplicateKey(InputError):
    id = "DEV-004"
    meaning = "The same key is twice in one mapping, so that one of the two values would be lost."
    remedy = "Keep one of the two and remove the other; both lines are named."


class DeviceFileTooComplex(InputError):
    id = "DEV-005"
    meaning = "The device file expands to more values, or nests deeper, than a device file can sensibly do."
    remedy = (
        "Write values out instead of repeating them by anchors and aliases, and nest no deeper than the worked "
        "example does."
    )


class DeviceFileInvalid(InputError):
    id = "DEV-006"
    meaning = "The device file is valid YAML but not a valid device: an unknown key, a missing key or a wrong value."
    remedy = (
        "The message names the key and the line. Compare with devices/openreg.yaml, or let an editor complete the "
        "keys with the schema. `ootci device check FILE` lists every problem of the file."
    )

    def __init__(self, what: str, *, where: str, fix: str, others: tuple[DeviceFileInvalid, ...] = ()) -> None:
        more = f" (and {len(others)} more: run `ootci device check`)" if others else ""
        super().__init__(what + more, where=where, fix=fix)
        self.alone = what
        self.others = others


class DeviceFileMisnamed(InputError):
    id = "DEV-007"
    meaning = "The file's name and the device's `name` differ."
    remedy = "Rename the file or change the key, so that `devices/x.yaml` has `name: x`."


class NoSuchDevice(InputError):
    id = "DEV-008"
    meaning = "No device file has that name."
    remedy = "Use a name that `ootci device list` shows, or say with `--devices` where the device files are."


class NoDevices(InputError):
    id = "DEV-009"
    meaning = "The devices folder does not exist or holds no device file."
    remedy = "Run the command in a checkout, or name the folder with `--devices` or OOTCI_DEVICES."


class StageFileMissing(InputError):
    id = "FILE-001"
    meaning = "A stage was started without the file that the stage before it writes."
    remedy = (
        "Run the stage before it first; `ootci nightly` runs them all. With another work folder, give every command "
        "the same `--work`."
    )


class StageFileInvalid(InputError):
    id = "FILE-002"
    meaning = "A file that another stage wrote does not follow its schema."
    remedy = (
        "Run the stage again that writes the file. Where it was written by hand or by another program, compare it "
        "with `ootci schema`."
    )


class StageFileVersion(InputError):
    id = "FILE-003"
    meaning = "A file that another stage wrote has a schema version that this version of the tool does not read."
    remedy = (
        "Install the version of the tool that wrote the file, or a newer one; or run the stage again that writes it."
    )


class StageFileTooLarge(InputError):
    id = "FILE-004"
    meaning = "A file that another stage wrote is larger than any that the tool writes."
    remedy = (
        "Something else wrote the file, or a suite reported without end. Look into it, remove it, and run its stage "
        "again."
    )


class BadOption(InputError):
    id = "CLI-001"
    meaning = "An option has a value that cannot be used."
    remedy = "The message lists the accepted values; `--help` has them all."


class BadUsage(InputError):
    id = "CLI-002"
    meaning = "The command line was not understood: an unknown command or option, or a value that is missing or wrong."
    remedy = "Add `--help` to the command: it lists its arguments and options. `ootci --help` lists the commands."


class TorchMissing(InputError):
    id = "TORCH-001"
    meaning = (
        "One night or version of torch was requested, and the index does not have it, or not for this Python and build."
    )
    remedy = (
        "Ask for one of those that the message names, or for `nightly`, which is the newest that can be used. No other "
        "torch is tested in place of a requested one."
    )


class TorchWheelMissing(InputError):
    id = "TORCH-002"
    meaning = "TORCH names a wheel file that does not exist, is not a torch wheel, or is for another Python."
    remedy = "Check the path, and that the file is a whole wheel of torch for this Python, named as it was built."


class WheelRefused(InputError):
    id = "WHEEL-001"
    meaning = "A wheel that was to be read is damaged, is not what its name promises, or is built to harm its reader."
    remedy = (
        "Download the wheel again. If it is refused again, tell its publisher: links, paths that lead out of the "
        "wheel, and members of several gigabytes are refused on purpose."
    )


class TorchNotBuilt(InfrastructureError):
    id = "TORCH-004"
    meaning = (
        "There is no wheel of torch of a ref or pull request: its sources cannot be fetched or do not build, or "
        "PyTorch's CI has none."
    )
    remedy = (
        "Read the log that is named. Give a ref that exists, and see that the machine has what PyTorch needs to be "
        "built."
    )


class NothingToBisect(InputError):
    id = "BIS-001"
    meaning = "The history shows no nightly on which the test passed and a later one on which it failed."
    remedy = "Name both ends with `--good` and `--bad`, or fetch the history with `ootci history fetch`."


class NightlyMissing(InputError):
    id = "BIS-002"
    meaning = "A nightly was named that the package index does not have, or two in the wrong order."
    remedy = "Name nightlies that the index still has, the good one before the bad one."


class BisectionChanged(InputError):
    id = "BIS-003"
    meaning = "What a bisection holds fixed, the plugin or the device file, has changed since it began."
    remedy = "Put back what has changed, or begin again with `--restart`."


class NoSuchRun(InputError):
    id = "RUN-001"
    meaning = "A run was named that the history does not hold, or a name that fits more than one."
    remedy = "Name a run as the message shows; `ootci history fetch` gets the newest ones."


class PullRequestMissing(InputError):
    id = "PULL-001"
    meaning = "PyTorch's repository has no pull request of that number that could be merged."
    remedy = "Name an open pull request that has no conflicts."


class NotANightly(InputError):
    id = "HIST-006"
    meaning = "A plan tests a pull request or another commit of PyTorch; the history keeps nightlies only."
    remedy = "Append plans of nightlies only. For a pull request, `ootci gate --pull-request` gives the answer."


class PlanMisdated(InputError):
    id = "HIST-007"
    meaning = "A plan is dated in the future, or before the newest nightly of the history: a clock is or was wrong."
    remedy = (
        "Set the machine's clock and plan again. A nightly that came into the history with a wrong date is left out "
        "with `ootci history withdraw`."
    )


class PyTorchUnreachable(InfrastructureError):
    id = "PULL-002"
    meaning = "PyTorch's repository cannot be asked about a pull request."
    remedy = "See whether the machine reaches the repository; OOTCI_PYTORCH_GIT names another one."


class IndexUnreachable(InfrastructureError):
    id = "TORCH-003"
    meaning = "A package index cannot be reached, or PyTorch's answers with no list of torch wheels."
    remedy = (
        "Try again later, or name a mirror with OOTCI_NIGHTLY_INDEX or OOTCI_RELEASE_INDEX; the message names which "
        "address was asked."
    )


class ToolMissing(InfrastructureError):
    id = "HOST-001"
    meaning = "A program that the stage needs is not on this machine."
    remedy = "Install the program, or put it on PATH; `ootci doctor` lists what is missing."


class HostFailure(InfrastructureError):
    id = "HOST-002"
    meaning = "The machine refused something that the tool needs: a folder, a file, disk space."
    remedy = "See what the message names: rights, a folder where a file should be, or a full disk."


class Busy(InfrastructureError):
    id = "HOST-003"
    meaning = "Another run of the tool holds the lock of the same folder."
    remedy = "Wait until the other process ends, or give each a folder of its own with `--work`."


class DeviceAbsent(InfrastructureError):
    id = "HOST-004"
    meaning = "The device is not there on this machine, or its check failed."
    remedy = "Look after the card, its driver and its check command on this machine, and run the same command again."


class ExternalRefused(InputError):
    id = "EXT-001"
    meaning = "What was reported of a device that is run elsewhere is another device's, too old, or was taken before."
    remedy = (
        "Let every run of the vendor's nightly put its newest run.json to the address that the device file names, and "
        "see that it ran."
    )


class ExternalUnreachable(InfrastructureError):
    id = "EXT-002"
    meaning = "The report of a device that is run elsewhere cannot be downloaded from the address in its device file."
    remedy = "Open the address of `external.run` without being logged in; where it has moved, change the device file."


class HistoryConflict(InputError):
    id = "HIST-001"
    meaning = "The history already holds a different record under the same identity; history is never rewritten."
    remedy = (
        "Find out which of the two is true. What is published stays: give the other one an identity of its own, as "
        "another attempt has."
    )


class HistoryCorrupt(InfrastructureError):
    id = "HIST-002"
    meaning = "A record of the history cannot be read back."
    remedy = (
        "Get the history again from its branch with `ootci history fetch` into another folder, and see with `ootci "
        "history verify` that it is complete."
    )


class HistoryUnreachable(InfrastructureError):
    id = "HIST-003"
    meaning = "The data branch cannot be fetched from, or pushed to, its remote."
    remedy = "Check the address, the network and the rights of the token. Nothing is lost: repeat the command."


class NotInHistory(InputError):
    id = "HIST-005"
    meaning = "A device, a test or a nightly was named of which the history holds nothing."
    remedy = "Check the spelling; `ootci device list` has the devices, and a test may be named with `*` in it."


class DeliveryInvalid(InputError):
    id = "RELAY-001"
    meaning = "What PyTorch's cross-repository CI relay delivered cannot be read, or is no pull request and no push."
    remedy = "Give with `--payload` the file that holds what was delivered, as it was delivered."


class RelayRefused(InputError):
    id = "RELAY-002"
    meaning = "The relay does not take reports of this sender, or there is no token to identify it."
    remedy = (
        "Let the job have `permissions: id-token: write`, or put a token into OOTCI_RELAY_TOKEN; the relay's "
        "maintainers have to allow the repository."
    )


class RelayOutOfOrder(RelayRefused):
    id = "RELAY-004"
    meaning = "The relay refuses a report because of what came before it, or did not come before it."
    remedy = "Report `in_progress` once and, within six hours, `completed` once. What was reported needs nothing more."


class RelayUnreachable(InfrastructureError):
    id = "RELAY-003"
    meaning = "The relay, or who gives out the token for it, does not answer, or answers that it cannot just now."
    remedy = "Run it again later; a longer `--patience` waits longer. No device is red because of it."


class NightlyStale(InfrastructureError):
    id = "NIGHT-001"
    meaning = "The newest nightly is too old, or there has been none: what runs it every night is broken."
    remedy = "Look at the workflow that runs the nightly: was it disabled, did it fail, is a runner gone?"


class GithubUnreachable(InfrastructureError):
    id = "HUB-001"
    meaning = "GitHub's API did not answer, or its rate limit is used up for longer than one waits."
    remedy = "Run it again later; what has been done is not done twice."


class GithubRefused(InfrastructureError):
    id = "HUB-002"
    meaning = "GitHub's API refused a request, or answered something that cannot be used."
    remedy = "Check the token: whether it is still good, and what it is allowed to do."
