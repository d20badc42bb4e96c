"""What a device file cannot ask for: the machine, options of other programs, and text that deceives its reader."""

from __future__ import annotations

from pathlib import Path

import pytest
from unit.model.device_files import GOOD, NEXT, loaded, refused

from ootci.errors import DeviceFileInvalid, DeviceFileSyntax


@pytest.mark.parametrize(
    "options",
    [
        "--privileged -v /:/host",
        "--privileged",
        "-v /:/host",
        "--volume=/:/host",
        "--mount type=bind,source=/,target=/host",
        "--network host",
        "--pid=host",
        "--userns=host",
        "--device /dev/sda",
        "--device=/dev/mem",
        "--device /dev/../dev/sda",
        "--device /etc",
        "--cap-add ALL",
        "--cap-add=SYS_ADMIN",
        "--cap-add=cap_sys_module",
        "--security-opt apparmor=unconfined",
        "--env GITHUB_TOKEN",
        "--env-file /etc/environment",
        "--ipc container:other",
        "--shm-size --privileged",
        "--shm-size",
        "--shm-size 8g; reboot",
        "--hostname $(id)",
        '--hostname "a b"',
        "image command",
    ],
)
def test_only_options_that_hand_in_a_card_are_given_to_a_container(tmp_path: Path, options: str) -> None:
    text = f"{GOOD}runner: {{container: {{image: x, options: {options!r}}}}}\n"
    error = refused(tmp_path, text, DeviceFileInvalid)
    assert error.what.startswith("`runner.container.options`: the ")
    assert "not allowed" in error.what
    assert error.where.endswith(f":{NEXT}")


def test_the_options_that_vendors_need_are_allowed(tmp_path: Path) -> None:
    options = (
        "--device /dev/card0 --device=/dev/kfd:/dev/kfd:rw --gpus all --runtime=card --group-add video --shm-size 8g "
        "--ulimit memlock=-1:-1 --ipc=host --cap-add=sys_nice --cap-add CAP_SYS_PTRACE --init --env A=b,c -e B=d "
        "--security-opt seccomp=unconfined --user 1001:1001"
    )
    text = f"{GOOD}runner: {{container: {{image: x, options: {options!r}}}}}\n"
    container = loaded(tmp_path, text).runner.container
    assert container is not None
    assert container.options == options


@pytest.mark.parametrize(
    "volume",
    ["/:/host", "//:/host", "/etc:/x", "/etc/:/x", "/opt/../etc:/x", "/var/run/docker.sock:/s", "/run/x.sock:/s"],
)
def test_no_volume_hands_the_machine_over(tmp_path: Path, volume: str) -> None:
    text = f"{GOOD}runner: {{container: {{image: x, volumes: ['{volume}']}}}}\n"
    assert "is not mounted into a container" in refused(tmp_path, text, DeviceFileInvalid).what


@pytest.mark.parametrize(
    "found", ["t --index-url https://example.com", "t -r /etc/passwd", "t==1\\n--pre", "a b", "t[x"]
)
@pytest.mark.parametrize(
    ("key", "before"),
    [
        ("plugin.package", GOOD.replace("path: dev", 'package: "%s"')),
        ("plugin.distribution", GOOD.replace("torch-dev", '"%s"')),
        ("plugin.requirements[0]", f'{GOOD}  requirements: ["%s"]\n'),
        ("build.requirements[0]", f'{GOOD}build: {{requirements: ["%s"]}}\n'),
    ],
)
def test_a_requirement_brings_no_option_of_pip(tmp_path: Path, before: str, key: str, found: str) -> None:
    error = refused(tmp_path, before % found, DeviceFileInvalid)
    assert f"`{key}`: it is not a Python requirement" in error.what


@pytest.mark.parametrize(
    "address",
    [
        *("fd::17", "ext::sh -c reboot", "::x", "rsync://a/b", "--upload-pack=x", "ftp://a/b"),
        *("htp:/a/b", "https:/a/b", "https://", "https:///a", "https://a b"),
        *("not an address", "plugin", "github.com/a/b", "-x@a:b", "a.b::c"),
    ],
)
def test_a_plugin_is_fetched_from_addresses_only(tmp_path: Path, address: str) -> None:
    text = GOOD.replace("path: dev", f"git: {{url: '{address}'}}")
    assert "`plugin.git.url`: it is no address of a repository" in refused(tmp_path, text, DeviceFileInvalid).what


@pytest.mark.parametrize(
    "address",
    ["https://a/b", "ssh://git@a/b.git", "git@a:b/c.git", "a.org:b", "/srv/plugin", "../plugin", "file:///srv/plugin"],
)
def test_every_usual_address_of_a_repository_is_one(tmp_path: Path, address: str) -> None:
    git = loaded(tmp_path, GOOD.replace("path: dev", f"git: {{url: '{address}'}}")).plugin.git
    assert git is not None
    assert git.url == address


@pytest.mark.parametrize("odd", ["\u202e", "\u2066", "\u200b", "\u200d", "\ufeff", "\u2028", "\u00ad", "\U000e0041"])
@pytest.mark.parametrize("escaped", [True, False])
def test_a_character_that_deceives_the_reader_is_refused(tmp_path: Path, odd: str, escaped: bool) -> None:
    written = f"\\U{ord(odd):08x}" if escaped else odd
    text = GOOD.replace("A device", f'"A {written}device"')
    assert f"U+{ord(odd):04X}" in refused(tmp_path, text, DeviceFileSyntax).what
