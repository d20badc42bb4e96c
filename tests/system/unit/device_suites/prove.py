"""Run the suites on every broken device, and keep what they notice: a measurement of minutes, not a test.

    python tests/system/unit/device_suites/prove.py --device-python PATH [--only NAME ...] [--report FILE]
    python tests/system/unit/device_suites/prove.py --from FILE [FILE ...]

The first form writes the raw report beside its other results; the second makes the record and the README's table of
one report or of several, of which later ones outweigh earlier ones.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parent)]

from proofs import README, REASONS, make_record, readme_with, table, write_record  # noqa: E402 (found just above)
from small_suites import proof_command  # noqa: E402


def main() -> int:
    """Run, or make the record of runs."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--device-python", help="the Python with torch and the reference device")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="these broken devices only; no record is made then")
    parser.add_argument("--report", type=Path, metavar="FILE", help="keep the raw report here")
    parser.add_argument(
        "--from", nargs="+", type=Path, dest="reports", metavar="FILE", help="raw reports of earlier runs"
    )
    options = parser.parse_args()
    if options.reports:
        _record(options.reports)
        return 0
    if not options.device_python:
        parser.error("name the Python with torch: --device-python PATH")
    with tempfile.TemporaryDirectory() as folder:
        report = options.report or Path(folder) / "report.json"
        plan = Path(folder) / "plan.json"
        plan.write_text(json.dumps(dict.fromkeys(options.only) if options.only else None), encoding="utf-8")
        command, settings = proof_command(options.device_python, plan, report, Path(folder) / "tests")
        done = subprocess.run(command, check=False, **settings)
        if done.returncode == 0 and not options.only:
            _record([report])
    return done.returncode


def _record(reports: list[Path]) -> None:
    record = make_record(json.loads(path.read_text(encoding="utf-8")) for path in reports)
    write_record(record)
    reasons = json.loads(REASONS.read_text(encoding="utf-8"))
    README.write_text(readme_with(README.read_text(encoding="utf-8"), table(record, reasons)), encoding="utf-8")
    unexplained = sorted(set(record.unproven()) - set(reasons))
    print("\n".join([f"{len(unexplained)} test(s) that nothing fails, without a reason:", *unexplained]))  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
