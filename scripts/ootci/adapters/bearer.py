"""The header that authenticates a request with a token."""

from __future__ import annotations

import requests


class Bearer(requests.auth.AuthBase):
    """Sends a token, or with None nothing; without it, requests would send a password that it finds in ``.netrc``."""

    def __init__(self, token: str | None) -> None:
        self._token = token

    def __call__(self, request: requests.PreparedRequest) -> requests.PreparedRequest:
        """Add the header."""
        if self._token:
            request.headers["Authorization"] = f"Bearer {self._token}"
        return request
