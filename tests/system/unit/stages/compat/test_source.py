"""What the builds of a plugin's source predict, and how that is joined with what its wheel tells."""

from __future__ import annotations

import pytest
from pydantic import ValidationError
from unit.samples import request

from ootci.model.build import Build, PluginBuild, StageName, StageResult, StageStatus
from ootci.model.compat import Finding, FindingKind, Forecast, Prediction, SourceCheck
from ootci.stages.compat import source_check, unchecked

COMMIT = "c0ffee0123456789"
ERROR = "the plugin does not build: a/k.cpp:3:9: error: 'f' (of x) is not a member of 'c10' (exit code 1)"
HEADER = "it does not build: /x/envs/d/lib/python3.11/site-packages/torch/include/c10/C.h:7:1: fatal error: no D.h (1)"
LINKER = "the plugin does not build: collect2: error: ld returned 1 exit status (exit code 1)"
SYMBOL = Finding(kind=FindingKind.SYMBOL, name="x", text="x", needed_by=("a.so",))


def _build(reason: str | None, status: StageStatus = StageStatus.FAILED, version: str = "2.15.0") -> Build:
    built = StageResult(name=StageName.BUILD, status=status if reason else StageStatus.PASSED, reason=reason)
    return Build(
        run_id="compile/dev",
        device="dev",
        stages=(StageResult(name=StageName.FETCH, status=StageStatus.PASSED), built),
        torch_request=request().model_copy(update={"version": version}),
        plugin=PluginBuild(package="torch-dev", version=None, source="s", commit=COMMIT),
    )


FINE, OLD = _build(None), _build(None, version="2.14.1")


@pytest.mark.parametrize(
    ("built", "other", "forecast", "why"),
    [
        (FINE, None, Forecast.NO_BREAK, "source compiles (commit c0ffee0123)"),
        (
            _build(ERROR),
            OLD,
            Forecast.BREAK,
            "source does not compile: a/k.cpp:3: 'f' (of x) is not a member of 'c10'",
        ),
        (
            _build(HEADER),
            OLD,
            Forecast.BREAK,
            "source does not compile: torch/include/c10/C.h:7: no D.h",
        ),
        (
            _build(ERROR),
            _build(HEADER, version="2.14.1"),
            Forecast.UNCHECKED,
            "source does not compile: a/k.cpp:3: 'f' (of x) is not a member of 'c10'; nor on torch 2.14.1",
        ),
        (
            _build(ERROR),
            _build("time-out", StageStatus.TIMED_OUT, "2.14.1"),
            Forecast.UNCHECKED,
            "source does not compile: a/k.cpp:3: 'f' (of x) is not a member of 'c10'; on 2.14.1: time-out",
        ),
        (
            _build(ERROR),
            None,
            Forecast.UNCHECKED,
            "source does not compile: a/k.cpp:3: 'f' (of x) is not a member of 'c10'; there is no other torch to "
            "compare with",
        ),
        (_build(ERROR, StageStatus.TIMED_OUT), OLD, Forecast.UNCHECKED, f"source not compiled: {ERROR}"),
        (_build(LINKER), OLD, Forecast.UNCHECKED, f"source not compiled: {LINKER}"),
    ],
    ids=["compiles", "error", "in a header", "on no torch", "unknown on the other", "no other", "time-out", "linker"],
)
def test_a_break_is_an_error_of_the_compiler_that_another_torch_does_not_give(
    built: Build, other: Build | None, forecast: Forecast, why: str
) -> None:
    found = source_check(built, other)
    assert (found.forecast, found.why, found.commit) == (forecast, why, COMMIT)


@pytest.mark.parametrize("folder", ["..", "../..", ".", "/home/runner/x/.ootci/compat/sources/dev/building/dev"])
def test_the_place_is_a_path_in_the_sources_wherever_they_were_built(folder: str) -> None:
    """With and without a compiler cache, which makes paths relative, and on every machine."""
    found = source_check(_build(ERROR.replace("a/k.cpp", f"{folder}/a/building/k.cpp")), OLD)
    assert found.place == "a/building/k.cpp:3"


def test_a_source_that_was_not_fetched_tells_why() -> None:
    stages = (
        StageResult(name=StageName.FETCH, status=StageStatus.FAILED, reason="fatal: no such repository"),
        StageResult(name=StageName.BUILD, status=StageStatus.NOT_RUN, reason="fetch did not pass"),
    )
    found = source_check(FINE.model_copy(update={"stages": stages, "plugin": None}), None)
    assert (found.forecast, found.why) == (Forecast.UNCHECKED, "source not compiled: fatal: no such repository")


BREAKS, COMPILES, UNKNOWN = source_check(_build(ERROR), OLD), source_check(FINE, None), unchecked("no report")


@pytest.mark.parametrize(
    ("wheel", "source", "forecast", "why"),
    [
        (Forecast.NOTHING, BREAKS, Forecast.BREAK, BREAKS.why),
        (Forecast.NOTHING, COMPILES, Forecast.NO_BREAK, COMPILES.why),
        (Forecast.NOTHING, UNKNOWN, Forecast.UNCHECKED, UNKNOWN.why),
        (Forecast.NO_BREAK, BREAKS, Forecast.BREAK, f"{BREAKS.why} · wheel"),
        (Forecast.NO_BREAK, COMPILES, Forecast.NO_BREAK, f"wheel · {COMPILES.why}"),
        (Forecast.NO_BREAK, UNKNOWN, Forecast.NO_BREAK, f"wheel · {UNKNOWN.why}"),
        (Forecast.BREAK, BREAKS, Forecast.BREAK, f"wheel · {BREAKS.why}"),
        (Forecast.BREAK, COMPILES, Forecast.BREAK, f"wheel · {COMPILES.why}"),
        (Forecast.UNCHECKED, COMPILES, Forecast.UNCHECKED, f"wheel · {COMPILES.why}"),
    ],
)
def test_wheel_and_source_are_one_prediction(
    wheel: Forecast, source: SourceCheck, forecast: Forecast, why: str
) -> None:
    findings = (SYMBOL,) if wheel is Forecast.BREAK else ()
    found = Prediction(plugin="d", forecast=wheel, why="wheel", torch="2", findings=findings).with_source(source)
    assert (found.forecast, found.why, found.source) == (forecast, why, source)
    assert [item.kind for item in found.findings if item != SYMBOL] == [FindingKind.COMPILE_ERROR] * (source is BREAKS)


def test_a_vendor_s_job_cannot_fill_the_history() -> None:
    SourceCheck(forecast=Forecast.BREAK, why="x" * 1000)
    with pytest.raises(ValidationError):
        SourceCheck(forecast=Forecast.BREAK, why="x" * 1001)
    with pytest.raises(ValidationError):
        SourceCheck.model_validate({"forecast": Forecast.NOTHING, "why": "x"})
