"""Who is served: whoever has the token where there is one, and not too often."""

import hmac
import time
from collections import deque

from aiohttp import web
from pydantic import SecretStr

from judge_gym.http_guards import RequestRefused

_WINDOW_S = 60.0


class AddressRate:
    """How often each address was served in the last minute."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._served: deque[tuple[float, str]] = deque()

    def take(self, address: str) -> None:
        """Count a request; raises `RequestRefused` when there were too many."""
        now = time.monotonic()
        while self._served and self._served[0][0] <= now - _WINDOW_S:
            self._served.popleft()
        times = [at for at, served in self._served if served == address]
        if len(times) >= self._most:
            seconds = int(times[0] + _WINDOW_S - now) + 1
            raise RequestRefused(
                429,
                f"More than {self._most} requests in a minute.",
                f"Try again in {seconds} s.",
                {"Retry-After": str(seconds)},
            )
        self._served.append((now, address))


def address_of(request: web.Request, *, behind_proxy: bool) -> str:
    """Return whose request it is: the peer, or behind a proxy whom it names last.

    Anyone can send the header, and what stands before its last address is the sender's own word.
    """
    named = request.headers.getall("X-Forwarded-For", []) if behind_proxy else []
    return ",".join(named).rpartition(",")[2].strip() or request.remote or ""


def check_token(request: web.Request, token: SecretStr | None) -> None:
    """Raise `RequestRefused` when a token is set and was not sent, as slowly for any guess."""
    if token is None:
        return
    expected = f"Bearer {token.get_secret_value()}".encode()
    header = request.headers.get("Authorization", "").encode("utf-8", "surrogateescape")
    if not hmac.compare_digest(header, expected):
        raise RequestRefused(
            401,
            "The token is missing or is another one.",
            "Give the token that the server was started with, as Authorization: Bearer TOKEN.",
            {"WWW-Authenticate": "Bearer"},
        )
