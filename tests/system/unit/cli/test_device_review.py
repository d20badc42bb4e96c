"""``ootci device review``: an answer for whatever a pull request does to devices/, and nothing of it is run."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from repositories import commit, repository
from unit.samples import DEVICE_YAML, register

from ootci.model.record import read
from ootci.model.review import Change, CheckState, FileReview, Review
from ootci.stages.onboard.checks import CHECKS

from commands import OFFLINE, Ran, Tool  # isort: skip

TOTAL = len(CHECKS)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where the tool runs; ``proposed`` is the checkout, of which ``base`` is registered and committed."""
    proposed = tmp_path / "proposed"
    device(proposed, "base")
    repository(proposed)
    return tmp_path


def device(proposed: Path, name: str, extra: str = "") -> None:
    (proposed / "devices" / name).mkdir(parents=True)
    (proposed / "devices" / name / "setup.py").write_text("raise SystemExit('it was run')\n", encoding="utf-8")
    register(proposed, name, extra)


def review(ootci: Tool, folder: Path) -> tuple[Ran, Review]:
    commit(folder / "proposed")
    ran = ootci("device", "review", "proposed", "--output", "out", "--summary", "summary.md", cwd=folder, env=OFFLINE)
    found = read(Review, folder / "out" / "review.json")
    assert (ran.code == 0) == found.is_good
    assert "proposed/" not in ran.out + (folder / "out" / "review.json").read_text(encoding="utf-8")
    assert (folder / "summary.md").read_text(encoding="utf-8").startswith("### ")
    return ran, found


def failed(file: FileReview) -> dict[str, str]:
    failing = [item for item in file.checks if item.state is CheckState.FAILED]
    return {item.check: item.problems[0].error or "" for item in failing}


def test_a_good_file_is_checked_planned_and_rendered(ootci: Tool, folder: Path) -> None:
    variants = 'python: "3.12"\nvariants: [{name: py313, python: "3.13", runner: {labels: [self-hosted, other]}}]\n'
    variants += "torch: {also: [release, previous_release]}\n"
    device(folder / "proposed", "dev", "runner: {labels: [self-hosted, mycard], shares: 2}\n" + variants)
    ran, found = review(ootci, folder)
    assert ran.code == 0, ran.err
    (file,) = found.files
    assert (file.path, file.device, file.change) == ("devices/dev.yaml", "dev", Change.ADDED)
    assert ran.out.splitlines()[0] == f"devices/dev.yaml: {TOTAL} of {TOTAL} checks passed (new)"
    assert file.notes == (
        "1 file below devices/dev/ changed: sources of the plugin are not looked at, and nothing of them is run.",
    )
    torch, plugin, place, suites, python, also, beside = file.dry_run
    assert also == "on Sundays (UTC) on torch release and previous_release, too"
    assert python == "on Python 3.12"
    assert beside.startswith("beside it the variant dev_py313: 2 jobs on a machine that has to be registered with the")
    assert beside.endswith("labels self-hosted, other, at most 120 minutes, Python 3.13")
    assert torch.startswith("torch 2.13.0 (release); wanted is nightly: http://127.0.0.1:9/")
    assert plugin == "the plugin torch-dev, built from dev"
    assert place == (
        "2 jobs on a machine that has to be registered with the labels self-hosted, mycard, at most 120 minutes"
    )
    assert suites == "the suites smoke, integration, within 45 minutes each"
    page = folder / "out" / str(file.preview) / "d" / "dev" / "index.html"
    assert "Preview of <code>dev.yaml</code>" in page.read_text(encoding="utf-8")


def test_of_two_files_each_gets_its_answer(ootci: Tool, folder: Path) -> None:
    device(folder / "proposed", "dev")
    device(folder / "proposed", "bad", "teir: gating\n")
    ran, found = review(ootci, folder)
    assert [(file.path, failed(file)) for file in found.files] == [
        ("devices/bad.yaml", {"keys": "DEV-006"}),
        ("devices/dev.yaml", {}),
    ]
    assert (found.files[0].preview, found.files[0].dry_run) == (None, ())
    assert ran.code == 2
    assert "did you mean &#96;tier&#96;?" in (folder / "summary.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("content", "check", "error"),
    [
        (b"name: [\n", "syntax", "DEV-003"),
        (b"\xff\xfe\n", "file", "DEV-001"),
        (b"name: dev # " + b"x" * 10_000_000, "file", "DEV-002"),
        (b"", "keys", "DEV-006"),
        (b"a: &a [x, x]\nb: &b [" + b"*a, " * 99 + b"]\nc: [" + b"*b, " * 99 + b"]\n", "syntax", "DEV-005"),
    ],
    ids=["no YAML", "no text", "10 MB", "empty", "aliases"],
)
def test_a_file_that_cannot_be_read_is_an_answer(
    ootci: Tool, folder: Path, content: bytes, check: str, error: str
) -> None:
    (folder / "proposed" / "devices" / "dev.yaml").write_bytes(content)
    _, found = review(ootci, folder)
    assert [failed(file) for file in found.files] == [{check: error}]


def test_a_link_is_never_followed(ootci: Tool, folder: Path) -> None:
    secret = folder / "secret"
    secret.write_text("secret: of this machine\n", encoding="utf-8")
    devices = folder / "proposed" / "devices"
    (devices / "dev.yaml").symlink_to(secret)
    device(folder / "proposed", "other")
    (devices / "other" / "known_failures.yaml").symlink_to(secret)
    ran, found = review(ootci, folder)
    assert [failed(file) for file in found.files] == [{"file": "DEV-001"}, {"lists in its folder": "DEV-001"}]
    assert "of this machine" not in ran.out


def test_a_folder_of_devices_that_is_a_link_holds_nothing(ootci: Tool, folder: Path) -> None:
    elsewhere = folder / "elsewhere"
    shutil.move(folder / "proposed" / "devices", elsewhere)
    (folder / "proposed" / "devices").symlink_to(elsewhere)
    _, found = review(ootci, folder)
    assert [(file.path, file.change, file.checks) for file in found.files] == [
        ("devices/base.yaml", Change.REMOVED, ())
    ]


def test_a_device_that_is_removed_or_renamed_is_told(ootci: Tool, folder: Path) -> None:
    proposed = folder / "proposed"
    device(proposed, "gone")
    commit(proposed)
    (proposed / "devices" / "gone.yaml").unlink()
    text = (proposed / "devices" / "base.yaml").read_text(encoding="utf-8")
    (proposed / "devices" / "base.yaml").rename(proposed / "devices" / "fresh.yaml")
    (proposed / "devices" / "fresh.yaml").write_text(text.replace("name: base", "name: fresh", 1), encoding="utf-8")
    ran, found = review(ootci, folder)
    fresh, gone = found.files
    assert (fresh.path, fresh.change, fresh.device, failed(fresh)) == (
        "devices/fresh.yaml",
        Change.RENAMED,
        "fresh",
        {},
    )
    assert "what was reported as base stays there, and fresh has no history yet" in fresh.notes[0]
    assert (gone.path, gone.change, gone.checks) == ("devices/gone.yaml", Change.REMOVED, ())
    assert gone.notes[1] == "devices/gone/ is still there."
    assert "devices/gone.yaml: no checks (removed)" in ran.out


def test_what_is_no_device_file_is_told_and_checked_where_it_belongs_to_one(ootci: Tool, folder: Path) -> None:
    devices = folder / "proposed" / "devices"
    (devices / "base" / "known_failures.yaml").write_text("known_failures: 5\n", encoding="utf-8")
    (devices / "base" / "notes.txt").write_text("x", encoding="utf-8")
    (devices / "nobody").mkdir()
    (devices / "nobody" / "x.yaml").write_text("x", encoding="utf-8")
    (devices / "README.txt").write_text("x", encoding="utf-8")
    (devices / "late.yml").write_text(DEVICE_YAML.format(name="late"), encoding="utf-8")
    (devices / "_all").mkdir()
    (devices / "_all" / "bad_ranges.yaml").write_text("bad_ranges: []\n", encoding="utf-8")
    (folder / "proposed" / "setup.py").write_text("x", encoding="utf-8")
    _, found = review(ootci, folder)
    files = {file.path: file for file in found.files}
    assert {path: failed(file) for path, file in files.items()} == {
        "devices/_all/bad_ranges.yaml": {},
        "devices/base.yaml": {"lists in its folder": "DEV-006"},
        "devices/late.yml": {"name": "DEV-007", "plugin": ""},
        "devices/nobody.yaml": {},
    }
    assert files["devices/nobody.yaml"].notes[-1] == "devices/nobody/ belongs to no device file."
    assert files["devices/base.yaml"].notes[0].startswith("1 file below devices/base/ changed")
    assert found.notes == (
        "devices/README.txt is no device file, which ends in .yaml: nobody reads it.",
        "1 file outside of devices/ changed, too; nothing was looked at there.",
    )


def test_more_files_than_anybody_means_are_not_looked_at(ootci: Tool, folder: Path) -> None:
    for number in range(25):
        (folder / "proposed" / "devices" / f"d{number}.yaml").write_text("", encoding="utf-8")
    _, found = review(ootci, folder)
    assert (len(found.files), found.notes) == (20, ("5 files more changed than are looked at in one pull request.",))


def test_a_proposal_that_git_does_not_know_is_an_answer_too(ootci: Tool, folder: Path) -> None:
    ran = ootci("device", "review", "proposed", "--output", "out", "--summary", "summary.md", cwd=folder)
    assert (ran.code, "error HOST-002: git does not say what is proposed" in ran.err) == (3, True)
    assert "could not be looked at: git does not say" in read(Review, folder / "out" / "review.json").notes[0]
    assert "could not be looked at" in (folder / "summary.md").read_text(encoding="utf-8")
