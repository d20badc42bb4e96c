"""``ootci compat``."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import click

from ootci.adapters.annotation import show_error, show_warning
from ootci.adapters.folder_lock import locked
from ootci.adapters.progress import Progress
from ootci.cli.options import folder_options, format_option, path_option
from ootci.cli.show import append, code, one_line, shortened, show, table
from ootci.errors import EXIT_DEVICE, EXIT_FINE, EXIT_INFRASTRUCTURE, BadOption, OotciError
from ootci.flows.compat import Question, Target, compat, of_plan, targets_of
from ootci.flows.context import Folders
from ootci.model.compat import OF_PYTORCH, Compat, Finding, FindingKind, Forecast, Prediction
from ootci.model.plan import Plan
from ootci.model.record import read, write

SHOWN = 10
"""The most findings of each plugin that are printed, unless all are requested."""
WIDTH = 160
_LETTERS = {
    FindingKind.SYMBOL: "sym",
    FindingKind.NAME: "py",
    FindingKind.OPERATOR: "op",
    FindingKind.SCHEMA: "schema",
    FindingKind.ENTRY_POINT: "entry",
    FindingKind.PYTHON: "tag",
    FindingKind.COMPILE_ERROR: "compile error",
}
_NEED = {
    FindingKind.SYMBOL: "binaries need",
    FindingKind.NAME: "sources need",
    FindingKind.OPERATOR: "sources name",
    FindingKind.SCHEMA: "binaries implement",
}


@click.command("compat", short_help="Predict breaks from public wheels and sources, without the hardware.")
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
    help="What torch NEW breaks that works on torch OLD, whichever torch a plugin was made for. Without DEVICE or "
    "WHEEL: every registered device.",
)
@click.option(
    "--planned",
    is_flag=True,
    help="Every device on the torch of plan.json: a nightly's, for the history, or what a pull request's removes from "
    "the newest nightly. What is not available is a warning, and nothing fails.",
)
@click.option(
    "--compile",
    "compiles",
    is_flag=True,
    help="Also compile the sources of devices whose file has `compat.compile`. This runs the vendor's build. With "
    "--planned: compile the source of DEVICE and read no wheel.",
)
@path_option("--summary", text="Append the predictions as Markdown to FILE, such as a step summary.")
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
    compiles: bool,
    summary: Path | None,
    all_findings: bool,
    exit_zero: bool,
    output_format: str,
    folders: Folders,
) -> None:
    """Predict which plugins a torch breaks, from their public wheels; no hardware is needed.

    A wheel is read and never installed, loaded or imported. Compared with the torch that the plugin was made for, four
    things may be missing: symbols that its libraries need, names of `torch.*` that its sources import or reach
    (except inside `try` and `if`), overloads of operators, and its entry point. With --compile its source is compiled;
    where that fails on PyTorch's newest release, too, no break is predicted.

    \b
    Examples:
      ootci compat mydevice --torch 2.15.0
      ootci compat mydevice --compile
      ootci compat --all --torch nightly
      ootci compat --between OLD.whl NEW.whl

    Writes compat.json into the work folder. Exit code 1 if a break is predicted, 2 if a wheel is refused, 3 if one
    cannot be downloaded or a source cannot be compiled; the other plugins are still checked. That no break is found
    does not mean that the plugin works: the layout of classes and behavior are not seen.
    """
    if planned:
        if bool(plugins) != compiles or everything or torches or between:
            fix = "leave the other options out, or give DEVICE and --compile"
            raise BadOption("the plan names plugins and torch", where="--planned", fix=fix)
        found, is_comparison = _planned(folders, plugins)
        if found is not None:
            _tell(found, "text", SHOWN, summary, is_comparison=is_comparison)
        return
    if between and torches:
        raise BadOption("--between and --torch exclude each other", where="--between", fix="leave one of them out")
    asked = Question(
        targets_of(plugins, everything=everything or bool(between and not plugins), folders=folders),
        (between[1],) if between else torches or ("nightly",),
        baseline=between[0] if between else None,
        compiles=compiles,
    )
    if compiles and not everything:
        _require_sources(asked.targets)
    with locked(folders.work):
        found, errors = compat(asked, folders, Progress(quiet=output_format == "json"))
        write(found, folders.workspace.compat)
    _tell(found, output_format, sys.maxsize if all_findings else SHOWN, summary, is_comparison=between is not None)
    for error in errors:
        show_error(error)
    broken = any(item.forecast is Forecast.BREAK for item in found.predictions)
    unknown = any(map(_is_unknown, found.predictions))
    worst = max((EXIT_INFRASTRUCTURE * unknown, *(error.exit_code for error in errors)))
    sys.exit(worst or (EXIT_DEVICE if broken and not exit_zero else EXIT_FINE))


def _is_unknown(item: Prediction) -> bool:
    """Whether a source was not compiled, or a wheel was read with nothing to compare it with; all else is an error."""
    if item.source is not None:
        return item.source.forecast is Forecast.UNCHECKED
    return item.forecast is Forecast.UNCHECKED and item.wheel is not None


def _require_sources(targets: Sequence[Target]) -> None:
    for target in targets:
        if target.device is None or target.device.source_to_compile is None:
            fix = "add `compat.compile` to its file if it compiles without the vendor's SDK, or leave --compile out"
            raise BadOption(f"`{target.name}` names no source to compile", where="--compile", fix=fix)


def _planned(folders: Folders, compiled: Sequence[str]) -> tuple[Compat | None, bool]:
    """Predict for a plan, and say whether it is of a pull request. A prediction decides nothing and fails nothing.

    Args:
        compiled: the devices whose sources are compiled; no wheel is read then.

    """
    plan = read(Plan, folders.workspace.plan)
    proposed = plan.trigger.proposal is not None
    targets = targets_of(compiled, everything=False, folders=folders) if compiled else ()
    _require_sources(targets)
    try:
        with locked(folders.work):
            question = of_plan(plan, folders)
            if targets:
                question = replace(question, targets=targets, releases=(), wheels=False, compiles=True)
            found, errors = compat(question, folders, Progress())
            found = found if proposed else found.model_copy(update={"plan_id": plan.id})
            write(found, folders.workspace.compat)
    except OotciError as problem:
        show_warning("nothing is predicted", problem)
        return None, proposed
    for failed in errors:
        show_warning("not everything is checked", failed)
    return found, proposed


def _tell(found: Compat, output_format: str, limit: int, summary: Path | None, *, is_comparison: bool) -> None:
    def text(markdown: bool) -> str:
        return "\n".join(_text(found, limit, is_comparison=is_comparison, markdown=markdown))

    append(f"### Predicted breaks\n\n{text(True)}\n", summary)
    show(found, output_format, text)


def _text(found: Compat, limit: int, *, is_comparison: bool, markdown: bool) -> Iterator[str]:
    for torch in found.torches:
        items = [item for item in found.predictions if item.torch == torch.version]
        yield from _changes(torch.version, items, limit, is_comparison=is_comparison, markdown=markdown)
    torches = [torch.version for torch in found.torches]
    plugins: dict[tuple[str, str], list[Prediction]] = {}
    for item in found.predictions:
        plugins.setdefault((item.plugin, item.version or ""), []).append(item)
    rows = [_row(name, items, torches) for name, items in plugins.items()]
    yield table(("plugin", "made for", "symbols", "names", *torches), rows, markdown=markdown)
    for items in plugins.values():
        yield from _details(items, limit, markdown=markdown)


def _changes(
    torch: str, items: Sequence[Prediction], limit: int, *, is_comparison: bool, markdown: bool
) -> Iterator[str]:
    """What plugins lack on a torch: each change of PyTorch once, with whom it breaks."""
    needed_by: dict[tuple[FindingKind, str], list[str]] = {}
    for item in items:
        for finding in item.findings:
            if finding.kind in OF_PYTORCH:
                needed_by.setdefault((finding.kind, finding.text), []).append(item.plugin)
    groups: dict[tuple[FindingKind, tuple[str, ...]], list[str]] = {}
    for (kind, text), plugins in needed_by.items():
        if is_comparison or len(set(plugins)) > 1:
            groups.setdefault((kind, tuple(sorted(set(plugins)))), []).append(text)
    checked = len({item.plugin for item in items if item.wheel is not None})
    removes = "removes" if is_comparison else "lacks"
    for (kind, names), texts in sorted(groups.items(), key=lambda group: -len(group[0][1])):
        verb, noun = ("changes", "schema") if kind is FindingKind.SCHEMA else (removes, kind.value)
        count = f"{len(texts):,} {noun}{'s' * (len(texts) > 1)}"
        who = f"{len(names)} of {checked} plugins' released {_NEED[kind]}: {', '.join(names)}"
        yield f"{'**' * markdown}torch {torch} {verb} {count} that {who}{'**' * markdown}"
        if markdown:
            yield ""
        yield from (f"  - {_code(text, markdown=markdown)}" for text in texts[:limit])
        if len(texts) > limit:
            yield f"  - {len(texts) - limit} more"
        yield ""
    if is_comparison and not groups and checked:
        yield f"torch {torch} removes nothing that {checked} plugins' released wheels need"
        yield ""


def _row(name: tuple[str, str], items: Sequence[Prediction], torches: Sequence[str]) -> tuple[str, ...]:
    by_torch = {item.torch: item for item in items}
    made_for = {f"{item.baseline}{' (guessed)' if item.baseline_guessed else ''}" for item in items if item.baseline}
    symbols = max(item.checked.symbols for item in items)
    names = max(item.checked.names for item in items)
    cells = (_cell(by_torch[torch]) if torch in by_torch else "" for torch in torches)
    return (" ".join(name).strip(), ", ".join(sorted(made_for)) or "unknown", f"{symbols:,}", f"{names:,}", *cells)


def _cell(item: Prediction) -> str:
    if item.wheel is None or item.forecast is Forecast.UNCHECKED:
        return "nothing public" if item.forecast is Forecast.NOTHING else str(item.forecast)
    counts = [*((item.count(kind), letters) for kind, letters in _LETTERS.items()), (item.more, "more")]
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
        if item.more:
            yield f"  {item.more} more that are not kept"
        for note in item.notes:
            yield f"  note: {one_line(note)}"


def _finding(finding: Finding, *, markdown: bool) -> str:
    text = _code(finding.text, markdown=markdown)
    objects = ", ".join(Path(name).name for name in finding.needed_by[:3])
    more = f" and {len(finding.needed_by) - 3} more" if len(finding.needed_by) > 3 else ""
    return f"{finding.kind} {text} (in {one_line(objects)}{more}{', from ' + finding.header if finding.header else ''})"


def _code(text: str, *, markdown: bool) -> str:
    return code(shortened(text, WIDTH), markdown=markdown)
