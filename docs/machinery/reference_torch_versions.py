"""The page of the versions of PyTorch that the reference device was tested on, from what that reported."""

from __future__ import annotations

import ast
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from markdown_table import escaped, table

_HEAD = """\
# Versions of PyTorch

The [reference device](../../devices/openreg/README.md) on several versions of PyTorch: tests by suite, and which
defects of PyTorch itself the suites measured. It is measured, not typed; on a machine with these wheels:

```console
$ OOTCI_TORCH_WHEELS=FOLDER_OR_INDEX .venv/bin/python tests/system/torch_versions.py --record
```

A version without a wheel there is an error. The results are in `docs/torch_versions.json`.

"""
_DEFECTS = """
## Defects of PyTorch

A defect excuses a failing test, in every suite, where the test's own process measures the defect, the test passes with
the defect repaired, and fails again without the repair. [The table](../../tests/device/harness/defects.py) says since
when a defect is known. "Not shown" is a defect that the reference device cannot show, because it has what PyTorch
looks for.

"""


@dataclass(frozen=True)
class Listed:
    """An entry of the table of defects.

    Attributes:
        what: what torch does wrong.
        since: first minor version on which it was measured.
        before: first minor version on which it was not; None while none is.
        issue: where it is discussed, if it is.

    """

    what: str
    since: tuple[int, int]
    before: tuple[int, int] | None = None
    issue: str | None = None

    def has(self, version: str) -> bool:
        """Whether the table says that a version has it."""
        major, minor, *_ = (int(part) for part in version.split("."))
        return self.since <= (major, minor) and (self.before is None or (major, minor) < self.before)


def listed_defects(root: Path) -> dict[str, Listed]:
    """The table of defects by name, read without importing it, because it imports torch."""
    source = (root / "tests" / "device" / "harness" / "defects.py").read_text(encoding="utf-8")
    (entries,) = (
        node.value
        for node in ast.parse(source).body
        if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "CORE_DEFECTS"
    )
    found = {}
    for name, call in ast.literal_eval(ast.unparse(_literal(entries))).items():
        what, named = call
        found[name] = Listed(what, **named)
    return found


def measured_versions(root: Path) -> dict[str, dict[str, Any]]:
    """What was measured, by version of torch, the newest first."""
    found: dict[str, dict[str, Any]] = json.loads((root / "docs" / "torch_versions.json").read_text(encoding="utf-8"))
    return dict(reversed(found.items()))


def page(root: Path) -> str:
    """The page's Markdown."""
    versions, listed = measured_versions(root), listed_defects(root)
    suites = list(dict.fromkeys(suite for version in versions.values() for suite in version["suites"]))
    rows = [
        [f"`{version['torch']}`", version["verdict"], *(_counts(version["suites"].get(suite, {})) for suite in suites)]
        for version in versions.values()
    ]
    if not rows:
        return f"{_HEAD}Nothing has been measured yet.\n"
    parts = [_HEAD, table(("PyTorch", "Verdict", *(f"`{suite}`" for suite in suites)), rows)]
    parts += ["\n", *(_failures(version) for version in versions.values())]
    parts += ["\n## Measured on\n\n", table(("PyTorch", "Commit", "When", "Where"), map(_place, versions.values()))]
    shown = {True: "yes", False: "no", None: "not shown"}
    defects = [
        [
            escaped(entry.what) + (f" ([issue]({entry.issue}))" if entry.issue else ""),
            _range(entry),
            *(shown[version["defects"].get(name)] for version in versions.values()),
        ]
        for name, entry in listed.items()
    ]
    parts += [_DEFECTS, table(("Defect", "Listed for", *versions), defects)]
    return "".join(parts)


def _literal(entries: ast.expr) -> ast.Dict:
    """The entries with a pair of texts and values in the place of each call, without what is no literal."""
    if not isinstance(entries, ast.Dict):
        raise TypeError(ast.unparse(entries))
    pairs: list[ast.expr] = []
    for call in entries.values:
        if not isinstance(call, ast.Call):
            raise TypeError(ast.unparse(call))
        kept = [word for word in call.keywords if word.arg in ("since", "before", "issue")]
        named = ast.Dict([ast.Constant(word.arg) for word in kept], [word.value for word in kept])
        pairs.append(ast.Tuple([call.args[0], named], ast.Load()))
    return ast.Dict(entries.keys, pairs)


def _counts(counts: Mapping[str, int]) -> str:
    failed = sum(counts.get(name, 0) for name in ("failed", "error", "crashed", "timed_out"))
    words = [f"{counts.get('passed', 0):,} passed", f"{failed:,} failed", f"{counts.get('xfailed', 0)} xfailed"]
    words += [
        f"{counts[name]:,} {name.replace('_', ' ')}"
        for name in ("xpassed", "unsupported", "skipped", "not_run")
        if counts.get(name)
    ]
    return ", ".join(words) if counts else "not run"


def _failures(version: Mapping[str, Any]) -> str:
    failures = "".join(f"- `{test}`\n" for test in version["failures"])
    return f"Failed on `{version['torch']}`:\n\n{failures}\n" if failures else ""


def _place(version: Mapping[str, Any]) -> tuple[str, ...]:
    on = version["measured_on"]
    where = f"{on['machine']}, {on['cpus']} CPUs, {on['cpu_capability']}, Python {on['python']}"
    return f"`{version['torch']}`", f"`{(version['commit'] or 'unknown')[:10]}`", version["measured_at"][:10], where


def _range(entry: Listed) -> str:
    since = f"{entry.since[0]}.{entry.since[1]}"
    return f"{since} and later" if entry.before is None else f"{since} to before {entry.before[0]}.{entry.before[1]}"
