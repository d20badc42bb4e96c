"""The tool as a command in this process, as the tests of the command line have it."""

from unit.cli.conftest import ootci  # noqa: F401 (a fixture)
