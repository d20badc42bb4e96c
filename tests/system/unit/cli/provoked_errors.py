"""How each error is provoked, by its id: somebody calls the tool where something is wrong."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path

from deliveries import event_file, pull_request
from fake_github import REPOSITORY, TOKEN, Moment, fake_github
from misbehaving import write_device, write_suites
from relay_server import TOKEN as RELAY_TOKEN
from relay_server import Trouble, relay_server
from torch_server import serve_torch_index
from unit.samples import DEVICE_YAML, plan, run
from unit.stages.alert_nights import verdicts

from ootci.adapters.folder_lock import locked
from ootci.model.bisection import Bisection
from ootci.model.device import load_device
from ootci.model.record import MAX_BYTES, write

from commands import NO_PIP, OFFLINE, Ran, Tool  # isort: skip

GOLDEN = Path(__file__).parents[2] / "golden"
NIGHTLIES = tuple(f"2.15.0.dev2026110{day}+cpu" for day in (1, 2, 3))
TEST = "smoke/test_scripted.py::test_second"
ENDS = ("bisect", "dev", TEST, "--good", "20261101", "--bad", "20261103")


@dataclass(frozen=True)
class Folder:
    """An empty folder in which somebody works, with one device file; what is opened is closed when it is over."""

    path: Path
    tool: Tool
    opened: ExitStack
    variables: dict[str, str] = field(
        default_factory=lambda: {
            **OFFLINE,
            "OOTCI_PYTORCH_GIT": "file:///nowhere",
        }
    )

    def call(self, *arguments: str, env: Mapping[str, str] | None = None) -> Ran:
        """Call the tool."""
        ran: Ran = self.tool(*arguments, cwd=self.path, env={**self.variables, **(env or {})})
        return ran

    def write(self, name: str, text: str) -> str:
        """Write a file; gives its name."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return name

    def index(self, *versions: str) -> dict[str, str]:
        """Serve an index of nightlies; gives the variables that lead to it."""
        server = self.opened.enter_context(serve_torch_index(self.path / "index"))
        for version in versions:
            server.add("nightly", version)
        return server.variables


Provocation = Callable[[Folder], Ran]


def _file(text: str, name: str = "card.yaml") -> Provocation:
    return lambda folder: folder.call("device", "preview", folder.write(name, text))


def _large(name: str, size: int, *arguments: str) -> Provocation:
    def provoke(folder: Folder) -> Ran:
        with (folder.path / folder.write(name, "")).open("wb") as stream:
            stream.truncate(size)
        return folder.call(*arguments)

    return provoke


def _written(name: str, text: str, *arguments: str) -> Provocation:
    def provoke(folder: Folder) -> Ran:
        folder.write(name, text)
        return folder.call(*arguments)

    return provoke


def _called(*arguments: str) -> Provocation:
    return lambda folder: folder.call(*arguments)


def _empty_devices(folder: Folder) -> Ran:
    (folder.path / "empty").mkdir()
    return folder.call("plan", "--devices", "empty")


def _newer(folder: Folder) -> Ran:
    text = plan().to_json().replace('"schema_version": 1', '"schema_version": 2')
    folder.write(".ootci/plan.json", text)
    return folder.call("history", "append")


def _bisecting(*arguments: str) -> Provocation:
    return lambda folder: folder.call(*arguments, env=folder.index(*NIGHTLIES))


def _asking_for_another_night(folder: Folder) -> Ran:
    return folder.call("plan", "--torch", "nightly@2026-10-09", env=folder.index(*NIGHTLIES))


def _bisection_that_changed(folder: Folder) -> Ran:
    sha256 = load_device(folder.path / "devices" / "dev.yaml").sha256
    begun = Bisection(device="dev", device_sha256=sha256, test=TEST, repeat=1, nightlies=NIGHTLIES)
    write(begun, folder.path / ".ootci" / "bisect" / begun.identity / "bisection.json")
    with (folder.path / "devices" / "dev.yaml").open("a", encoding="utf-8") as stream:
        stream.write("tier: gating\n")
    return folder.call(*ENDS, env=folder.index(*NIGHTLIES))


def _card_that_is_gone(folder: Folder) -> Ran:
    shutil.rmtree(folder.path / "devices")
    write_device(folder.path / "devices", "dev", "card-missing")
    write_suites(folder.path / "suites")
    # The environment is made with what pip finds on this machine.
    for name in NO_PIP:
        folder.variables.pop(name)
    return folder.call(*ENDS, "--suites", "suites", env=folder.index(*NIGHTLIES))


def _pull_request_of_a_repository_without(folder: Folder) -> Ran:
    repository = folder.path / "pytorch"
    repository.mkdir()
    for name, text in (("HEAD", "ref: refs/heads/main\n"), ("config", "[core]\n\tbare = true\n")):
        (repository / name).write_text(text, encoding="utf-8")
    for name in ("objects", "refs"):
        (repository / name).mkdir()
    return folder.call("plan", "--pull-request", "9", env={"OOTCI_PYTORCH_GIT": repository.as_uri()})


def _planned_and_changed(folder: Folder) -> Ran:
    write(plan(), folder.path / ".ootci" / "plan.json")
    folder.call("history", "append")
    write(plan(0, ("other",)), folder.path / ".ootci" / "plan.json")
    return folder.call("history", "append")


def _plan_of_a_pull_request(folder: Folder) -> Ran:
    with (folder.path / "devices" / "dev.yaml").open("a", encoding="utf-8") as stream:
        stream.write("pull_requests: true\n")
    payload = event_file(folder.path / "event.json", pull_request())
    planned = folder.call("plan", "--pull-request", "delivered", env={"GITHUB_EVENT_PATH": str(payload)})
    assert planned.code == 0, planned.err
    return folder.call("history", "append")


def _external(report: str | None) -> Provocation:
    def provoke(folder: Folder) -> Ran:
        server = folder.opened.enter_context(serve_torch_index(folder.path / "index"))
        if report is not None:
            server.files["/run.json"] = run(0, report).to_json().encode()
        with (folder.path / "devices" / "dev.yaml").open("a", encoding="utf-8") as stream:
            stream.write(f"external: {{run: '{server.address}/run.json'}}\n")
        assert folder.call("plan").code == 0
        return folder.call("external", "--strict")

    return provoke


def _relay(*troubles: Trouble, known: bool = True) -> Provocation:
    def provoke(folder: Folder) -> Ran:
        server = folder.opened.enter_context(relay_server())
        server.state.deliveries.add("d1")
        server.state.troubles += list(troubles)
        server.state.known = known
        write(plan(), folder.path / ".ootci" / "plan.json")
        write(run(), folder.path / ".ootci" / "runs" / "dev" / "run.json")
        event = event_file(folder.path / "event.json", pull_request())
        env = {
            "GITHUB_EVENT_PATH": str(event),
            "GITHUB_WORKFLOW": "pull-request",
            "GITHUB_RUN_ID": "77",
            "OOTCI_RELAY_URL": server.url,
            "OOTCI_RELAY_TOKEN": RELAY_TOKEN,
        }
        report = ("relay", "report", "--status", "in_progress", "--patience", "1", "--strict", "--url", "http://x")
        return folder.call(*report, env=env)

    return provoke


def _delivered_nothing(folder: Folder) -> Ran:
    return folder.call("plan", "--pull-request", "delivered", "--payload", folder.write("payload.json", "{}"))


def _planned_with_a_clock_set_back(folder: Folder) -> Ran:
    write(plan(1), folder.path / ".ootci" / "plan.json")
    folder.call("history", "append")
    write(plan(0), folder.path / ".ootci" / "plan.json")
    return folder.call("history", "append")


def _stale(folder: Folder) -> Ran:
    write(verdicts({"dev": "oo"}, stale="the newest nightly is 40 hours old"), folder.path / ".ootci" / "verdicts.json")
    return folder.call("watch")


def _github(moment: Moment | None, token: str) -> Provocation:
    def provoke(folder: Folder) -> Ran:
        hub = folder.opened.enter_context(fake_github())
        hub.moments = [moment] if moment else []
        write(verdicts({"dev": "or"}), folder.path / ".ootci" / "verdicts.json")
        env = {**hub.environment, "GITHUB_TOKEN": token, "GITHUB_REPOSITORY": REPOSITORY}
        return folder.call("alert", "--apply", env=env)

    return provoke


def _locked(folder: Folder) -> Ran:
    folder.opened.enter_context(locked(folder.path / ".ootci"))
    return folder.call("nightly")


def _without_git(folder: Folder) -> Ran:
    return folder.call("history", "fetch", "--remote", "https://example.com/r.git", env={"PATH": str(folder.path)})


SHORTEST = DEVICE_YAML.format(name="card")
LIMITED = Moment(403, {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "99999999999"})

PROVOCATIONS: dict[str, Provocation] = {
    "DEV-001": _called("device", "preview", "card.yaml"),
    "DEV-002": _large("card.yaml", 3 << 20, "device", "preview", "card.yaml"),
    "DEV-003": _file("name: card\nlinks: [\n"),
    "DEV-004": _file("name: card\nname: disk\n"),
    "DEV-005": _file("a: " + "[" * 200 + "]" * 200 + "\n"),
    "DEV-006": _file(SHORTEST + "teir: gating\n"),
    "DEV-007": _file(SHORTEST, "disk.yaml"),
    "DEV-008": _called("device", "show", "nobody"),
    "DEV-009": _empty_devices,
    "FILE-001": _called("gate"),
    "FILE-002": _written(".ootci/plan.json", "{}\n", "history", "append"),
    "FILE-003": _newer,
    "FILE-004": _large(".ootci/plan.json", MAX_BYTES + 1, "history", "append"),
    "CLI-001": _called("plan", "--torch", "newest"),
    "CLI-002": _called("nightly", "--torhc", "2.13.0"),
    "TORCH-001": _asking_for_another_night,
    "TORCH-002": _called("plan", "--torch", "gone.whl"),
    "TORCH-003": _called(*ENDS),
    "WHEEL-001": _written(
        "torch-2.15.0-py3-none-any.whl", "x", "compat", "dev", "--torch", "torch-2.15.0-py3-none-any.whl"
    ),
    "TORCH-004": _called("torch", "build", "--ref", "main", "--remote", "file:///nowhere"),
    "BIS-001": _bisecting("bisect", "dev", TEST),
    "BIS-002": _bisecting("bisect", "dev", TEST, "--good", "20261009", "--bad", "20261103"),
    "BIS-003": _bisection_that_changed,
    "RUN-001": _called("diff", "dev@previous", "dev@latest"),
    "PULL-001": _pull_request_of_a_repository_without,
    "PULL-002": _called("plan", "--pull-request", "9"),
    "HIST-001": _planned_and_changed,
    "HIST-002": _written("data/2026-11/night/plan.json", "{\n", "judge"),
    "HIST-003": _called("history", "fetch", "--remote", "file:///nowhere"),
    "HIST-005": _called("history", "query", "dev", "smoke/*"),
    "HIST-006": _plan_of_a_pull_request,
    "EXT-001": _external("another"),
    "EXT-002": _external(None),
    "RELAY-001": _delivered_nothing,
    "RELAY-002": _relay(known=False),
    "RELAY-003": _relay(*[Trouble(503)] * 20),
    "RELAY-004": _relay(Trouble(400)),
    "HIST-007": _planned_with_a_clock_set_back,
    "NIGHT-001": _stale,
    "HUB-001": _github(LIMITED, TOKEN),
    "HUB-002": _github(None, "another"),
    "HOST-001": _without_git,
    "HOST-002": _written("file", "x", "plan", "--work", "file/x"),
    "HOST-003": _locked,
    "HOST-004": _card_that_is_gone,
}
"""For each id, what provokes it. An error that is not here has no example, and a test says so."""


def said(ran: Ran) -> dict[str, str]:
    """The error that a call ended in: its id and its three parts."""
    head, _, rest = ran.err[ran.err.rindex("error ") :].partition("\n  where: ")
    where, _, fix = rest.partition("\n  what to do: ")
    mark, _, what = head.partition(": ")
    return {"id": mark.removeprefix("error "), "what": what, "where": where, "fix": fix.rstrip("\n")}


def as_json(examples: Mapping[str, Mapping[str, str]]) -> str:
    """The text of the file that keeps the examples."""
    return json.dumps(examples, indent=1, ensure_ascii=False) + "\n"
