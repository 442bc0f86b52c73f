"""The budget of a sweep or a judge. The ledger has what was used."""

from pydantic import Field

from judge_gym.design.frozen import Frozen


class Budget(Frozen):
    """Limits that end a sweep early. After one is exceeded, no new chunk starts.

    Chunks in flight finish, so a run may exceed a limit by at most `workers` chunks.
    """

    max_cost_usd: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """US dollars; only for models with a known price."""
    max_calls: int | None = Field(default=None, ge=1)
    """Calls, whatever their outcome; retries after a failure are not counted."""
    max_failures_share: float | None = Field(default=None, ge=0, le=1)
    """Failed calls as a share of finished calls; checked from the 20th call on."""
