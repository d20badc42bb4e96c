"""The site before last becomes the next one, and what comes of that is the same as if it had been written anew."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ootci.stages.render.publish import Published, publish
from ootci.stages.render.reuse import MADE_FROM, Batch, File, Kept, Reusable
from ootci.stages.render.tree import spare_of

VERDICTS = ("verdicts.json", b"{}")
NAMES = ("a", "b", "a/a", "a/b", "b/a", "a/a/a", "a/a/b", "b/a/a", "b/b/a", "c/a", "c/b/a")

Tree = dict[str, bytes | None]


def tree(folder: Path) -> Tree:
    """All files, and all folders without content, but for what the site says of itself."""
    found = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*")}
    found.pop(MADE_FROM, None)
    return {name: path.read_bytes() if path.is_file() else None for name, path in found.items()}


def expected(files: list[File]) -> Tree:
    found: Tree = {}
    for file in files:
        name, content = (file.path, file.make()) if isinstance(file, Reusable) else file
        found[name] = content
        parts = name.split("/")
        found |= dict.fromkeys(("/".join(parts[:end]) for end in range(1, len(parts))), None)
    return found


def lasting(name: str, text: str) -> Reusable:
    return Reusable(name, f"key of {text}", text.encode)


def night(number: int) -> list[File]:
    """Every night has a page more; one page says something else every night, and one is gone after it."""
    pages: list[File] = [lasting(f"d/{old}/index.html", f"page {old}") for old in range(number + 1)]
    return [*pages, (f"gone/{number}/index.html", b"tonight"), ("index.html", b"night %d" % number), VERDICTS]


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """After three nights, so that there is one before last."""
    site = tmp_path / "site"
    for number in range(3):
        publish(night(number), site)
    return site


def listing(site: Path) -> list[str]:
    return sorted(path.name for path in site.parent.iterdir())


def test_what_is_the_same_costs_no_link_and_no_folder(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    linked, made = [], []
    link, mkdir = os.link, os.mkdir
    monkeypatch.setattr(os, "link", lambda source, target: (linked.append(target), link(source, target)))
    monkeypatch.setattr(os, "mkdir", lambda path, *mode: (made.append(path), mkdir(path, *mode)))
    for number in range(3, 9):
        linked.clear(), made.clear()
        assert publish(night(number), site) == Published(made=4, taken_over=number)
        assert tree(site) == expected(night(number))
        # The page of the night before is not in the site before last. The folder of all of it is asked for, too.
        assert (len(linked), len(made)) == (1, 4)
    assert listing(site) == [".site.spare", "site"]


def test_whatever_changes_from_night_to_night(tmp_path: Path) -> None:
    """Files that become folders, folders that become files, pages that come back as they once were."""
    chance, site = random.Random(5), tmp_path / "site"  # noqa: S311 (the same in every run)
    before: Tree = {}
    taken_over = 0
    for _ in range(200):
        chosen: list[str] = []
        for name in chance.sample(NAMES, chance.randrange(len(NAMES))):
            if not any(f"{name}/".startswith(f"{other}/") or f"{other}/".startswith(f"{name}/") for other in chosen):
                chosen.append(name)
        files: list[File] = [VERDICTS, lasting("always", "always")]
        for name in chosen:
            text = chance.choice(("one", "two", "three"))
            files.append(lasting(name, text) if chance.random() < 0.7 else (name, text.encode()))
        taken_over += publish(files, site).taken_over
        assert tree(site) == expected(files)
        # What is linked to it was not written into.
        assert not before or tree(spare_of(site)) == before
        before = expected(files)
    assert taken_over > 250


def month(text: str) -> Batch:
    names = [f"m/{number}/index.html" for number in range(3)]

    def files() -> Iterator[Reusable]:
        return (lasting(name, text if name.startswith("m/1") else "page") for name in names)

    return Batch("a month", f"key of {text}", names, files)


def test_a_month_that_has_not_changed_is_not_looked_at_page_by_page(tmp_path: Path) -> None:
    site, asked = tmp_path / "site", []
    for number, text in enumerate(("one", "one", "one", "two", "two", "two", "one")):
        given = month(text)
        all_of_it = list(given.files())

        def files(given: Batch = given, number: int = number) -> Iterator[Reusable]:
            asked.append(number)
            return given.files()

        done = publish([*night(1), replace(given, files=files)], site)
        assert tree(site) == expected([*night(1), *all_of_it])
        assert done.made + done.taken_over == len([*night(1), *all_of_it])
    # Where it is not in the site before last, what has not changed of it is linked to.
    assert asked == [0, 1, 3, 4, 6]


def test_a_month_of_which_a_page_is_missing_is_looked_at_page_by_page(site: Path) -> None:
    for _ in range(3):
        publish([*night(1), month("one")], site)
    (spare_of(site) / "m/1/index.html").unlink()
    publish([*night(1), month("one")], site)
    assert tree(site) == expected([*night(1), *month("one").files()])


def test_a_month_whose_pages_somebody_else_says_do_not_last_is_looked_at_page_by_page(site: Path) -> None:
    for _ in range(3):
        publish([*night(1), month("one")], site)
    path = spare_of(site) / MADE_FROM
    said = json.loads(path.read_text())
    said["others"]["m/0/index.html"] = said["files"].pop("m/0/index.html")[1]
    path.write_text(json.dumps(said))
    publish([*night(1), month("one")], site)
    assert tree(site) == expected([*night(1), *month("one").files()])


def _missing(spare: Path) -> None:
    (spare / "d/0/index.html").unlink()


def _longer(spare: Path) -> None:
    path = spare / "d/0/index.html"
    text = path.read_bytes()
    path.unlink()  # it is a link to the site's
    path.write_bytes(text + b"more")


def _foreign_file(spare: Path) -> None:
    (spare / "d/0/notes.txt").write_text("not ours")


def _foreign_folder(spare: Path) -> None:
    (spare / "d/empty").mkdir()


def _link_to_a_file(spare: Path) -> None:
    path = spare / "d/0/index.html"
    path.rename(spare.parent / "outside.html")
    path.symlink_to(spare.parent / "outside.html")


def _link_to_a_folder(spare: Path) -> None:
    (spare / "d/0").rename(spare.parent / "outside")
    (spare / "d/0").symlink_to(spare.parent / "outside")


def _says_nothing(spare: Path) -> None:
    (spare / MADE_FROM).unlink()


def _of_another_version(spare: Path) -> None:
    path = spare / MADE_FROM
    path.write_bytes(path.read_bytes().replace(b'"version":2', b'"version":1'))


def _is_no_site(spare: Path) -> None:
    (spare / "verdicts.json").unlink()


def _is_a_link(spare: Path) -> None:
    spare.rename(spare.parent / "outside")
    spare.symlink_to(spare.parent / "outside")


@pytest.mark.parametrize(
    "damage",
    [
        _missing,
        _longer,
        _foreign_file,
        _foreign_folder,
        _link_to_a_file,
        _link_to_a_folder,
        _says_nothing,
        _of_another_version,
        _is_no_site,
        _is_a_link,
    ],
)
def test_one_that_is_not_as_it_was_left_is_not_used(
    site: Path, damage: Callable[[Path], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    damage(spare_of(site))
    outside = {path: tree(path) for path in site.parent.glob("outside*")}
    linked = []
    link = os.link
    with monkeypatch.context() as patched:
        patched.setattr(os, "link", lambda source, target: (linked.append(target), link(source, target)))
        publish(night(3), site)
    assert len(linked) == 3
    for number in range(4, 7):
        assert tree(site) == expected(night(number - 1))
        publish(night(number), site)
    assert {path: tree(path) for path in outside} == outside


def test_pages_of_another_program_are_made_again(site: Path) -> None:
    other: list[File] = [
        Reusable(file.path, f"other {file.key}", lambda: b"other") if isinstance(file, Reusable) else file
        for file in night(3)
    ]
    for _ in range(2):
        publish(other, site)
        assert tree(site) == expected(other)


def test_a_folder_of_that_name_that_is_no_site_is_left_alone(tmp_path: Path) -> None:
    site = tmp_path / "site"
    spare_of(site).mkdir()
    (spare_of(site) / "notes.txt").write_text("mine")
    for number in range(4):
        publish(night(number), site)
        assert tree(site) == expected(night(number))
    assert tree(spare_of(site)) == {"notes.txt": b"mine"}
    assert listing(site) == [".site.spare", "site"]


@pytest.mark.parametrize("is_replaced", [False, True])
def test_a_page_that_was_edited_by_hand_is_made_again(site: Path, is_replaced: bool) -> None:
    page = site / "d/0/index.html"
    if is_replaced:
        page.unlink()
    page.write_bytes(b"edited by hand")
    for number in range(3, 6):
        publish(night(number), site)
        assert tree(site) == expected(night(number))


def test_making_all_anew_leaves_nothing_that_could_be_taken_over(site: Path) -> None:
    assert publish(night(3), site, Kept(None)).taken_over == 0
    assert listing(site) == ["site"]


def test_one_that_is_broken_off_at_any_file_is_not_used(site: Path) -> None:
    before = tree(site)
    for end in range(len(night(3))):

        def broken(end: int = end) -> Iterator[File]:
            yield from night(3)[:end]
            raise KeyboardInterrupt

        copied = site.parent / str(end) / "site"
        for folder in (site, spare_of(site)):
            shutil.copytree(folder, copied.with_name(folder.name))
        with pytest.raises(KeyboardInterrupt):
            publish(broken(), copied)
        assert listing(copied) == ["site"]
        assert tree(copied) == before
        for number in range(3, 6):
            publish(night(number), copied)
            assert tree(copied) == expected(night(number))


def test_one_that_is_killed_half_way_is_not_used(site: Path) -> None:
    """Nobody can tidy up then: what is half done keeps a name that nothing looks for."""
    before = tree(site)
    program = (
        "import os, sys; from pathlib import Path; from unit.render.test_spare import night\n"
        "from ootci.stages.render.publish import publish\n"
        "def files():\n"
        "    yield ('d/0/index.html', b'half')\n"
        "    os.kill(os.getpid(), 9)\n"
        "publish(files(), Path(sys.argv[1]))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(site)], env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    )
    assert done.returncode == -9
    assert tree(site) == before
    assert not spare_of(site).exists()
    for number in range(3, 6):
        publish(night(number), site)
        assert tree(site) == expected(night(number))
