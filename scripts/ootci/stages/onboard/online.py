"""The checks of a device file that use the network: links, the plugin's repository, and the maintainers.

A network failure is only a warning.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

from ootci.adapters import git
from ootci.adapters.download import LinkUnclear, leads_somewhere
from ootci.adapters.github_rest import GithubRest
from ootci.errors import GithubRefused, GithubUnreachable
from ootci.model.device import DeviceFile
from ootci.model.review import CheckResult, CheckState, Problem

from .checks import result_of

ONLINE = ("links", "sources", "handles")
"""Names of the checks, in order."""
MAX_LINKS = 30
AT_ONCE = 8
PATIENCE_SECONDS = 2.0
"""Time to wait for GitHub's rate limit, which look-ups without a token reach soon."""


def check_online(file: DeviceFile | None, rest: GithubRest) -> tuple[CheckResult, ...]:
    """Check every link, source and handle of a device file; None is a file that cannot be read."""
    if file is None:
        return tuple(CheckResult(check=name, state=CheckState.NOT_MADE) for name in ONLINE)
    return _links(file), result_of("sources", _sources(file)), result_of("handles", _unknown_handles(file, rest))


def _links(file: DeviceFile) -> CheckResult:
    places = dict(list(_addresses(file))[:MAX_LINKS])
    with ThreadPoolExecutor(AT_ONCE) as pool:
        found = list(zip(places, pool.map(_state, places), strict=True))
    fix = "write the address as it is now, or leave it out"
    wrong = [Problem.told(f"nothing is at {address}", places[address], fix) for address, why in found if why == ""]
    unclear = [
        _unclear(f"nobody can tell whether {address} is right: {why}", places[address]) for address, why in found if why
    ]
    return result_of("links", (*wrong, *unclear))


def _state(address: str) -> str | None:
    """None when the address exists, empty when it does not, else the reason why it is unclear."""
    try:
        return None if leads_somewhere(address) else ""
    except LinkUnclear as unclear:
        return str(unclear)


def _addresses(file: DeviceFile) -> Iterator[tuple[str, str]]:
    """Every address of the file once, with its line."""
    device = file.device
    listed: list[tuple[str | None, tuple[str | int, ...]]] = [
        (getattr(device.links, key), ("links", key)) for key in type(device.links).model_fields
    ]
    listed.append((device.external.run if device.external else None, ("external", "run")))
    listed.append((device.plugin.index_url, ("plugin", "index_url")))
    listed += [(entry.issue, ("known_failures",)) for entry in device.known_failures]
    listed += [(entry.link, ("bad_ranges",)) for entry in device.bad_ranges]
    seen: set[str] = set()
    for address, keys in listed:
        if address and address not in seen:
            seen.add(address)
            yield address, file.place(*keys)


def _sources(file: DeviceFile) -> Iterator[Problem]:
    source, place = file.device.plugin.git, file.place("plugin", "git", "url")
    found = git.problem_of(source.url, source.ref) if source else None
    if source and found:
        said, certain = found
        if certain:
            yield Problem.told(f"{source.url} cannot be fetched: {said}", place, "correct `plugin.git.url` or `ref`")
        else:
            yield _unclear(f"could not check whether {source.url} can be fetched: {said}", place)


def _unknown_handles(file: DeviceFile, rest: GithubRest) -> Iterator[Problem]:
    place = file.place("maintainers")
    fix = "write the handle of somebody who answers for the device"
    for handle in file.device.maintainers:
        # Teams are visible to their members only, so the organization of a team is looked up.
        owner = handle.removeprefix("@").partition("/")[0]
        try:
            if rest.find(f"/users/{quote(owner)}") is None:
                yield Problem.told(f"GitHub knows nobody by the handle {handle}", place, fix)
        except (GithubRefused, GithubUnreachable) as error:
            # After one failure the remaining handles are not looked up.
            yield _unclear(f"nobody can tell whether {handle} is on GitHub: {error.what}", place)
            return


def _unclear(what: str, where: str) -> Problem:
    return Problem.told(what, where, "look at it again when the network answers", CheckState.WARNING)
