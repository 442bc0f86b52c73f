"""What a panel's server refuses: a status, what is wrong, and what to do about it."""

from collections.abc import Mapping

from aiohttp import web

from judge_gym.errors import JudgeGymError

_REMEDIES = {
    404: "The page is at /, the endpoint at /agui.",
    405: "Use GET for the page and POST for the endpoint.",
}


class Refused(JudgeGymError):
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


def refused_by_aiohttp(error: web.HTTPException) -> Refused:
    """Return an error of aiohttp's own, such as an unknown path, as ours."""
    allowed = {name: value for name, value in error.headers.items() if name == "Allow"}
    return Refused(error.status, f"{error.reason}.", _REMEDIES.get(error.status, ""), allowed)
