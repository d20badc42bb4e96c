"""What the tests of this system share: the repository, the tool as a command, and expensive things made once."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from commands import Nightly, Ran, Tool, build_documentation, run_command, run_nightly
from hypothesis import settings
from jinja2 import Environment, FileSystemBytecodeCache
from preparation import prepare_once
from relay_server import RelayServer, relay_server
from repositories import copy_checkout, repository
from seeded_python import make_seeded_python
from torch_wheels import torch_variables
from unit.render.hostile import hostile_sample
from unit.render.sample import ADDRESS, NOW, Sample, sample
from worker_order import pytest_collection_modifyitems  # noqa: F401 (a hook of pytest)

from ootci.stages.judge import judge
from ootci.stages.render import page_maker, render

ROOT = Path(__file__).parents[2]

# How long an example takes says how busy the machine is, and nothing else.
settings.register_profile("ootci", deadline=None)
settings.load_profile("ootci")

collect_ignore = ["misbehaving", "golden"]
"""Sources of stand-ins, among them tests that only a stand-in's nightly runs, and of reports that other tools wrote."""


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the project's own options."""
    parser.addoption("--update-golden", action="store_true", help="write the golden files again instead of comparing")


def pytest_configure(config: pytest.Config) -> None:
    """Give the device's processes that a worker starts its share of the CPUs: torch would take them all.

    Processes keep what they compiled of the tool, whatever a person's shell says: several hundred are started. Versions
    that the machine's pip is held to are not asked for: stand-ins of torch have versions of their own.
    """
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PIP_CONSTRAINT"] = os.devnull
    workers = getattr(config, "workerinput", {}).get("workercount", 1)
    if workers > 1:
        os.environ.setdefault("OMP_NUM_THREADS", str(max(1, len(os.sched_getaffinity(0)) // workers)))


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository."""
    return ROOT


@pytest.fixture(scope="session")
def tool_python(shared: Path) -> Path:
    """The Python that the tool is started with: one that makes devices' environments in no time."""
    return prepare_once(shared, "seeded_python", lambda: make_seeded_python(shared / "seeded-python"))


@pytest.fixture(scope="session")
def ootci(tool_python: Path) -> Tool:
    """The tool as a command: ``ootci("plan", "--torch", "2.13.0", cwd=folder)``."""

    def call(*arguments: str, cwd: Path, env: Mapping[str, str] | None = None, timeout: float = 600) -> Ran:
        return run_command([str(tool_python), "-m", "ootci", *arguments], cwd, env, timeout)

    return call


@pytest.fixture(scope="session")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The repository as a newcomer gets it: every file that git knows or would take, and nothing that was built."""
    target = tmp_path_factory.mktemp("checkout") / "pytorch-integration-tests"
    copy_checkout(ROOT, target)
    repository(target, "checkout")
    return target


@pytest.fixture(scope="session")
def shared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of this test run, the same one in all its workers."""
    own = tmp_path_factory.getbasetemp()
    return own.parent if hasattr(request.config, "workerinput") else own


@pytest.fixture(scope="session")
def openreg_nightly(checkout: Path, shared: Path) -> Nightly:
    """The README's command, run twice in a fresh checkout: the real torch, the real plugin, the real suites."""

    def make() -> Nightly:
        with torch_variables(shared / "torch-index") as variables:
            return run_nightly(checkout, variables)

    return prepare_once(shared, "openreg_nightly", make)


@pytest.fixture(scope="session")
def python_with_torch(request: pytest.FixtureRequest) -> str:
    """The Python that ``make nightly`` made in a fresh checkout, or the one named in OOTCI_TEST_DEVICE_PYTHON."""
    named = os.environ.get("OOTCI_TEST_DEVICE_PYTHON")
    return named or str(request.getfixturevalue("openreg_nightly").device_python)


@pytest.fixture(scope="session")
def documentation(shared: Path) -> Path:
    """The documentation site, built once as `make docs` builds it."""
    return prepare_once(shared, "documentation", lambda: build_documentation(ROOT, shared / "documentation-site"))


@pytest.fixture(scope="session", autouse=True)
def compiled_templates(shared: Path) -> Iterator[None]:
    """Compile the pages' templates once for all sites that the tests render: that takes longer than most sites do."""
    folder = shared / "compiled-templates"
    folder.mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        kept = FileSystemBytecodeCache(str(folder))
        patch.setattr(page_maker, "Environment", partial(Environment, bytecode_cache=kept))
        yield


@pytest.fixture(scope="session")
def sampled(shared: Path) -> Sample:
    """What the sample site is made from; for all who only read it."""
    return prepare_once(shared, "sampled", lambda: sample(shared / "sampled-history"))


@pytest.fixture(scope="session")
def site(sampled: Sample, shared: Path) -> Path:
    """The sample site; for all who only read it."""
    return prepare_once(shared, "site", lambda: _rendered(sampled, shared / "sites" / "sample"))


@pytest.fixture(scope="session")
def hostile(shared: Path) -> Sample:
    """The sample with one device that is hostile; for all who only read it."""
    return prepare_once(shared, "hostile", lambda: hostile_sample(shared / "hostile-history"))


@pytest.fixture(scope="session")
def hostile_site(hostile: Sample, shared: Path) -> Path:
    """The site of the sample with a hostile device, beside the sample site; for all who only read it."""
    return prepare_once(shared, "hostile_site", lambda: _rendered(hostile, shared / "sites" / "hostile"))


@pytest.fixture(scope="session")
def addressed_site(sampled: Sample, shared: Path) -> Path:
    """The sample site when its address is known; for all who only read it."""
    return prepare_once(shared, "addressed_site", lambda: _rendered(sampled, shared / "sites" / "addressed", ADDRESS))


@pytest.fixture(scope="session")
def judged_site(sampled: Sample, shared: Path) -> Path:
    """The sample site with what the judge makes of its runs; for all who only read it."""
    verdicts = judge(sampled.registry, sampled.history, NOW)
    made = replace(sampled, verdicts=verdicts)
    return prepare_once(shared, "judged_site", lambda: _rendered(made, shared / "sites" / "judged"))


def _rendered(made: Sample, folder: Path, address: str | None = None) -> Path:
    render(made.registry, made.history, made.verdicts, folder, address)
    return folder


@pytest.fixture
def relay() -> Iterator[RelayServer]:
    """PyTorch's relay, which has made two deliveries."""
    with relay_server() as server:
        server.state.deliveries |= {"d1", "d2"}
        yield server
