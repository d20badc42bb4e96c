"""What compiling a plugin's source predicts: a break where it compiles on another torch and not on this one."""

from __future__ import annotations

import re

from ootci.model.build import Build, StageStatus
from ootci.model.compat import Forecast, SourceCheck

LONGEST = 300
_FOLDER = re.compile(r"^(?:\S*/site-packages/|\S*/sources/([^/\s]+)/building/\1/|(?:\.\.?/)+)")
"""What precedes a path of PyTorch's headers or of the plugin's sources: the folder of the environment, that of the copy
that is built, or the way there from the build's own folder."""


def source_check(built: Build, other: Build | None) -> SourceCheck:
    """The prediction from compiling a source.

    Args:
        built: its build on the torch in question.
        other: its build on another torch, made where that one failed with an error of the compiler; None without one.

    """
    commit = built.plugin.commit if built.plugin else None
    if all(stage.status is StageStatus.PASSED for stage in built.stages):
        at = f" (commit {commit[:10]})" if commit else ""
        return SourceCheck(forecast=Forecast.NO_BREAK, why=f"source compiles{at}", commit=commit)
    found = built.stages[1].compile_error
    if found is None:
        return unchecked(_reason(built), commit)
    place, error = (_FOLDER.sub("", text)[:LONGEST] for text in found)
    why, baseline = f"source does not compile: {place}: {error}", other.torch_request.version if other else None
    forecast = Forecast.UNCHECKED
    if other is None:
        why += "; there is no other torch to compare with"
    elif all(stage.status is StageStatus.PASSED for stage in other.stages):
        forecast = Forecast.BREAK
    else:
        why += f"; nor on torch {baseline}" if other.stages[1].compile_error else f"; on {baseline}: {_reason(other)}"
    return SourceCheck(forecast=forecast, why=why, commit=commit, baseline=baseline, place=place, error=error)


def unchecked(reason: str, commit: str | None = None) -> SourceCheck:
    """A source that was not compiled."""
    return SourceCheck(forecast=Forecast.UNCHECKED, why=f"source not compiled: {reason}", commit=commit)


def _reason(build: Build) -> str:
    failed = next(stage for stage in build.stages if stage.status is not StageStatus.PASSED)
    return (failed.reason or failed.status.value)[:LONGEST]
