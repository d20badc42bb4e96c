"""test: import, check and the suites, run by the device's own Python and watched from outside."""

from .stage import test
from .suite_run import suite_options
