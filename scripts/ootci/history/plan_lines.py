"""One nightly's plan as one line of JSON, its parts by their numbers in a table, and back."""

from __future__ import annotations

import json
import zlib
from datetime import datetime
from typing import Any

from pydantic import ValidationError

from ootci.errors import HistoryCorrupt
from ootci.model.plan import Plan
from ootci.model.record import check_version, utc_text

from .tables import RESTORE, UNSEALED, ValueTable, compact

_START = b'{"plan":'
_DECODER = json.JSONDecoder()


def kept(plan: Plan) -> Plan:
    """The plan without `failing_before`, which was made of the history and can be made of it again."""
    runs = tuple(run.model_copy(update={"failing_before": None}) for run in plan.runs)
    return Plan.model_validate_json(plan.model_copy(update={"runs": runs}).to_json())


def write_plan(plan: Plan, values: ValueTable) -> bytes:
    """The line of a plan; ``values`` is the table of its month."""
    record = json.loads(kept(plan).model_dump_json(exclude_defaults=True))
    runs = []
    for run in record.pop("runs"):
        own = [run.pop("run_id"), run.pop("device")]
        runs.append([*own, values.number_of(run.pop("torch")), values.number_of(run)])
    line: dict[str, Any] = {"plan": record.pop("id"), "at": utc_text(plan.created_at), "version": plan.schema_version}
    del record["created_at"]
    line |= {"values": values.number_of(record), "runs": runs}
    return _sealed(compact(line), line, values)


def plan_id_of(text: bytes, where: str) -> str:
    """The id of a line's plan, without reading the rest of it.

    Raises:
        HistoryCorrupt: the line has none.

    """
    try:
        if not text.startswith(_START):
            raise ValueError("it does not begin as one")
        # All nightlies are asked for theirs whenever one is added, and the rest of the line is long.
        return str(_DECODER.raw_decode(text.decode(), len(_START))[0])
    except ValueError as error:
        raise HistoryCorrupt(f"the line is no plan: {error}", where=where, fix=RESTORE) from error


def read_plan(text: bytes, values: ValueTable, where: str) -> Plan:
    """The plan of a line.

    Raises:
        HistoryCorrupt: the line cannot be read back.
        StageFileVersion: a newer version of the tool wrote it.

    """
    try:
        line = json.loads(text)
        check_version(Plan, line["version"], where=where)
        if _sealed(text[:UNSEALED] + b"}", line, values) != text:
            raise ValueError("the checksum is wrong")
        runs = [
            {**values.value(rest), "torch": values.value(torch), "run_id": run_id, "device": device}
            for run_id, device, torch, rest in line["runs"]
        ]
        plan = {
            **values.value(line["values"]),
            "schema_version": line["version"],
            "id": line["plan"],
            "created_at": datetime.fromisoformat(line["at"].replace("Z", "+00:00")),
            "runs": runs,
        }
        return Plan.model_validate(plan)
    except (ValueError, KeyError, TypeError, ValidationError) as error:
        raise HistoryCorrupt(f"the plan cannot be read back: {error}", where=where, fix=RESTORE) from error


def _sealed(text: bytes, line: dict[str, Any], values: ValueTable) -> bytes:
    numbers = [line["values"], *(number for run in line["runs"] for number in run[2:])]
    return text[:-1] + b',"crc":"%08x"}' % values.checksum(numbers, zlib.crc32(text))
