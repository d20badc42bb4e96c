"""The rules of where a secret may stand in our workflow files."""

from __future__ import annotations

import re
from collections.abc import Iterator

from contract.workflow_file import Files, Mapped
from contract.workflow_rules import SECRET

_OURS = frozenset({"schedule", "workflow_dispatch", "push", "workflow_call"})
"""Who starts one of these may write to the repository; of a fork, GitHub gives `workflow_call` no secret either."""


def gives_tokens_to_one_step(files: Files) -> Iterator[str]:
    """The token and secrets stand in a step's own `env:`, or where only the runner and a callee of ours see them.

    An action that downloads from another run takes it as an input, which is seen like its `env:` by that step only.
    """
    for file in files.values():
        allowed = [step.get("env") for step in file.steps]
        allowed += [(step.get("with") or {}).get("github-token") for step in file.steps]
        allowed += [(job.get("container") or {}).get("credentials") for job in file.jobs.values()]
        allowed += [job["secrets"] for job in file.jobs.values() if isinstance(job.get("secrets"), dict)]
        if len(SECRET.findall(file.text)) > sum(len(SECRET.findall(str(part or ""))) for part in allowed):
            yield f"{file.path}: a secret or the token stands outside a step's `env:`"


def pulls_public_images_too(files: Files) -> Iterator[str]:
    """A job whose container has credentials has a twin for images that need none: GitHub refuses empty credentials."""
    for file in files.values():
        for name, job in file.jobs.items():
            credentials = _credentials(job)
            if credentials is None:
                continue
            twin = file.jobs.get(name.removesuffix("-private"), {})
            same = _without_credentials(twin) == _without_credentials(job) and twin.get("if") != job.get("if")
            if _credentials(twin) is not None or not same:
                yield f"{file.path}: job {name} has no twin that pulls an image without credentials"
            if not isinstance(credentials, dict) or not all(map(_NEVER_EMPTY.fullmatch, credentials.values())):
                yield f"{file.path}: job {name} may have empty credentials"


def _without_credentials(job: Mapped) -> Mapped:
    condition = re.sub(r"!(fromJSON\((?:[^()]|\([^()]*\))*\)[\w.]*\.credentials)", r"\1", str(job.get("if")))
    container = {key: value for key, value in job.get("container", {}).items() if key != "credentials"}
    return {**job, "if": condition, "container": container}


def hands_on_what_it_was_given(files: Files) -> Iterator[str]:
    """A secret that is looked up by a name stands in a call only: any runner would be given all that there are."""
    for file in files.values():
        calls = [job["secrets"] for job in file.jobs.values() if isinstance(job.get("secrets"), dict)]
        if file.text.count("secrets[") > sum(str(given).count("secrets[") for given in calls):
            yield f"{file.path}: a secret is looked up by its name outside a call"


def gives_no_secret_to_proposals(files: Files) -> Iterator[str]:
    """What a stranger can start, or have tested, hands no secret to what it calls."""
    for file in files.values():
        events = file.content.get("on", ())
        strangers = ({events} if isinstance(events, str) else set(events)) - _OURS
        for name, job in file.jobs.items():
            if strangers and "secrets" in job:
                yield f"{file.path}: job {name} hands on secrets on {', '.join(sorted(strangers))}"


_NEVER_EMPTY = re.compile(r"\$\{\{ secrets\.[\w-]+ \|\| '[\w-]+' \}\}")


def _credentials(job: Mapped) -> Mapped | str | None:
    container = job.get("container")
    return container.get("credentials") if isinstance(container, dict) else None
