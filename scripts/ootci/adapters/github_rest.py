"""GitHub's REST API: page after page, within its rate limits, with retries.

Source of the rules: GitHub's documentation, "Best practices for using the REST API" and "Rate limits for the REST API".
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Iterator, Mapping
from urllib.parse import urlsplit

from ootci.adapters.download import TOKEN, Bearer, TooSlow, pieces
from ootci.errors import BadOption, GithubRefused, GithubUnreachable

API = "https://api.github.com"
VERSION = "2022-11-28"
TIMEOUT_SECONDS = (10, 60)
ANSWER_SECONDS = 300.0
"""All that one answer may take."""
ATTEMPTS = 4
MAX_WAIT_SECONDS = 600.0
"""The most that one client waits for rate limits; a longer wait is left to the next night."""
SECONDARY_SECONDS = 60.0
"""The wait that GitHub recommends when a rate-limit answer names no time."""
PAUSE_SECONDS = 1.0
"""Between two requests that change something."""
PAGE_SIZE = 100
MAX_PAGES = 50
MAX_ANSWER_BYTES = 64 * 1024 * 1024
"""A page of a hundred issues with the longest of bodies has a quarter of it."""


def api_address() -> str:
    """The API's address: ``OOTCI_GITHUB_API``, else ``GITHUB_API_URL`` of GitHub's runners, else github.com's."""
    return (os.environ.get("OOTCI_GITHUB_API") or os.environ.get("GITHUB_API_URL") or API).rstrip("/")


class GithubRest:
    """A client.

    Args:
        token: authenticates it; None reads public data only.
        patience: seconds that it waits for rate limits, all together.
        now: seconds since 1970.

    Raises:
        BadOption: what should be the token is none.
        GithubUnreachable: from every method; it did not answer, or told to wait for too long.
        GithubRefused: from every method; it refused, or its answer is not as it should be.

    """

    def __init__(
        self,
        token: str | None,
        api: str | None = None,
        *,
        patience: float = MAX_WAIT_SECONDS,
        wait: Callable[[float], None] = time.sleep,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._api = api or api_address()
        token = (token or "").strip()
        if token and not TOKEN.fullmatch(token):
            raise BadOption(
                "what should be a token is none", where="GITHUB_TOKEN", fix="give the token alone, on one line"
            )
        self._token = Bearer(token)
        self._wait = wait
        self._now = now
        self._patience = patience
        self._changed = False

    def pages(
        self, path: str, parameters: Mapping[str, str], *, within: str = "", may_miss: bool = False
    ) -> Iterator[object]:
        """Every entry of a list, page after page.

        Args:
            within: the key under which an answer has the list, where it is not the list itself.
            may_miss: whether what the list belongs to may be gone; there is no entry then.

        Raises:
            GithubRefused: also where there are more pages than can be looked through.

        """
        url = self._api + path
        query = {"per_page": str(PAGE_SIZE), **parameters}
        for _ in range(MAX_PAGES):
            answer, url = self._ask("GET", url, query, None, may_miss=may_miss)
            if may_miss and answer is None:
                return
            entries = answer.get(within) if within and isinstance(answer, dict) else answer
            if not isinstance(entries, list):
                raise odd(f"GET {path}", "it is no list")
            yield from entries
            if not url:
                return
            if not url.startswith(f"{self._api}/"):
                # The token would go with the request.
                raise odd(f"GET {path}", "the next page is on another server")
            query = {}
        raise odd(f"GET {path}", f"there are more than {MAX_PAGES} pages")

    def find(self, path: str, parameters: Mapping[str, str] | None = None) -> object:
        """One thing; None where there is no such thing."""
        return self._ask("GET", self._api + path, parameters or {}, None, may_miss=True)[0]

    def points_to(self, path: str) -> str:
        """The address that GitHub redirects to; it needs no token, so the token is not sent there.

        Raises:
            GithubRefused: also where it redirects to nowhere.

        """
        address = self._ask("GET", self._api + path, {}, None, redirected=True)[1]
        if not address.startswith(("https://", f"{self._api}/")):
            raise odd(f"GET {path}", "it leads nowhere")
        return address

    def change(self, method: str, path: str, body: Mapping[str, object]) -> object:
        """Create or change something; returns its new state.

        A lost answer causes a retry, so a thing may be created twice.
        """
        if self._changed:
            self._wait(PAUSE_SECONDS)
        self._changed = True
        return self._ask(method, self._api + path, {}, body)[0]

    def _ask(
        self,
        method: str,
        url: str,
        query: Mapping[str, str],
        body: Mapping[str, object] | None,
        *,
        may_miss: bool = False,
        redirected: bool = False,
    ) -> tuple[object, str]:
        """The answer, and the address of the next page (empty on the last one) or of a redirect."""
        import requests
        import urllib3

        place = f"{method} {urlsplit(url).path}"
        reason = ""
        for attempt in range(ATTEMPTS):
            try:
                status, headers, text, following = self._once(method, url, query, body)
            except (requests.exceptions.RequestException, urllib3.exceptions.HTTPError, TooSlow) as error:
                reason = f"GitHub did not answer ({type(error).__name__})"
                self._wait(2.0**attempt)
                continue
            if redirected and status in (302, 307):
                return None, headers.get("Location", "")
            if status < 300:
                return _parsed(text, place), following
            if status == 404 and may_miss:
                return None, ""
            pause = _asked_to_wait(status, headers, text, self._now())
            if pause is not None:
                reason = f"GitHub's rate limit is used up for {pause:.0f} s"
                self._be_patient(pause, place)
            elif status >= 500:
                reason = f"GitHub answered {status}"
                self._wait(2.0**attempt)
            else:
                raise _refused(status, text, place)
        raise _unreachable(reason, place)

    def _once(
        self, method: str, url: str, query: Mapping[str, str], body: Mapping[str, object] | None
    ) -> tuple[int, Mapping[str, str], bytes, str]:
        import requests

        headers = {"Accept": "application/vnd.github+json", "X-GitHub-Api-Version": VERSION, "User-Agent": "ootci"}
        with requests.request(
            method,
            url,
            params=dict(query),
            json=body,
            headers=headers,
            auth=self._token,
            timeout=TIMEOUT_SECONDS,
            # Nothing is sent to where an answer points.
            allow_redirects=False,
            stream=True,
        ) as response:
            text = b""
            for piece in pieces(response, time.monotonic() + ANSWER_SECONDS):
                text += piece
                if len(text) > MAX_ANSWER_BYTES:
                    raise odd(f"{method} {urlsplit(url).path}", f"it has more than {MAX_ANSWER_BYTES >> 20} MiB")
            following = response.links.get("next", {}).get("url", "")
            return response.status_code, response.headers, text, following

    def _be_patient(self, seconds: float, place: str) -> None:
        if seconds > self._patience:
            raise _unreachable(f"GitHub's rate limit is used up for {seconds:.0f} s", place)
        self._patience -= seconds
        self._wait(seconds)


def _asked_to_wait(status: int, headers: Mapping[str, str], text: bytes, now: float) -> float | None:
    """Seconds until GitHub wants to be asked again; None where the answer is not about a limit."""
    if status not in (403, 429):
        return None
    after, reset = headers.get("Retry-After", ""), headers.get("X-RateLimit-Reset", "")
    if after.isdecimal() and len(after) < 10:
        return float(after)
    if headers.get("X-RateLimit-Remaining") == "0" and reset.isdecimal() and len(reset) < 12:
        return max(0.0, float(reset) - now) + 1.0
    return SECONDARY_SECONDS if status == 429 or b"rate limit" in text[:2000].lower() else None


def _parsed(text: bytes, place: str) -> object:
    try:
        return json.loads(text) if text else None
    except (ValueError, RecursionError) as error:
        raise odd(place, "it is not JSON") from error


def _refused(status: int, text: bytes, place: str) -> GithubRefused:
    try:
        said = json.loads(text)["message"]
    except (ValueError, RecursionError, KeyError, TypeError):
        said = ""
    why = f": {said[:200]}" if isinstance(said, str) and said else ""
    return GithubRefused(f"GitHub answered {status}{why}", where=place, fix=_remedy(status, place))


def _remedy(status: int, place: str) -> str:
    """The setting that mends a refusal, with its page."""
    # Source: GitHub's documentation, "Permissions required for GitHub Apps".
    permission, feature = next(found for part, found in _NEEDED.items() if part in place)
    if status == 401:
        return "renew GITHUB_TOKEN (https://github.com/settings/tokens); a workflow's own is `github.token`"
    if status == 403:
        return (
            f"give the workflow's job the permission {permission}; elsewhere give a GITHUB_TOKEN that may do that "
            "(https://github.com/settings/tokens)"
        )
    if status in (404, 410):
        renamed = "name the repository as it is called now (--repository)"
        return f"{renamed}, and turn on {feature}" if feature else renamed
    return "see what is wrong in GitHub's answer, and re-run it"


_PAGE = "on the page Settings >"
_NEEDED = {
    "/actions/": ("actions: write", f"Actions, {_PAGE} Actions > General"),
    "/pulls": ("pull-requests: write", f"pull requests, {_PAGE} General > Features"),
    "/issues": ("issues: write, for a pull request pull-requests: write", f"issues, {_PAGE} General > Features"),
    "": ("contents: read", None),
}
"""The permission that a job needs, and the feature that may be off, by a part of an address; the first that fits."""


def odd(place: str, what: str) -> GithubRefused:
    """The error for an unexpected response."""
    return GithubRefused(f"GitHub's answer is not as it should be: {what}", where=place, fix="see what answers there")


def _unreachable(reason: str, place: str) -> GithubUnreachable:
    return GithubUnreachable(reason, where=place, fix="run it again later: what has been done is not done twice")
