"""The pages, a module for each: its record, which is what its template shows and its file in the API."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from pydantic import BaseModel, TypeAdapter

from ootci.model.schema import schema_text
from ootci.model.verdict import Verdicts

from .capabilities import CapabilitiesFile
from .clusters import ClustersFile
from .device_trends import TrendFile
from .flaky import FlakyFile
from .health import HealthFile
from .lives import LifeFile, LivesFile
from .nightlies import NightliesFile, NightlyFile
from .operators import DeviceOperatorsFile, OperatorsFile
from .published import DevicesFile, GateFile, IndexFile, NightsFile, RunFile, RunsFile, TestsFile
from .registry import RegistryFile

API_KINDS: Mapping[str, type[BaseModel]] = MappingProxyType(
    {
        "index": IndexFile,
        "devices": DevicesFile,
        "gate": GateFile,
        "nights": NightsFile,
        "clusters": ClustersFile,
        "runs": RunsFile,
        "run": RunFile,
        "tests": TestsFile,
        "lives": LivesFile,
        "life": LifeFile,
        "registry": RegistryFile,
        "capabilities": CapabilitiesFile,
        "operators": OperatorsFile,
        "device_operators": DeviceOperatorsFile,
        "trends": TrendFile,
        "flaky": FlakyFile,
        "nightlies": NightliesFile,
        "nightly": NightlyFile,
        "health": HealthFile,
        "verdicts": Verdicts,
    }
)
"""The files of the site's API, by the names that the files of their schemas have.

There is a file of nights, one of runs, one of trends and one of `device_operators` for each device, one `run` for each
attempt, many of tests, a `life` for each file of a suite, and a `nightly` for each nightly.
"""


def api_schemas() -> dict[str, str]:
    """The schema of every file of the site's API."""
    return {kind: schema_text(TypeAdapter(record), f"{kind}.json") for kind, record in API_KINDS.items()}
