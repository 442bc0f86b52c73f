"""Who is served: requests of this site, with the token where there is one, and not too many.

A page of another site cannot post here (its `Origin` is another, and JSON is no form), nor reach
the server by a name that it makes point here (`Host` is an IP address, or a name we know).
"""

import hmac
import time
from collections import deque

from aiohttp import web
from pydantic import SecretStr
from yarl import URL

from judge_gym.panel.serving.refusals import Refused
from judge_gym.panel.serving.settings import is_address

_WINDOW_S = 60.0


class Rate:
    """How often each address was served in the last minute."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._served: deque[tuple[float, str]] = deque()

    def take(self, address: str) -> None:
        """Count a request; raises `Refused` when there were too many."""
        now = time.monotonic()
        while self._served and self._served[0][0] <= now - _WINDOW_S:
            self._served.popleft()
        times = [at for at, served in self._served if served == address]
        if len(times) >= self._most:
            seconds = int(times[0] + _WINDOW_S - now) + 1
            raise Refused(
                429,
                f"More than {self._most} requests in a minute.",
                f"Try again in {seconds} s.",
                {"Retry-After": str(seconds)},
            )
        self._served.append((now, address))


def check_host(request: web.Request, served_at: str) -> None:
    """Raise `Refused` when it was sent to a name that is not known to be this server's."""
    try:
        name = URL(f"http://{request.host}").host or ""
    except ValueError:
        name = ""
    if not (is_address(name) or name in ("localhost", served_at.lower())):
        raise Refused(
            403,
            "This server is not known by that name.",
            "Open it by its IP address, or serve it with --host and that name.",
        )


def check_origin(request: web.Request) -> None:
    """Raise `Refused` for a post from a page that is not this server's."""
    origin = request.headers.get("Origin")
    if origin is not None and origin != f"{request.scheme}://{request.host}":
        raise Refused(403, "Pages of other sites may not post here.", "Use this server's page.")
    if request.content_type != "application/json":
        raise Refused(
            415, "The body has to be JSON.", "Send it with Content-Type: application/json."
        )


def check_token(request: web.Request, token: SecretStr | None) -> None:
    """Raise `Refused` when there is a token and it was not sent; takes as long for any guess."""
    if token is None:
        return
    expected = f"Bearer {token.get_secret_value()}".encode()
    header = request.headers.get("Authorization", "").encode("utf-8", "surrogateescape")
    if not hmac.compare_digest(header, expected):
        raise Refused(
            401,
            "The token is missing or is another one.",
            "Give the token that the server was started with, as Authorization: Bearer TOKEN.",
            {"WWW-Authenticate": "Bearer"},
        )
