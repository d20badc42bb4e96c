"""Runs our workflow files, untouched, through act on a copy of the repository, with stand-ins for GitHub's side."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import yaml
from misbehaving import write_suites
from repositories import bare_repository, commit, copy_checkout, git

ROOT = Path(__file__).parents[3]
STUBS = Path(__file__).parent / "act_stubs"
ACT = Path(sys.executable).with_name("act")
TIMEOUT_SECONDS = 600
TAG = "v1.2.3"
ADDRESS = f"example/pytorch-integration-tests@{TAG}"
"""Where callers in other repositories find ours."""
DIGEST_LINES = 40
DOCS = "mkdir -p .ootci/docs && echo '<!doctype html>' > .ootci/docs/index.html"
"""A documentation site that is built in no time; in one test it is the real one."""

_KEPT = frozenset({"PATH", "LANG", "LC_ALL"})


_FAILS_ON_PURPOSE = re.compile(
    r"^( +)(- name: (?:Take torch from PyTorch's CI|Did the pull request break .+))\n(?! +continue-on-error)",
    re.MULTILINE,
)
"""Steps that fail their job so that "Re-run failed jobs" repeats it. act ends a run at the first failed job."""


class UnmappedAction(AssertionError):
    """A workflow uses an action, or an input of one, that has no stand-in."""


@dataclass(frozen=True)
class Repository:
    """A copy of our repository.

    Attributes:
        checkout: the working tree that act reads the workflow files from.
        remote: the bare repository that plays GitHub's; its branch ``main`` is what the jobs check out.

    """

    checkout: Path
    remote: Path

    @classmethod
    def copy(cls, folder: Path, *, whole: bool = False) -> Repository:
        """Copy our working tree, uncommitted files included, below a folder. Nothing is committed yet.

        Args:
            folder: where to.
            whole: with our own tests, near half of all files, which every job then checks out. Only building the real
                documentation, or a release, looks at them: the command that runs them is replaced.

        """
        repository = cls.empty(folder, "example/repository")
        copy_checkout(ROOT, repository.checkout, *(() if whole else (":!tests/system",)))
        return repository

    @classmethod
    def empty(cls, folder: Path, name: str) -> Repository:
        """An empty repository of that name, ``owner/repository``, below a folder."""
        checkout, remote = folder / "checkout", folder / "remote.git"
        checkout.mkdir(parents=True)
        bare_repository(remote)
        git(remote, "config", "uploadpack.allowReachableSHA1InWant", "true")
        git(checkout, "init", "--quiet", "--initial-branch=main")
        git(checkout, "remote", "add", "origin", f"https://github.com/{name}.git")
        return cls(checkout, remote)

    def replace_command(self, name: str, lines: str) -> None:
        """Put a script of a few lines in the place of one in ``.ci``, which takes its time or is not there to test."""
        (self.checkout / ".ci" / name).write_text(f"#!/bin/sh\n{lines}\n", encoding="utf-8")

    def without_devices(self) -> Path:
        """Remove every device from the registry; gives its folder."""
        registry = self.checkout / "devices"
        for path in registry.iterdir():
            if path.name != "device.schema.json":
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        return registry

    def with_small_suites(self) -> None:
        """Put the suites of the devices that misbehave in the place of the real ones."""
        suites = self.checkout / "tests" / "device"
        shutil.rmtree(suites)
        write_suites(suites)

    def commit(self) -> None:
        """Commit everything in the checkout, and push it; steps that fail their job on purpose do not fail it there."""
        for path in (self.checkout / ".github" / "workflows").glob("*.yml"):
            text = path.read_text(encoding="utf-8")
            path.write_text(_FAILS_ON_PURPOSE.sub(r"\1\2\n\1  continue-on-error: true\n", text), encoding="utf-8")
        commit(self.checkout, "as tested")
        git(self.checkout, "push", "--quiet", str(self.remote), "main")

    def release(self) -> None:
        """Tag the newest commit, and break the tool on ``main``; the checkout stays at the tag."""
        package = self.checkout / "scripts" / "ootci" / "__init__.py"
        git(self.checkout, "tag", TAG)
        package.write_text('raise SystemExit("this is no release")\n', encoding="utf-8")
        self.commit()
        git(self.checkout, "reset", "--quiet", "--hard", TAG)

    def reset(self, commit: str) -> None:
        """Make a commit of the past the newest one, in both."""
        git(self.checkout, "reset", "--quiet", "--hard", commit)
        git(self.checkout, "push", "--quiet", "--force", str(self.remote), "main")

    @property
    def sha(self) -> str:
        """The commit that the checkout stands at."""
        return git(self.checkout, "rev-parse", "HEAD")

    def duplicate(self, folder: Path) -> Repository:
        """Another copy of both, to go on from here without touching the first."""
        shutil.copytree(self.checkout, folder / self.checkout.name)
        shutil.copytree(self.remote, folder / self.remote.name)
        return Repository(folder / self.checkout.name, folder / self.remote.name)

    def files_on(self, branch: str) -> frozenset[str]:
        """Paths of the files on a branch of the remote; empty when there is no such branch."""
        if branch not in git(self.remote, "branch", "--format=%(refname:short)").split():
            return frozenset()
        return frozenset(git(self.remote, "ls-tree", "-r", "--name-only", branch).splitlines())

    def check_out(self, branch: str, folder: Path) -> Path:
        """The files of a branch of the remote, in a folder that is not there yet."""
        git(self.remote, "clone", "--quiet", "--branch", branch, str(self.remote), str(folder))
        return folder


@dataclass(frozen=True)
class ActRun:
    """What act did.

    Attributes:
        exit_code: its exit code.
        events: its log, one JSON object a line.
        store: the folder that plays the artifact store (``artifacts/``) and GitHub Pages (``pages/``).

    """

    exit_code: int
    events: tuple[Mapping[str, object], ...]
    store: Path

    @property
    def digest(self) -> str:
        """The end of what the jobs said, for the message of a failed assertion."""
        said = [event for event in self.events if event.get("raw_output") or event.get("level") == "error"]
        return "\n".join(f"{_job_name(event)}: {str(event['msg']).rstrip()}" for event in said[-DIGEST_LINES:])

    @property
    def jobs(self) -> dict[str, str]:
        """Result of each job that ran, by the name that GitHub would show."""
        return {_job_name(event): str(event["jobResult"]) for event in self._with("jobResult")}

    def steps(self, job: str) -> dict[str, str]:
        """Result of each step of a job, by name; that of an action is a failure if any part of it is."""
        found: dict[str, str] = {}
        for event in self._with("stepResult"):
            if _job_name(event) == job and found.get(str(event["step"])) != "failure":
                found[str(event["step"])] = str(event["stepResult"])
        return found

    def _with(self, key: str) -> Iterator[Mapping[str, object]]:
        return (event for event in self.events if key in event)


def _job_name(event: Mapping[str, object]) -> str:
    # `nightly/plan`, or `device-1/device/openreg` in a called workflow; act pads it for its log.
    return str(event.get("job", "")).partition("/")[2].strip()


def run_workflow(
    repository: Repository,
    folder: Path,
    *,
    workflow: str,
    event: str,
    inputs: Mapping[str, str] | None = None,
    attempt: int = 1,
    run_id: int = 1,
    labels: Iterable[str] = ("ubuntu-latest",),
    environment: Mapping[str, str] | None = None,
    token: str | None = None,
    called: Repository | None = None,
    payload: Mapping[str, object] | None = None,
    variables: Mapping[str, str] | None = None,
    options: Iterable[str] = (),
) -> ActRun:
    """Run one workflow for one event.

    Args:
        repository: a committed copy of ours, or somebody else's repository that calls ours.
        folder: an empty folder for this run: home, caches, artifact store.
        workflow: file name below ``.github/workflows``.
        event: name of the event.
        inputs: those of ``workflow_dispatch``.
        attempt: which attempt of the run this is; each has an artifact store of its own here.
        run_id: number of the run.
        labels: runner labels that there is a runner for. act passes over the jobs of any other label and exits 0.
        environment: further variables, which every step sees.
        token: what ``github.token`` is; empty without one.
        called: a committed copy of ours, where the repository is somebody else's.
        payload: what more the event says.
        variables: those of the repository, `vars`.
        options: more of act's own.

    """
    ours = called or repository
    for name in ("home", "store", "cache", "tmp"):
        (folder / name).mkdir(parents=True)
    told = folder / "event.json"
    # The event of a schedule says nothing of its repository (codeql-action, pull request 1211).
    about = {} if event == "schedule" else {"repository": {"fork": False, "default_branch": "main"}}
    told.write_text(json.dumps({"inputs": dict(inputs or {}), **about, **(payload or {})}), encoding="utf-8")
    command = [str(ACT), event, "--workflows", f".github/workflows/{workflow}", "--eventpath", str(told), "--json"]
    command += ["--no-skip-checkout", "--no-cache-server", "--action-cache-path", str(folder / "cache")]
    command += _each("--env", (f"GITHUB_RUN_ID={run_id}", f"GITHUB_RUN_ATTEMPT={attempt}"))
    command += ["--secret", f"GITHUB_TOKEN={token}"] if token else []
    command += _each("--platform", (f"{label}=-self-hosted" for label in labels))
    command += _each("--local-repository", _stand_ins(ours.checkout))
    command += _each("--var", (f"{name}={value}" for name, value in (variables or {}).items()))
    command += options
    seen = {**_environment(folder, ours), **(environment or {})}
    if called is not None:
        command += ["--local-repository", f"{ADDRESS}={called.checkout}"]
        seen.update(STUB_CALLER=str(repository.remote), STUB_SHA=called.sha)
    done = _ended(command, repository.checkout, seen)
    # The jobs' workspaces hold an environment each, too large to keep.
    shutil.rmtree(folder / "cache")
    lines = (json.loads(line) for line in done.stdout.splitlines() if line.startswith("{"))
    return ActRun(done.returncode, tuple(lines), folder / "store")


def _ended(command: list[str], folder: Path, environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=folder,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=TIMEOUT_SECONDS,
        check=False,
    )


def _each(option: str, values: Iterable[str]) -> list[str]:
    return [part for value in values for part in (option, value)]


def used_actions(checkout: Path) -> dict[str, set[str]]:
    """Every third-party action that our workflows and actions use, ``owner/name@ref``, with the inputs given to it."""
    found: dict[str, set[str]] = {}
    for path in sorted((checkout / ".github").rglob("*.yml")):
        for step in _steps(yaml.safe_load(path.read_text(encoding="utf-8"))):
            uses = str(step.get("uses", ""))
            if uses and not uses.startswith("./"):
                found.setdefault(uses, set()).update(step.get("with", {}))
    return found


def _steps(node: object) -> Iterator[dict[str, dict[str, object]]]:
    if isinstance(node, list):
        for item in node:
            yield from _steps(item)
    elif isinstance(node, dict):
        if "uses" in node:
            yield node
        for item in node.values():
            yield from _steps(item)


def _stand_ins(checkout: Path) -> list[str]:
    mapped = []
    for uses, given in used_actions(checkout).items():
        name, _, ref = uses.partition("@")
        folder = STUBS / name
        if not (folder / "action.yml").is_file():
            raise UnmappedAction(f"no stand-in for `uses: {uses}`; add one to {STUBS.relative_to(ROOT)}")
        known = yaml.safe_load((folder / "action.yml").read_text(encoding="utf-8")).get("inputs", {})
        if unknown := given - set(known):
            raise UnmappedAction(f"the stand-in for {uses} has no input {', '.join(sorted(unknown))}")
        repository = "/".join(name.split("/")[:2])  # an action may lie in a folder of it
        mapped.append(f"{repository}@{ref}={STUBS / repository}")
    return sorted(set(mapped))


def _environment(folder: Path, repository: Repository) -> dict[str, str]:
    # Steps inherit all that act is given, so it is given nothing of this machine's but where its programs are.
    return {
        **{key: value for key, value in os.environ.items() if key in _KEPT},
        "HOME": str(folder / "home"),
        "TMPDIR": str(folder / "tmp"),
        "STUB_REMOTE": str(repository.remote),
        "STUB_STORE": str(folder / "store"),
        "STUB_CACHE": str(folder / "kept"),
        "STUB_PYTHON": sys.executable,
        "STUB_INSTALLED": str(folder / "installed"),
        # Of an option that begins with "no", pip takes the value of what it denies: "1" would compile.
        "PIP_NO_COMPILE": "0",
    }
