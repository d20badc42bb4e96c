"""The keys `compat.compile` and `compat.git` of a device file: which source is compiled, and what is refused."""

from __future__ import annotations

import pytest
from pydantic import ValidationError
from unit.samples import device

GIT = {"url": "https://example.com/plugin.git", "ref": "main", "submodules": True}
OTHER = {"url": "https://example.com/other.git"}
PACKAGE = {"distribution": "torch-dev", "package": "torch-dev==1.0", "requirements": ["the-runtime"]}


@pytest.mark.parametrize(
    ("plugin", "compat", "expected"),
    [
        ({"path": "dev"}, {"compile": True}, {"path": "dev"}),
        ({"git": GIT}, {"compile": True}, {"git": GIT}),
        ({"git": GIT}, {"compile": True, "nothing_public": "a wheel.", "git": OTHER}, {"git": OTHER}),
        (PACKAGE, {"compile": True, "package": "torch-dev", "git": GIT}, {"git": GIT}),
        ({"path": "dev"}, {"nothing_public": "a wheel."}, None),
        ({"path": "dev"}, None, None),
    ],
)
def test_the_source_to_compile(
    plugin: dict[str, object], compat: dict[str, object] | None, expected: dict[str, object] | None
) -> None:
    item = device(plugin={"distribution": "torch-dev", **plugin}, compat=compat).device
    found = item.source_to_compile
    if expected is None:
        assert found is None
        return
    assert found is not None
    assert (found.distribution, found.package, found.requirements) == ("torch-dev", None, ())
    assert found.model_dump(exclude_defaults=True, exclude={"distribution"}) == expected


@pytest.mark.parametrize(
    ("plugin", "compat", "why"),
    [
        (PACKAGE, {"compile": True}, "`plugin.package` is no source"),
        ({"git": GIT}, {"nothing_public": "a wheel.", "git": OTHER}, "`compile` is not true"),
        ({"git": GIT}, {}, "none of `package`, `nothing_public` and `compile` is there"),
        ({"git": GIT}, {"package": "x", "nothing_public": "y"}, "either `package` names a public wheel"),
    ],
)
def test_keys_that_contradict_one_another_are_refused(
    plugin: dict[str, object], compat: dict[str, object], why: str
) -> None:
    with pytest.raises(ValidationError, match=why):
        device(plugin={"distribution": "torch-dev", **plugin}, compat=compat)
