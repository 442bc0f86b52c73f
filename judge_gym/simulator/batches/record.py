"""A batch and what it looks like at a moment: status, counts, times and the files it has.

Pure: the moment is an argument, in seconds since the epoch.
"""

from collections.abc import Mapping
from random import Random
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from judge_gym.seeds import digest, generator
from judge_gym.simulator.batches.lines import Line, error_line
from judge_gym.simulator.faults.plan import (
    AnyFate,
    BatchDuplicateLines,
    BatchExpired,
    BatchOutOfOrder,
    BatchVanished,
)

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


class Batch(BaseModel):
    """All that is known of a batch from its creation on, and when it was cancelled."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    id: str
    input_file_id: str
    endpoint: str
    completion_window: str
    metadata: Mapping[str, str] | None
    created_at: float
    seconds: float = Field(ge=0)
    """From its creation to its end."""
    lines: tuple[Line, ...]
    """Every line of the input, answered, in its order; none when validation fails."""
    errors: tuple[Mapping[str, Any], ...] = ()
    """Why validation fails."""
    fate: AnyFate | None = Field(default=None, discriminator="kind")
    cancelled_at: float | None = None
    output_file_id: str | None = None
    error_file_id: str | None = None

    def status(self, now: float) -> Status:
        """Return where it stands in its life."""
        if self.cancelled_at is not None:
            cancelled = now >= self.cancelled_at + VALIDATED * self.seconds
            return "cancelled" if cancelled else "cancelling"
        passed = self._passed(now)
        if passed < VALIDATED:
            return "validating"
        if self.errors:
            return "failed"
        if isinstance(self.fate, BatchExpired):
            return "expired" if passed >= 1 else "in_progress"
        if passed < WORKED:
            return "in_progress"
        return "completed" if passed >= 1 else "finalizing"

    def vanished(self, now: float) -> bool:
        """Whether the provider has lost it."""
        return isinstance(self.fate, BatchVanished) and now >= self.created_at + self.fate.after

    def done(self, now: float) -> int:
        """Return how many lines are answered; none is after a cancellation."""
        until = now if self.cancelled_at is None else min(now, self.cancelled_at)
        share = min(1.0, max(0.0, (self._passed(until) - VALIDATED) / (WORKED - VALIDATED)))
        if isinstance(self.fate, BatchExpired):
            share *= self.fate.done
        return round(len(self.lines) * share)

    def output(self, now: float) -> list[str]:
        """Return the lines of the output file: those done that did not fail."""
        lines = [line.text for line in self.lines[: self.done(now)] if line.succeeded]
        rng = generator("output", digest(*lines))
        if isinstance(self.fate, BatchOutOfOrder):
            return _shuffled(lines, rng)
        if isinstance(self.fate, BatchDuplicateLines) and lines:
            count = max(1, round(len(lines) * self.fate.lines))
            twice = set(rng.sample(range(len(lines)), count))
            return [text for i, text in enumerate(lines) for _ in range(1 + (i in twice))]
        return lines

    def failures(self, now: float) -> list[str]:
        """Return the lines of the error file: those that failed, and those time ran out for."""
        done = self.done(now)
        failed = [line.text for line in self.lines[:done] if not line.succeeded]
        if self.status(now) != "expired":
            return failed
        late = (line.custom_id for line in self.lines[done:])
        return failed + [error_line(self.id, name, "batch_expired", EXPIRED).text for name in late]

    def as_json(self, now: float) -> dict[str, Any]:
        """Return it in OpenAI's shape."""
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

    def _passed(self, now: float) -> float:
        """Return the share of its duration that has passed by then, in [0, 1]."""
        if not self.seconds:
            return 1.0
        return min(1.0, max(0.0, (now - self.created_at) / self.seconds))

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


def _shuffled(lines: list[str], rng: Random) -> list[str]:
    """Return the lines in an order that is another one whenever there is another."""
    shuffled = rng.sample(lines, len(lines))
    return shuffled if shuffled != lines else lines[1:] + lines[:1]
