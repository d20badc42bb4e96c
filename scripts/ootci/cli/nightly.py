"""``ootci nightly``, ``demo`` and ``external``: nightlies here, and reports from elsewhere."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from ootci.adapters.folder_lock import locked
from ootci.adapters.progress import Progress
from ootci.adapters.python_env import program
from ootci.cli.options import folder_options, format_option, suites_option, torch_option
from ootci.cli.show import one_line, show, show_table, show_text, stage_lines
from ootci.errors import BadOption
from ootci.flows.context import Folders
from ootci.flows.held_plugin import with_plugin
from ootci.flows.nightly import Night, exit_code, run_in_environment, run_night
from ootci.flows.reports import reported_runs, take_in
from ootci.model.build import StageResult
from ootci.model.device import RegisteredDevice, find_device, with_other_torches
from ootci.model.plan import Plan
from ootci.model.record import read
from ootci.model.run import Run
from ootci.model.verdict import VerdictName, Verdicts
from ootci.model.words import duration, many
from ootci.resources import reference_device_file
from ootci.stages.render.pages.device import DeviceFile
from ootci.stages.render.pages.published import API

FINDINGS = 3
"""How many findings are printed."""
HEADINGS = ("device", "stage reached", "verdict", "passed", "failed", "skipped", "not run", "fetch+build", "tests")


@click.command(short_help="Run every stage on this machine.")
@click.argument("chosen", nargs=-1, metavar="[DEVICE]...")
@click.option(
    "--python",
    metavar="PYTHON",
    help="Test this Python's environment; nothing is built, installed or changed in it. It needs torch, "
    "the plugin, pytest, numpy and expecttest.",
)
@torch_option
@click.option(
    "--plugin",
    metavar="VERSION",
    help="Test this commit of the plugin's repository, or this version of its package, instead of the device file's.",
)
@click.option("--also", is_flag=True, help="Test the torches, too, that device files name in `torch.also`.")
@suites_option
@format_option
@folder_options("devices", "work", "history", "site")
def nightly(
    chosen: tuple[str, ...],
    python: str | None,
    torch: str | None,
    plugin: str | None,
    also: bool,
    suites: Path,
    output_format: str,
    folders: Folders,
) -> None:
    """Run every stage for each DEVICE on this machine, and render the dashboard.

    DEVICE is the name of a registered device, or a device file, which may be anywhere; paused ones run, too. Default:
    all devices that are not paused. Only what has changed is built again.

    \b
    Examples:
      ootci nightly openreg
      ootci nightly openreg --torch 2.13.0
      ootci nightly openreg --torch nightly@2026-11-20
      ootci nightly ../plugin/mydevice.yaml --python /opt/vendor/bin/python
    """
    for option, value, what in (("--torch", torch, "torch"), ("--plugin", plugin, "plugin"), ("--also", also, "torch")):
        if python is not None and value:
            raise BadOption(f"--python tests the {what} that is there", where=option, fix="leave one of them out")
    for option, value in (("--python", python), ("--plugin", plugin)):
        if value and len(chosen) != 1:
            raise BadOption(f"{option} is about one device", where=f"{option} {value}", fix="name that device")
    _run(chosen, python, torch, suites, output_format, folders, plugin, also=also)


@click.command(short_help="Try it: run every stage for the reference device.")
@torch_option
@suites_option
@format_option
@folder_options("work", "history", "site")
def demo(torch: str | None, suites: Path, output_format: str, folders: Folders) -> None:
    """Build and test the reference device, an accelerator simulated on the CPU, and render its dashboard.

    Its sources come with the tool, so no checkout is needed; they are copied to the work folder. Needs git, a C++20
    compiler, CMake and Ninja; `ootci doctor` lists what is missing.
    """
    source, place = reference_device_file(), folders.work / "demo"
    ignored = shutil.ignore_patterns("build", "*.egg-info", "__pycache__")
    shutil.copytree(source.with_suffix(""), place / source.stem, dirs_exist_ok=True, ignore=ignored)
    shutil.copy2(source, place)
    _run((str(place / source.name),), None, torch, suites, output_format, folders)


def _run(
    chosen: Sequence[str],
    python: str | None,
    torch: str | None,
    suites: Path,
    output_format: str,
    folders: Folders,
    plugin: str | None = None,
    *,
    also: bool = False,
) -> None:
    folders, names = folders.among(chosen)
    registry = folders.registry()
    if plugin:
        registry = tuple(with_plugin(item, plugin) if _makes(item, names[0]) else item for item in registry)
    progress = Progress()

    def say_stages(stages: Sequence[StageResult]) -> None:
        for line in stage_lines(stages):
            progress.say(f"  {line}")

    night = Night(registry, names, torch, suites, folders, progress, say_stages, also=also)
    with locked(folders.work):
        if python is None:
            planned, verdicts = run_night(night)
        else:
            planned, verdicts = run_in_environment(night, find_device(registry, names[0]).device, program(python))
    _report(planned, verdicts, folders, output_format)
    sys.exit(exit_code(planned, verdicts))


def _makes(item: RegisteredDevice, name: str) -> bool:
    return any(one.device.name == name for one in with_other_torches((item,)))


@click.command("external", short_help="Import reports of devices run elsewhere.")
@click.option("--strict", is_flag=True, help="Fail if a report could not be imported; the others are still imported.")
@format_option
@folder_options("devices", "work", "history")
def external(strict: bool, output_format: str, folders: Folders) -> None:
    """Import reports of devices that are run elsewhere (`external` in their files), for `ootci history append`.

    A missing report, or one that is too old or was imported before, is a warning; the device's verdict is NO_DATA. A
    broken report, or another device's, is a warning too; the verdict is LOST_TESTS. Other devices are not affected.
    """
    lines: list[str] = []
    taken, refused = take_in(read(Plan, folders.workspace.plan), folders.registry(), folders, lines.append)
    show({"taken": taken}, output_format, "\n".join(map(one_line, lines)))
    if strict and refused:
        raise refused[0]


def _report(planned: Plan, verdicts: Verdicts, folders: Folders, output_format: str) -> None:
    """Print the row of every device that ran, what was tested and why it is as it is, and where the page is."""
    runs = reported_runs(folders.workspace, planned, lambda _: None)
    mine = [item for item in verdicts.devices if any(run.device == item.device for run in planned.runs)]
    judged = [(item.device, item.verdict) for item in mine] + [(item.run_as, item.verdict) for item in verdicts.also]
    show_table(HEADINGS, [_row(name, verdict, runs[name]) for name, verdict in judged if name in runs], output_format)
    if output_format == "json":
        return
    show_text("\n")
    for item in mine:
        show_text(f"{item.device}: {item.verdict.value}: {one_line(item.reason)}")
        request = item.torch_request
        if item.torch is not None:
            show_text(f"  torch {one_line(item.torch.version)} (git {one_line(item.torch.git_version or 'unknown')})")
        plugin = runs[item.device].plugin if item.device in runs else None
        if plugin is not None:
            show_text(f"  plugin {one_line(plugin.package)} {one_line(plugin.version or 'that could not be built')}")
        if request is not None and request.fallback_reason:
            show_text(f"  FALLBACK: {one_line(request.deviation or '')}")
        _say_findings(folders.site / API / "devices" / f"{item.device}.json")
    for other in verdicts.also:
        if other.run_as in runs:
            show_text(f"{other.run_as}: {other.verdict.value}: {one_line(other.reason)}")
            show_text(f"  torch {one_line(other.torch or 'not available')}")
    show_text(f"\ndashboard: {one_line(str(folders.site / 'index.html'))}")


def _say_findings(file: Path) -> None:
    """Print the first entries of the device page's list of what to fix first."""
    found = DeviceFile.model_validate_json(file.read_bytes()).findings
    for finding in found[:FINDINGS]:
        tests = f"{many(finding.tests, 'test')}: " if finding.tests else ""
        show_text(f"  {tests}{one_line(finding.text)}")
        if finding.needed_for and finding.implement:
            show_text(f"    {finding.needed_for} {finding.implement}")
    if len(found) > FINDINGS:
        show_text(f"  {many(len(found) - FINDINGS, 'more finding')} on its page")


def _row(name: str, verdict: VerdictName, run: Run) -> tuple[str, ...]:
    """A device in the columns of ``HEADINGS``."""
    reached, counts = run.stage_reached, run.counts
    building = sum(stage.duration for stage in run.stages if stage.name in ("fetch", "build"))
    testing = sum(stage.duration for stage in run.stages) - building
    return (
        name,
        reached or "none",
        verdict.value,
        str(counts.pass_rate),
        str(counts.failures),
        str(counts.skipped + counts.unsupported),
        str(counts.not_run),
        duration(building),
        duration(testing),
    )
