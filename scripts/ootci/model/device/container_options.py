"""Options of ``docker create`` that a device file may have, and what of the machine may be mounted.

A device file comes with a pull request, and a maintainer reads it once. An option that is not listed is refused, so
that none that makes the container the machine's owner is overlooked.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_CAPABILITIES = {"IPC_LOCK", "SYS_NICE", "SYS_PTRACE"}
_WHOLE_MACHINE = re.compile(
    r"/dev/(?:(?:mem|kmem|port|mapper|disk|block)\b|(?:sd|hd|vd|xvd|nvme|dm-|loop|md)[a-z0-9]*)"
)
"""Memory and disks: a container that has them controls the machine."""


def _any(value: str) -> bool:
    return bool(value)


def _one_of(*values: str) -> Callable[[str], bool]:
    return lambda value: value in values


def _device(value: str) -> bool:
    return (
        bool(re.fullmatch(r"/dev/[^:]+(:[^:]+){0,2}", value)) and not _WHOLE_MACHINE.match(value) and ".." not in value
    )


def _capability(value: str) -> bool:
    return value.upper().removeprefix("CAP_") in _CAPABILITIES


def _variable(value: str) -> bool:
    """Without a value it would be taken from the runner's own environment."""
    return bool(re.match(r"[A-Za-z_][A-Za-z0-9_]*=", value))


_VALUES: dict[str, Callable[[str], bool]] = {
    "--device": _device,
    "--gpus": _any,
    "--runtime": _any,
    "--group-add": _any,
    "--shm-size": _any,
    "--ulimit": _any,
    "--memory": _any,
    "--cpus": _any,
    "--cpuset-cpus": _any,
    "--pids-limit": _any,
    "--hostname": _any,
    "--user": _any,
    "--env": _variable,
    "-e": _variable,
    "--ipc": _one_of("host", "private", "shareable"),
    "--cap-add": _capability,
    "--security-opt": _one_of("no-new-privileges", "seccomp=unconfined"),
}
"""Each option with what its value has to be; ``--init`` has none."""

ALLOWED = (*_VALUES, "--init")


def checked_options(text: str) -> str:
    """The options, if each is allowed.

    Raises:
        ValueError: one is not, or they cannot be told apart without a shell.

    """
    if odd := re.search(r"[^A-Za-z0-9_./:=,@+ -]", text):
        raise ValueError(f"the character U+{ord(odd.group()):04X} is not allowed in options of a container")
    words = iter(text.split())
    for word in words:
        name, given, value = word.partition("=")
        if word == "--init":
            continue
        if name not in _VALUES:
            raise ValueError(f"the option `{name[:40]}` is not allowed; allowed are {', '.join(ALLOWED)}")
        value = value if given else next(words, "")
        if value.startswith("-") or not _VALUES[name](value):
            raise ValueError(f"the option `{name}` is not allowed with `{value[:100]}`")
    return text


_CLOSED = re.compile(
    r"/(?:etc|root|home|var|usr|boot|dev|lib|lib64|opt|bin|sbin)?|/(?:proc|sys|run|var/run)(?:/.*)?|.*\.sock"
)


def checked_volume(text: str) -> str:
    """The volume, if it is no folder by which a container owns the machine.

    Raises:
        ValueError: it is one.

    """
    source = text.partition(":")[0]
    parts = source.split("/")
    if ".." in parts or _CLOSED.fullmatch("/" + "/".join(part for part in parts if part not in ("", "."))):
        raise ValueError(
            f"`{source[:100]}` is not mounted into a container; name the folder or file that the device needs"
        )
    return text
