"""The secrets that a device file names reach the pull of its image and no other, says GitHub's own evaluator."""

from __future__ import annotations

import json
from pathlib import Path

from contract.workflow_file import read_files
from contract.workflow_linters import evaluate
from unit.samples import register

from commands import OFFLINE, Tool  # isort: skip

FILES = read_files(Path(__file__).parents[3] / ".github")
PRIVATE = "{{image: x, credentials: {{username: {0}_REGISTRY_USERNAME, password: {0}_REGISTRY_PASSWORD}}}}"
DEVICES = {
    "machine": "",
    "public": "runner: {container: {image: x}}\n",
    "private": f"runner: {{container: {PRIVATE.format('PRIVATE')}}}\n",
    "forgotten": f"runner: {{container: {PRIVATE.format('FORGOTTEN')}}}\n",
    "variable": f"runner: {{container: {PRIVATE.format('VARIABLE')}}}\n",
    "builder": "runner: {container: {image: x}}\n"
    f"build: {{runner: {{labels: [large], container: {PRIVATE.format('BUILDER')}}}}}\n",
    "both": f"runner: {{shares: 2, container: {PRIVATE.format('BOTH')}}}\n",
}
SECRETS = {
    "PRIVATE_REGISTRY_USERNAME": "me",
    "PRIVATE_REGISTRY_PASSWORD": "{\"a\": 'b'}}\\ $",
    "VARIABLE_REGISTRY_PASSWORD": "p2",
    "BUILDER_REGISTRY_USERNAME": "him",
    "BUILDER_REGISTRY_PASSWORD": "p3",
    "BOTH_REGISTRY_USERNAME": "her",
    "BOTH_REGISTRY_PASSWORD": "p4",
}
VARIABLES = {"VARIABLE_REGISTRY_USERNAME": "you"}
WANTED: dict[tuple[str, str], dict[str, str | None]] = {
    # The pull fails, and its message names the user.
    ("device", "forgotten"): {"username": "not-given", "password": "not-given"},
    ("device", "private"): {"username": "me", "password": SECRETS["PRIVATE_REGISTRY_PASSWORD"]},
    ("device", "variable"): {"username": "you", "password": "p2"},
    ("build", "builder"): {"username": "him", "password": "p3"},
    ("build", "both"): {"username": "her", "password": "p4"},
    ("device", "both"): {"username": "her", "password": "p4"},
}
"""What pulls the image of each job; nothing for all others."""


def test_a_nightly_hands_each_device_the_secrets_that_its_file_names(ootci: Tool, tmp_path: Path) -> None:
    for name, extra in DEVICES.items():
        register(tmp_path, name, extra)
    ran = ootci("plan", "--github-output", "output", cwd=tmp_path, env=OFFLINE)
    assert ran.code == 0, ran.err
    told = dict(line.split("=", 1) for line in (tmp_path / "output").read_text(encoding="utf-8").splitlines())
    entries = json.loads(told["matrix"])["include"]
    assert {entry["device"] for entry in entries} == DEVICES.keys()

    handed = FILES["workflows/device-run.yml"].jobs["device"]["secrets"]
    inputs = [{"job": json.dumps(entry)} for entry in entries]
    given = evaluate(
        [(handed[key], {"secrets": SECRETS, "vars": VARIABLES, "inputs": one}) for one in inputs for key in handed]
    )
    pairs = [dict(zip(handed, given[at : at + 2], strict=True)) for at in range(0, len(given), 2)]

    jobs = FILES["workflows/device.yml"].jobs
    asked = [
        (name, entry, {"inputs": {"job": json.dumps(entry)}, "needs": {}, "secrets": pair, "github": {"event": {}}})
        for name in ("build", "build-private", "device", "device-private")
        for entry, pair in zip(entries, pairs, strict=True)
    ]
    runs = evaluate([(jobs[name]["if"].replace("!cancelled()", "true"), contexts) for name, *_, contexts in asked])
    running = [one for one, does in zip(asked, runs, strict=True) if does]
    keys = ("username", "password")
    pulled = evaluate(
        [
            (jobs[name]["container"].get("credentials", {}).get(key, "${{ null }}"), contexts)
            for name, *_, contexts in running
            for key in keys
        ]
    )
    found = {
        (name.removesuffix("-private"), entry["device"]): dict(zip(keys, pulled[2 * at : 2 * at + 2], strict=True))
        for at, (name, entry, *_) in enumerate(running)
    }
    assert len(found) == len(running)
    assert {device for job, device in found if job == "device"} == DEVICES.keys()
    assert found == {key: WANTED.get(key, dict.fromkeys(keys)) for key in found}
    assert WANTED.keys() <= found.keys()
