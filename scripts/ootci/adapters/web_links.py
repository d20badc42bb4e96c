"""Whether an address on the web exists. The answer's content is not read."""

from __future__ import annotations

import requests

from ootci.adapters.bearer import Bearer

TIMEOUT_SECONDS = (10, 20)
MAX_REDIRECTS = 10
GONE = (404, 410)
"""Statuses of a missing page; servers give any other also when they are busy or refuse programs."""


class LinkUnclear(Exception):
    """It is unclear whether the address exists. Its text is the reason."""


def leads_somewhere(address: str) -> bool:
    """Whether something is at an address.

    Raises:
        LinkUnclear: there is no connection, or the server does not say.

    """
    try:
        with requests.Session() as session:
            session.max_redirects = MAX_REDIRECTS
            # Asked for as a page and not by HEAD, which some servers refuse; its content is left where it is.
            headers = {"User-Agent": "ootci", "Accept": "*/*"}
            # No password is sent to an address that a stranger wrote down.
            with session.get(
                address, timeout=TIMEOUT_SECONDS, headers=headers, auth=Bearer(None), stream=True
            ) as response:
                status = response.status_code
    except requests.exceptions.TooManyRedirects:
        raise LinkUnclear(f"it is redirected more than {MAX_REDIRECTS} times") from None
    except (requests.exceptions.RequestException, ValueError) as error:
        raise LinkUnclear(f"it cannot be asked ({type(error).__name__})") from error
    if status in GONE:
        return False
    if status >= 400:
        raise LinkUnclear(f"it answered {status}")
    return True
