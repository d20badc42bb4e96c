"""Variants of a device: devices of their own, of which each says only what differs."""

from __future__ import annotations

from pathlib import Path

import pytest
from unit.samples import DEVICE_YAML

from ootci.errors import DeviceFileInvalid
from ootci.model.device import Device, Tier, find_device, load_device, load_registry, with_other_torches

GOOD = DEVICE_YAML.format(name="dev") + (
    "tier: gating\n"
    "pull_requests: true\n"
    'python: "3.12"\n'
    "environment: {A: x, B: y}\n"
    "torch: {channel: release, release: 2.13.0}\n"
    "runner: {labels: [self-hosted, card], shares: 2, container: {image: sdk:8, options: --shm-size 8g}}\n"
    "known_failures:\n"
    "  - {id: 'smoke/test_x.py::a', reason: It hangs., issue: 'https://example.com/1', added: 2026-11-01, "
    "expires: 2026-12-01}\n"
)
VARIANTS = """\
variants:
  - name: py313
    title: Python 3.13
    python: "3.13"
    tier: advisory
  - name: sdk9
    runner: {container: {image: "sdk:9"}}
    environment: {B: z, C: w}
    torch: {release: 2.12.0}
    cadence: weekly
"""


def _registry(folder: Path, text: str) -> dict[str, Device]:
    (folder / "dev.yaml").write_text(text, encoding="utf-8")
    return {item.device.name: item.device for item in load_registry(folder)}


def test_a_variant_says_what_differs_and_is_the_device_in_all_else(tmp_path: Path) -> None:
    found = _registry(tmp_path, GOOD + VARIANTS)
    assert list(found) == ["dev", "dev_sdk9", "dev_py313"]
    own, python, sdk = found["dev"], found["dev_py313"], found["dev_sdk9"]
    assert [device.torch_name for device in found.values()] == ["dev"] * 3
    assert (python.python, python.tier, python.display_name) == (
        "3.13",
        Tier.ADVISORY,
        f"{own.display_name}, Python 3.13",
    )
    assert (python.runner, python.torch, python.environment) == (own.runner, own.torch, own.environment)
    assert (sdk.python, sdk.tier, sdk.cadence.value, sdk.display_name) == (
        "3.12",
        Tier.GATING,
        "weekly",
        f"{own.display_name}, sdk9",
    )
    assert sdk.environment == {"A": "x", "B": "z", "C": "w"}
    assert (sdk.torch.channel, sdk.torch.release) == (own.torch.channel, "2.12.0")
    assert sdk.runner.container is not None
    assert (sdk.runner.labels, sdk.runner.shares) == (("self-hosted", "card"), 2)
    assert (sdk.runner.container.image, sdk.runner.container.options) == ("sdk:9", "--shm-size 8g")
    assert all(device.known_failures == own.known_failures != () for device in found.values())
    assert all(device.maintainers == own.maintainers for device in found.values())
    assert [device.pull_requests for device in (python, sdk)] == [False] * 2
    assert load_device(tmp_path / "dev.yaml").device.name == "dev"


def test_a_paused_device_pauses_its_variants(tmp_path: Path) -> None:
    found = _registry(tmp_path, f"{GOOD}{VARIANTS}paused: {{reason: Its machine is being moved.}}\n")
    assert all(device.paused is not None for device in found.values())


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("variants: [{name: a}, {name: a}]", "a variant is named twice"),
        ("variants: [{name: Py-3}]", "`variants[0].name` must be lower-case letters, digits and underscores"),
        ("variants: [{name: a, suites: []}]", "unknown key `variants[0].suites`"),
        ("variants: [{name: a, python: 3.13}]", "`variants[0].python`: write a version in quotation marks"),
        (f"variants: [{{name: {'a' * 15}}}]", "there is no device: `name`"),
        (
            "variants: [{name: a, runner: {container: {image: x, credentials: "
            "{username: DEV_A_REGISTRY_U, password: DEV_REGISTRY_P}}}}]",
            "which begin with DEV_REGISTRY_",
        ),
        ("external: {run: 'https://example.com/run.json'}\nvariants: [{name: a}]", "run elsewhere has no variants"),
    ],
)
def test_what_makes_no_device_is_said_where_it_stands(tmp_path: Path, text: str, what: str) -> None:
    _assert_refused(tmp_path, text, what, "d" * 20, line_of="variants")


def _assert_refused(tmp_path: Path, text: str, what: str, long_name: str, *, line_of: str) -> None:
    """Assert that a device file with these lines is refused, at the line of a key."""
    name = "dev" if "there is no device" not in what else long_name
    path = tmp_path / f"{name}.yaml"
    path.write_text(f"{DEVICE_YAML.format(name=name)}{text}\n", encoding="utf-8")
    with pytest.raises(DeviceFileInvalid) as caught:
        load_device(path)
    assert what in caught.value.what
    line = int(caught.value.where.rpartition(":")[2])
    assert line_of in path.read_text(encoding="utf-8").splitlines()[line - 1]


def test_a_variant_and_a_file_of_the_same_name_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "dev_sdk.yaml").write_text(DEVICE_YAML.format(name="dev_sdk"), encoding="utf-8")
    with pytest.raises(DeviceFileInvalid) as caught:
        _registry(tmp_path, GOOD + VARIANTS.replace("sdk9", "sdk"))
    assert caught.value.what == "dev.yaml and dev_sdk.yaml both make a device `dev_sdk`"


ALSO = "also: [release, previous_release]"


def test_other_torches_are_runs_of_the_device_and_no_registered_devices(tmp_path: Path) -> None:
    text = GOOD.replace("release: 2.13.0", f"release: 2.13.0, {ALSO}") + VARIANTS
    assert list(_registry(tmp_path, text)) == ["dev", "dev_sdk9", "dev_py313"]
    registry = load_registry(tmp_path)
    # A variant is another machine's run, and does not come with its device's other torches.
    others = [item.device for item in with_other_torches(registry) if item not in registry]
    assert [device.name for device in others] == ["dev_release", "dev_previous_release"]
    found = find_device(registry, "dev_previous_release").device
    assert (found.torch_name, found.wanted_torch) == ("dev", "previous_release")
    assert (found.tier, found.cadence.value, found.pull_requests) == (Tier.ADVISORY, "weekly", False)
    # A pinned release is not the newest one.
    assert (found.torch.release, found.runner) == (None, registry[0].device.runner)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("torch:\n  also: [release, release]", "`torch.also`: a torch is named twice"),
        ("torch:\n  also: [nightly]", "`torch.also[0]` must be one of `release`, `previous_release`"),
        ("torch:\n  channel: release\n  also: [release]", "`torch.also`: the newest release is tested already"),
        (f"external: {{run: 'https://example.com/run.json'}}\ntorch:\n  {ALSO}", "run elsewhere is tested on no other"),
        (f"torch:\n  {ALSO}", "with `torch.also` there is no device: `name`"),
    ],
)
def test_what_is_no_other_torch_is_said_where_it_stands(tmp_path: Path, text: str, what: str) -> None:
    _assert_refused(tmp_path, text, what, "d" * 15, line_of="also")


def test_a_variant_and_another_torch_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DeviceFileInvalid) as caught:
        _registry(tmp_path, f"{DEVICE_YAML.format(name='dev')}torch: {{{ALSO}}}\nvariants: [{{name: release}}]\n")
    assert caught.value.what == "dev.yaml and dev.yaml both make a device `dev_release`"
