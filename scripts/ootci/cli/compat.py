"""``ootci compat``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from ootci.adapters.annotation import show_error, show_warning
from ootci.adapters.folder_lock import locked
from ootci.adapters.terminal import Progress
from ootci.cli.options import folder_options, format_option
from ootci.cli.show import one_line, shortened, show, show_text, table
from ootci.errors import EXIT_DEVICE, EXIT_FINE, BadOption, OotciError
from ootci.flows.compat import Question, compat, nightly_of, targets_of
from ootci.flows.context import Folders
from ootci.model.compat import Compat, Finding, FindingKind, Forecast, Prediction
from ootci.model.plan import Plan
from ootci.model.record import read, write

SHOWN = 10
"""So many findings of each plugin are printed, unless all are asked for."""
WIDTH = 160
_LETTERS = {
    FindingKind.SYMBOL: "sym",
    FindingKind.NAME: "py",
    FindingKind.OPERATOR: "op",
    FindingKind.SCHEMA: "schema",
    FindingKind.ENTRY_POINT: "entry",
    FindingKind.PYTHON: "tag",
}


@click.command("compat", short_help="Predict breaks from public wheels, without the hardware.")
@click.argument("plugins", nargs=-1, metavar="[DEVICE|WHEEL]...")
@click.option("--all", "everything", is_flag=True, help="Every registered device.")
@click.option(
    "--torch",
    "torches",
    multiple=True,
    metavar="WHEEL|VERSION",
    help="Torch to check: nightly, nightly@2026-11-20, a version, or a wheel; repeatable. Default: nightly.",
)
@click.option(
    "--between",
    nargs=2,
    metavar="OLD NEW",
    help="What torch NEW breaks that works on torch OLD, whichever torch a plugin was made for.",
)
@click.option(
    "--planned",
    is_flag=True,
    help="Every device on the nightly of plan.json, for the history; what cannot be had is a warning.",
)
@click.option("--all-findings", is_flag=True, help="Print every finding, not the first 10 of each plugin.")
@click.option("--exit-zero", is_flag=True, help="Exit 0 even if a break is predicted.")
@format_option
@folder_options("devices", "work")
def compat_command(
    plugins: tuple[str, ...],
    everything: bool,
    torches: tuple[str, ...],
    between: tuple[str, str] | None,
    planned: bool,
    all_findings: bool,
    exit_zero: bool,
    output_format: str,
    folders: Folders,
) -> None:
    """Predict which plugins a torch breaks, from their public wheels; no hardware is needed.

    A wheel is read and never installed, loaded or imported. Compared with the torch that the plugin was made for, four
    things may be missing: symbols that its libraries need, names of `torch.*` that its sources import (imports inside
    `try` are left out), overloads of operators, and its entry point.

    \b
    Examples:
      ootci compat mydevice --torch 2.15.0
      ootci compat --all --torch nightly
      ootci compat --between OLD.whl NEW.whl plugin.whl

    Writes compat.json into the work folder. Exit code 1 if a break is predicted, 2 if a wheel is refused, 3 if one cannot
    be downloaded; the other plugins are checked all the same. That no break is found does not mean that the plugin works:
    the layout of classes and behavior are not seen.
    """
    if planned:
        _planned(folders)
        return
    if between and torches:
        raise BadOption("--between and --torch exclude each other", where="--between", fix="leave one of them out")
    asked = Question(
        targets_of(plugins, everything=everything, folders=folders),
        (between[1],) if between else torches or ("nightly",),
        between[0] if between else None,
    )
    with locked(folders.work):
        found, errors = compat(asked, folders, Progress(quiet=output_format == "json"))
        write(found, folders.workspace.compat)
    limit = sys.maxsize if all_findings else SHOWN
    show(found, output_format, lambda markdown: "\n".join(_text(found, limit, markdown=markdown)))
    for error in errors:
        show_error(error)
    broken = any(item.forecast is Forecast.BREAK for item in found.predictions)
    worst = max((error.exit_code for error in errors), default=EXIT_FINE)
    sys.exit(worst or (EXIT_DEVICE if broken and not exit_zero else EXIT_FINE))


def _planned(folders: Folders) -> None:
    """Predict for a nightly. A prediction decides nothing, so that nothing here may fail the nightly."""
    plan = read(Plan, folders.workspace.plan)
    try:
        asked = Question(targets_of((), everything=True, folders=folders), (nightly_of(plan),), for_nightly=True)
        with locked(folders.work):
            found, errors = compat(asked, folders, Progress())
            write(found.model_copy(update={"plan_id": plan.id}), folders.workspace.compat)
    except OotciError as problem:
        show_warning("nothing is predicted", problem)
        return
    for failed in errors:
        show_warning("a plugin is not checked", failed)
    show_text("\n".join(f"{item.plugin}: {item.forecast}: {one_line(item.why)}" for item in found.predictions))


def _text(found: Compat, limit: int, *, markdown: bool) -> Iterator[str]:
    yield from _shared(found.predictions)
    torches = list(dict.fromkeys(item.torch for item in found.predictions))
    plugins: dict[tuple[str, str], list[Prediction]] = {}
    for item in found.predictions:
        plugins.setdefault((item.plugin, item.version or ""), []).append(item)
    rows = [_row(name, items, torches) for name, items in plugins.items()]
    yield table(("plugin", "made for", "symbols", "names", *torches), rows, markdown=markdown)
    for items in plugins.values():
        yield from _details(items, limit, markdown=markdown)


def _shared(predictions: Sequence[Prediction]) -> Iterator[str]:
    """What several plugins lack on one torch, which is one change of PyTorch."""
    checked: dict[str, int] = {}
    lacking: dict[tuple[str, str], list[str]] = {}
    for item in predictions:
        checked[item.torch] = checked.get(item.torch, 0) + (item.wheel is not None)
        for finding in item.findings:
            if finding.kind in (FindingKind.SYMBOL, FindingKind.NAME, FindingKind.OPERATOR):
                lacking.setdefault((item.torch, finding.text), []).append(item.plugin)
    for (torch, text), names in lacking.items():
        if len(set(names)) > 1:
            who = ", ".join(sorted(set(names)))
            what = shortened(text, 80)
            yield f"torch {torch} lacks {what}, which {len(names)} of {checked[torch]} wheels need: {who}"
    if lacking:
        yield ""


def _row(name: tuple[str, str], items: Sequence[Prediction], torches: Sequence[str]) -> tuple[str, ...]:
    by_torch = {item.torch: item for item in items}
    made_for = {f"{item.baseline}{' (guessed)' if item.baseline_guessed else ''}" for item in items if item.baseline}
    symbols = max(item.checked.symbols for item in items)
    names = max(item.checked.names for item in items)
    cells = (_cell(by_torch[torch]) if torch in by_torch else "" for torch in torches)
    return (" ".join(name).strip(), ", ".join(sorted(made_for)) or "unknown", f"{symbols:,}", f"{names:,}", *cells)


def _cell(item: Prediction) -> str:
    if item.wheel is None:
        return "nothing public" if item.forecast is Forecast.NOTHING else str(item.forecast)
    counts = ((item.count(kind), letters) for kind, letters in _LETTERS.items())
    return " + ".join(f"{count} {letters}" for count, letters in counts if count) or "0"


def _details(items: Sequence[Prediction], limit: int, *, markdown: bool) -> Iterator[str]:
    for item in items:
        if item.forecast is Forecast.NO_BREAK and len(items) > 1:
            continue
        yield ""
        yield f"{'### ' if markdown else ''}{item.plugin} on torch {item.torch}: {item.forecast}: {one_line(item.why)}"
        for finding in item.findings[:limit]:
            yield f"  - {_finding(finding, markdown=markdown)}"
        if len(item.findings) > limit:
            yield f"  {len(item.findings) - limit} more: --all-findings, or compat.json"
        for note in item.notes:
            yield f"  note: {one_line(note)}"


def _finding(finding: Finding, *, markdown: bool) -> str:
    text = shortened(finding.text, WIDTH)
    text = f"`{text.replace('`', chr(39))}`" if markdown else text
    objects = ", ".join(Path(name).name for name in finding.needed_by[:3])
    more = f" and {len(finding.needed_by) - 3} more" if len(finding.needed_by) > 3 else ""
    return f"{finding.kind} {text} (in {one_line(objects)}{more}{', from ' + finding.header if finding.header else ''})"
