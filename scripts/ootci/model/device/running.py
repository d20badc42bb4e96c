"""Keys of a device file about running: where, the machine, the hardware check, the suites and the limits."""

from __future__ import annotations

from typing import Annotated, Literal
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator

from ootci.model.record import Record

from .values import (
    ClassName,
    Command,
    ContainerOptions,
    Excluded,
    Image,
    Label,
    Name,
    OperatorName,
    RelativePath,
    Secret,
    TestPath,
    Text,
    Url,
    Volume,
    Workers,
)


def _private(address: str) -> str:
    try:
        parts = urlsplit(address)
    except ValueError:
        parts = urlsplit("")
    if not parts.hostname or parts.username:
        raise ValueError("it is no address of a file on the web")
    # A report that is changed in transit changes the verdict.
    if parts.scheme != "https" and parts.hostname not in ("localhost", "127.0.0.1", "::1"):
        raise ValueError("results are fetched from addresses that begin with https:// only")
    return address


class External(Record):
    """The device is run elsewhere, by its vendor, and nightlies take its results from there."""

    run: Annotated[Url, AfterValidator(_private)]
    """Address of the newest run.json, such as that of a release's asset; public, and the same every night."""


class Credentials(Record):
    """Credentials for the image's registry, by the names of secrets in the repository that runs the workflow."""

    username: Secret
    """Name of the secret or variable that holds the user, in capitals; it begins with <NAME>_REGISTRY_."""
    password: Secret
    """Name of the secret that holds the password or token, in capitals; it begins with <NAME>_REGISTRY_."""


class Container(Record):
    """The container in which GitHub Actions runs the device's job."""

    image: Image
    """Image with the device's user-space software; with `@sha256:...` it is the same one every night."""
    options: ContainerOptions | None = None
    """Options of `docker create` that hand a card in, such as `--device /dev/vendor0`; the guide lists those that are
    allowed."""
    volumes: Annotated[tuple[Volume, ...], Field(max_length=50)] = ()
    """What of the machine is mounted, as `source:target`, with `:ro` behind it where it is only read."""
    credentials: Credentials | None = None
    """Names of the secrets with which GitHub's runner pulls the image; none for a public image."""


class BuildRunner(Record):
    """Where GitHub Actions builds the plugin, where that is another machine than the device's."""

    labels: Annotated[tuple[Label, ...], Field(min_length=1)]
    """Runner labels (`runs-on`). It needs no device, but the processor and the Python of the device's machine."""
    group: Text | None = None
    """Group of runners among which the labels choose; none when absent."""
    container: Container | None = None
    """Container on that machine; none when absent."""


class Runner(Record):
    """Where GitHub Actions runs the device's job."""

    labels: Annotated[tuple[Label, ...], Field(min_length=1)] = ("ubuntu-latest",)
    """Runner labels (`runs-on`)."""
    group: Text | None = None
    """Group of runners of an organization among which the labels choose; any group when absent."""
    container: Container | None = None
    """Container on that machine; none when absent."""
    system_python: bool = False
    """Whether the job uses the python3 of the machine or image (3.10 or later, with venv and pip); else GitHub's
    actions/setup-python installs one, which has builds for Ubuntu only."""
    shares: Annotated[int, Field(ge=1, le=64)] = 1
    """Number of jobs that run the tests in parallel, in shares of about equal duration; each needs a machine. The
    plugin is built once for all of them."""


class Check(Record):
    """Is the hardware there? Its failure is INFRA, never red for the plugin."""

    command: Command | None = None
    """Command that exits 0 when the hardware is well, as a list of words; run without a shell: before anything is
    fetched, so it must not need the plugin, and again after the import. Lines that it prints like `driver: 24.1`,
    `firmware = 7` or `SDK version: 8.2` (and `runtime`) are kept with the run."""
    devices: Annotated[int, Field(ge=1, le=1024)] = 1
    """Cards that torch must count."""
    timeout_seconds: Annotated[int, Field(ge=1, le=3600)] = 120
    """Time-out of the command and of importing torch, each."""


Dtype = Literal["float32", "float16", "bfloat16", "complex64", "int64", "bool"]
UPSTREAM_CONFIG = ("operators", "exclusions", "bypass_device_restrictions")
"""Keys of the suite `upstream` that are handed to PyTorch."""
UPSTREAM = "upstream"
"""The suite that runs PyTorch's own tests."""
OURS = ("smoke", "integration", "ops", "models", UPSTREAM)
"""The suites of this repository."""
RESERVED = frozenset({"fetch", "build", "import", "check", "stages"})
"""Names that a suite cannot have, because stages have them, or a section of report.xml."""


class Suite(Record):
    """A suite to run on the device: one of this repository's, or one that the vendor brings."""

    name: Name
    """`smoke`, `integration`, `ops`, `models`, `upstream` (PyTorch's own device-generic tests), or another name for a
    suite that you bring with `command` and `junit`."""
    command: Command | None = None
    """Of a suite of your own: the command that runs it, as a list of words; run without a shell in the device's
    environment and an empty folder. `{plugin}` stands for the folder of the plugin's sources, where they are on the
    machine, and `{device}` for the name in `torch.device(name)`."""
    junit: RelativePath | None = None
    """Of a suite of your own: the JUnit report that the command writes, relative to the folder that it runs in; a file,
    a folder of `.xml` files, or a pattern such as `reports/*.xml`."""
    required: bool = True
    """False makes it advisory: shown, but it does not decide the verdict."""
    min_tests: Annotated[int, Field(ge=1)] = 1
    """Fewer collected tests than this are lost tests, not a pass."""
    dtypes: Annotated[tuple[Dtype, ...], Field(min_length=1)] | None = None
    """Of the suite `ops` only: the dtypes of its operators; `[float32]` when absent."""
    files: Annotated[tuple[TestPath, ...], Field(min_length=1, max_length=1000)] | None = None
    """Of the suite `upstream` only: PyTorch's test files to run, relative to its folder `test`; all when absent."""
    operators: Annotated[tuple[OperatorName, ...], Field(min_length=1, max_length=10_000)] | None = None
    """Of the suite `upstream` only: the operators that the device has, by PyTorch's full names such as `add` or
    `div.floor_rounding`; for others PyTorch makes no operator tests. All when absent. Once a week the others are tried,
    and those that pass are shown."""
    exclusions: Annotated[dict[ClassName, Excluded], Field(min_length=1, max_length=10_000)] | None = None
    """Of the suite `upstream` only: tests that PyTorch does not make for the device, by test class: `"*"` for all of
    its tests, or a list of its methods. Once a week they are tried, and those that pass are shown."""
    bypass_device_restrictions: bool | None = None
    """Of the suite `upstream` only: true also runs what PyTorch restricts to other devices, such as `@onlyCUDA`."""

    @property
    def declares(self) -> bool:
        """Whether PyTorch makes fewer tests because of its declarations."""
        return bool(self.operators or self.exclusions)

    def still_declares(self, declaration: str) -> bool:
        """Whether it has a declaration, given by its key and what it names, as :mod:`ootci.model.run` has it."""
        key, _, name = declaration.partition(": ")
        if key == "operators":
            return self.operators is not None and name not in self.operators
        found, _, method = name.partition(".")
        excluded = (self.exclusions or {}).get(found, ())
        return method in excluded if method else excluded == "*"

    @property
    def is_ours(self) -> bool:
        """Whether it is one of this repository's suites."""
        return self.command is None

    @model_validator(mode="after")
    def _is_whole(self) -> Suite:
        if self.name in OURS and (self.command is not None or self.junit is not None):
            raise ValueError(f"`{self.name}` is a suite of this repository; give a suite of your own another name")
        if self.name in RESERVED:
            raise ValueError(f"a suite cannot have the name `{self.name}`, which a stage has")
        if self.name not in OURS and (self.command is None or self.junit is None):
            known = ", ".join(OURS)
            raise ValueError(f"`{self.name}` is none of {known}; a suite of your own needs `command` and `junit`")
        return self

    @model_validator(mode="after")
    def _has_dtypes(self) -> Suite:
        if self.dtypes is None:
            return self
        if self.name != "ops":
            raise ValueError(f"`dtypes` are chosen for the suite `ops`, the suite `{self.name}` has none")
        if len(self.dtypes) != len(set(self.dtypes)):
            raise ValueError("a dtype is named twice in `dtypes`")
        return self

    @model_validator(mode="after")
    def _has_upstream(self) -> Suite:
        keys = [key for key in ("files", *UPSTREAM_CONFIG) if getattr(self, key) is not None]
        if keys and self.name != UPSTREAM:
            raise ValueError(f"`{keys[0]}` is for the suite `upstream`, the suite `{self.name}` has none")
        lists = {"files": self.files, "operators": self.operators, **(self.exclusions or {})}
        for name, listed in lists.items():
            if isinstance(listed, tuple) and len(listed) != len(set(listed)):
                raise ValueError(f"an entry is named twice in `{name}`")
        return self


class Limits(Record):
    """Time-outs, so that a hang costs one test and not the night, and how much is run at once."""

    job_minutes: Annotated[int, Field(ge=1, le=1440)] = 120
    """Time-out of the whole device job."""
    suite_minutes: Annotated[int, Field(ge=1, le=720)] = 45
    """Time-out of one suite; what did not run by then is `not_run`."""
    test_seconds: Annotated[int, Field(ge=1, le=7200)] = 300
    """Time-out of one test. Collecting a suite, or one file of PyTorch's tests, may take ten minutes."""
    workers: Workers = 1
    """Number of pytest processes that run a suite in parallel on the device's machine, each a share of the tests;
    `auto` is one for each CPU, eight at most. More than one needs a device that several processes may use at once."""
    deaths_in_a_row: Annotated[int, Field(ge=1, le=10_000)] = 20
    """After so many tests in a row that ended their process (one that had to be ended counts as five) the device is
    asked whether it still answers; if it does not, the rest of the suite is `not_run`."""
