"""A client of PyTorch's cross-repository CI relay: authentication and reports.

The relay identifies a repository by a token that GitHub issues to a job with ``id-token: write`` (OpenID Connect) for
the relay as its audience. On other CI systems the token is in ``OOTCI_RELAY_TOKEN``. A token is sent only to the server
that it is for, and never printed.

Sources: pytorch/test-infra, ``aws/lambda/cross_repo_ci_relay``; GitHub's documentation, "OpenID Connect reference".
"""

from __future__ import annotations

import contextlib
import json
import random
import re
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from ootci.adapters.download import TOKEN, Bearer, TooSlow, is_private, pieces
from ootci.errors import BadOption, RelayOutOfOrder, RelayRefused, RelayUnreachable

AUDIENCE = "pytorch-cross-repo-ci-relay"
TOKEN_VARIABLE = "OOTCI_RELAY_TOKEN"  # noqa: S105 - the name of a variable
TIMEOUT_SECONDS = (10.0, 30.0)
LONGEST_PAUSE = 30.0
MAX_ANSWER_BYTES = 64 * 1024

_RANDOM = random.SystemRandom()
_ANSWERED_LATER = frozenset({408, 425, 429})

_FIXES = {
    400: "it takes `in_progress` and, within six hours, `completed` of the same attempt, each once, of a delivery",
    401: "report from a job with `permissions: id-token: write`, to the relay that the token is made out to",
    403: "ask PyTorch to put this repository on the relay's allow list, at level L2 or above",
}
_VARIABLE = "the variable OOTCI_RELAY_URL on the page Settings > Secrets and variables > Actions"
_OTHER_FIX = f"check the relay's address: {_VARIABLE}, or --relay"
_IGNORED = "the relay takes no reports of this repository"


@dataclass(frozen=True)
class _Answer:
    """An HTTP response; ``doubtful`` if an earlier request may have been processed without a response."""

    status: int
    text: str
    doubtful: bool


class Relay:
    """The client of one command.

    Args:
        url: where reports go.
        patience: seconds after which nothing is retried, for all reports together.
        environment: variables with the token, or with GitHub's address and permit for one.
        clock: seconds that only grow.
        chance: a random number from 0 to 1, so that many jobs do not retry at the same moment.

    Raises:
        BadOption: a token must not be sent to the address.

    """

    def __init__(
        self,
        url: str,
        patience: float,
        environment: Mapping[str, str],
        *,
        wait: Callable[[float], None] = time.sleep,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = _RANDOM.random,
    ) -> None:
        _must_be_safe(url, f"--relay, or {_VARIABLE}")
        # The relay's maintainers publish it with a slash, with which it answers 404.
        self._url = url.rstrip("/")
        self._environment = environment
        self._wait, self._clock, self._chance = wait, clock, chance
        self._ends = clock() + patience
        self._known_token: str | None = None

    def report(self, body: bytes) -> str:
        """Send a report; returns the relay's answer in a few words.

        Raises:
            RelayOutOfOrder: the relay does not take it now.
            RelayRefused: the relay takes no reports from here, or there is no token.
            RelayUnreachable: there was no answer in time.

        """
        answer = self._ask("POST", self._url, self._token(), body)
        if 200 <= answer.status < 300:
            said = _field(answer.text, "status")
            if said == "ignored":
                raise RelayRefused(_IGNORED, where=self._url, fix=_FIXES[403])
            return f"the relay answered: {said or 'taken'}"
        if answer.status == 400 and answer.doubtful:
            # The connection broke after the relay had stored the report, and it refuses a second one.
            return "the relay has it, most likely: a try broke off, and it refused the next one"
        detail = _field(answer.text, "detail") or "it does not say why"
        what, fix = f"the relay answered {answer.status}: {detail}", _FIXES.get(answer.status, _OTHER_FIX)
        if answer.status == 400:
            raise RelayOutOfOrder(what, where=self._url, fix=fix)
        raise RelayRefused(what, where=self._url, fix=fix)

    def _token(self) -> str:
        if self._known_token is None:
            given = self._environment.get(TOKEN_VARIABLE, "").strip()
            token = given or self._exchanged()
            if not TOKEN.fullmatch(token):
                raise RelayRefused(
                    "what should be a token is none", where=TOKEN_VARIABLE, fix="give the token alone, on one line"
                )
            self._known_token = token
        return self._known_token

    def _exchanged(self) -> str:
        """A token from GitHub with the relay as its audience."""
        url, permit = (self._environment.get(f"ACTIONS_ID_TOKEN_REQUEST_{name}", "") for name in ("URL", "TOKEN"))
        if not url or not TOKEN.fullmatch(permit):
            raise RelayRefused(
                "there is no token to show to the relay",
                where=f"{TOKEN_VARIABLE}, ACTIONS_ID_TOKEN_REQUEST_URL",
                fix=f"give the job `permissions: id-token: write`, or elsewhere a token in {TOKEN_VARIABLE}",
            )
        _must_be_safe(url, "ACTIONS_ID_TOKEN_REQUEST_URL")
        answer = self._ask("GET", f"{url}{'&' if urlsplit(url).query else '?'}audience={AUDIENCE}", permit, None)
        token = _field(answer.text, "value", longest=20_000) if answer.status == 200 else ""
        if not token:
            raise RelayRefused(
                f"GitHub gives out no token (it answered {answer.status})",
                where="ACTIONS_ID_TOKEN_REQUEST_URL",
                fix="give the job `permissions: id-token: write`",
            )
        return token

    def _ask(self, method: str, url: str, token: str, body: bytes | None) -> _Answer:
        """Send a request, and repeat it while the failure may be temporary."""
        import requests
        import urllib3

        place, reason, doubtful, tries = url.partition("?")[0], "there was no time left to ask", False, 0
        while self._clock() < self._ends:
            tries += 1
            pause = min(LONGEST_PAUSE, 2.0 ** (tries - 1)) * (0.5 + self._chance())
            try:
                status, later, text = self._once(method, url, token, body)
            except (requests.exceptions.RequestException, urllib3.exceptions.HTTPError) as error:
                reason, doubtful = _cause(error), doubtful or not _never_connected(error)
            else:
                if status < 500 and status not in _ANSWERED_LATER:
                    return _Answer(status, text, doubtful)
                reason, doubtful = f"it answered {status}", doubtful or status >= 500
                pause = max(pause, _seconds(later) + self._chance())
            if self._clock() + pause >= self._ends:
                break
            self._wait(pause)
        raise _gave_up(place, reason, tries)

    def _once(self, method: str, url: str, token: str, body: bytes | None) -> tuple[int, str, str]:
        """Status, the header Retry-After and the beginning of the text of one answer."""
        import requests

        left = max(0.1, self._ends - self._clock())
        connect, read = (min(limit, left) for limit in TIMEOUT_SECONDS)
        headers = {"Accept": "application/json", "Content-Type": "application/json"}
        with requests.request(
            method,
            url,
            data=body,
            headers=headers,
            auth=Bearer(token),
            timeout=(connect, read),
            # A redirect could send the token to another server.
            allow_redirects=False,
            stream=True,
        ) as response:
            content = b""
            # Of an answer that does not end, the beginning is enough.
            with contextlib.suppress(TooSlow):
                for piece in pieces(response, time.monotonic() + left):
                    content += piece
                    if len(content) >= MAX_ANSWER_BYTES:
                        break
            return response.status_code, response.headers.get("Retry-After", ""), content.decode("utf-8", "replace")


def _must_be_safe(url: str, where: str) -> None:
    if not is_private(url):
        raise BadOption(
            "a token is sent to https addresses only", where=where, fix="give an address that begins with https://"
        )


def _gave_up(place: str, reason: str, tries: int) -> RelayUnreachable:
    times = "once" if tries == 1 else f"{tries} times"
    return RelayUnreachable(
        f"no answer that counts: {reason}" + (f" (asked {times})" if tries else ""),
        where=place,
        fix=f"nothing is lost but the report; run the job again, give it longer with --patience, or {_OTHER_FIX}",
    )


def _field(text: str, name: str, longest: int = 200) -> str:
    """A text of an answer, harmless for terminals and workflows; empty where there is none."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return ""
    value = found.get(name) if isinstance(found, dict) else None
    return ascii(value[:longest])[1:-1] if isinstance(value, str) else ""


def _seconds(later: str) -> float:
    """How many seconds the header Retry-After asks to wait; 0 where it does not say."""
    return float(later) if re.fullmatch(r"\d{1,9}", later) else 0.0


def _never_connected(error: Exception) -> bool:
    import requests

    if isinstance(error, requests.exceptions.ConnectTimeout | requests.exceptions.SSLError):
        return True
    names = ("NewConnectionError", "NameResolutionError")
    return isinstance(error, requests.exceptions.ConnectionError) and any(name in str(error) for name in names)


def _cause(error: Exception) -> str:
    import requests
    import urllib3

    # The error's own text may contain the token.
    if isinstance(error, requests.exceptions.Timeout | urllib3.exceptions.TimeoutError):
        return "it took too long"
    return "nobody is there" if _never_connected(error) else "the connection broke off"
