"""Which check finds which single mistake in a workflow file: measured, and written down as a page.

Run it to write the page again: ``python tests/system/contract/mistake_table.py``.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))

from contract.good_workflows import GOOD
from contract.workflow_file import File
from contract.workflow_linters import lint
from contract.workflow_mistakes import MISTAKES

PAGE = Path(__file__).with_suffix(".md")
TOOLS = ("zizmor", "check-jsonschema", "act", "shellcheck", "actionlint", "languageservice")
MAX_SHOWN = 48

Found = Counter[tuple[int, str]]
"""How often something is found in the files of a number, of which 0 is the good ones."""


def write_trees(folder: Path) -> None:
    """Lay out the good files as number 0, and a copy with each mistake as 1 and on."""
    for number in range(len(MISTAKES) + 1):
        for path, text in tree(number).items():
            file = folder / str(number) / ".github" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")


def tree(number: int) -> dict[str, str]:
    """The files of a number, by their path below ``.github``."""
    if number == 0:
        return dict(GOOD)
    _, path, old, new = MISTAKES[number - 1]
    return {**GOOD, path: GOOD[path].replace(old, new, 1)}


def by_zizmor(folder: Path) -> Found:
    """What zizmor finds, and the files that it refuses to read, which it does not tell that it completed."""
    done = _run("zizmor", "--offline", "--pedantic", "--no-progress", "--format=json", str(folder), cwd=folder)
    found: Found = Counter()
    for finding in json.loads(done.stdout):
        path = Path(finding["locations"][0]["symbolic"]["key"]["Local"]["verbatim_path"]).relative_to(folder)
        found[int(path.parts[0]), f"{finding['ident']} {path.name}"] += 1
    read = {line.rpartition(" completed ")[2].strip() for line in done.stderr.splitlines()}
    refused = (path.relative_to(folder) for path in folder.glob("*/.github/**/*.yml") if str(path) not in read)
    found.update((int(path.parts[0]), f"refused {path.name}") for path in refused)
    return found


def by_schema(folder: Path) -> Found:
    """What check-jsonschema finds in workflows and in actions; a file that many mistakes leave as it is, once."""
    found: Found = Counter()
    for schema, pattern in (("workflows", "workflows/*.yml"), ("actions", "actions/*/action.yml")):
        same: dict[bytes, list[Path]] = {}
        for path in folder.glob(f"*/.github/{pattern}"):
            same.setdefault(path.read_bytes(), []).append(path.relative_to(folder))
        alike = {str(paths[0]): paths for paths in same.values()}
        options = ("--builtin-schema", f"vendor.github-{schema}", "--output-format=json")
        told = json.loads(_run("check-jsonschema", *options, *alike, cwd=folder).stdout)
        for error in [*told["errors"], *told.get("parse_errors", [])]:
            found.update((int(path.parts[0]), path.name) for path in alike[error["filename"]])
    return found


def by_act(folder: Path) -> Found:
    """What act refuses."""
    runs = {number: _run("act", "--validate", "--strict", cwd=folder / str(number)) for number in _numbers()}
    return Counter((number, "refused") for number, done in runs.items() if done.returncode != 0)


def by_shellcheck(folder: Path) -> Found:
    """What shellcheck finds in what is run."""
    for number in _numbers():
        files = (File.parse(path, text) for path, text in tree(number).items())
        scripts = (step["run"] for file in files for step in file.steps if "run" in step)
        for count, script in enumerate(scripts):
            (folder / str(number) / f"{count}.sh").write_text(script, encoding="utf-8")
    paths = [str(path.relative_to(folder)) for path in folder.glob("*/*.sh")]
    told = json.loads(_run("shellcheck", "--shell=bash", "--format=json", *paths, cwd=folder).stdout)
    return Counter((int(Path(finding["file"]).parts[0]), str(finding["code"])) for finding in told)


def by_linters(folder: Path) -> tuple[Found, Found]:
    """What actionlint and GitHub's own parser find."""
    told = lint(*(folder / str(number) for number in _numbers()))
    # Without the line, which an earlier mistake moves.
    found = [
        Counter((number, re.sub(r":\d+:", ":", text)) for number in _numbers() for text in told[number][tool])
        for tool in ("actionlint", "languageservice")
    ]
    return found[0], found[1]


def measure() -> list[dict[str, bool]]:
    """Whether each tool finds something in the files of each mistake that it does not find in the good ones."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        write_trees(folder)
        counts = [by_zizmor(folder), by_schema(folder), by_act(folder), by_shellcheck(folder), *by_linters(folder)]
    found = dict(zip(TOOLS, counts, strict=True))
    return [{tool: _finds(found[tool], number) for tool in TOOLS} for number in _numbers() if number]


def _finds(found: Found, number: int) -> bool:
    return any(count > found[0, what] for (of, what), count in found.items() if of == number)


def page(measured: list[dict[str, bool]]) -> str:
    """The page, as Markdown."""
    sums = {tool: sum(row[tool] for row in measured) for tool in TOOLS}
    alone = sum(not any(row.values()) for row in measured)
    lines = [
        "# Which check finds which mistake",
        "",
        f"Each row is one mistake made in good workflow files, and the rule of ours that finds it. Of {len(measured)}, "
        + ", ".join(f"{tool} finds {sums[tool]}" for tool in TOOLS)
        + f"; {alone} are found by our rules alone.",
        "",
        "Measured and written by `python tests/system/contract/mistake_table.py`; a test measures it again.",
        "",
        f"| rule | file | what was | what it became | {' | '.join(TOOLS)} |",
        "| --- " * 4 + "| :-: " * len(TOOLS) + "|",
    ]
    for (rule, path, old, new), row in zip(MISTAKES, measured, strict=True):
        cells = [
            f"`{rule}`",
            Path(path).name,
            _shown(old),
            _shown(new),
            *("yes" if row[tool] else "" for tool in TOOLS),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines) + "\n"


def _shown(text: str) -> str:
    line = " ".join(text.split()).replace("|", "\\|")
    if len(line) > MAX_SHOWN:
        line = f"{line[: MAX_SHOWN // 2]} ... {line[-MAX_SHOWN // 2 :]}"
    return f"`{line}`" if line else "nothing"


def _numbers() -> range:
    return range(len(MISTAKES) + 1)


def _run(name: str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    program = Path(sys.executable).with_name(name)
    return subprocess.run([str(program), *arguments], cwd=cwd, capture_output=True, text=True, check=False)


if __name__ == "__main__":
    PAGE.write_text(page(measure()), encoding="utf-8")
