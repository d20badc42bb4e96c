"""A repository that stands in for PyTorch's: its torch weighs nothing, and its wheel is built in a second."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import misbehaving
from repositories import bare_repository, commit, git

BACKEND = '''"""Builds the stand-in for torch, with one C file for the compiler cache to keep."""

import os
import subprocess

from misbehaving import stub_torch_wheel


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    launcher = [program for program in [os.environ.get("CMAKE_C_COMPILER_LAUNCHER")] if program]
    subprocess.run([*launcher, "cc", "-c", "one.c", "-o", "one.o"], check=True)
    head = subprocess.run(["git", "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    commit = os.environ.get("SAID_COMMIT", head)
    folder, version = __import__("pathlib").Path(wheel_directory), f"2.15.0a0+git{head[:7]}"
    return stub_torch_wheel(folder, version, commit, fails=os.environ.get("SAID_ON_IMPORT", "")).name
'''
PROJECT = '[build-system]\nrequires = []\nbuild-backend = "backend"\nbackend-path = ["."]\n'


@dataclass(frozen=True)
class PyTorchSources:
    """The repository and its commits.

    Attributes:
        url: its address.
        main: the commit of ``main`` and of the tag ``v2.15.0``.
        head: the newest commit of pull request 7.
        merge: pull request 7 as it would be merged.
        broken: pull request 8 as it would be merged, which does not build.

    """

    url: str
    main: str
    head: str
    merge: str
    broken: str


def pytorch_sources(folder: Path) -> PyTorchSources:
    """Make the repository below a folder."""
    work, bare = folder / "pytorch", folder / "pytorch.git"
    work.mkdir()

    def changed(file: str, text: str) -> str:
        (work / file).write_text(text, encoding="utf-8")
        return commit(work, file)

    git(work, "init", "--quiet", "--initial-branch=main")
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(Path(misbehaving.__file__).parent, work / "misbehaving", ignore=ignored)
    (work / "one.c").write_text("int one(void) { return 1; }\n", encoding="utf-8")
    (work / "pyproject.toml").write_text(PROJECT, encoding="utf-8")
    base = changed("backend.py", BACKEND)
    git(work, "checkout", "--quiet", "-b", "seven")
    head = changed("changed.txt", "by the pull request\n")
    git(work, "checkout", "--quiet", "main")
    main = changed("news.txt", "since then\n")
    git(work, "merge", "--quiet", "--no-ff", "-m", "merged", "seven")
    merge = git(work, "rev-parse", "HEAD")
    git(work, "checkout", "--quiet", "-b", "eight", base)
    broken = changed("one.c", "int one(void) { return }\n")
    bare_repository(bare)
    git(bare, "config", "uploadpack.allowReachableSHA1InWant", "true")
    refs = {
        main: ("refs/heads/main", "refs/tags/v2.15.0"),
        head: ("refs/pull/7/head",),
        merge: ("refs/pull/7/merge",),
        broken: ("refs/pull/8/head", "refs/pull/8/merge"),
    }
    git(work, "push", "--quiet", str(bare), *(f"{at}:{ref}" for at, names in refs.items() for ref in names))
    return PyTorchSources(bare.as_uri(), main, head, merge, broken)
