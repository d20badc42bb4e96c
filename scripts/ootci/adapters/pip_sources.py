"""Where pip finds packages on this machine, as pip reports it: its configuration files, variables and default index.

The sources are `pip config list` and `pip install --help`, which names the effective index. An index whose address has
a password in it is left out, because plans are published.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

from ootci.adapters.process import ask
from ootci.adapters.python_env import device_environment

_SCOPES = ("global", "install", ":env:")
"""Of one setting the later scope wins (pip's documentation, "Configuration", "Precedence / Override order")."""


def pip_pages(project: str) -> tuple[str, ...]:
    """Addresses of the pages and folders in which pip looks for a project's files; none when there is no pip."""
    settings = _settings()
    places = _addresses(settings.get("find-links", ""))
    if settings.get("no-index", "").lower() not in ("y", "yes", "t", "true", "on", "1"):
        indexes = _addresses(f"{_index()} {settings.get('extra-index-url', '')}")
        places = [*(f"{address}/{project}/" for address in indexes), *places]
    return tuple(dict.fromkeys(address for address in places if _may_be_there(address)))


def _settings() -> dict[str, str]:
    found: dict[tuple[str, str], str] = {}
    for line in _asked("config", "list").splitlines():
        name, _, value = line.partition("=")
        scope, _, key = name.rpartition(".")
        try:
            found[scope, key] = str(ast.literal_eval(value))
        except (SyntaxError, ValueError):
            continue
    return {key: found[scope, key] for wanted in _SCOPES for scope, key in found if scope == wanted}


def _index() -> str:
    stated = re.search(r"--index-url\b.*?\(default\s+(\S+?)\)", _asked("install", "--help"), re.DOTALL)
    return stated[1] if stated else ""


def _asked(*question: str) -> str:
    # A help text that is not wrapped keeps its addresses whole.
    variables = device_environment(None, {"COLUMNS": "10000", "PIP_DISABLE_PIP_VERSION_CHECK": "1"})
    answer = ask([sys.executable, "-m", "pip", *question], env=variables)
    return answer.out if answer is not None and answer.exit_code == 0 else ""


def _addresses(text: str) -> list[str]:
    """Addresses without those that have a password; a path becomes one, as pip has it."""
    found = (item if "://" in item else Path(item).absolute().as_uri() for item in text.split())
    return [item.rstrip("/") for item in found if "@" not in urlsplit(item).netloc]


def _may_be_there(address: str) -> bool:
    # An index in a folder has no page of a project that it does not have.
    return not address.startswith("file:") or Path(url2pathname(urlsplit(address).path)).exists()
