"""A Message Batch of Anthropic's: its requests, answered one by one, and its state at a moment.

Pure but for the answers: the moment is an argument, in seconds since the epoch.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from judge_gym.seeds import generator
from judge_gym.simulator.batches.batch import VALIDATED, Line, Timed, failing_lines, shuffled
from judge_gym.simulator.faults import plan
from judge_gym.simulator.faults.injection import Injector, reply, subject_of
from judge_gym.simulator.faults.plan import BatchExpired
from judge_gym.simulator.http import Refusal, Stats
from judge_gym.simulator.vendors import ApiRequest
from judge_gym.simulator.vendors.registry import ANTHROPIC

MOST_REQUESTS = 100_000
_DAY = 86_400


class BatchedRequest(BaseModel):
    """One request of a batch."""

    model_config = ConfigDict(extra="forbid")

    custom_id: str = Field(pattern="^[a-zA-Z0-9_-]{1,64}$")
    params: dict[str, Any]


class Requests(BaseModel):
    """The body that creates a batch."""

    model_config = ConfigDict(extra="forbid")

    requests: list[BatchedRequest] = Field(min_length=1, max_length=MOST_REQUESTS)


async def answer_all(
    requests: Sequence[BatchedRequest],
    asked: ApiRequest,
    fate: plan.InjectedFault | None,
    injector: Injector,
    stats: Stats,
) -> list[Line]:
    """Answer every request; the event loop serves others in between."""
    failing = failing_lines([request.custom_id for request in requests], fate)
    answered = []
    for number, request in enumerate(requests):
        try:
            if number in failing:
                raise ANTHROPIC.fault(plan.ServerError())
            message = _message(request.params, asked, injector, stats)
            line = _line(request.custom_id, {"type": "succeeded", "message": message})
        except Refusal as error:
            refused = {"type": "errored", "error": ANTHROPIC.refused(error)}
            line = _line(request.custom_id, refused)
        answered.append(line)
        await asyncio.sleep(0)
    return answered


def _message(
    params: Mapping[str, Any], asked: ApiRequest, injector: Injector, stats: Stats
) -> dict[str, Any]:
    """Return the message that a single request would get; raises `Refusal`."""
    chat = ANTHROPIC.read(params, asked)
    fault = injector.fault_for(subject_of(chat, "line")) if injector.active else None
    if isinstance(fault, plan.Refused):
        raise ANTHROPIC.fault(fault)
    stats.batch_lines += 1
    return reply(ANTHROPIC, chat, fault, stats)


def _line(custom_id: str, result: Mapping[str, Any]) -> Line:
    text = json.dumps({"custom_id": custom_id, "result": result})
    return Line(custom_id=custom_id, succeeded=result["type"] == "succeeded", text=text)


Status = Literal["in_progress", "canceling", "ended"]


class MessageBatch(Timed):
    """A batch as created, and when it was cancelled; its state follows from the time."""

    def status(self, now: float) -> Status:
        """Return its status at a moment."""
        if self.cancelled_at is not None:
            return "ended" if self.cancelled(now) else "canceling"
        return "ended" if self.passed(now) >= 1 else "in_progress"

    def results(self, now: float) -> list[str]:
        """Return the lines of its results, in no order; a request without an answer has one too."""
        lines = [line.text for line in self._results(now)]
        rng = generator("results", self.id)
        return self.with_duplicates(shuffled(lines, rng), rng)

    def _results(self, now: float) -> list[Line]:
        done = self.done(now)
        left = "expired" if isinstance(self.fate, BatchExpired) else "canceled"
        unanswered = [_line(str(line.custom_id), {"type": left}) for line in self.lines[done:]]
        return [*self.lines[:done], *unanswered]

    def as_json(self, now: float, url: str) -> dict[str, Any]:
        """Return it in Anthropic's format; `url` is its own."""
        status, counts = self.status(now), self._counts(now)
        ended = self.created_at + self.seconds
        if self.cancelled_at is not None:
            ended = self.cancelled_at + VALIDATED * self.seconds
        return {
            "id": self.id,
            "type": "message_batch",
            "processing_status": status,
            "request_counts": counts,
            "created_at": _moment(self.created_at),
            "expires_at": _moment(self.created_at + _DAY),
            "ended_at": _moment(ended) if status == "ended" else None,
            "cancel_initiated_at": _moment(self.cancelled_at),
            "archived_at": None,
            "results_url": f"{url}/results" if status == "ended" else None,
        }

    def _counts(self, now: float) -> dict[str, int]:
        names = ("processing", "succeeded", "errored", "canceled", "expired")
        counts = dict.fromkeys(names, 0)
        if self.status(now) != "ended":
            return counts | {"processing": len(self.lines)}
        for line in self._results(now):
            counts[json.loads(line.text)["result"]["type"]] += 1
        return counts


def _moment(seconds: float | None) -> str | None:
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC).isoformat()
