"""The generated parts of the course's pages: code of the reference plugin, its steps, failures and tests.

A part stands between ``<!-- KIND: ARGUMENTS -->`` and ``<!-- end -->``. It is committed, so that GitHub shows it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from contract.device_tests import read_tests
from contract.openreg_steps import MISSING, read_steps

ROOT = Path(__file__).parents[3]
PLUGIN = ROOT / "devices" / "openreg"
SUITES = ROOT / "tests" / "device"
PAGES = ROOT / "docs" / "back-end"
BLOCK = re.compile(
    r"^<!-- (?P<kind>code|failures|step|tests): (?P<of>[^\n]+) -->\n(?P<body>.*?)^<!-- end -->$", re.M | re.S
)
FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
PATH = re.compile(r"(?:[\w.-]+/)+[\w.*-]*|[\w-]+\.(?:py|cpp|h|md|yaml|cmake|toml)")
OF_TORCH = ("c10/", "ATen/", "torch/", "torchgen/")
_LANGUAGES = {".cpp": "cpp", ".h": "cpp", ".py": "python", ".toml": "toml", ".cmake": "cmake", ".txt": "cmake"}
_LITERAL = re.compile(r"""//.*|(?<!\w)#.*|"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'""")
_LEADING = re.compile(r"\s*(//|@|# |template <)")


def generate(text: str) -> str:
    """A page with all of its generated parts written again."""
    return BLOCK.sub(lambda found: f"<!-- {found['kind']}: {found['of']} -->\n\n{_body(found)}\n\n<!-- end -->", text)


def spans(text: str) -> list[str]:
    """What a page has in back quotes, apart from its generated parts and its code."""
    return re.findall(r"`([^`\n]+)`", FENCE.sub("", BLOCK.sub("", text)))


def excerpt(text: str, starts: Iterable[str], comment: str = "//") -> str:
    """The definitions of a source file that begin with the given texts; all of the file if none is given.

    A text may end in ``$``, which stands for the end of the line.

    A class whose members are asked for as well is reduced to them.

    Raises:
        ValueError: no line, or more than one, begins with such a text.

    """
    lines = text.splitlines()
    extents = [_extent(lines, _line_of(lines, start)) for start in starts]
    if not extents:
        return text.strip("\n")
    shown: set[int] = set()
    inside: set[int] = set()
    for first, begin, end in extents:
        if any(begin < other <= end for _, other, _ in extents):
            head = next(number for number in range(begin, end) if lines[number].rstrip().endswith(("{", ":")))
            shown |= {*range(first, head + 1), *({end} if lines[end].strip().startswith("}") else ())}
            inside |= set(range(begin, end + 1))
        else:
            shown |= set(range(first, end + 1))
    return _joined(lines, sorted(shown), inside, comment)


def _line_of(lines: list[str], start: str) -> int:
    found = [number for number, line in enumerate(lines) if f"{line.strip()}$".startswith(start)]
    if len(found) != 1:
        msg = f"{len(found)} lines begin with {start!r}; a definition needs one"
        raise ValueError(msg)
    return found[0]


def _extent(lines: list[str], begin: int) -> tuple[int, int, int]:
    """The first line with the comments above, the definition's own first line, and its last line."""
    indent, depth, end = _indent(lines[begin]), 0, begin
    for number in range(begin, len(lines)):
        if lines[number].strip() and number > begin and depth == 0 and _indent(lines[number]) <= indent:
            break
        bare = _LITERAL.sub("", lines[number])
        depth += sum(bare.count(sign) for sign in "([{") - sum(bare.count(sign) for sign in ")]}")
        if lines[number].strip():
            end = number
    first = begin
    while first > 0 and _LEADING.match(lines[first - 1]) and _indent(lines[first - 1]) == indent:
        first -= 1
    return first, begin, end


def _joined(lines: list[str], shown: list[int], inside: set[int], comment: str) -> str:
    dedent = min(_indent(lines[number]) for number in shown if lines[number].strip())
    result, last = [], shown[0]
    for number in shown:
        skipped = range(last + 1, number)
        if any(lines[between].strip() for between in skipped) and skipped[0] in inside:
            beside = lines[last] if lines[number].strip().startswith("}") else lines[number]
            if comment == "#" and _indent(lines[last]) > _indent(beside):
                result.append("")
            result.append(f"{' ' * _indent(beside)}{comment} ..."[dedent:])
        elif skipped:
            result += ["", ""] if comment == "#" and _indent(lines[number]) == dedent else [""]
        result.append(lines[number][dedent:])
        last = number
    return "\n".join(result)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _body(found: re.Match[str]) -> str:
    return {"code": _code, "failures": _failures, "step": _step, "tests": _tests}[found["kind"]](found["of"])


def _code(of: str) -> str:
    name, *starts = of.split(" | ")
    path = PLUGIN / name if (PLUGIN / name).is_file() else ROOT / name
    language = _LANGUAGES[path.suffix]
    try:
        code = excerpt(path.read_text(encoding="utf-8"), starts, "//" if language == "cpp" else "#")
    except ValueError as error:
        msg = f"{name}: {error}"
        raise ValueError(msg) from None
    return f"[`{name}`](../../{path.relative_to(ROOT).as_posix()})\n\n```{language}\n{code}\n```"


def _failures(of: str) -> str:
    """Rows of the plugin's README about files, in the order given."""
    rows = [
        [cell.strip() for cell in line.strip("|").split(" | ")]
        for line in (PLUGIN / "README.md").read_text(encoding="utf-8").splitlines()
        if line.startswith("| ") and line.count(" | ") == 2
    ]
    names = of.split()
    told = [
        f"| {', '.join(map(_linked, _names_in(row[1], names)))} | {row[2].rstrip(' |')} |"
        for row in rows
        if _names_in(row[1], names)
    ]
    missing = [name for name in names if not any(f"`{name}`" in row[1] for row in rows)]
    if missing:
        msg = f"no row of {PLUGIN.name}/README.md names {', '.join(missing)}"
        raise ValueError(msg)
    return "\n".join(["| Left out | What you see |", "|---|---|", *told])


def _names_in(cell: str, names: list[str]) -> list[str]:
    """Those names that a cell has in back quotes."""
    return [name for name in names if f"`{name}`" in cell]


def _linked(name: str) -> str:
    return f"[`{name}`](../../devices/openreg/{name})"


def _step(of: str) -> str:
    number = int(of)
    step = read_steps(PLUGIN)[number - 1]
    files = ", ".join(_linked(name) for name in step.files)
    red = [f"`integration/{test}`" for before, test, _ in MISSING if before == number]
    lines = [
        f"**Step {number}: {step.title}.** In your plugin: `ootci plugin new mydevice --step {number}`. In openreg: "
        f"`-C cmake.define.OPENREG_STEP={number}`.",
        "",
        f"- Files: {files}",
        *([f"- Does not pass before this step: {', '.join(red)}"] if red else []),
        *([f"- All tests pass from this step on: {_capabilities(step.capabilities)}"] if step.capabilities else []),
    ]
    return "\n".join(lines)


def _capabilities(names: Iterable[str]) -> str:
    return ", ".join(f"[`{name}`](../capabilities/{name}.md)" for name in names)


def _tests(of: str) -> str:
    """Of capabilities: the step from which on all tests pass, the files of tests, and how many are in each."""
    rows = []
    for capability in of.split():
        counts = {
            path.relative_to(SUITES).as_posix(): sum(found == capability for found, _, _ in read_tests(path))
            for path in sorted(SUITES.glob("*/test_*.py"), key=lambda path: (path.parent.name != "smoke", path))
        }
        files = [f"[`{name}`](../../tests/device/{name}) ({count})" for name, count in counts.items() if count]
        if not files:
            msg = f"no test of the capability {capability}"
            raise ValueError(msg)
        step = _steps_of_capabilities()[capability]
        rows.append(f"| {_capabilities([capability])} | [{step}]({_page_of_step(step)}) | {', '.join(files)} |")
    return "\n".join(["| Capability | Passes from step | Files with its tests, and how many |", "|---|---|---|", *rows])


def _steps_of_capabilities() -> dict[str, int]:
    return {name: number for number, step in enumerate(read_steps(PLUGIN), 1) for name in step.capabilities}


def _page_of_step(number: int) -> str:
    (page,) = (page for page in PAGES.glob("*.md") if f"<!-- step: {number} -->" in page.read_text(encoding="utf-8"))
    return page.name
