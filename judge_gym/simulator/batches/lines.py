"""The lines of a batch: read, answered as a chat request is, and written to output or error file.

Knows nothing of time; `record` decides which of the lines are there when.
"""

import asyncio
import json
from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from judge_gym.seeds import digest, generator
from judge_gym.simulator.answering import answer
from judge_gym.simulator.chat import completion, read_body
from judge_gym.simulator.faults import plan
from judge_gym.simulator.faults.injector import Injector
from judge_gym.simulator.faults.spoiling import refusal, spoilt, subject_of
from judge_gym.simulator.refusals import Refusal, read_model
from judge_gym.simulator.stats import Stats

ENDPOINT = "/v1/chat/completions"
"""The one endpoint whose requests batches take."""


class Line(BaseModel):
    """A line of an output or error file, without its line feed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    custom_id: str | None
    succeeded: bool
    text: str


class Asked(BaseModel):
    """A line of an input file that can be read."""

    model_config = ConfigDict(extra="ignore")

    custom_id: str = Field(min_length=1, max_length=512)
    method: str
    url: str
    body: dict[str, Any]


def read_lines(content: bytes) -> list[bytes]:
    """Return the lines of an input file; blank ones are none."""
    return [line for line in content.split(b"\n") if line.strip()]


def custom_id_of(raw: bytes) -> str | None:
    """Return a line's own name for itself; None when it has none that can be read."""
    try:
        name = json.loads(raw).get("custom_id")
    except (ValueError, AttributeError, RecursionError):
        return None
    return name if isinstance(name, str) else None


class Answering:
    """Answers the lines of one batch and counts them."""

    def __init__(self, batch_id: str, stats: Stats, injector: Injector) -> None:
        self._batch_id = batch_id
        self._stats = stats
        self._injector = injector

    async def answer_all(self, lines: Sequence[bytes], fate: plan.Fault | None) -> list[Line]:
        """Answer every line; others are served in between."""
        failing: set[int] = set()
        if isinstance(fate, plan.BatchHalfFailed):
            rng = generator("failing lines", *(custom_id_of(raw) for raw in lines))
            failing = set(rng.sample(range(len(lines)), round(len(lines) * fate.lines)))
        answered = []
        for number, raw in enumerate(lines):
            answered.append(self._answer(raw, fails=number in failing))
            await asyncio.sleep(0)
        return answered

    def _answer(self, raw: bytes, *, fails: bool) -> Line:
        try:
            data = json.loads(raw)
        except (ValueError, RecursionError) as error:
            return error_line(self._batch_id, None, "invalid_json_line", f"not JSON: {error}")
        try:
            asked = read_model(Asked, data)
        except Refusal as error:
            return error_line(self._batch_id, custom_id_of(raw), "invalid_request", str(error))
        try:
            if fails:
                raise refusal(plan.ServerError())
            body, status = self._completion(asked), 200
        except Refusal as error:
            body, status = error.body, error.status
        request_id = f"req_{digest(self._batch_id, asked.custom_id)}"
        response = {"status_code": status, "request_id": request_id, "body": body}
        return _line(self._batch_id, asked.custom_id, response, None)

    def _completion(self, asked: Asked) -> dict[str, Any]:
        """Return the body that the chat route would give; raises `Refusal`."""
        if (asked.method, asked.url) != ("POST", ENDPOINT):
            raise Refusal(f"{asked.method} {asked.url} is not POST {ENDPOINT}", "url")
        chat = read_body(asked.body)
        fault = self._injector.meet(subject_of(chat, "line")) if self._injector.active else None
        if isinstance(fault, plan.Refused):
            raise refusal(fault)
        given = answer(chat.request)
        self._stats.calls[chat.request.model][given.role] += 1
        self._stats.batch_lines += 1
        return (
            spoilt(fault, chat, given)
            if isinstance(fault, plan.Content)
            else completion(chat, given)
        )


def error_line(batch_id: str, custom_id: str | None, code: str, message: str) -> Line:
    """Return the line for a request that was never executed."""
    return _line(batch_id, custom_id, None, {"code": code, "message": message})


def _line(
    batch_id: str,
    custom_id: str | None,
    response: dict[str, Any] | None,
    error: dict[str, str] | None,
) -> Line:
    text = json.dumps(
        {
            "id": f"batch_req_{digest(batch_id, custom_id)}",
            "custom_id": custom_id,
            "response": response,
            "error": error,
        }
    )
    succeeded = response is not None and response["status_code"] == 200
    return Line(custom_id=custom_id, succeeded=succeeded, text=text)
