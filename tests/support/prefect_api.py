"""A Prefect server by its API: asking for flow runs, and waiting for what becomes of them."""

from dataclasses import dataclass
from typing import Any, Protocol

import httpx

from support.waiting import until

# One for all: to make it reads every trusted certificate, 60 ms of CPU. A connection is not kept,
# since tests kill the server at its other end.
_CLIENT = httpx.Client(timeout=30, limits=httpx.Limits(max_keepalive_connections=0))


class PrefectApi(Protocol):
    """What can be asked of a server whose API is at `api`."""

    @property
    def api(self) -> str: ...

    @property
    def password(self) -> str:
        """What it asks for, as user:password; empty when it asks for nothing."""
        return ""

    def answer(
        self, method: str, path: str, body: Any = None, password: str | None = None
    ) -> httpx.Response:
        """What Prefect's API answers; asked again while it is busy, as Prefect's client does."""
        user, _, secret = (self.password if password is None else password).partition(":")

        def given() -> httpx.Response | None:
            try:
                answer = _CLIENT.request(
                    method,
                    f"{self.api}{path}",
                    json=body,
                    auth=(user, secret) if user else None,
                )
            except httpx.ReadTimeout:
                if method != "GET":
                    raise
                return None
            return None if answer.status_code == httpx.codes.SERVICE_UNAVAILABLE else answer

        return until(given, f"an answer to {method} {path}", every=0.5)

    def ask(self, method: str, path: str, **body: Any) -> Any:
        """The JSON of an answer that is no error."""
        answer = self.answer(method, path, body or None).raise_for_status()
        return answer.json() if answer.content else None

    def get(self, path: str) -> Any:
        """What Prefect's API answers to GET."""
        return self.ask("GET", path)

    def post(self, path: str, **body: Any) -> Any:
        """What Prefect's API answers to POST."""
        return self.ask("POST", path, **body)

    def run(self, deployment: str, **parameters: Any) -> str:
        """Ask for a flow run; its id."""
        found = self.get(f"/deployments/name/{deployment}")
        path = f"/deployments/{found['id']}/create_flow_run"
        return str(self.post(path, parameters=parameters, state={"type": "SCHEDULED"})["id"])

    def runs(self, workflow: str) -> list[dict[str, Any]]:
        """The flow runs of a workflow's deployment, oldest first."""
        found = self.get(f"/deployments/name/{workflow}/default")["id"]
        chosen = {"deployments": {"id": {"any_": [found]}}, "sort": "EXPECTED_START_TIME_ASC"}
        return list(self.post("/flow_runs/filter", **chosen))

    def reaches(self, run: str, state: str, seconds: float = 120) -> None:
        """Wait until a flow run is in a state; fails the test when it ended in another.

        `CRASHED` is no end: on a busy machine a process is taken for lost before it has begun, and
        its run is resumed.
        """

        def there() -> bool:
            now = self.get(f"/flow_runs/{run}")["state"]
            ended = now["type"] in ("COMPLETED", "FAILED", "CANCELLED")
            assert now["type"] == state or not ended, now
            return bool(now["type"] == state)

        until(there, f"flow run {run} to be {state}", seconds, every=1)


@dataclass
class Server(PrefectApi):
    """A server that asks for no password."""

    url: str

    @property
    def api(self) -> str:
        return self.url
