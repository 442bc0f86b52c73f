"""Servers on this machine: which requests they refuse, and how they say so.

A page of another site cannot post here (its `Origin` is another, and JSON is no form), nor reach
the server by a name that it makes point here (`Host` is an IP address, or a name we know).
"""

import ipaddress
from collections.abc import Collection, Mapping

from aiohttp import web
from yarl import URL

from judge_gym.errors import JudgeGymError

LOOPBACK = "127.0.0.1"
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
"""What every response has, unless it says otherwise."""


class RequestRefused(JudgeGymError):
    """A request is not served."""

    def __init__(
        self,
        status: int,
        message: str,
        remedy: str,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__(message, remedy)
        self.status = status
        self.headers = dict(headers or {})

    @property
    def response(self) -> web.Response:
        """It as JSON."""
        body = {"error": {"message": self.message, "remedy": self.remedy}}
        return web.json_response(body, status=self.status, headers=self.headers)


def refused_by_aiohttp(error: web.HTTPException, remedies: Mapping[int, str]) -> RequestRefused:
    """Return an error of aiohttp's own, such as an unknown path, as ours; remedies by status."""
    allowed = {name: value for name, value in error.headers.items() if name == "Allow"}
    return RequestRefused(error.status, f"{error.reason}.", remedies.get(error.status, ""), allowed)


def page_response(html: str, nonce: str) -> web.Response:
    """Return a page whose style and script have the nonce, and that loads nothing else."""
    response = web.Response(text=html, content_type="text/html")
    response.headers["Content-Security-Policy"] = (
        f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; "
        "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )
    return response


async def with_headers(_: web.Request, response: web.StreamResponse) -> None:
    """Add `HEADERS` to a response, as a signal of aiohttp."""
    for name, value in HEADERS.items():
        response.headers.setdefault(name, value)


def is_address(name: str) -> bool:
    """Whether it is an IP address, and no name."""
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def check_host(request: web.Request, served_at: str, allowed: Collection[str] = ()) -> None:
    """Raise `RequestRefused` when it was sent to a name that is not known to be this server's.

    `allowed` are names of a proxy before it.
    """
    try:
        name = URL(f"http://{request.host}").host or ""
    except ValueError:
        name = ""
    known = ("localhost", served_at.lower(), *map(str.lower, allowed))
    if not (is_address(name) or name in known):
        raise RequestRefused(
            403,
            "This server is not known by that name.",
            "Open it by its IP address, or serve it with --allowed-host and that name.",
        )


def check_origin(request: web.Request, allowed: Collection[str] = ()) -> None:
    """Raise `RequestRefused` for a post from a page that is not this server's.

    Pages of the `allowed` names come through a proxy, whose scheme is not that of the request.
    """
    origin = request.headers.get("Origin")
    own = {f"{request.scheme}://{request.host}"}
    if (URL(f"http://{request.host}").host or "") in map(str.lower, allowed):
        own |= {f"{scheme}://{request.host}" for scheme in ("http", "https")}
    if origin is not None and origin not in own:
        raise RequestRefused(
            403, "Pages of other sites may not post here.", "Use this server's page."
        )
    if request.content_type != "application/json":
        raise RequestRefused(
            415, "The body has to be JSON.", "Send it with Content-Type: application/json."
        )
