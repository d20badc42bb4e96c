"""Source trees: what identifies them, and copying them without touching them."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from repositories import commit, git, repository

from ootci.adapters.git import clone_commands, commit_of, mirror, source_digest, source_files


@pytest.fixture(autouse=True)
def _no_outer_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", os.devnull)


def _tree(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return folder


def test_the_same_files_have_the_same_digest_anywhere(tmp_path: Path) -> None:
    one = source_digest(_tree(tmp_path / "one", a="1", sub__b="2"))
    two = source_digest(_tree(tmp_path / "elsewhere", sub__b="2", a="1"))
    assert one == two


@pytest.mark.parametrize(
    "files", [{"a": "1", "sub__b": "3"}, {"a": "1"}, {"a": "12", "sub__b": ""}, {"b": "1", "sub__b": "2"}]
)
def test_another_name_or_content_has_another_digest(tmp_path: Path, files: dict[str, str]) -> None:
    one = source_digest(_tree(tmp_path / "one", a="1", sub__b="2"))
    assert source_digest(_tree(tmp_path / "two", **files)) != one


def test_what_git_ignores_and_what_python_caches_is_no_source(tmp_path: Path) -> None:
    plain = _tree(tmp_path / "plain", a="1", __pycache____x="2")
    assert [path.name for path in source_files(plain)] == ["a"]
    git(tmp_path, "init", "-q", "repo")
    folder = _tree(tmp_path / "repo", a="1", build__x="2")
    (folder / ".gitignore").write_text("build/\n", encoding="utf-8")
    assert [path.name for path in source_files(folder)] == [".gitignore", "a"]


def test_a_deleted_file_that_git_still_knows_is_no_source(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", ".")
    _tree(tmp_path, a="1", b="2")
    git(tmp_path, "add", ".")
    (tmp_path / "a").unlink()
    assert [path.name for path in source_files(tmp_path)] == ["b"]


def test_a_commit_says_whether_anything_below_the_folder_differs_from_it(tmp_path: Path) -> None:
    assert commit_of(tmp_path) is None
    plugin = _tree(tmp_path, plugin__a="1", other__b="2") / "plugin"
    head = repository(tmp_path)
    assert commit_of(plugin) == head
    _tree(tmp_path, other__b="changed")
    assert commit_of(plugin) == head
    assert commit_of(plugin, tmp_path / "other" / "c") == head
    assert commit_of(plugin, tmp_path / "other" / "b") == f"{head}-dirty"
    _tree(tmp_path, plugin__new="3")
    assert commit_of(plugin) == f"{head}-dirty"


def test_the_clone_commands_fetch_exactly_one_ref(tmp_path: Path) -> None:
    origin = _tree(tmp_path / "origin", a="1")
    repository(origin)
    git(origin, "tag", "v1")
    commit(_tree(origin, a="2"))
    target = tmp_path / "clone"
    target.mkdir()
    for command in clone_commands(str(origin), "v1", submodules=False):
        subprocess.run(command, cwd=target, check=True, capture_output=True)
    assert (target / "a").read_text(encoding="utf-8") == "1"
    assert any("submodule" in command for command in clone_commands("u", "r", submodules=True))


def test_the_files_of_submodules_are_source_files_too(tmp_path: Path) -> None:
    origin, plugin = _tree(tmp_path / "origin", kernels__k="1"), _tree(tmp_path / "plugin", a="2")
    for folder in (origin, plugin):
        repository(folder)
    git(plugin, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(origin), "third_party/ops")
    _tree(plugin, third_party__ops__untracked="3")
    found = [path.relative_to(plugin).as_posix() for path in source_files(plugin)]
    assert found == [".gitmodules", "a", "third_party/ops/kernels/k", "third_party/ops/untracked"]
    git(plugin, "submodule", "--quiet", "deinit", "--force", "--all")
    assert [path.name for path in source_files(plugin)] == [".gitmodules", "a"]


def test_an_address_or_ref_that_looks_like_an_option_stays_an_argument(tmp_path: Path) -> None:
    fetch = clone_commands("--upload-pack=evil", "r", submodules=False)[1]
    assert fetch.index("--") < fetch.index("--upload-pack=evil")


def test_a_mirror_follows_its_source_and_keeps_what_was_built_there(tmp_path: Path) -> None:
    source, target = _tree(tmp_path / "source", a="1", sub__b="2"), tmp_path / "target"
    mirror(source, source.rglob("*"), target)
    _tree(target, build__product="x")
    stamp = (target / "a").stat().st_mtime_ns
    (source / "sub" / "b").unlink()
    _tree(source, c="3")
    mirror(source, source.rglob("*"), target)
    assert {path.relative_to(target).as_posix() for path in target.rglob("*") if path.is_file()} == {
        "a", "c", "build/product", ".ootci-mirrored",
    }  # fmt: skip
    assert (target / "a").stat().st_mtime_ns == stamp == (source / "a").stat().st_mtime_ns


def test_a_change_arrives_in_the_mirror_even_when_the_size_stays(tmp_path: Path) -> None:
    source, target = _tree(tmp_path / "source", a="1"), tmp_path / "target"
    mirror(source, source.rglob("*"), target)
    _tree(source, a="2")
    os.utime(source / "a", ns=(1, 1))
    mirror(source, source.rglob("*"), target)
    assert (target / "a").read_text(encoding="utf-8") == "2"


def test_mirroring_never_writes_into_the_source(tmp_path: Path) -> None:
    source = _tree(tmp_path / "source", a="1")
    before = sorted(path.name for path in source.rglob("*"))
    mirror(source, source.rglob("*"), tmp_path / "target")
    assert sorted(path.name for path in source.rglob("*")) == before
