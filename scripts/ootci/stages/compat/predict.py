"""Comparing a plugin with a torch: what it needs, its own torch has, and this torch lacks."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from packaging.tags import Tag
from packaging.version import Version

from ootci.adapters.process import run
from ootci.errors import ToolMissing
from ootci.model.compat import OF_PYTORCH, Checked, Finding, FindingKind, Forecast, Needs, Prediction

from .plugin import PluginWheel, places_of
from .python_names import is_called
from .torch_wheel import TorchWheel

SHOWN = 1000
"""Findings that one prediction keeps."""


def without_findings(plugin: str, torch: TorchWheel, forecast: Forecast, why: str) -> Prediction:
    """The prediction for a plugin of which nothing was read."""
    return Prediction(plugin=plugin, torch=str(torch.version), forecast=forecast, why=why)


def predict(plugin: PluginWheel, torch: TorchWheel, known: Sequence[TorchWheel], *, fixed: bool = False) -> Prediction:
    """The prediction for a plugin and a torch.

    Args:
        known: torches, one of which the plugin was made for.
        fixed: whether that is the first of them, whatever the plugin's metadata; then only changes of PyTorch count.

    """
    baseline, guessed = (known[0], False) if fixed else baseline_of(plugin, known)
    findings = tuple(item for item in _findings(plugin, torch, baseline) if not fixed or item.kind in OF_PYTORCH)
    needed = plugin.needed_by(torch.version)
    counted = needed.keys() & frozenset().union(torch.symbols, *(item.symbols for item in known))
    checked = Checked(
        objects=len(plugin.objects_for(torch.version)),
        symbols=len(counted),
        sources=plugin.sources,
        names=len(_names(plugin, known)),
        operators=len(_operators_named(plugin, torch, known)),
    )
    forecast, why = Forecast.BREAK if findings else Forecast.NO_BREAK, _why(findings, checked)
    if baseline is None and not findings:
        # A symbol that this torch lacks may be of any library.
        forecast, why = Forecast.UNCHECKED, "there is no other torch to compare with"
    return Prediction(
        plugin=plugin.name,
        forecast=forecast,
        why=why,
        wheel=plugin.file,
        version=str(plugin.version),
        torch=str(torch.version),
        baseline=str(baseline.version) if baseline else None,
        baseline_guessed=guessed,
        findings=findings[:SHOWN],
        more=len(findings[SHOWN:]),
        checked=checked,
        notes=tuple(_notes(plugin, torch, baseline)),
    )


def needs_of(plugin: PluginWheel, torch: TorchWheel, known: Sequence[TorchWheel]) -> Needs:
    """The needs of a plugin that any known torch meets."""
    symbols = plugin.needed_by(torch.version).keys() & frozenset().union(*(item.symbols for item in known))
    texts = demangled(symbols)
    return Needs(
        symbols=tuple(sorted({texts.get(name, name) for name in symbols})),
        names=tuple(sorted(_names(plugin, known))),
        operators=tuple(sorted(_operators_named(plugin, torch, known))),
    )


def _names(plugin: PluginWheel, known: Sequence[TorchWheel]) -> set[str]:
    """The names that sources import or reach, in code or not, and that any known torch has."""
    found = {name for torch in known for text in plugin.used.names for name in list(_attributes(text, torch))[-1:]}
    return {name for name in found if any(torch.modules.has(name) for torch in known)}


def _operators_named(plugin: PluginWheel, torch: TorchWheel, known: Sequence[TorchWheel]) -> set[str]:
    objects = plugin.objects_for(torch.version)
    overloads = frozenset().union(*(item.operators for item in known))
    named = plugin.used.operators.keys() | plugin.used.kernels
    return {name for item in objects for name in item.operators} | (named & overloads)


def baseline_of(plugin: PluginWheel, known: Sequence[TorchWheel]) -> tuple[TorchWheel | None, bool]:
    """The torch that a plugin was made for, and whether that is a guess.

    Its metadata names it where one release only is allowed; else it is the torch with the fewest missing symbols, the
    newest of several, of those that are not newer than the named one.
    """
    if not known:
        return None, False
    if plugin.pinned is not None:
        stated = [torch for torch in known if _allows(plugin, torch.version)]
        if stated:
            return max(stated, key=lambda torch: torch.version), False
    # A torch newer than the named one, which is not at hand, is what the plugin was not made for.
    older = [torch for torch in known if plugin.pinned and Version(torch.version.public) <= Version(plugin.pinned)]
    allowed = [torch for torch in known if _allows(plugin, torch.version)] or older or list(known)
    anywhere = frozenset().union(*(torch.symbols for torch in known))

    def missing(torch: TorchWheel) -> int:
        return len((plugin.needed_by(torch.version).keys() & anywhere) - torch.symbols)

    return min(allowed, key=lambda torch: (missing(torch), -_order(known, torch))), True


def _order(known: Sequence[TorchWheel], torch: TorchWheel) -> int:
    return sorted(item.version for item in known).index(torch.version)


def _allows(plugin: PluginWheel, version: Version) -> bool:
    # Requirements ignore the build, such as +cpu.
    if plugin.requires is None:
        return True
    public = Version(version.public)
    return all(
        item.contains(public, prereleases=True)
        or (item.operator == "==" and Version(item.version.removesuffix(".*")).public == version.public)
        for item in plugin.requires
    )


def _findings(plugin: PluginWheel, torch: TorchWheel, baseline: TorchWheel | None) -> Iterator[Finding]:
    for name, target in plugin.problems.items():
        yield Finding(
            kind=FindingKind.ENTRY_POINT, name=name, text=f"{name} = {target}: no such module", needed_by=(plugin.file,)
        )
    if not _same_python(plugin, torch):
        yield Finding(
            kind=FindingKind.PYTHON,
            name=" ".join(sorted({tag.interpreter for tag in plugin.tags})),
            text=f"the wheel is for {_pythons(plugin.tags)}, torch is for {_pythons(torch.tags)}",
            needed_by=(plugin.file,),
        )
    if baseline is None:
        return
    yield from _symbols(plugin, torch, baseline)
    gone = _gone(plugin, torch, baseline)
    for name, place in sorted(places_of(plugin, gone).items()):
        kind = FindingKind.OPERATOR if name.startswith("aten::") else FindingKind.NAME
        yield Finding(kind=kind, name=name.removeprefix("aten::"), text=name, needed_by=(place,))
    yield from _schemas(plugin, torch, baseline)


def _gone(plugin: PluginWheel, torch: TorchWheel, baseline: TorchWheel) -> dict[str, set[str]]:
    """Attributes of torch's modules, and overloads, that are gone, with the sources that have them in their texts.

    An attribute of anything else, such as a class, is not known.
    """
    gone: dict[str, set[str]] = {}
    for text, files in plugin.used.names.items():
        for name in _attributes(text, torch):
            if not torch.modules.has(name) and baseline.modules.has(name) and not plugin.used.provides(name):
                gone.setdefault(name, set()).update(files)
    if torch.operators:  # Some package no list of them, which is not to have none.
        for name in plugin.used.operators.keys() & (baseline.operators.keys() - torch.operators.keys()):
            gone[f"aten::{name}"] = plugin.used.operators[name]
    return gone


def _attributes(text: str, torch: TorchWheel) -> Iterator[str]:
    """The attributes of modules in ``torch.cuda.Stream.query``: ``torch.cuda`` and ``torch.cuda.Stream``."""
    name = "torch"
    for part in text.split(".")[1:]:
        module, name = name, f"{name}.{part}"
        if not torch.modules.is_module(module):
            break
        yield name


def _symbols(plugin: PluginWheel, torch: TorchWheel, baseline: TorchWheel) -> Iterator[Finding]:
    needed = plugin.needed_by(torch.version)
    missing = sorted((needed.keys() & baseline.symbols) - torch.symbols)
    texts = demangled(missing)
    headers: dict[str, str | None] = {}
    for name in missing:
        text = texts.get(name, name)
        word = _identifier(text)
        if word and word not in headers and len(headers) < 20:
            headers[word] = baseline.header_of(word)
        objects = tuple(sorted(needed[name]))
        header = headers.get(word) if word else None
        yield Finding(kind=FindingKind.SYMBOL, name=name, text=text, needed_by=objects, header=header)


def _schemas(plugin: PluginWheel, torch: TorchWheel, baseline: TorchWheel) -> Iterator[Finding]:
    objects = [item for item in plugin.objects_for(torch.version) if item.registers]
    for name in sorted({name for item in objects for name in item.operators}):
        before, after = baseline.operators.get(name), torch.operators.get(name)
        if before and after and before != after:
            yield Finding(
                kind=FindingKind.SCHEMA,
                name=name,
                text=f"aten::{name}: {before} is now {after}",
                needed_by=tuple(item.name for item in objects if name in item.operators),
            )


def _identifier(text: str) -> str | None:
    """The name of a free function or constructor of c10, whose inline functions are in nearly every plugin."""
    found = re.match(r"c10::(?:\w+::)*(\w{6,})\(", text)
    return found[1] if found else None


def _same_python(plugin: PluginWheel, torch: TorchWheel) -> bool:
    theirs = {tag.interpreter for tag in torch.tags}
    stable = [_minor(tag.interpreter) for tag in plugin.tags if tag.abi == "abi3"]
    return any(tag.interpreter in theirs or tag.interpreter.startswith("py") for tag in plugin.tags) or any(
        minor <= _minor(python) for minor in stable for python in theirs
    )


def _minor(interpreter: str) -> int:
    """11 of ``cp311``; an object of the stable interface for an older Python serves a newer one."""
    return int(re.sub(r"\D", "", interpreter)[1:] or 0)


def _pythons(tags: frozenset[Tag]) -> str:
    return " ".join(sorted({tag.interpreter for tag in tags}))


def _notes(plugin: PluginWheel, torch: TorchWheel, baseline: TorchWheel | None) -> Iterator[str]:
    yield from plugin.notes
    if plugin.used.unparsed:
        yield f"{len(plugin.used.unparsed)} sources could not be parsed, first {min(plugin.used.unparsed)}"
    if not _allows(plugin, torch.version):
        yield f"requires torch{plugin.requires}, which excludes {torch.version}"
    named = {name for item in plugin.objects_for(torch.version) for name in item.operators} | plugin.used.kernels
    gone = sorted(named & ((baseline.operators.keys() if baseline else set()) - torch.operators.keys()))
    if gone:
        # A kernel for an operator that does not exist is registered and never called (aten/src/ATen/core/dispatch).
        yield f"{len(gone)} overloads that it names for kernels are gone, first aten::{gone[0]}"


def _why(findings: Sequence[Finding], checked: Checked) -> str:
    counted = (
        (FindingKind.SYMBOL, "binary", checked.symbols, "symbols"),
        (FindingKind.NAME, "Python", checked.names, "names"),
        (FindingKind.OPERATOR, "operators", checked.operators, "overloads"),
    )
    if not findings:
        return "checked " + ", ".join(f"{total:,} {what}" for _, _, total, what in counted)
    parts = []
    for kind, label, total, what in counted:
        if count := sum(finding.kind is kind for finding in findings):
            places = [finding.needed_by[0] for finding in findings if finding.kind is kind]
            where = ", only where functions are called" if all(map(is_called, places)) else ""
            parts.append(f"{label}: {count:,} of {total:,} {what} gone{where}")
    if count := sum(finding.kind is FindingKind.SCHEMA for finding in findings):
        parts.append(f"operators: {count:,} schemas changed")
    parts += [finding.text for finding in findings if finding.kind in (FindingKind.ENTRY_POINT, FindingKind.PYTHON)]
    return " · ".join(parts)


SECONDS = 20.0
MEMORY = 256 << 20
"""Bytes that c++filt may use: a name of a few hundred characters can stand for gigabytes."""
BATCH = 200
LONGEST = 2000


def demangled(names: Iterable[str]) -> dict[str, str]:
    """Mangled C++ names for people, by c++filt of binutils; those beyond the limits are left out."""
    wanted = [name for name in sorted(set(names)) if len(name) <= LONGEST]
    found: dict[str, str] = {}
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "names")
        for begin in range(0, len(wanted), BATCH):
            batch = wanted[begin : begin + BATCH]
            log.unlink(missing_ok=True)
            command = ["prlimit", f"--as={MEMORY}", "c++filt", "--", *batch]
            try:
                done = run(command, cwd=Path(folder), env={"PATH": "/usr/bin:/bin"}, log_file=log, timeout=SECONDS)
            except ToolMissing:
                return found
            lines = log.read_text(encoding="utf-8", errors="replace").splitlines() if done.ok else []
            if len(lines) == len(batch):
                found.update(zip(batch, map(_short, lines), strict=True))
    return found


def _short(text: str) -> str:
    text = text.replace(
        "std::__cxx11::basic_string<char, std::char_traits<char>, std::allocator<char> >", "std::string"
    )
    return re.sub(r"\[abi:\w+\]", "", text)
