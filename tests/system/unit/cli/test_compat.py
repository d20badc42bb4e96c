"""``ootci compat``: what it prints and its exit codes, for wheels and for registered devices."""

from __future__ import annotations

import json
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner
from unit.samples import plan, register, request, with_runs
from unit.stages.compat.wheels import COMMIT, plugin_objects, torch_wheel, write_wheel

from ootci.cli.compat import compat_command
from ootci.model.compat import Compat, ExportChanges, Forecast
from ootci.model.plan import Plan, Proposal
from ootci.model.record import read, write
from ootci.model.torch_build import Channel, TorchRequest
from ootci.stages.compat import wheel

from commands import NOBODY, OFFLINE, Tool  # isort: skip
from torch_server import serve_torch_index  # isort: skip


@dataclass(frozen=True)
class Wheels:
    """Two torches, and a plugin that was made for the first."""

    old: str
    new: str
    plugin: str

    @property
    def pip(self) -> dict[str, str]:
        """Variables with which pip finds the plugin and nothing else."""
        return {**OFFLINE, "PIP_FIND_LINKS": str(Path(self.plugin).parent)}


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Wheels:
    folder = tmp_path_factory.mktemp("wheels")
    torches = (torch_wheel(folder, kind, version) for kind, version in (("old", "2.13.0"), ("new", "2.15.0")))
    files = {**plugin_objects(folder), "torch_card/__init__.py": "from torch.utils.gone import helper\n"}
    plugin = write_wheel(
        folder,
        "torch_card",
        "1.0",
        files,
        requires="Requires-Dist: torch==2.13.0\n",
        entry_points="[torch.backends]\ncard = torch_card:load\n",
    )
    return Wheels(*map(str, (*torches, plugin)))


def test_what_a_torch_removes_is_named_for_people(ootci: Tool, tmp_path: Path, wheels: Wheels) -> None:
    ran = ootci("compat", wheels.plugin, "--between", wheels.old, wheels.new, cwd=tmp_path)
    assert ran.code == 1
    assert (
        "torch-card on torch 2.15.0: break predicted: binary: 2 of 3 symbols gone · Python: 1 of 2 names gone"
        in ran.out
    )
    assert "  - symbol c10::report(char const*) (in _C.so, from c10/util/Cast.h)\n" in ran.out
    assert "  - name torch.utils.gone (in __init__.py:1)\n" in ran.out
    assert "  note: requires torch==2.13.0, which excludes 2.15.0\n" in ran.out
    (found,) = read(Compat, tmp_path / ".ootci" / "compat.json").predictions
    assert (found.forecast, found.baseline, found.baseline_guessed) == (Forecast.BREAK, "2.13.0", False)
    assert ootci("compat", wheels.plugin, "--torch", wheels.new, "--exit-zero", cwd=tmp_path).code == 0


def test_several_torches_are_a_table(ootci: Tool, tmp_path: Path, wheels: Wheels) -> None:
    ran = ootci("compat", wheels.plugin, "--torch", wheels.old, "--torch", wheels.new, cwd=tmp_path)
    assert "plugin          made for  symbols  names  2.13.0  2.15.0\n" in ran.out
    assert "torch-card 1.0  2.13.0    3        2      0       2 sym + 1 py\n" in ran.out
    markdown = ootci(
        *("compat", wheels.plugin, "--torch", wheels.old, "--torch", wheels.new, "--format", "markdown"), cwd=tmp_path
    )
    assert "| torch-card 1.0 | 2.13.0 | 3 | 2 | 0 | 2 sym + 1 py |" in markdown.out


def test_one_torch_is_compared_with_the_newest_release(ootci: Tool, tmp_path: Path, wheels: Wheels) -> None:
    """The plugin's metadata names no torch, and a torch is no evidence against itself."""
    plugin = write_wheel(tmp_path, "torch_free", "1.0", plugin_objects(tmp_path))
    alone = ootci("compat", str(plugin), "--torch", wheels.new, cwd=tmp_path, env=OFFLINE)
    assert alone.code == 3
    assert "torch-free 1.0  unknown   1        0      cannot be checked\n" in alone.out
    assert "  note: PyTorch's previous release is not available: " in alone.out
    releases = [
        torch_wheel(tmp_path / version, kind, version) for kind, version in (("new", "2.15.0"), ("old", "2.14.1"))
    ]
    with serve_torch_index(tmp_path / "index") as index:
        index.files |= {f"/release/cpu/torch/{wheel.name}": wheel.read_bytes() for wheel in releases}
        ran = ootci("compat", str(plugin), "--torch", wheels.new, cwd=tmp_path, env={**OFFLINE, **index.variables})
    assert "torch-free 1.0  2.14.1 (guessed)  3        0      2 sym\n" in ran.out, ran.err
    assert ran.code == 1


def test_no_break_is_exit_code_0(ootci: Tool, tmp_path: Path, wheels: Wheels) -> None:
    ran = ootci("compat", wheels.plugin, "--torch", wheels.old, "--format", "json", cwd=tmp_path)
    (found,) = json.loads(ran.out)["predictions"]
    assert (ran.code, found["forecast"], ran.err) == (0, "no break found", "")


def test_one_change_that_several_wheels_need_is_named_once(ootci: Tool, tmp_path: Path, wheels: Wheels) -> None:
    other = write_wheel(tmp_path, "torch_other", "2.0", plugin_objects(tmp_path / "o"))
    ran = ootci("compat", wheels.plugin, str(other), "--between", wheels.old, wheels.new, cwd=tmp_path)
    assert ran.out.startswith(
        "torch 2.15.0 removes 2 symbols that 2 of 2 plugins' released binaries need: torch-card, torch-other\n"
        "  - at::moved(int)\n"
        "  - c10::report(char const*)\n"
    )
    assert "torch 2.15.0 removes 1 name that 1 of 2 plugins' released sources need: torch-card\n" in ran.out
    same = ootci("compat", wheels.plugin, str(other), "--between", wheels.old, wheels.old, cwd=tmp_path)
    assert same.out.startswith("torch 2.13.0 removes nothing that 2 plugins' released wheels need\n")
    assert same.code == 0


def test_the_limits_of_a_torch_hold_for_each_plugin_and_not_for_a_night(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    modules = {f"torch/part{number}.py": "value = 1\n" for number in range(30)}
    torch = torch_wheel(tmp_path, "old", "2.13.0", **modules)
    plugins = [
        str(write_wheel(tmp_path, f"card{number}", "1.0", {"card.py": f"from torch.part{number} import value\n"}))
        for number in range(30)
    ]
    seconds = count(step=wheel.MAX_SECONDS / 30)
    monkeypatch.setattr(wheel, "time", SimpleNamespace(monotonic=lambda: next(seconds)))
    options = ["--between", str(torch), str(torch), "--work", str(tmp_path / "work"), "--format", "json"]
    ran = CliRunner().invoke(compat_command, [*plugins, *options])
    assert next(seconds) > 3 * wheel.MAX_SECONDS
    assert {item["forecast"] for item in json.loads(ran.stdout)["predictions"]} == {"no break found"}


def test_a_device_s_public_wheel_is_downloaded_and_read(ootci: Tool, tmp_path: Path, wheels: Wheels) -> None:
    register(tmp_path, extra="compat:\n  package: torch-card\n")
    ran = ootci("compat", "dev", "--torch", wheels.new, "--torch", wheels.old, cwd=tmp_path, env=wheels.pip)
    assert ran.code == 1, ran.err
    assert "dev 1.0  2.13.0    3        2      2 sym + 1 py  0\n" in ran.out


@pytest.mark.parametrize(
    ("extra", "why"),
    [
        ("compat:\n  nothing_public: the vendor's index asks for an account.\n", "looked for: the vendor's index"),
        ("compat:\n  package: torch-nobody\n", "looked for: a wheel of torch-nobody for Python 3."),
        ("", "looked for: a public wheel"),
    ],
)
def test_nothing_public_says_what_was_looked_for(
    ootci: Tool, tmp_path: Path, wheels: Wheels, extra: str, why: str
) -> None:
    register(tmp_path, extra=extra)
    ran = ootci("compat", "--all", "--torch", wheels.new, cwd=tmp_path, env=OFFLINE)
    assert ran.code == 0
    assert f"dev on torch 2.15.0: nothing public to check: {why}" in ran.out


def test_a_wheel_that_is_refused_does_not_keep_others_from_being_read(
    ootci: Tool, tmp_path: Path, wheels: Wheels
) -> None:
    bad = tmp_path / "torch_bad-1.0-py3-none-any.whl"
    bad.write_text("no zip", encoding="utf-8")
    ran = ootci("compat", str(bad), wheels.plugin, "--torch", wheels.new, "--torch", wheels.old, cwd=tmp_path)
    assert ran.code == 2
    assert "error WHEEL-001: the wheel is refused: it is no whole zip file" in ran.err
    assert "2 sym + 1 py" in ran.out
    alone = ootci("compat", str(bad), "--torch", wheels.new, cwd=tmp_path)
    assert (alone.code, alone.out) == (2, "")


def test_an_index_that_does_not_answer_does_not_keep_others_from_being_read(
    ootci: Tool, tmp_path: Path, wheels: Wheels
) -> None:
    register(tmp_path, extra="compat:\n  package: torch-card\n")
    register(tmp_path, name="far", extra="compat:\n  package: torch-far\n")
    pip = {"PIP_FIND_LINKS": str(Path(wheels.plugin).parent), "PIP_NO_INDEX": "0", "PIP_INDEX_URL": f"{NOBODY}/simple"}
    asked = ("compat", "--all", "--torch", wheels.new, "--torch", wheels.old)
    ran = ootci(*asked, cwd=tmp_path, env={**OFFLINE, **pip})
    assert (ran.code, ran.err.count("error TORCH-003")) == (3, 1), ran.err
    assert "far on torch 2.15.0: cannot be checked: torch-far cannot be downloaded" in ran.out
    assert "dev on torch 2.15.0: break predicted: binary: 2 of 3 symbols gone" in ran.out
    found = {
        (item.plugin, item.torch): item.forecast for item in read(Compat, tmp_path / ".ootci" / Compat.FILE).predictions
    }
    assert found["far", "2.13.0"] is found["far", "2.15.0"] is Forecast.UNCHECKED


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (("compat",), "error CLI-001: no plugin was named"),
        (
            ("compat", "x.whl", "--torch", "a.whl", "--between", "a.whl", "b.whl"),
            "error CLI-001: --between and --torch",
        ),
        (("compat", "x.whl", "--torch", "torch-1.0-py3-none-any.whl"), "error CLI-001: there is no such wheel"),
        (("compat", "nobody"), "error DEV-008"),
        (("compat", "dev", "--planned"), "error CLI-001: the plan names plugins and torch"),
    ],
)
def test_wrong_input(ootci: Tool, tmp_path: Path, arguments: tuple[str, ...], error: str) -> None:
    register(tmp_path)
    ran = ootci(*arguments, cwd=tmp_path)
    assert (ran.code, ran.out) == (2, "")
    assert error in ran.err


def _plan_nightly(folder: Path, wheels: Wheels) -> Plan:
    """Write a plan that tests the new torch as a nightly; gives the plan without it."""
    nightly = request().model_copy(update={"version": "2.15.0", "wheel": wheels.new})
    write(with_runs(plan(), torch=nightly), folder / ".ootci" / "plan.json")
    return plan()


def test_a_nightly_s_predictions_never_fail_it(ootci: Tool, tmp_path: Path, wheels: Wheels) -> None:
    register(tmp_path, extra="compat:\n  package: torch-card\n")
    found = _plan_nightly(tmp_path, wheels)
    unreachable = ootci("compat", "--planned", cwd=tmp_path, env={**OFFLINE, "PIP_NO_INDEX": "maybe"})
    assert unreachable.code == 0
    assert "not everything is checked" in unreachable.err
    ran = ootci("compat", "--planned", cwd=tmp_path, env=wheels.pip)
    assert ran.code == 0
    # A torch is no evidence against itself, and no other one is to be had.
    assert "dev on torch 2.15.0: cannot be checked: there is no other torch to compare with\n" in ran.out
    predicted = read(Compat, tmp_path / ".ootci" / "compat.json")
    assert predicted.plan_id == found.id
    assert [torch.git_version for torch in predicted.torches] == [COMMIT]
    assert [item.digest for item in predicted.needs] == [predicted.predictions[0].needs]
    # A night on which no device runs is predicted on the nightly that was planned for that.
    (nightly,) = {run.torch for run in read(Plan, tmp_path / ".ootci" / "plan.json").runs}
    write(found.model_copy(update={"runs": (), "nightly": nightly}), tmp_path / ".ootci" / "plan.json")
    ran = ootci("compat", "--planned", cwd=tmp_path, env=wheels.pip)
    assert "dev on torch 2.15.0: cannot be checked: " in ran.out
    assert read(Compat, tmp_path / ".ootci" / "compat.json") == predicted
    gone = nightly.model_copy(update={"unavailable_reason": "the index does not answer"})
    write(found.model_copy(update={"runs": (), "nightly": gone}), tmp_path / ".ootci" / "plan.json")
    without = ootci("compat", "--planned", cwd=tmp_path, env=wheels.pip)
    assert without.code == 0
    assert "nothing is predicted: the plan has no torch to check: the index does not answer" in without.err


def test_a_nightly_predicts_the_newest_release_and_the_one_before_once_each(
    ootci: Tool, tmp_path: Path, wheels: Wheels
) -> None:
    register(tmp_path, extra="compat: {package: torch-card}\ntorch: {release: 2.13.0}\n")
    _plan_nightly(tmp_path, wheels)
    releases = [torch_wheel(tmp_path / version, "old", version) for version in ("2.14.1", "2.14.0", "2.13.0")]
    with serve_torch_index(tmp_path / "index") as index:
        index.files |= {f"/release/cpu/torch/{wheel.name}": wheel.read_bytes() for wheel in releases}
        ran = ootci("compat", "--planned", cwd=tmp_path, env={**wheels.pip, **index.variables})
    assert ran.code == 0, ran.err
    predicted = read(Compat, tmp_path / ".ootci" / "compat.json")
    assert [torch.version for torch in predicted.torches] == ["2.15.0", "2.14.1", "2.13.0"]


def test_what_a_nightly_changed_since_the_one_before_is_kept(ootci: Tool, tmp_path: Path, wheels: Wheels) -> None:
    register(tmp_path, extra="compat:\n  nothing_public: a wheel.\n")
    nightlies = {
        version: torch_wheel(tmp_path / kind, kind, version)
        for kind, version in (("new", "2.15.0.dev20261121+cpu"), ("old", "2.15.0.dev20261119+cpu"))
    }
    newest = max(nightlies)
    with serve_torch_index(tmp_path / "index") as index:
        asked = {"version": newest, "index_url": f"{index.variables['OOTCI_NIGHTLY_INDEX']}/cpu"}
        nightly = request().model_copy(update={**asked, "wheel": str(nightlies[newest])})
        write(with_runs(plan(), torch=nightly), tmp_path / ".ootci" / "plan.json")

        def exports() -> tuple[ExportChanges | None, str]:
            ran = ootci("compat", "--planned", cwd=tmp_path, env={**OFFLINE, **index.variables})
            assert ran.code == 0, ran.err
            return read(Compat, tmp_path / ".ootci" / "compat.json").exports, ran.err

        assert "the nightly before 2.15.0.dev20261121+cpu cannot be looked for" in exports()[1]
        index.files[f"/nightly/cpu/torch/{nightlies[newest].name}"] = nightlies[newest].read_bytes()
        changes, said = exports()
        assert (changes, "not everything is checked" in said) == (None, False)
        another_build = nightlies[newest].name.replace("20261121+cpu", "20261120+cu130")
        index.files[f"/nightly/cpu/torch/{another_build}"] = b""
        for wheel in nightlies.values():
            index.files[f"/nightly/cpu/torch/{wheel.name}"] = wheel.read_bytes()
        changes, _ = exports()
    assert changes is not None
    assert (changes.before.version, changes.after.version) == tuple(sorted(nightlies))
    assert changes.removed.operators == ("add.Tensor_out", "full.names")


def test_what_a_pull_request_removes_is_told_in_the_summary_and_fails_nothing(
    ootci: Tool, tmp_path: Path, wheels: Wheels
) -> None:
    register(tmp_path, extra="compat:\n  package: torch-card\n")
    register(tmp_path, name="nobody", extra="compat:\n  nothing_public: a wheel.\n")
    built = tmp_path / ".ootci" / "torch" / Path(wheels.new).name
    built.parent.mkdir(parents=True)
    built.write_bytes(Path(wheels.new).read_bytes())
    # The plan has the path of the machine that built it.
    torch = TorchRequest(
        wanted="7", wanted_channel=Channel.SOURCE, channel=Channel.SOURCE, version="2.15.0", wheel=f"/far/{built.name}"
    )
    proposal = Proposal(repository="pytorch/pytorch", pull_request=7, commit="a" * 40, ref="refs/pull/7/merge")
    found = with_runs(plan(), torch=torch)
    trigger = found.trigger.model_copy(update={"proposal": proposal})
    write(found.model_copy(update={"trigger": trigger}), tmp_path / ".ootci" / "plan.json")
    version = "2.15.0.dev20261124+cpu"
    nightly = torch_wheel(tmp_path / "nightly", "old", version)
    asked = ("compat", "--planned", "--summary", str(tmp_path / "summary.md"))
    with serve_torch_index(tmp_path / "index") as index:
        index.files[f"/nightly/cpu/torch/{nightly.name}"] = nightly.read_bytes()
        ran = ootci(*asked, cwd=tmp_path, env={**wheels.pip, **index.variables})
    assert ran.code == 0, ran.err
    removes = "torch 2.15.0 removes 2 symbols that 1 of 1 plugins' released binaries need: dev"
    assert f"{removes}\n" in ran.out
    summary = (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert summary.startswith(f"### Predicted breaks\n\n**{removes}**\n\n  - `at::moved(int)`\n")
    assert f"| dev 1.0 | {version} | 3 | 2 | 2 sym + 1 py |" in summary
    assert "nobody on torch 2.15.0: nothing public to check: looked for: a wheel." in summary
    assert read(Compat, tmp_path / ".ootci" / "compat.json").plan_id is None


def test_without_a_plugin_every_registered_device_is_compared(ootci: Tool, tmp_path: Path, wheels: Wheels) -> None:
    register(tmp_path, extra="compat:\n  package: torch-card\n")
    ran = ootci("compat", "--between", wheels.old, wheels.new, cwd=tmp_path, env=wheels.pip)
    assert ran.code == 1
    assert ran.out.startswith("torch 2.15.0 removes 2 symbols that 1 of 1 plugins' released binaries need: dev\n")
