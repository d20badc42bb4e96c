"""The rules of our workflow files that no linter knows: each a function from the files to the places that break it."""

from __future__ import annotations

import re
from collections.abc import Iterator

from contract.workflow_file import File, Files, Mapped, permissions_of

MAX_RUN_LINES = 3
LEVELS = ("none", "read", "write")

NOT_THE_TOOL = {
    "Install ootci": "there is no tool to call before it is installed",
    "Leave out what the index does not take": "nothing of ours is checked out where a package is published",
}
"""Steps whose `run:` calls neither `ootci` nor what is in `.ci`, by name, and why."""


def starts_with_no_permission(files: Files) -> Iterator[str]:
    """`permissions: {}` at the top of every workflow."""
    for file in files.values():
        if file.is_workflow and file.content.get("permissions") != {}:
            yield f"{file.path}: `permissions: {{}}` is not at the top"


def has_a_timeout(files: Files) -> Iterator[str]:
    """`timeout-minutes` on every job that has a runner."""
    for file in files.values():
        for name, job in file.jobs.items():
            if "uses" not in job and "timeout-minutes" not in job:
                yield f"{file.path}: job {name} has no timeout-minutes"


def has_names(files: Files) -> Iterator[str]:
    """A name for every file, job and step."""
    for file in files.values():
        named = [("the file", file.content), *((f"job {key}", job) for key, job in file.jobs.items())]
        named += [(f"step {number}", step) for number, step in enumerate(file.steps, 1)]
        yield from (f"{file.path}: {what} has no name" for what, node in named if not node.get("name"))


def keeps_logic_out(files: Files) -> Iterator[str]:
    """`run:` blocks of at most three lines."""
    for file, step in _runs(files):
        if len([line for line in step["run"].splitlines() if line.strip()]) > MAX_RUN_LINES:
            yield f"{file.path}: `{step.get('name')}` runs more than {MAX_RUN_LINES} lines"


def names_its_shell(files: Files) -> Iterator[str]:
    """`shell: bash` on every `run:`, because the default shell has no pipefail."""
    for file, step in _runs(files):
        if step.get("shell") != "bash":
            yield f"{file.path}: `{step.get('name')}` has no `shell: bash`"


def calls_the_tool(files: Files) -> Iterator[str]:
    """Every `run:` calls `ootci` or a script in `.ci`."""
    called = r"^(ootci |\.ci/(run|release|docs|torch)\b)"
    for file, step in _runs(files):
        if step.get("name") not in NOT_THE_TOOL and not re.search(called, step["run"], re.M):
            yield f"{file.path}: `{step.get('name')}` does something that `ootci` should do"


def pins_actions(files: Files) -> Iterator[str]:
    """Third-party actions at a full commit with the version beside it, one commit and version for each action."""
    pins: dict[str, tuple[str, str]] = {}
    for file in files.values():
        for line in file.text.splitlines():
            found = re.match(r"\s*(?:- )?uses: +(?P<name>[^.\s@][^\s@]*)(?:@(?P<ref>\S+))?(?P<rest>.*)$", line)
            if not found:
                continue
            name, ref = found["name"], found["ref"] or ""
            version = re.fullmatch(r" # (v\d+\.\d+\.\d+)", found["rest"])
            if not re.fullmatch(r"[0-9a-f]{40}", ref) or version is None:
                yield f"{file.path}: {name} is not pinned to a commit with its version in a comment"
            elif pins.setdefault(name, (ref, version[1])) != (ref, version[1]):
                yield f"{file.path}: {name} is pinned to another commit or version elsewhere"


def shares_no_cache(files: Files) -> Iterator[str]:
    """No cache of GitHub's of what is run: what one job saves, also one with vendor code, another would run.

    How long tests took, and which nightly was started last, is data, which jobs without vendor code read and write.
    What our own tests compile, and the torch that they run on, is for jobs in which a poisoned one can do no more
    than make a check red or green.
    """
    for file in files.values():
        for job in [*file.jobs.values(), file.content.get("runs", {})]:
            only_tests = _only_tests(job)
            runs_none = not any(re.search(_VENDOR, step.get("run", ""), re.M) for step in _of(job))
            for step in _of(job):
                if "cache" in step.get("with", {}):
                    yield f"{file.path}: `{step.get('name')}` takes what another job may have saved"
                if not str(step.get("uses", "")).startswith("actions/cache"):
                    continue
                path = step.get("with", {}).get("path") if _action(step) in _CACHED else None
                allowed = runs_none if path in _OF_EARLIER_RUNS else only_tests and path in _OF_OUR_TESTS
                if not allowed:
                    yield f"{file.path}: `{step.get('name')}` takes what another job may have saved"


def installs_with_checksums(files: Files) -> Iterator[str]:
    """pip takes wheels with the checksums that stand in the repository, and runs no build of a package."""
    for file, step in _runs(files):
        words = set(step["run"].split())
        if "pip" in words and not {"--require-hashes", "--only-binary=:all:"} <= words:
            yield f"{file.path}: `{step.get('name')}` installs what anybody may have put into the index"


def leaves_no_credentials(files: Files) -> Iterator[str]:
    """`persist-credentials: false` on every checkout."""
    for file, step in _using(files, "actions/checkout"):
        if step.get("with", {}).get("persist-credentials") is not False:
            yield f"{file.path}: `{step.get('name')}` leaves credentials in the checkout"


def checks_out_its_own_commit(files: Files) -> Iterator[str]:
    """A reusable workflow checks out the commit that it is from: a plain checkout would get the caller's code.

    The caller's code, where it is needed too, goes into a folder of its own.
    """
    own = {"repository": "${{ job.workflow_repository }}", "ref": "${{ job.workflow_sha }}"}
    for file, step in _using(files, "actions/checkout"):
        given = step.get("with", {})
        if file.trigger("workflow_call") is not None and "path" not in given and not own.items() <= given.items():
            yield f"{file.path}: `{step.get('name')}` may get the caller's code"


def finishes_every_leg(files: Files) -> Iterator[str]:
    """`fail-fast: false` in every matrix."""
    for file in files.values():
        for name, job in file.jobs.items():
            strategy = job.get("strategy", {})
            if "matrix" in strategy and strategy.get("fail-fast") is not False:
                yield f"{file.path}: job {name} gives up its other legs when one fails"


def swallows_no_failure(files: Files) -> Iterator[str]:
    """No `continue-on-error`."""
    for file in files.values():
        for node in [*file.jobs.values(), *file.steps]:
            if "continue-on-error" in node:
                yield f"{file.path}: `{node.get('name')}` goes on after an error"


def gives_vendor_code_nothing(files: Files) -> Iterator[str]:
    """A job that builds or tests a device can read the code, and nothing else."""
    for file in files.values():
        for name, job in file.jobs.items():
            if not any(re.search(_VENDOR, step.get("run", ""), re.M) for step in _of(job)):
                continue
            if set(permissions_of(job).items()) - {("contents", "read")}:
                yield f"{file.path}: job {name} runs vendor code and has more than `contents: read`"
            # What the runner pulls the image with is no step's; `workflow_secrets` has the rules for it.
            steps_and_env = {key: value for key, value in job.items() if key != "container"}
            container = {key: value for key, value in (job.get("container") or {}).items() if key != "credentials"}
            seen = f"{steps_and_env} {container}"
            if "environment" in job or re.search(r"\bsecrets\b|github\.token", seen):
                yield f"{file.path}: job {name} runs vendor code and can see a secret"


def asks_for_what_it_needs(files: Files) -> Iterator[str]:
    """A job has the permissions, and the step the token, without which its work is refused; act refuses nothing."""
    for file in files.values():
        for name, job in file.jobs.items():
            permissions = permissions_of(job)
            for step in _of(job):
                for sign, scope, levels in _NEEDED:
                    used = f"{step.get('uses', '')}\n{step.get('run', '')}"
                    if re.search(sign, used, re.M) and permissions.get(scope) not in levels:
                        yield f"{file.path}: job {name} needs `{scope}: {levels[0]}` for `{step.get('name')}`"
                of_another = "run-id" in step.get("with", {})
                if of_another and (
                    permissions.get("actions") not in ("read", "write") or "github-token" not in step["with"]
                ):
                    yield f"{file.path}: `{step.get('name')}` may not download from another run"
                asks = re.search(f"{_PUSH}|{ALERT}|{_ANSWER}|{_RUNS}|{_JOBS}", step.get("run", ""), re.M)
                if asks and "GITHUB_TOKEN" not in (step.get("env") or {}):
                    yield f"{file.path}: `{step.get('name')}` has no GITHUB_TOKEN"


def identifies_itself_only_where_asked(files: Files) -> Iterator[str]:
    """A job can say who it is (`id-token: write`) only where it deploys pages, attests, publishes, or reports.

    One that calls a workflow may grant it what a job there asks for.
    """
    for file in files.values():
        for name, job in file.jobs.items():
            used = "\n".join(f"{step.get('uses', '')}\n{step.get('run', '')}" for step in _of(job))
            asked = any(re.search(sign, used, re.M) for sign, scope, _ in _NEEDED if scope == "id-token")
            callee = files.get(str(job.get("uses", "")).removeprefix("./.github/"))
            called = callee.jobs.values() if callee else ()
            asked = asked or any("id-token" in permissions_of(inner) for inner in called)
            if "id-token" in permissions_of(job) and not asked:
                yield f"{file.path}: job {name} can say who it is to nobody who asks"


def publishes_from_home_only(files: Files) -> Iterator[str]:
    """What is published comes from the default branch of a repository that is no fork, as `ootci home` says.

    A condition on the event is not enough: that of a schedule says nothing of its repository. `ootci alert` and
    `ootci device answer` ask for themselves.
    """
    for file in files.values():
        for job in file.jobs.values():
            for step in _of(job):
                used = f"{step.get('uses', '')}\n{step.get('run', '')}"
                conditions = f"{_condition(job)} && {step.get('if', '')}"
                if re.search(PUBLISHED, used, re.M) and not _at_home(conditions):
                    yield f"{file.path}: `{step.get('name')}` may publish what a fork or another branch has found"
                if re.search(r"\bgh release\b|^\.ci/release publish\b", used, re.M) and not _no_fork(conditions):
                    yield f"{file.path}: `{step.get('name')}` may release from a fork"


def takes_any_repository(files: Files) -> Iterator[str]:
    """No repository and no default branch is named: other names work, too.

    Those of PyTorch have their names.
    """
    for file in files.values():
        ours = re.sub(r"\bclient_payload\.payload\.ref.*", "", file.text)
        if re.search(r"refs/heads/\w|\bref_name == '", ours):
            yield f"{file.path}: a branch is named in a condition"
        branches = (file.trigger("push") or {}).get("branches", ["**"])
        if branches != ["**"]:
            yield f"{file.path}: pushes to {', '.join(branches)} start it, whatever the default branch is"
        for node in [*file.jobs.values(), *file.steps]:
            if re.search(r"github\.(repository|repository_owner|event\.repository\.(full_)?name) *[!=]= *'", str(node)):
                yield f"{file.path}: `{node.get('name')}` names a repository in a condition"


def is_safe_for_forks(files: Files) -> Iterator[str]:
    """A pull request's code runs on GitHub's own machines, can only read, and `pull_request_target` is not used.

    A job that does not run for a pull request may do more.
    """
    for file in files.values():
        if file.trigger("pull_request_target") is not None:
            yield f"{file.path}: `pull_request_target` runs with the repository's rights"
        if file.trigger("pull_request") is None:
            continue
        for name, job in file.jobs.items():
            if not re.fullmatch(r"ubuntu-[\w.]+", str(job.get("runs-on"))):
                yield f"{file.path}: job {name} may bring a pull request to a runner that is not GitHub's"
            more = "write" in permissions_of(job).values() or SECRET.search(_text_of_job(file, name))
            if more and not _no_pull_request(job):
                yield f"{file.path}: job {name} gives a pull request more than reading"


def looks_at_proposals_with_our_own_tool(files: Files) -> Iterator[str]:
    """Device files of a pull request are looked at by the base branch's tool; they lie in a folder of their own."""
    base = "${{ github.event.pull_request.base.sha }}"
    for file in files.values():
        if file.trigger("pull_request") is None:
            continue
        for name, job in file.jobs.items():
            if not any(re.search(_REVIEW, step.get("run", ""), re.M) for step in _of(job)):
                continue
            checkouts = [step.get("with", {}) for step in _of(job) if _action(step) == "actions/checkout"]
            if [given.get("ref") for given in checkouts if "path" not in given] != [base]:
                yield f"{file.path}: job {name} may look at a proposal with the proposal's own tool"
            if set(permissions_of(job).items()) - {("contents", "read")}:
                yield f"{file.path}: job {name} looks at a stranger's files and has more than `contents: read`"


def takes_a_strangers_run_for_data(files: Files) -> Iterator[str]:
    """What runs after another workflow's run has rights that the other had not.

    So it checks out nothing that the event names, leaves what the other run made to `ootci`, which reads it within
    limits, and runs for the one event that it is meant for, unless no stranger can start the other workflow.
    """
    for file in files.values():
        after = file.trigger("workflow_run")
        if after is None:
            continue
        theirs = _may_be_a_strangers(files, after.get("workflows", []))
        for name, job in file.jobs.items():
            of_one_event = r"(^|\{\{ )github\.event\.workflow_run\.event == '\w+'( &&|$)"
            if theirs and not re.search(of_one_event, _condition(job)):
                yield f"{file.path}: job {name} runs after a run of any event"
            for step in _of(job):
                if _action(step) == "actions/checkout" and {"ref", "repository"} & step.get("with", {}).keys():
                    yield f"{file.path}: `{step.get('name')}` may check out a stranger's code"
                elsewhere = theirs or "run-id" in step.get("with", {})
                if _action(step) == "actions/download-artifact" and elsewhere:
                    yield f"{file.path}: `{step.get('name')}` unpacks whatever a stranger has packed"
                if re.search(r"^ootci (build|test|nightly|device review)\b", step.get("run", ""), re.M):
                    yield f"{file.path}: `{step.get('name')}` looks at more than what the other run has found"


def _may_be_a_strangers(files: Files, names: list[str]) -> bool:
    """Whether one of these workflows may run for somebody who may not write to the repository."""
    named = [file for file in files.values() if file.is_workflow and file.content.get("name") in names]
    return len(named) < len(names) or any(set(file.content.get("on", ())) - _BY_WRITERS for file in named)


def _must(condition: str, pattern: str) -> bool:
    # With an `||` what is looked for may be one of several ways in.
    return "||" not in condition and bool(re.search(rf"(&& |\{{\{{ |^){pattern}( &&| *\}}\}}|$)", condition))


def _at_home(conditions: str) -> bool:
    return _must(conditions, r"(needs\.\w+|steps\.home)\.outputs\.home == 'yes'")


def _no_fork(conditions: str) -> bool:
    return _must(conditions, r"!github\.event\.repository\.fork")


def _no_pull_request(job: Mapped) -> bool:
    return _must(_condition(job), r"github\.event_name != 'pull_request'")


def _only_tests(job: Mapped) -> bool:
    """Whether a job runs our own tests, can only read, sees no secret, and hands nothing on."""
    steps = _of(job)
    actions = {_action(step) for step in steps if "uses" in step}
    return (
        any(re.search(r"^\.ci/run\b", step.get("run", ""), re.M) for step in steps)
        and set(permissions_of(job).items()) == {("contents", "read")}
        and not SECRET.search(str(job))
        and "outputs" not in job
        and actions <= {"actions/checkout", "actions/setup-python", *_CACHED}
    )


def _condition(job: Mapped) -> str:
    return " ".join(str(job.get("if", "")).split())


def _action(step: Mapped) -> str:
    return str(step.get("uses", "")).partition("@")[0]


def _runs(files: Files) -> Iterator[tuple[File, Mapped]]:
    return ((file, step) for file in files.values() for step in file.steps if "run" in step)


def _using(files: Files, action: str) -> Iterator[tuple[File, Mapped]]:
    return ((file, step) for file in files.values() for step in file.steps if _action(step) == action)


def _of(job: Mapped) -> list[Mapped]:
    return list(job.get("steps", []))


def _text_of_job(file: File, name: str) -> str:
    found = re.search(rf"^  {re.escape(name)}:\n(?:(?:    .*)?\n)*", file.text + "\n", re.M)
    return found[0] if found else ""


_VENDOR = r"^ootci (build|test|nightly|torch build)\b|^ootci compat\b.*--compile\b"
_CACHED = ("actions/cache/restore", "actions/cache/save")
_OF_EARLIER_RUNS = (".ootci/past/plan.json",)
_OF_OUR_TESTS = (".ootci/ccache", ".ootci/torch-wheels")
_PUSH = r"^ootci history publish\b"
ALERT = r"^ootci alert\b"
_ANSWER = r"^ootci device answer\b"
_RUNS = r"^ootci (dispatch|receive)\b"
_JOBS = r"^ootci gate\b.*--run-id\b"
_BY_WRITERS = frozenset({"schedule", "workflow_dispatch"})
_REVIEW = r"^ootci device review\b"
PUBLISHED = rf"{_PUSH}|^ootci receive\b|^actions/deploy-pages@|^ootci relay report --nightly\b"
_NEEDED = (
    (r"^actions/checkout@", "contents", ("read", "write")),
    (_PUSH, "contents", ("write",)),
    (ALERT, "issues", ("write",)),
    (_ANSWER, "pull-requests", ("write",)),
    (_ANSWER, "actions", ("read", "write")),
    (_RUNS, "actions", ("write",)),
    (_JOBS, "actions", ("read", "write")),
    (r"^pypa/gh-action-pypi-publish@", "id-token", ("write",)),
    (r"^actions/deploy-pages@", "pages", ("write",)),
    (r"^actions/(deploy-pages|attest-build-provenance)@", "id-token", ("write",)),
    (r"^ootci relay report\b", "id-token", ("write",)),
    (r"^actions/attest-build-provenance@", "attestations", ("write",)),
)
SECRET = re.compile(r"\bsecrets[.\[]|\bsecrets: inherit\b|\bgithub\.token\b")
"""Where a secret or the token is used."""
