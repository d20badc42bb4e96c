"""A Python that imports torch once and runs commands in forks of itself; run by ``ForkingPython``.

Reads requests from stdin, one JSON object a line, and answers each with the exit code in a line. It imports modules and
never uses the device, so a fork finds everything as after its own imports. The suites themselves are never imported
here: each fork imports what it runs from the files as they are then.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import runpy
import sys
from pathlib import Path
from types import ModuleType
from typing import Any


def serve() -> dict[str, Any] | None:
    """Fork for each request; gives the request in a fork, and None in the server once there are no more."""
    answers = os.dup(1)
    os.dup2(2, 1)
    while line := sys.stdin.readline():
        request: dict[str, Any] = json.loads(line)
        for name in request["imports"]:
            importlib.import_module(name)
        gc.collect()
        gc.freeze()  # garbage collections of the forks need not look at what was imported
        child = os.fork()
        if child == 0:
            os.close(answers)
            return request
        _, status = os.waitpid(child, 0)
        os.write(answers, f"{os.waitstatus_to_exitcode(status)}\n".encode())
    return None


def become(request: dict[str, Any]) -> None:
    """Take over the streams, the variables and the working directory that a fresh process would have."""
    for descriptor, (path, flags) in enumerate(
        [(request["stdin"], os.O_RDONLY), *((path, os.O_WRONLY) for path in (request["stdout"], request["stderr"]))]
    ):
        opened = os.open(path, flags)
        os.dup2(opened, descriptor)
        os.close(opened)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["cwd"])


def run(arguments: list[str]) -> None:
    """Do what ``python -m MODULE ...`` or ``python -c CODE ...`` does.

    Raises:
        ValueError: it is neither of them.

    """
    option, what, *rest = arguments
    # The first entry is the folder of this file.
    sys.path[:1] = [
        str(Path.cwd()) if option == "-m" else "",
        *filter(None, os.environ.get("PYTHONPATH", "").split(":")),
    ]
    sys.argv[:] = [option, *rest]
    if option == "-m":
        runpy.run_module(what, run_name="__main__", alter_sys=True)
    elif option == "-c":
        main = ModuleType("__main__")
        sys.modules["__main__"] = main
        exec(compile(what, "<string>", "exec"), vars(main))  # noqa: S102 (the tests' own code)
    else:
        raise ValueError(f"neither -m nor -c: {option}")


if __name__ == "__main__":
    asked = serve()
    if asked is not None:
        become(asked)
        run(asked["arguments"])
