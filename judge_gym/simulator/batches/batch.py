"""A batch of OpenAI's: its lines, answered as chat requests are, and its state at a moment.

Pure but for the answers: the moment is an argument, in seconds since the epoch. `message_batch` has
Anthropic's.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from random import Random
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from judge_gym.seeds import digest, generator
from judge_gym.simulator.faults import plan
from judge_gym.simulator.faults.injection import Injector, reply, subject_of
from judge_gym.simulator.faults.plan import (
    AnyFate,
    BatchDuplicateLines,
    BatchExpired,
    BatchOutOfOrder,
    BatchVanished,
)
from judge_gym.simulator.http import Refusal, Stats, read_model
from judge_gym.simulator.vendors import NOTHING_ASKED
from judge_gym.simulator.vendors.registry import OPENAI

ENDPOINT = "/v1/chat/completions"
"""The one endpoint whose requests batches take."""


class Line(BaseModel):
    """A line of an output or error file, without its line feed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    custom_id: str | None
    succeeded: bool
    text: str


class LineRequest(BaseModel):
    """A line of an input file that can be read."""

    model_config = ConfigDict(extra="ignore")

    custom_id: str = Field(min_length=1, max_length=512)
    method: str
    url: str
    body: dict[str, Any]


def read_lines(content: bytes) -> list[bytes]:
    """Return the lines of an input file, without blank ones."""
    return [line for line in content.split(b"\n") if line.strip()]


def custom_id_of(raw: bytes) -> str | None:
    """Return a line's `custom_id`; None when it has none that can be read."""
    try:
        name = json.loads(raw).get("custom_id")
    except (ValueError, AttributeError, RecursionError):
        return None
    return name if isinstance(name, str) else None


def failing_lines(names: Sequence[str | None], fate: plan.InjectedFault | None) -> set[int]:
    """Return the indices of the lines that fail together with their batch."""
    if not isinstance(fate, plan.BatchHalfFailed):
        return set()
    rng = generator("failing lines", *names)
    return set(rng.sample(range(len(names)), round(len(names) * fate.lines)))


class Answering:
    """Answers the lines of one batch and counts them."""

    def __init__(self, batch_id: str, stats: Stats, injector: Injector) -> None:
        self._batch_id = batch_id
        self._stats = stats
        self._injector = injector

    async def answer_all(
        self, lines: Sequence[bytes], fate: plan.InjectedFault | None
    ) -> list[Line]:
        """Answer every line; the event loop serves other requests in between."""
        failing = failing_lines([custom_id_of(raw) for raw in lines], fate)
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
            request = read_model(LineRequest, data)
        except Refusal as error:
            return error_line(self._batch_id, custom_id_of(raw), "invalid_request", str(error))
        try:
            if fails:
                raise OPENAI.fault(plan.ServerError())
            body, status = self._completion(request), 200
        except Refusal as error:
            body, status = OPENAI.refused(error), error.status
        request_id = f"req_{digest(self._batch_id, request.custom_id)}"
        response = {"status_code": status, "request_id": request_id, "body": body}
        return _line(self._batch_id, request.custom_id, response, None)

    def _completion(self, request: LineRequest) -> dict[str, Any]:
        """Return the body that the chat route would give; raises `Refusal`."""
        if (request.method, request.url) != ("POST", ENDPOINT):
            raise Refusal(f"{request.method} {request.url} is not POST {ENDPOINT}", "url")
        chat = OPENAI.read(request.body, NOTHING_ASKED)
        fault = (
            self._injector.fault_for(subject_of(chat, "line")) if self._injector.active else None
        )
        if isinstance(fault, plan.Refused):
            raise OPENAI.fault(fault)
        self._stats.batch_lines += 1
        return reply(OPENAI, chat, fault, self._stats)


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


Status = Literal[
    "validating", "failed", "in_progress", "finalizing", "completed", "expired",
    "cancelling", "cancelled",
]  # fmt: skip
ENDED: frozenset[Status] = frozenset(("failed", "completed", "expired", "cancelled"))
VALIDATED = 0.1
"""Share of a batch's duration after which it is validated; cancelling takes as long."""
WORKED = 0.9
"""Share of its duration after which every line is answered."""
EXPIRED = "This request could not be executed before the completion window expired."


class Timed(BaseModel):
    """What batches of every API share: their lines, and how far they have come at a moment."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    id: str
    created_at: float
    seconds: float = Field(ge=0)
    """From its creation to its end."""
    lines: tuple[Line, ...]
    """Every line of the input, answered, in its order; none when validation fails."""
    fate: AnyFate | None = Field(default=None, discriminator="kind")
    cancelled_at: float | None = None

    def vanished(self, now: float) -> bool:
        """Whether the provider has lost it."""
        return isinstance(self.fate, BatchVanished) and now >= self.created_at + self.fate.after

    def cancelled(self, now: float) -> bool:
        """Whether its cancellation is done."""
        at = self.cancelled_at
        return at is not None and now >= at + VALIDATED * self.seconds

    def done(self, now: float) -> int:
        """Return how many lines are answered; a cancellation stops the count."""
        until = now if self.cancelled_at is None else min(now, self.cancelled_at)
        share = min(1.0, max(0.0, (self.passed(until) - VALIDATED) / (WORKED - VALIDATED)))
        if isinstance(self.fate, BatchExpired):
            share *= self.fate.done
        return round(len(self.lines) * share)

    def passed(self, now: float) -> float:
        """Return the share of its duration that has passed by then, in [0, 1]."""
        if not self.seconds:
            return 1.0
        return min(1.0, max(0.0, (now - self.created_at) / self.seconds))

    def with_duplicates(self, lines: list[str], rng: Random) -> list[str]:
        """Return the lines, some of them twice where that is its fate."""
        if not (isinstance(self.fate, BatchDuplicateLines) and lines):
            return lines
        count = max(1, round(len(lines) * self.fate.lines))
        twice = set(rng.sample(range(len(lines)), count))
        return [text for i, text in enumerate(lines) for _ in range(1 + (i in twice))]


class SimulatedBatch(Timed):
    """A batch as created, and when it was cancelled; its state follows from the time."""

    input_file_id: str
    endpoint: str
    completion_window: str
    metadata: Mapping[str, str] | None
    errors: tuple[Mapping[str, Any], ...] = ()
    """Why validation fails."""
    output_file_id: str | None = None
    error_file_id: str | None = None

    def status(self, now: float) -> Status:
        """Return its status at a moment."""
        if self.cancelled_at is not None:
            return "cancelled" if self.cancelled(now) else "cancelling"
        passed = self.passed(now)
        if passed < VALIDATED:
            return "validating"
        if self.errors:
            return "failed"
        if isinstance(self.fate, BatchExpired):
            return "expired" if passed >= 1 else "in_progress"
        if passed < WORKED:
            return "in_progress"
        return "completed" if passed >= 1 else "finalizing"

    def output(self, now: float) -> list[str]:
        """Return the lines of the output file: the answered ones."""
        lines = [line.text for line in self.lines[: self.done(now)] if line.succeeded]
        rng = generator("output", digest(*lines))
        if isinstance(self.fate, BatchOutOfOrder):
            return shuffled(lines, rng)
        return self.with_duplicates(lines, rng)

    def failures(self, now: float) -> list[str]:
        """Return the lines of the error file: those that failed or ran out of time."""
        done = self.done(now)
        failed = [line.text for line in self.lines[:done] if not line.succeeded]
        if self.status(now) != "expired":
            return failed
        late = (line.custom_id for line in self.lines[done:])
        return failed + [error_line(self.id, name, "batch_expired", EXPIRED).text for name in late]

    def as_json(self, now: float) -> dict[str, Any]:
        """Return it in OpenAI's format."""
        status, done = self.status(now), self.lines[: self.done(now)]
        errors = {"object": "list", "data": list(self.errors)} if status == "failed" else None
        answered = sum(line.succeeded for line in done)
        failed = len(done) - answered
        if status == "expired":
            failed = len(self.lines) - answered
        return {
            "id": self.id,
            "object": "batch",
            "endpoint": self.endpoint,
            "errors": errors,
            "input_file_id": self.input_file_id,
            "completion_window": self.completion_window,
            "status": status,
            "output_file_id": self.output_file_id,
            "error_file_id": self.error_file_id,
            **self._times(now),
            "request_counts": {"total": len(self.lines), "completed": answered, "failed": failed},
            "metadata": self.metadata,
        }

    def _times(self, now: float) -> dict[str, int | None]:
        status, end = self.status(now), self.created_at + self.seconds
        validated = self.created_at + VALIDATED * self.seconds
        until = now if self.cancelled_at is None else self.cancelled_at
        worked = self.created_at + WORKED * self.seconds
        on_time = not self.errors and not isinstance(self.fate, BatchExpired)
        cancelled = (self.cancelled_at or 0.0) + VALIDATED * self.seconds
        times = {
            "created_at": self.created_at,
            "expires_at": end if isinstance(self.fate, BatchExpired) else self.created_at + 86_400,
            "in_progress_at": validated if until >= validated and not self.errors else None,
            "finalizing_at": worked if until >= worked and on_time else None,
            "completed_at": end if status == "completed" else None,
            "failed_at": validated if status == "failed" else None,
            "expired_at": end if status == "expired" else None,
            "cancelling_at": self.cancelled_at,
            "cancelled_at": cancelled if status == "cancelled" else None,
        }
        return {name: None if at is None else int(at) for name, at in times.items()}


def shuffled(lines: list[str], rng: Random) -> list[str]:
    """Return the lines in a different order, if there is one."""
    shuffled = rng.sample(lines, len(lines))
    return shuffled if shuffled != lines else lines[1:] + lines[:1]
