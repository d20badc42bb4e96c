"""The kinds of files of the site's API."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

from pydantic import BaseModel, TypeAdapter

from ootci.model.schema import schema_text
from ootci.model.verdict import Verdicts

from .accuracy import AccuracyFile, DeviceAccuracyFile
from .capabilities import CapabilitiesFile
from .clusters import ClustersFile
from .compat import CompatFile, SymbolsFile
from .device import DeviceFile
from .flaky import FlakyFile
from .front import DevicesFile
from .health import HealthFile
from .lives import LifeFile, LivesFile
from .models import ModelsFile
from .nightlies import NightliesFile, NightlyFile
from .operators import DeviceOperatorsFile, OperatorsFile
from .parity import DeviceParityFile, ParityFile
from .published import GateFile, IndexFile
from .registry import RegistryFile
from .run_files import RunFile, RunsFile, TestsFile
from .support import SupportFile
from .trends import TrendFile


@dataclass(frozen=True)
class Kind:
    """A kind of file of the API.

    Attributes:
        about: what it has, one sentence, for the index; None where another file leads to it.
        folder: where there is one for each device, which ``about`` then names.

    """

    name: str
    record: type[BaseModel]
    about: str | None = None
    folder: str | None = None


KINDS: tuple[Kind, ...] = (
    Kind("index", IndexFile),
    Kind("devices", DevicesFile, "Every registered device: verdict, reason, counts, torch and where to look."),
    Kind("verdicts", Verdicts, "Everything that the judge found, each changed test included."),
    Kind("gate", GateFile, "May one merge, and which devices block."),
    Kind("clusters", ClustersFile, "The failures of the newest nightly, grouped by error, across devices."),
    Kind(
        "lives",
        LivesFile,
        "Every file of a suite with a test that was ever not passing, each with the file of its nights.",
    ),
    Kind("flaky", FlakyFile, "Tests that fail and pass by turns, ranked."),
    Kind("registry", RegistryFile, "Every device file."),
    Kind("capabilities", CapabilitiesFile, "Feature support by device, per PyTorch area."),
    Kind("operators", OperatorsFile, "The result of every operator on every device."),
    Kind(
        "accuracy",
        AccuracyFile,
        "The errors of operators' results on every device in short, and the accuracy regressions.",
    ),
    Kind("models", ModelsFile, "Small models on every device: tests passed, throughput, peak memory."),
    Kind("parity", ParityFile, "Which of PyTorch's own tests pass on which device."),
    Kind("compat", CompatFile, "Breaks that are predicted from public wheels, by device and by what is missing."),
    Kind("support", SupportFile, "Which PyTorch each device works with: the nightly and the newest releases."),
    Kind("symbols", SymbolsFile, "Which parts of PyTorch published plugins need, by symbol, name and operator."),
    Kind("nightlies", NightliesFile, "Every nightly, each with the file of its devices."),
    Kind("health", HealthFile, "How old everything is that the site is made from."),
    Kind("runs", RunsFile, "Every attempt of {}, each with the file of its outcomes.", "runs"),
    Kind(
        "device",
        DeviceFile,
        "{} on the newest nightly: verdict, what broke, since when and whose, how to reproduce it, what to fix first.",
        "devices",
    ),
    Kind("trends", TrendFile, "The last three months of {}: counts and durations.", "trends"),
    Kind("device_operators", DeviceOperatorsFile, "The result of every operator and dtype on {}.", "operators"),
    Kind("device_accuracy", DeviceAccuracyFile, "The errors of every operator and dtype on {}.", "accuracy"),
    Kind("device_parity", DeviceParityFile),
    Kind("run", RunFile),
    Kind("tests", TestsFile),
    Kind("life", LifeFile),
    Kind("nightly", NightlyFile),
)
"""Every kind. There is a `run` for each attempt, many of tests, a `life` for each file of a suite, and a `nightly` for
each nightly."""


@cache
def api_schemas() -> dict[str, str]:
    """The schema of every file of the site's API."""
    return {kind.name: schema_text(TypeAdapter(kind.record), f"{kind.name}.json") for kind in KINDS}
