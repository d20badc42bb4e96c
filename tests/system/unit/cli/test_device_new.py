"""``ootci device new``: a first device file that is valid, from flags, from answers and from an installed plugin."""

from __future__ import annotations

import contextlib
import os
import pty
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from misbehaving import install

from ootci.model.device import load_device
from ootci.resources import device_schema_file

from commands import Ran, Tool, scrubbed  # isort: skip

FLAGS = (
    *("--name", "dev", "--vendor", 'A: vendor # of "cards"', "--maintainer", "@me", "--maintainer", "@company/team"),
    *("--distribution", "torch-dev"),
)
GIT = ("--git", "https://example.com/torch-dev.git")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which a torch without weight and a plugin are installed."""
    return install(tmp_path_factory.mktemp("plugin") / "site", "dev")


def test_flags_are_enough_and_the_file_passes_the_check(ootci: Tool, tmp_path: Path) -> None:
    written = ootci("device", "new", *FLAGS, *GIT, "--devices", "4", cwd=tmp_path)
    assert (written.code, written.out) == (0, "dev.yaml\n"), written.err
    found = load_device(tmp_path / "dev.yaml").device
    assert (found.display_name, found.vendor) == ("Dev", 'A: vendor # of "cards"')
    assert found.maintainers == ("@me", "@company/team")
    assert found.plugin.git is not None
    assert (found.plugin.git.url, found.check.devices) == ("https://example.com/torch-dev.git", 4)
    assert ootci("device", "check", "dev.yaml", cwd=tmp_path).code == 0


@pytest.mark.parametrize("source", [GIT, ("--path", "plugin"), ("--package", "torch-dev==1.0")], ids=lambda s: s[0])
def test_every_key_that_is_off_can_be_switched_on(ootci: Tool, tmp_path: Path, source: tuple[str, str]) -> None:
    assert ootci("device", "new", *FLAGS, *source, cwd=tmp_path).code == 0
    file = tmp_path / "dev.yaml"
    on = re.sub(r"(?m)^(\s*)# ?(\s*(?:- )?[A-Za-z_]+:(?: .*)?)$", r"\1\2", file.read_text(encoding="utf-8"))
    on = on.replace("  # A branch", "    # A branch").replace("yaml-language-server:", "# yaml-language-server:")
    file.write_text(on, encoding="utf-8")
    found = load_device(file).device
    assert found.torch.channel.value == "release"
    assert (found.check.command, found.runner.labels) == (("vendor-smi",), ("self-hosted", "dev"))
    assert [suite.name for suite in found.suites] == ["smoke", "integration", "ops", "models"]


def test_it_lies_in_devices_where_there_is_such_a_folder(ootci: Tool, tmp_path: Path) -> None:
    (tmp_path / "devices").mkdir()
    assert ootci("device", "new", *FLAGS, *GIT, cwd=tmp_path).out == "devices/dev.yaml\n"


def test_what_is_missing_is_named_where_nobody_can_be_asked(ootci: Tool, tmp_path: Path) -> None:
    refused = ootci("device", "new", "--name", "dev", cwd=tmp_path)
    assert refused.code == 2
    assert "nobody is there to ask for --vendor, --maintainer, --distribution, --git, --path or --pack" in refused.err
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (("--name", "Dev"), "'Dev' should be lower-case letters and underscores"),
        (("--maintainer", "me"), "'me' should be a GitHub handle with a leading @"),
        (("--devices", "many"), "'many' should be a number of devices"),
        (("--path", "../plugin"), "leads out of the checkout"),
        (("--path", "x", "--package", "y"), "the plugin comes from one place"),
        (("--name", "cuda"), "`cuda` is a device of PyTorch itself"),
        (("--output", "other.yaml"), "a device file has the name of its device"),
        (("--python", "/no/such/python"), "`/no/such/python` is no program"),
    ],
)
def test_a_wrong_answer_is_refused_and_nothing_is_written(
    ootci: Tool, tmp_path: Path, flags: tuple[str, ...], said: str
) -> None:
    source = () if "--path" in flags else GIT
    refused = ootci("device", "new", *FLAGS, *source, *flags, cwd=tmp_path)
    assert refused.code in (2, 3)
    assert said in refused.err
    assert not list(tmp_path.iterdir())


def test_where_the_plugin_comes_from_is_checked_before_anything_is_asked(ootci: Tool, tmp_path: Path) -> None:
    refused = ootci("device", "new", "--path", "/plugin", cwd=tmp_path)
    assert "a path relative to its folder" in refused.err
    assert "--vendor" not in refused.err


def test_the_plugin_may_lie_above_the_file_in_its_checkout(ootci: Tool, tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    written = ootci("device", "new", *FLAGS, "--path", "..", "--output", "ci/dev.yaml", cwd=tmp_path)
    assert (written.code, written.out) == (0, "ci/dev.yaml\n"), written.err
    assert load_device(tmp_path / "ci" / "dev.yaml").device.plugin.path == ".."


def test_a_file_is_never_overwritten_unasked(ootci: Tool, tmp_path: Path) -> None:
    (tmp_path / "dev.yaml").write_text("mine", encoding="utf-8")
    refused = ootci("device", "new", *FLAGS, *GIT, cwd=tmp_path)
    assert refused.code == 2
    assert "the file is there already" in refused.err
    assert (tmp_path / "dev.yaml").read_text(encoding="utf-8") == "mine"
    assert ootci("device", "new", *FLAGS, *GIT, "--force", cwd=tmp_path).code == 0


def test_an_installed_plugin_is_looked_into(ootci: Tool, tmp_path: Path, site: Path) -> None:
    flags = ("--vendor", "Me", "--maintainer", "@me", "--package", "torch-dev", "--python", sys.executable)
    written = ootci("device", "new", *flags, cwd=tmp_path, env={"PYTHONPATH": str(site)})
    assert written.code == 0, written.err
    found = load_device(tmp_path / "dev.yaml").device
    assert (found.name, found.plugin.distribution, found.check.devices) == ("dev", "torch_dev", 1)
    text = (tmp_path / "dev.yaml").read_text(encoding="utf-8")
    assert "# Its entry point: dev = torch_dev:autoload." in text
    assert "found the device dev, 1 on this machine" in written.err


def test_a_plugin_that_cannot_be_imported_still_has_a_name(ootci: Tool, tmp_path: Path, site: Path) -> None:
    flags = ("--vendor", "Me", "--maintainer", "@me", "--package", "torch-dev", "--python", sys.executable)
    env = {"PYTHONPATH": str(site), "FAKE_BEHAVIOUR": "import-raises"}
    written = ootci("device", "new", *flags, cwd=tmp_path, env=env)
    assert written.code == 0, written.err
    assert load_device(tmp_path / "dev.yaml").device.plugin.distribution == "torch_dev"
    assert "it does not come up here" in written.err
    assert "libfakeruntime.so" in written.err


def _on_a_terminal(folder: Path, answers: str, *flags: str) -> Ran:
    """Run it with a terminal as its standard input."""
    ours, theirs = pty.openpty()
    try:
        os.write(ours, answers.encode())
        done = subprocess.run(
            [sys.executable, "-m", "ootci", "device", "new", *flags],
            cwd=folder,
            env=scrubbed(),
            stdin=theirs,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
    finally:
        os.close(ours)
        os.close(theirs)
    return Ran(done.returncode, done.stdout, done.stderr)


def test_on_a_terminal_it_asks_and_offers(tmp_path: Path) -> None:
    (tmp_path / "plugin").mkdir()
    ran = _on_a_terminal(tmp_path, "Wrong\ndev\n\nMe\n@me, @you\ntorch-dev\nplugin\n2\n")
    assert (ran.code, ran.out) == (0, "dev.yaml\n"), ran.err
    assert "'Wrong' should be lower-case letters" in ran.err
    found = load_device(tmp_path / "dev.yaml").device
    assert (found.display_name, found.maintainers, found.plugin.path) == ("Dev", ("@me", "@you"), "plugin")
    assert found.check.devices == 2


@pytest.mark.parametrize(("answer", "code"), [("y", 0), ("n", 2)])
def test_on_a_terminal_it_asks_before_it_overwrites(tmp_path: Path, answer: str, code: int) -> None:
    (tmp_path / "dev.yaml").write_text("mine", encoding="utf-8")
    ran = _on_a_terminal(tmp_path, f"{answer}\n", *FLAGS, *GIT, "--display-name", "Dev", "--devices", "1")
    assert ran.code == code, ran.err
    assert "overwrite dev.yaml?" in ran.err
    assert ((tmp_path / "dev.yaml").read_text(encoding="utf-8") == "mine") == (code == 2)


def test_an_interruption_prints_the_command_that_continues(ootci: Tool, tmp_path: Path) -> None:
    ran = _on_a_terminal(tmp_path, "dev\nA device\nMe\n@me, @you\ntorch-dev\nhttps://a.b/c\n\x04")
    assert ran.code == 130
    (command,) = re.findall("^continue with: ootci (.*)$", ran.err, re.M)
    assert ootci(*shlex.split(command), cwd=tmp_path).out == "dev.yaml\n"
    found = load_device(tmp_path / "dev.yaml").device
    assert (found.display_name, found.maintainers) == ("A device", ("@me", "@you"))
    assert found.plugin.git is not None


def test_a_wrong_option_is_refused_before_any_question(tmp_path: Path) -> None:
    ran = _on_a_terminal(tmp_path, "\x04", "--devices", "many")
    assert (ran.code, "'many' should be a number of devices" in ran.err) == (2, True)
    assert "name of the device" not in ran.err


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_a_signal_at_a_prompt_has_its_exit_code(tmp_path: Path, number: signal.Signals) -> None:
    ours, theirs = pty.openpty()
    default = f"--default-signal={number.name.removeprefix('SIG')}"
    command = ["env", default, sys.executable, "-m", "ootci", "device", "new"]
    with subprocess.Popen(command, cwd=tmp_path, env=scrubbed(), stdin=theirs, stderr=subprocess.PIPE) as tool:
        assert tool.stderr is not None
        while tool.stderr.read(1) != b":":
            assert tool.poll() is None
        # Python does not see a signal that comes just before it begins to read.
        for _ in range(5):
            tool.send_signal(number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                tool.wait(timeout=10)
                break
        else:
            tool.kill()
    os.close(ours)
    os.close(theirs)
    assert tool.returncode == 128 + number


def test_an_existing_file_is_refused_before_any_other_question(tmp_path: Path) -> None:
    (tmp_path / "dev.yaml").write_text("mine", encoding="utf-8")
    ran = _on_a_terminal(tmp_path, "dev\nn\n")
    assert ran.code == 2
    assert "who makes it" not in ran.err


def test_the_schema_that_the_first_line_names_is_beside_the_file(ootci: Tool, tmp_path: Path) -> None:
    assert ootci("device", "new", *FLAGS, *GIT, cwd=tmp_path).code == 0
    schema = tmp_path / "device.schema.json"
    assert schema.read_bytes() == device_schema_file().read_bytes()
    schema.write_text("kept", encoding="utf-8")
    assert ootci("device", "new", *FLAGS, *GIT, "--force", cwd=tmp_path).code == 0
    assert schema.read_text(encoding="utf-8") == "kept"
