"""What the ledger says of a call that is about to be made."""

from dataclasses import dataclass
from typing import Any

from judge_gym.records.calls import Answer


@dataclass(frozen=True)
class Opened:
    """A call's row before it is sent; with the answer, when the ledger already has one."""

    id: int
    answer: Answer | None
    waiting: bool = False
    """Whether it is in a batch that has not ended: it is not to be asked meanwhile."""
    batched: bool = False
    """Whether it has been in a batch, which is tried once."""
    discarded: bool = False
    """Whether an answer was discarded, so that the next one is taken as it is."""
    output_limit: int | None = None
    """The highest output limit, in tokens, that was used up before an answer began."""


def opened_as(row: Any) -> Opened:
    """Return what a ledger row with `waiting` says of its call."""
    return Opened(
        row.id,
        stored_answer(row),
        waiting=bool(row.waiting),
        batched=row.batch_id is not None,
        discarded=any("answer" in error for error in row.errors),
        output_limit=max(
            (error["limit"] for error in row.errors if error["kind"] == "output_limit"),
            default=None,
        ),
    )


def stored_answer(row: Any) -> Answer | None:
    """Return the answer that a ledger row has, if it has one."""
    if row.status != "succeeded":
        return None
    return Answer(
        text=row.answer,
        finish_reason=row.finish_reason,
        prompt_tokens=row.prompt_tokens,
        completion_tokens=row.completion_tokens,
        cost_usd=None if row.cost_usd is None else float(row.cost_usd),
        latency_ms=row.latency_ms,
        simulated=row.simulated,
    )
