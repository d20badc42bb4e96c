"""Git: the state of a checkout, mirroring its source files, and fetching a repository."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import socket
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from ootci.adapters.process import Answer, ask
from ootci.errors import HostFailure, PyTorchUnreachable

TIMEOUT_SECONDS = 60.0
"""Of asking a repository for its refs."""
PYTORCH = "https://github.com/pytorch/pytorch.git"
ENVIRONMENT = {"GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
"""Variables with which git never prompts, and its messages, which are matched, are in English."""


def pytorch_repository() -> str:
    """Where PyTorch's sources are; ``OOTCI_PYTORCH_GIT`` names another repository, such as a mirror."""
    return os.environ.get("OOTCI_PYTORCH_GIT", PYTORCH)


def reason(said: str) -> str:
    """The line with git's error: the first fatal one, else the last that is no hint."""
    lines = [line.strip() for line in said.splitlines() if line.strip() and not line.startswith("hint:")]
    fatal = [line for line in lines if line.startswith(_FATAL)]
    return (fatal or lines[-1:] or ["no message"])[0]


_FATAL = ("fatal:", "error:", "remote: error:", "! [remote rejected]")
_NOT_THERE = re.compile(
    r"repository '[^']*' not found|Repository not found|does not appear to be a git repository|not our ref"
    r"|couldn't find remote ref|could not read (?:Username|Password)|Authentication failed"
)
"""Messages of git where a server answered: the repository or ref does not exist, or needs a password."""
_NO_SUCH_HOST = re.compile(r"Could not resolve host: ([\w.-]+)")


def does_not_exist(output: str) -> bool:
    """Whether git's output means that the repository or ref does not exist, and not that the network failed.

    A host does not exist if it cannot be resolved while the host of PyTorch's repository can.
    """
    host = _NO_SUCH_HOST.search(output)
    if host is not None:
        return not _resolves(host[1]) and _resolves(urlsplit(pytorch_repository()).hostname or "localhost")
    return _NOT_THERE.search(output) is not None


def _resolves(host: str) -> bool:
    """Whether a host name exists; true also if the name server does not answer."""
    try:
        socket.getaddrinfo(host, None)
    except socket.gaierror as error:
        return error.errno != socket.EAI_NONAME
    return True


_PROTOCOLS = "file:git:http:https:ssh"
"""Those that run no program that an address names (git's documentation, "git-remote-ext")."""


def _listed(url: str, names: Sequence[str]) -> Answer | None:
    """The refs of a repository that match names; None without git."""
    env = {**os.environ, **ENVIRONMENT, "GIT_ALLOW_PROTOCOL": _PROTOCOLS}
    with tempfile.TemporaryDirectory() as empty:  # outside any checkout, whose remotes and settings would count
        return ask(["git", "ls-remote", "--", url, *names], cwd=Path(empty), env=env, timeout=TIMEOUT_SECONDS)


def _commits(listed: Answer, names: Sequence[str]) -> dict[str, str]:
    """The commits of the refs with exactly these names; ls-remote matches patterns."""
    found = re.findall(r"^([0-9a-f]{40})\t(\S+)$", listed.out, re.MULTILINE)
    return {name: commit for commit, name in found if name in names}


def problem_of(url: str, ref: str) -> tuple[str, bool] | None:
    """Why a ref of a repository cannot be fetched, and whether that is certain; None where it can be.

    Of a commit, only the repository is checked: a server lists branches and tags only.
    """
    is_commit = re.fullmatch(r"[0-9a-fA-F]{40}", ref) is not None
    # As `git fetch` looks for a ref (git's documentation, "gitrevisions").
    names = [] if is_commit else [ref, f"refs/{ref}", f"refs/tags/{ref}", f"refs/heads/{ref}"]
    listed = _listed(url, names)
    if listed is None:
        return "git is not installed", False
    if listed.exit_code:
        return reason(listed.err), does_not_exist(listed.err)
    return None if is_commit or _commits(listed, names) else (f"it has no branch or tag `{ref}`", True)


def refs_of(url: str, *names: str) -> dict[str, str]:
    """The commits of a repository's refs, by their full names; a ref that is not there is left out.

    Raises:
        PyTorchUnreachable: the repository does not answer, or there is no git.

    """
    listed = _listed(url, names)
    if listed is None or listed.exit_code != 0:
        said = reason(listed.err) if listed else "there is no git"
        raise PyTorchUnreachable(
            f"the repository cannot be asked: {said}",
            where=url,
            fix="check the network, and OOTCI_PYTORCH_GIT",
        )
    return _commits(listed, names)


def commit_of(folder: Path, *others: Path) -> str | None:
    """The commit checked out in a folder, with ``-dirty`` for changes in it or in other paths that the commit does not
    have; None outside git.
    """
    head = ask(["git", "rev-parse", "HEAD"], cwd=folder)
    if head is None or head.exit_code != 0:
        return None
    status = ask(["git", "status", "--porcelain", "--", ".", *map(str, others)], cwd=folder)
    dirty = status is None or status.exit_code != 0 or bool(status.out.strip())
    return head.out.strip() + ("-dirty" if dirty else "")


def head_and_parents(folder: Path) -> tuple[str, tuple[str, ...]]:
    """The commit of a checkout and its parents, even if those were not fetched.

    Raises:
        HostFailure: git does not say.

    """
    head, content = (
        ask(["git", "rev-parse", "HEAD"], cwd=folder),
        ask(["git", "cat-file", "commit", "HEAD"], cwd=folder),
    )
    if head is None or content is None or head.exit_code or content.exit_code:
        raise HostFailure("git does not say what was fetched", where=str(folder), fix="see whether git works there")
    said, _, _ = content.out.partition("\n\n")
    return head.out.strip(), tuple(re.findall(r"^parent ([0-9a-f]{40})$", said, re.MULTILINE))


def source_files(folder: Path) -> list[Path]:
    """The files of a source tree and its submodules, sorted, without ignored ones. Outside git every file counts."""
    listed = ask(["git", "ls-files", "-co", "--exclude-standard", "-z", "--", "."], cwd=folder)
    if listed is not None and listed.exit_code == 0 and listed.out:
        paths = {folder / name for name in listed.out.split("\0") if name}
        # git lists a submodule, and another repository below the folder, as one entry.
        inner = {path for path in paths if path.is_dir() and not path.is_symlink() and (path / ".git").exists()}
        paths |= {file for path in inner for file in source_files(path)}
    else:
        paths = {path for path in folder.rglob("*") if "__pycache__" not in path.parts}
    return sorted(path for path in paths if path.is_file())


def source_digest(folder: Path) -> str:
    """SHA-256 over the names and contents of a folder's source files: the same sources, the same digest, anywhere."""
    digest = hashlib.sha256()
    for path in source_files(folder):
        content = path.read_bytes()
        digest.update(f"{path.relative_to(folder).as_posix()}\0{len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def sparse_commands(url: str, commit: str, below: str) -> list[list[str]]:
    """The commands that fetch one folder of one commit into an empty folder, to be run in that folder.

    A server that knows no filters sends the whole commit, which costs time only.
    """
    return [
        ["git", "init", "--quiet", "."],
        ["git", "remote", "add", "origin", url],
        ["git", "sparse-checkout", "set", "--cone", below],
        ["git", "fetch", "--quiet", "--depth=1", "--filter=blob:none", "origin", commit],
        ["git", "checkout", "--quiet", "--detach", "FETCH_HEAD"],
    ]


def clone_commands(url: str, ref: str, *, submodules: bool) -> list[list[str]]:
    """The commands that fetch one ref of a repository into an empty folder, to be run in that folder."""
    commands = [
        ["git", "init", "--quiet", "."],
        ["git", "fetch", "--quiet", "--depth=1", "--", url, ref],
        ["git", "checkout", "--quiet", "--detach", "FETCH_HEAD"],
    ]
    if submodules:
        commands.append(["git", "submodule", "update", "--quiet", "--init", "--recursive", "--depth=1"])
    return commands


@dataclass(frozen=True)
class ChangedFile:
    """A file that a commit changed.

    Attributes:
        status: the first letter of git's word for it: A, M, D, R (renamed), C (copied) or T (of another kind).
        path: where it is, or was where it is gone, with ``/`` between folders.
        before: where it was before, if it was renamed or copied.

    """

    status: str
    path: str
    before: str | None = None


def changed_files(folder: Path) -> tuple[ChangedFile, ...]:
    """The files that a checkout's commit changed since its first parent; of a merge, all that it merged.

    Nothing of the commit is run: for names, git runs no filter, driver or hook.

    Raises:
        HostFailure: git does not say, for instance because the parent was not fetched.

    """
    # Device files are short and similar, so that a lower threshold would report renames that are none.
    command = ["git", "diff-tree", "-r", "-M85%", "-z", "--no-commit-id", "--name-status", "HEAD^1", "HEAD"]
    said = ask(command, cwd=folder)
    if said is None or said.exit_code != 0:
        raise HostFailure(
            "git does not say what is proposed",
            where=str(folder),
            fix="check the proposal out together with the commit that it is based on (`fetch-depth: 2`)",
        )
    parts = iter(said.out.split("\0")[:-1])
    found = []
    for status in parts:
        before = next(parts) if status[:1] in ("R", "C") else None
        found.append(ChangedFile(status[:1], next(parts), before))
    return tuple(found)


MANIFEST = ".ootci-mirrored"


def mirror(source: Path, files: Iterable[Path], target: Path) -> None:
    """Make ``target`` hold these files of ``source``; what an earlier call copied and is gone now is removed.

    So building never writes into a checkout. Unchanged files keep their time stamps, and files that were not mirrored,
    such as build products, stay: an incremental build in the copy stays incremental.

    Raises:
        OSError: the machine refused.

    """
    names = sorted({path.relative_to(source).as_posix() for path in files if path.is_file()})
    manifest = target / MANIFEST
    before = manifest.read_text(encoding="utf-8").splitlines() if manifest.exists() else []
    for name in set(before) - set(names):
        (target / name).unlink(missing_ok=True)
    for name in names:
        old, new = source / name, target / name
        if not _same(old, new):
            new.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(old, new)
    manifest.parent.mkdir(parents=True, exist_ok=True)
    manifest.write_text("".join(f"{name}\n" for name in names), encoding="utf-8")


def _same(old: Path, new: Path) -> bool:
    if not new.exists():
        return False
    a, b = old.stat(), new.stat()
    return a.st_size == b.st_size and a.st_mtime_ns == b.st_mtime_ns
