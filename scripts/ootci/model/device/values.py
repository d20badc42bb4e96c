"""The forms of a device file's values, each with its description."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from packaging import requirements
from pydantic import AfterValidator, BeforeValidator, Field, StringConstraints

from .container_options import checked_options, checked_volume

MEANINGS = {
    r"^[a-z][a-z_]{0,30}$": "lower-case letters and underscores, at most 31: torch.device takes no digits",
    r"^[a-z][a-z0-9_]{0,30}$": "lower-case letters, digits and underscores, beginning with a letter, at most 31",
    r"^[a-z0-9][a-z0-9_]{0,14}$": "lower-case letters, digits and underscores, at most 15",
    r"^3\.[1-9][0-9]$": 'a version of Python in quotation marks, such as "3.12"',
    r"^[A-Z][A-Z0-9_]{0,99}$": "the name of a secret, in capitals",
    r"^https?://[^\s<>]+$": "an address that begins with http:// or https://",
    r"^@[A-Za-z0-9](?:[A-Za-z0-9-]{0,38})(?:/[A-Za-z0-9_.-]+)?$": (
        "a GitHub handle with a leading @, of a person (`@me`) or a team (`@company/team`)"
    ),
    r"^[A-Za-z0-9_.:-]{1,100}$": "a runner label of letters, digits and `_.:-`",
    r"^[a-z0-9][A-Za-z0-9._/:@-]*$": "the name of a container image, such as registry.example.com/image:1.0",
    r"^[^\s:]+:/[^\s:]+(?::[a-z,]+)?$": "a volume such as /opt/sdk:/opt/sdk:ro",
    r"^[A-Za-z0-9]": "a Python requirement, which begins with a letter or digit",
    r"^[A-Za-z_][A-Za-z0-9_]*$": "the name of an environment variable",
    r"^[^/\s].*$": "a path relative to its folder, not an absolute one",
    r"^(?:\w[\w-]*/)*\w+\.py$": "a test file relative to PyTorch's folder `test`, such as test_torch.py",
    r"^\w+(?:\.\w+)*$": "the full name of an operator in PyTorch's lists, such as linalg.norm",
    r"^[A-Za-z_]\w*$": "a name in Python",
    r"^[a-z0-9.]+$": "a build variant such as cpu or cu130",
    r"^\d+\.\d+\.\d+$": "a release such as 2.13.0",
    r"^[a-z][a-z0-9_]*/\S.*$": "a test id that begins with its suite, such as integration/test_rng.py::test_seed*",
}
"""The description of each pattern of a device file."""

EXAMPLES = dict(
    zip(
        MEANINGS,
        (
            *("mydevice", "mysuite", "py313", "3.12", "MYDEVICE_REGISTRY_PASSWORD", "https://example.com/", "@me"),
            *("self-hosted", "registry.example.com/image:1.0", "/opt/sdk:/opt/sdk:ro", "torch-mydevice", "MY_VARIABLE"),
            *("python", "test_torch.py", "linalg.norm", "TestTorch", "cpu", "2.13.0"),
            "integration/test_rng.py::test_seed*",
        ),
        strict=True,
    )
)
"""A value for each pattern."""

_OF_TORCH = frozenset({"cpu", "cuda", "hip", "meta", "mkldnn", "mps", "privateuseone", "vulkan", "xpu"})
"""Names of device types with a backend in PyTorch's own tree. Source: c10/core/DeviceType.h."""
_SHELL = frozenset({"|", "||", "&", "&&", ";", ">", ">>", "<"})


def _is_out_of_tree(name: str) -> str:
    if name in _OF_TORCH:
        raise ValueError(f"`{name}` is a device of PyTorch itself; give the name that the plugin registers")
    return name


def _is_for_no_shell(words: tuple[str, ...]) -> tuple[str, ...]:
    # A path may have a space in it.
    is_line = len(words[0].split()) > 1 and not words[0].startswith("/")
    found = next((word for word in words if word in _SHELL), words[0] if is_line else None)
    if found is not None:
        raise ValueError(f"no shell runs it, and `{found}` is for a shell; write [sh, -c, the whole line]")
    return words


Name = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]{0,30}$")]
TorchName = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z_]{0,30}$")]
"""A name that ``torch.device`` can parse (c10/core/Device.cpp)."""
OutOfTreeName = Annotated[TorchName, AfterValidator(_is_out_of_tree)]
Text = Annotated[str, StringConstraints(min_length=1, max_length=500, strip_whitespace=True)]
Command = Annotated[tuple[Text, ...], Field(min_length=1), AfterValidator(_is_for_no_shell)]
Url = Annotated[str, StringConstraints(pattern=r"^https?://[^\s<>]+$", max_length=500)]
Handle = Annotated[str, StringConstraints(pattern=r"^@[A-Za-z0-9](?:[A-Za-z0-9-]{0,38})(?:/[A-Za-z0-9_.-]+)?$")]
Label = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_.:-]{1,100}$")]
Image = Annotated[str, StringConstraints(pattern=r"^[a-z0-9][A-Za-z0-9._/:@-]*$", max_length=500)]
Volume = Annotated[
    str,
    StringConstraints(pattern=r"^[^\s:]+:/[^\s:]+(?::[a-z,]+)?$", max_length=500),
    AfterValidator(checked_volume),
]
ContainerOptions = Annotated[Text, AfterValidator(checked_options)]


def _is_requirement(text: str) -> str:
    # pip takes what follows a blank for options of its own.
    try:
        requirements.Requirement(text)
    except requirements.InvalidRequirement:
        raise ValueError(
            "it is not a Python requirement; write one such as `torch-vendor==2.13.0`, without options of pip"
        ) from None
    return text


Requirement = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9]", min_length=1, max_length=300),
    AfterValidator(_is_requirement),
]


def _is_fetched_by_git(address: str) -> str:
    # `fd::17` and `ext::sh -c ...` are programs and descriptors to git, and no addresses. `host:/path`, without a user
    # and a dot in the name, is an address with a slash too few, or a name that one machine's ssh configuration has.
    # `host.org/path` lacks its scheme: git takes it for a folder.
    scheme, separator, rest = address.partition("://")
    if separator:
        is_address = scheme in _GIT_SCHEMES and (scheme == "file" or rest[:1] not in ("", "/")) and " " not in address
    else:
        is_address = _SSH_OR_PATH.match(address) is not None
    if not is_address:
        known = ", ".join(f"{name}://" for name in _GIT_SCHEMES)
        raise ValueError(
            f"it is no address of a repository; one begins with {known}, is like git@host:path, or is a path that "
            "begins with /, ./ or ../"
        )
    return address


_GIT_SCHEMES = ("https", "http", "ssh", "git", "file")
_SSH_OR_PATH = re.compile(r"\.{0,2}/|(?:\w[\w.+-]*@[\w.-]+|\w[\w-]*(?:\.[\w-]+)+):[^:]")
GitAddress = Annotated[Text, AfterValidator(_is_fetched_by_git)]
Variable = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_][A-Za-z0-9_]*$")]
TestPath = Annotated[str, StringConstraints(pattern=r"^(?:\w[\w-]*/)*\w+\.py$", max_length=300)]
OperatorName = Annotated[str, StringConstraints(pattern=r"^\w+(?:\.\w+)*$", max_length=200)]
ClassName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z_]\w*$", max_length=200)]


def _is_exclusion(value: object) -> object:
    # Not left to pydantic: it would report one error for each of the two forms.
    if isinstance(value, (list, tuple)) and value and all(str(name).isidentifier() for name in value):
        return tuple(value)
    if value != "*":
        raise ValueError('write "*" for the whole class, or a list of its methods')
    return value


Excluded = Annotated[
    Literal["*"] | Annotated[tuple[ClassName, ...], Field(min_length=1, max_length=10_000)],
    BeforeValidator(_is_exclusion),
]

_VERSION = r"^3\.[1-9][0-9]$"


def _is_python(version: object) -> object:
    # Not a pattern of pydantic's: 3.10 without quotation marks is the number 3.1, and an error should say why.
    if not isinstance(version, str) or not re.fullmatch(_VERSION, version):
        raise ValueError('write a version in quotation marks, 3.10 or newer, such as "3.12"')
    return version


PythonVersion = Annotated[str, BeforeValidator(_is_python), Field(json_schema_extra={"pattern": _VERSION})]


def _is_number_of_workers(value: object) -> object:
    # Not left to pydantic: it would report one error for each of the two forms.
    if value != "auto" and not (type(value) is int and 1 <= value <= MAX_WORKERS):
        raise ValueError(f"write a whole number from 1 to {MAX_WORKERS}, or auto")
    return value


MAX_WORKERS = 64
Workers = Annotated[
    Annotated[int, Field(ge=1, le=MAX_WORKERS)] | Literal["auto"], BeforeValidator(_is_number_of_workers)
]

_CAPITALS = r"^[A-Z][A-Z0-9_]{0,99}$"


def _is_no_value(name: object) -> object:
    # Not a pattern of pydantic's: its error repeats what is written, which may be the secret itself.
    if not isinstance(name, str) or not re.fullmatch(_CAPITALS, name) or name.startswith("GITHUB_"):
        raise ValueError(
            "write the name of a secret of the repository, in capitals, such as MYDEVICE_REGISTRY_PASSWORD; the value "
            "is never in a device file, which is public"
        )
    return name


Secret = Annotated[str, BeforeValidator(_is_no_value), Field(json_schema_extra={"pattern": _CAPITALS})]


def _stays_inside(path: str) -> str:
    if ".." in path.split("/"):
        raise ValueError("the path must not leave its folder with `..`")
    return path


SourcePath = Annotated[str, StringConstraints(pattern=r"^[^/\s].*$", max_length=300)]
"""A path from the device file's folder, in the same checkout."""
RelativePath = Annotated[SourcePath, AfterValidator(_stays_inside)]
