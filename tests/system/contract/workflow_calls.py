"""The rules of what our workflow files say about each other: calls, inputs, permissions, and what waits for what."""

from __future__ import annotations

import re
from collections.abc import Iterator

from contract.workflow_file import File, Files, Mapped, permissions_of
from contract.workflow_rules import ALERT, LEVELS, PUBLISHED

_KEBAB = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")
_TYPES: dict[str, tuple[type, ...]] = {"string": (str,), "number": (int, float), "boolean": (bool,)}


_ALWAYS_OF_WHAT_IT_PLANNED = (
    r"always\(\)( && needs\.plan\.result != 'skipped' && needs\.plan\.outputs\.count != '0'"
    r"| && needs\.publish\.outputs\.received != 'no' && needs\.publish\.outputs\.home != 'no'"
    r" && needs\.publish\.outputs\.gating != '0'"
    r"| && needs\.plan\.result != 'skipped')?"
)
"""A reusable workflow leaves the gate to the caller who planned, and where nobody takes part, nothing was received, no
gating device is tested, or the event was refused, there is none."""
_ALWAYS_OF_ITS_SHARES = r"always\(\)( && matrix\.share\.count (==|>) 1)?"
"""One share is a run; of several each is a part of one."""


def local_calls_lead_somewhere(files: Files) -> Iterator[str]:
    """Every `uses: ./...` names a workflow or an action that is here; workflows lie directly in their folder."""
    for file in files.values():
        if file.is_workflow and file.path.count("/") != 1:
            yield f"{file.path}: GitHub finds workflows only directly in .github/workflows"
        for node in _calling(file):
            if _callee(files, node) is None:
                yield f"{file.path}: `{node['uses']}` is not here"


def calls_fit(files: Files) -> Iterator[str]:
    """A call gives the inputs that its callee has, all the required ones, each of the right type."""
    for file in files.values():
        for node in _calling(file):
            callee = _callee(files, node)
            if callee is None:
                continue
            given, declared = node.get("with", {}), _inputs(callee)
            where = f"{file.path}: `{node.get('name')}`"
            yield from (f"{where} gives {key}, which {callee.path} does not have" for key in given.keys() - declared)
            for key, settings in declared.items():
                if settings.get("required") is True and key not in given:
                    yield f"{where} does not give {key}, which {callee.path} requires"
                if key in given and not _has_type(given[key], settings.get("type", "string"), _inputs(file)):
                    yield f"{where} gives {key} a value that is no {settings.get('type', 'string')}"
            yield from (f"{where} {problem}" for problem in _secrets_amiss(node.get("secrets", {}), callee))


def _secrets_amiss(given: Mapped | str, callee: File) -> Iterator[str]:
    declared = (callee.trigger("workflow_call") or {}).get("secrets") or {}
    if not isinstance(given, dict):
        yield f"hands on all its secrets to {callee.path}"
        return
    yield from (f"gives the secret {key}, which {callee.path} does not have" for key in given.keys() - declared.keys())
    for key, settings in declared.items():
        if (settings or {}).get("required") is True and key not in given:
            yield f"does not give the secret {key}, which {callee.path} requires"


def plans_and_jobs_go_together(files: Files) -> Iterator[str]:
    """Whoever gives a callee a plan gives it the device's job, too: the runner, the container, the shares."""
    for file in files.values():
        for node in _calling(file):
            given, callee = node.get("with", {}), _callee(files, node)
            takes_both = callee is not None and {"plan-artifact", "job"} <= _inputs(callee).keys()
            if takes_both and ("plan-artifact" in given) != ("job" in given):
                yield f"{file.path}: `{node.get('name')}` gives only one of plan-artifact and job"


def callers_grant_enough(files: Files) -> Iterator[str]:
    """A called workflow asks for no more permissions than its caller grants; GitHub refuses the whole run otherwise."""
    for file in files.values():
        for name, job in file.jobs.items():
            callee = _callee(files, job) if "uses" in job else None
            for inner in callee.jobs.values() if callee else ():
                for scope, level in permissions_of(inner).items():
                    granted = permissions_of(job).get(scope, "none")
                    if LEVELS.index(level) > LEVELS.index(granted):
                        yield f"{file.path}: job {name} grants `{scope}: {granted}`, its callee needs `{level}`"


def reports_in_every_case(files: Files) -> Iterator[str]:
    """What follows a device run happens whatever became of it, and the gate is never skipped.

    GitHub skips a job or step after a failed one unless its condition says otherwise, and takes a required check
    that was skipped for a passed one. act cannot show this: it gives up at the first failed leg.
    """
    for file in files.values():
        for name, job in file.jobs.items():
            after_devices = any(_tests_a_device(files, file.jobs.get(needed, {})) for needed in _needs(job))
            if after_devices and not re.search(r"always\(\)|!cancelled\(\)", str(job.get("if", ""))):
                yield f"{file.path}: job {name} is skipped when a device's job fails"
            is_gate = _runs(job, "gate") and not _runs(job, "test") and not _runs(job, "build")
            if is_gate and not re.fullmatch(_ALWAYS_OF_WHAT_IT_PLANNED, str(job.get("if"))):
                yield f"{file.path}: job {name} is the gate and may be skipped"
            if _runs(job, "test"):
                yield from (
                    f"{file.path}: `{step.get('name')}` is skipped when an earlier step fails"
                    for step in job["steps"]
                    if (_runs({"steps": [step]}, "collect") or "/upload-artifact@" in str(step.get("uses", "")))
                    and not re.fullmatch(_ALWAYS_OF_ITS_SHARES, str(step.get("if")))
                )


def _runs(job: Mapped, command: str) -> bool:
    return any(re.search(rf"^ootci {command}\b", step.get("run", ""), re.M) for step in job.get("steps", []))


def waits_for_no_device(files: Files) -> Iterator[str]:
    """What publishes a nightly depends on no job that waits for a device: a runner that is offline would keep it all.

    GitHub cancels a job that waits for a self-hosted runner only after a day. Source: GitHub's documentation, "Actions
    limits", "Self-hosted runners".
    """
    for file in files.values():
        for name, job in file.jobs.items():
            used = "\n".join(f"{step.get('uses', '')}\n{step.get('run', '')}" for step in job.get("steps", []))
            if not re.search(f"{PUBLISHED}|{ALERT}", used, re.M):
                continue
            for needed in _all_needed(file, name):
                if _tests_a_device(files, file.jobs.get(needed, {})):
                    yield f"{file.path}: job {name} publishes and waits for a device in job {needed}"


def _all_needed(file: File, name: str) -> set[str]:
    """The jobs that a job depends on, through others, too."""
    found: set[str] = set()
    left = _needs(file.jobs.get(name, {}))
    while left:
        needed = left.pop()
        if needed not in found:
            found.add(needed)
            left += _needs(file.jobs.get(needed, {}))
    return found


def _needs(job: Mapped) -> list[str]:
    """The jobs that a job names as needed."""
    needs = job.get("needs", [])
    return [needs] if isinstance(needs, str) else list(needs)


def _tests_a_device(files: Files, job: Mapped) -> bool:
    """Whether a job, or a workflow that it calls, tests a device."""
    callee = _callee(files, job) if str(job.get("uses", "")).startswith("./") else None
    return any(_runs(inner, "test") for inner in (job, *(callee.jobs.values() if callee else ())))


def interfaces_are_described(files: Files) -> Iterator[str]:
    """Inputs and outputs are kebab-case and have a description; those of workflows have a type."""
    for file in files.values():
        interface = {**_inputs(file), **_outputs(file)}
        for key, settings in interface.items():
            if not _KEBAB.fullmatch(key):
                yield f"{file.path}: {key} is not kebab-case"
            if not settings.get("description"):
                yield f"{file.path}: {key} has no description"
        if file.is_workflow:
            yield from (f"{file.path}: {key} has no type" for key, item in _inputs(file).items() if "type" not in item)


def _calling(file: File) -> Iterator[Mapped]:
    nodes = [*file.jobs.values(), *file.steps]
    return (node for node in nodes if str(node.get("uses", "")).startswith("./"))


def _callee(files: Files, node: Mapped) -> File | None:
    target = str(node["uses"]).removeprefix("./.github/")
    return files.get(target) or files.get(f"{target}/action.yml".removeprefix(".//"))


def _inputs(file: File) -> dict[str, Mapped]:
    found = dict(file.content.get("inputs", {}))
    for event in ("workflow_call", "workflow_dispatch"):
        found.update((file.trigger(event) or {}).get("inputs", {}))
    return found


def calls_from_elsewhere(text: str) -> str:
    """A workflow of another repository, with its calls of ours as if it were here, so that the same rules say."""
    return re.sub(
        r"uses: example/pytorch-integration-tests(?:/(\.github/workflows/[\w.-]+))?@main\b", r"uses: ./\1", text
    )


def _outputs(file: File) -> dict[str, Mapped]:
    return {**file.content.get("outputs", {}), **(file.trigger("workflow_call") or {}).get("outputs", {})}


def _has_type(value: object, wanted: str, ours: dict[str, Mapped]) -> bool:
    whole = re.fullmatch(r"\$\{\{\s*(.*?)\s*\}\}", value) if isinstance(value, str) else None
    if whole is None:
        return isinstance(value, _TYPES[wanted]) and (wanted == "boolean" or not isinstance(value, bool))
    if handed_on := re.fullmatch(r"inputs\.([\w-]+)", whole[1]):
        return bool(ours.get(handed_on[1], {}).get("type", wanted) == wanted)
    return wanted == "string" or not whole[1].startswith(("toJSON(", "format(", "'"))
