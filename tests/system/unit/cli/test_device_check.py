"""``ootci device check``: every check of a device file, in sentences, and online against servers on this machine."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_github import FakeGithub, Moment
from loopback import Quiet, Server, running
from repositories import git, repository
from unit.samples import register

from ootci.adapters import download
from ootci.model.review import Review
from ootci.stages.onboard.checks import CHECKS

from commands import Ran, Tool  # isort: skip

TOTAL = len(CHECKS)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of device files with two good ones."""
    for name in ("one", "two"):
        write(tmp_path, name)
    return tmp_path


def write(folder: Path, name: str, extra: str = "") -> Path:
    """A good device file with a project beside it, and what more is said."""
    project = folder / "devices" / name
    project.mkdir(parents=True)
    (project / "pyproject.toml").touch()
    return register(folder, name, extra)


def test_one_device_file_is_checked_alone(ootci: Tool, folder: Path) -> None:
    (folder / "devices" / "config.yaml").write_text("no: device\n", encoding="utf-8")
    checked = ootci("device", "check", cwd=folder, env={"OOTCI_DEVICES": "devices/two.yaml"})
    assert (checked.code, checked.out) == (0, f"devices/two.yaml: {TOTAL} of {TOTAL} checks passed\n")


def test_every_file_is_checked_even_after_a_bad_one(ootci: Tool, folder: Path) -> None:
    bad = write(folder, "bad", "teir: gating\n")
    checked = ootci("device", "check", cwd=folder)
    assert checked.code == 2
    assert checked.out.splitlines() == [
        f"devices/bad.yaml: 2 of {TOTAL} checks passed, {TOTAL - 3} could not be made",
        "  devices/bad.yaml:8: keys (DEV-006): unknown key `teir`; did you mean `tier`?; rename or remove it",
        f"devices/one.yaml: {TOTAL} of {TOTAL} checks passed",
        f"devices/two.yaml: {TOTAL} of {TOTAL} checks passed",
        f"{2 * TOTAL + 2} of {3 * TOTAL} checks passed, {TOTAL - 3} could not be made, in 3 files",
    ]
    bad.unlink()
    assert ootci("device", "check", cwd=folder).code == 0


def test_the_nights_that_say_nothing_of_any_device_are_checked_too(ootci: Tool, folder: Path) -> None:
    gone = ootci("device", "check", "devices/_all/bad_ranges.yaml", cwd=folder)
    assert (gone.code, "nights (DEV-001): no such file" in gone.out) == (2, True)
    listed = folder / "devices" / "_all" / "bad_ranges.yaml"
    listed.parent.mkdir()
    listed.write_text("bad_ranges: []\n", encoding="utf-8")
    checked = ootci("device", "check", cwd=folder)
    assert (checked.code, checked.out.splitlines()[2]) == (0, "devices/_all/bad_ranges.yaml: 1 of 1 check passed")
    listed.write_text("bad_ranges: [{first: 2026-11-03}]\n", encoding="utf-8")
    checked = ootci("device", "check", cwd=folder)
    assert checked.code == 2
    assert "devices/_all/bad_ranges.yaml:1: nights (DEV-006): the required key `bad_ranges[0].last`" in checked.out


def _known(expires: str) -> str:
    entry = {"id": "smoke/*", "reason": "x", "issue": "https://e.org/1", "added": "2024-01-01", "expires": expires}
    return f"known_failures: [{json.dumps(entry)}]\n"


@pytest.mark.parametrize(
    ("extra", "check", "line", "said"),
    [
        ("limits: {suite_minutes: 50, job_minutes: 40}\n", "time-outs", 8, "a suite may take 50 minutes"),
        ("limits: {suite_minutes: 9, job_minutes: 59}\n", "time-outs", 8, "building may take 60 minutes"),
        ("limits:\n  job_minutes: 361\n", "time-outs", 9, "GitHub ends a job on its machine ubuntu-latest after 360"),
        (
            "limits:\n  job_minutes: 361\npull_requests: true\nrunner:\n  labels: [mycard]\n",
            "time-outs",
            9,
            "PyTorch's relay reports a run as timed out after 360 minutes and takes no result after that, and this one "
            "may take 361",
        ),
        (
            "limits:\n  job_minutes: 301\npull_requests: true\nrunner:\n  labels: [mycard]\n  shares: 2\n",
            "time-outs",
            9,
            "PyTorch's relay reports a run as timed out after 360 minutes and takes no result after that, and this one "
            "may take 361",
        ),
        ("environment:\n  MY_API_KEY: abc\n", "no secrets", 9, "the variable MY_API_KEY looks like a secret"),
        ("build:\n  environment:\n    A: https://u:p@e.org\n", "no secrets", 10, "the variable A looks like a secret"),
        ("links: {homepage: 'https://u:p@e.org/'}\n", "no secrets", 8, "`links.homepage` holds a password"),
    ],
)
def test_what_would_go_wrong_later_is_said_beforehand(
    ootci: Tool, folder: Path, extra: str, check: str, line: int, said: str
) -> None:
    write(folder, "dev", extra)
    checked = ootci("device", "check", "devices/dev.yaml", cwd=folder)
    lines = checked.out.splitlines()
    assert (checked.code, lines[0]) == (2, f"devices/dev.yaml: {TOTAL - 1} of {TOTAL} checks passed")
    assert lines[1].startswith(f"  devices/dev.yaml:{line}: {check}: {said}")
    assert "; " in lines[1].partition(said)[2]


@pytest.mark.parametrize(
    "extra",
    [
        "environment: {TOKENIZERS_PARALLELISM: 'false', AUTH_TOKEN: ''}\n",
        "runner: {labels: [self-hosted, mycard]}\nlimits: {job_minutes: 1440}\n",
        "runner: {container: {image: x, options: --device /dev/net0}}\n",
    ],
)
def test_what_only_looks_alike_is_fine(ootci: Tool, folder: Path, extra: str) -> None:
    write(folder, "dev", extra)
    checked = ootci("device", "check", "devices/dev.yaml", cwd=folder)
    assert checked.code == 0, checked.out


def test_a_name_a_list_and_sources_are_each_a_check_and_cost_no_other(ootci: Tool, folder: Path) -> None:
    file = write(folder, "dev")
    (folder / "devices" / "dev" / "known_failures.yaml").write_text("known: 1\n", encoding="utf-8")
    (folder / "devices" / "dev" / "pyproject.toml").unlink()
    renamed = file.rename(file.with_name("other.yml"))
    checked = ootci("device", "check", str(renamed.relative_to(folder)), cwd=folder)
    lines = checked.out.splitlines()
    assert (checked.code, lines[0]) == (2, f"devices/other.yml: {TOTAL - 3} of {TOTAL} checks passed")
    checks = [line.partition(": ")[2].partition(":")[0].partition(" (")[0] for line in lines[1:]]
    assert checks == ["name", "lists in its folder", "lists in its folder", "plugin"]
    assert "has neither pyproject.toml nor setup.py" in checked.out


def test_keys_that_contradict_each_other_are_told_in_one_round(ootci: Tool, folder: Path) -> None:
    secrets = "{username: OTHER_USER, password: OTHER_PASSWORD}"
    variant = f"variants: [{{name: a, runner: {{container: {{image: x, credentials: {secrets}}}}}}}]"
    file = write(folder, "dev", f"external: {{run: 'https://example.com/run.json'}}\n{variant}\n")
    file.write_text(file.read_text(encoding="utf-8").replace("path: dev", "path: ../../elsewhere"), encoding="utf-8")
    checked = ootci("device", "check", "devices/dev.yaml", cwd=folder)
    assert checked.code == 2
    for said in ("leads out of the checkout", "has no variants here", "which begin with DEV_REGISTRY_"):
        assert said in checked.out, checked.out


def test_sources_that_are_not_there_or_lead_elsewhere_are_told(ootci: Tool, folder: Path) -> None:
    project = folder / "devices" / "one"
    (project / "pyproject.toml").rename(folder / "pyproject.toml")
    project.rmdir()
    gone = ootci("device", "check", "devices/one.yaml", cwd=folder)
    assert "plugin: there is no folder devices/one" in gone.out
    project.symlink_to(folder)
    assert "plugin: devices/one leads out of the checkout" in (
        ootci("device", "check", "devices/one.yaml", cwd=folder).out
    )


def test_an_entry_that_expired_is_a_warning(ootci: Tool, folder: Path) -> None:
    write(folder, "dev", _known("2024-12-31"))
    checked = ootci("device", "check", "devices/dev.yaml", cwd=folder)
    lines = checked.out.splitlines()
    assert (checked.code, lines[0]) == (
        0,
        f"devices/dev.yaml: {TOTAL} of {TOTAL} checks passed, 1 of them with a warning",
    )
    assert lines[1].startswith(
        "  devices/dev.yaml:8: warning: known failures: the known failure smoke/* expired on 2024-12-31"
    )


def test_machines_and_comments_get_the_same(ootci: Tool, folder: Path) -> None:
    write(folder, "dev", "vendro: <b>x\n")
    machine = ootci("device", "check", "--format", "json", "devices/dev.yaml", cwd=folder)
    review = Review.model_validate_json(machine.out)
    assert (machine.code, review.is_good, len(review.checks)) == (2, False, TOTAL)
    markdown = ootci("device", "check", "--format", "markdown", "devices/dev.yaml", cwd=folder)
    assert markdown.out.startswith(f"### ❌ Device files: 2 of {TOTAL} checks passed, {TOTAL - 3} could not be made\n")
    assert "- ❌ keys (DEV-006), devices/dev.yaml:8: unknown key &#96;vendro&#96;; did you mean" in markdown.out


class _Web(Server):
    def __init__(self) -> None:
        super().__init__(_Page)
        self.statuses: dict[str, int] = {}


class _Page(Quiet):
    server: _Web

    def do_GET(self) -> None:
        headers = {"Location": "/loop"} if self.path == "/loop" else {}
        self.answer(self.server.statuses.get(self.path, 200), headers=headers)


@pytest.fixture
def web() -> Iterator[_Web]:
    with running(_Web()) as server:
        yield server


def _online(ootci: Tool, folder: Path, hub: FakeGithub, extra: str) -> Ran:
    write(folder, "dev", extra)
    ran: Ran = ootci("device", "check", "--online", "devices/dev.yaml", cwd=folder, env=hub.environment)
    return ran


def test_links_and_handles_that_are_there_pass(ootci: Tool, folder: Path, hub: FakeGithub, web: _Web) -> None:
    links = f"links: {{homepage: '{web.url}/', source: '{web.url}/moved'}}\n"
    checked = _online(ootci, folder, hub, links)
    assert (checked.code, checked.out) == (0, f"devices/dev.yaml: {TOTAL + 3} of {TOTAL + 3} checks passed\n")
    assert hub.asked == ["GET /users/somebody"]


def test_a_link_and_a_handle_of_nobody_fail(ootci: Tool, folder: Path, hub: FakeGithub, web: _Web) -> None:
    web.statuses = {"/gone": 404}
    hub.users = set()
    checked = _online(ootci, folder, hub, f"links:\n  issues: {web.url}/gone\n")
    assert checked.code == 2
    lines = checked.out.splitlines()
    assert lines[1].startswith(f"  devices/dev.yaml:9: links: nothing is at {web.url}/gone; ")
    assert lines[2].startswith("  devices/dev.yaml:4: handles: GitHub knows nobody by the handle @somebody; ")


@pytest.mark.parametrize(("path", "status"), [("/busy", 503), ("/shy", 403), ("/loop", 302)])
def test_a_server_that_does_not_say_is_a_warning(
    ootci: Tool, folder: Path, hub: FakeGithub, web: _Web, path: str, status: int
) -> None:
    web.statuses = {path: status}
    checked = _online(ootci, folder, hub, f"links:\n  issues: {web.url}{path}\n")
    assert (checked.code, "warning: links: nobody can tell whether" in checked.out) == (0, True)


@pytest.mark.parametrize(
    ("path", "ref", "code", "said"),
    [
        ("plugin", "main", 0, ""),
        ("plugin", "{COMMIT}", 0, ""),
        ("plugin", "mian", 2, "sources: {url} cannot be fetched: it has no branch or tag `mian`"),
        (
            "plugni",
            "main",
            2,
            "sources: {url} cannot be fetched: fatal: '{url}' does not appear to be a git repository",
        ),
        (
            "http://127.0.0.1:9/plugin",
            "main",
            0,
            "warning: sources: could not check whether {url} can be fetched",
        ),
        ("plugin", "ai*", 2, "sources: {url} cannot be fetched: it has no branch or tag `ai*`"),
        ("plugin", "in", 2, "sources: {url} cannot be fetched: it has no branch or tag `in`"),
    ],
)
def test_the_plugin_s_repository_is_asked_for(
    ootci: Tool, folder: Path, hub: FakeGithub, path: str, ref: str, code: int, said: str
) -> None:
    (folder / "plugin").mkdir()
    commit = repository(folder / "plugin")
    git(folder / "plugin", "branch", "feature/in")
    url = path if ":" in path else str(folder / path)
    file = write(folder, "dev")
    source = f"git: {{url: '{url}', ref: '{ref.format(COMMIT=commit.upper())}'}}"
    file.write_text(file.read_text(encoding="utf-8").replace("path: dev", source), encoding="utf-8")
    checked = ootci("device", "check", "--online", "devices/dev.yaml", cwd=folder, env=hub.environment)
    assert (checked.code, f"  devices/dev.yaml:7: {said.format(url=url)}" in checked.out) == (code, bool(said)), (
        checked.out
    )


def test_without_a_network_there_are_warnings_only(
    ootci: Tool, folder: Path, hub: FakeGithub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "LINK_TIMEOUT_SECONDS", (0.5, 0.5))
    hub.moments = [Moment(403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "99999999999"})]
    checked = _online(ootci, folder, hub, "links: {issues: 'http://127.0.0.1:9/', source: 'http://no.invalid/'}\n")
    assert checked.code == 0, checked.out
    assert "warning: links: nobody can tell whether http://no.invalid/ is right" in checked.out
    assert "warning: links: nobody can tell whether http://127.0.0.1:9/ is right" in checked.out
    assert "warning: handles: nobody can tell whether @somebody is on GitHub" in checked.out


def test_online_checks_of_a_file_that_cannot_be_read_are_not_made(ootci: Tool, folder: Path, hub: FakeGithub) -> None:
    checked = _online(ootci, folder, hub, "links: 5\n")
    assert checked.out.splitlines()[0].endswith(f"2 of {TOTAL + 3} checks passed, {TOTAL} could not be made")
    assert hub.asked == []
