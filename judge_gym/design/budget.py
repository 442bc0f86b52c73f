"""What a sweep may use, as its file says it; what it has used is in the ledger."""

from pydantic import Field

from judge_gym.design.frozen import Frozen


class Budget(Frozen):
    """Bounds that end a sweep early: no new chunk of work is begun once one of them is passed.

    Chunks in flight are finished, so a run may use a little more: at most `workers` chunks.
    """

    max_cost_usd: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """US dollars; only for models whose price is known."""
    max_calls: int | None = Field(default=None, ge=1)
    """Answers asked for, whatever became of them; retries after a failure are not counted."""
    max_failures_share: float | None = Field(default=None, ge=0, le=1)
    """Share of calls that failed for good, of those that ended; looked at from the 20th on."""
