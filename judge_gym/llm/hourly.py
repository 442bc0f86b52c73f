"""The bound on calls and cost per hour: of all real models, over all processes of a database."""

import asyncio
import math
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

from sqlalchemy import Engine
from sqlalchemy.orm import Session

from judge_gym.counting import counted
from judge_gym.errors import ConfigError, JudgeGymError
from judge_gym.llm.providers import Bounds, Providers
from judge_gym.model_names import is_simulated_model
from judge_gym.store.spending import sent_since, spent_since

_FRESH_S = 5.0
"""Seconds for which what the ledger said is used again, with this process's own calls added."""


_HOUR = timedelta(hours=1)


class HourlyBoundError(JudgeGymError):
    """The bound on calls or cost per hour is reached; a later run resumes."""

    def __init__(
        self, message: str, remedy: str | Iterable[str] = "", after: datetime | None = None
    ) -> None:
        super().__init__(message, remedy)
        if after is not None:
            self.after = after
            """The minute from which calls are within the bound."""


@dataclass
class _Used:
    calls: int = 0
    cost_usd: float = 0.0


class Hourly:
    """Counts what was used in the last hour; belongs to one event loop.

    The cost of calls in flight is not known yet, so that it can exceed the bound by theirs.
    """

    def __init__(self, engine: Engine, providers: Providers) -> None:
        self._engine = engine
        self._bounds = providers.bounds
        self._file = providers.file
        self._used = _Used()
        self._read_at = float("-inf")
        self._reading = asyncio.Lock()

    async def count(self, model: str, calls: int = 1) -> None:
        """Count calls about to be made; raises `HourlyBoundError` when they are too many.

        Calls of simulated models do not count. Raises `ConfigError` for a batch of more calls than
        an hour may have, which no later run could send.
        """
        if self._bounds == Bounds() or is_simulated_model(model):
            return
        most = self._bounds.calls_per_hour
        if most is not None and calls > max(1, most):
            raise ConfigError(
                f"A batch of {calls:,} calls to {model} is larger than calls_per_hour, {most:,}, "
                f"in [bounds] of {self._file}.",
                "Raise calls_per_hour, or set batch_maximum to no more than it.",
            )
        async with self._reading:
            if time.monotonic() - self._read_at > _FRESH_S:
                self._used = await asyncio.to_thread(self._read)
                self._read_at = time.monotonic()
        if bound := _reached(self._bounds, self._used, calls):
            key, reason = bound
            after = await asyncio.to_thread(self._free_again, calls)
            raise HourlyBoundError(
                f"{key} is {reason} in the last hour; no further calls are made.",
                f"Rerun the command after {after:%H:%M} UTC, or raise {key} in [bounds] of "
                f"{self._file}.",
                after,
            )
        self._used.calls += calls

    def _read(self) -> _Used:
        with Session(self._engine) as session:
            return _Used(*spent_since(session, datetime.now(UTC) - _HOUR))

    def _free_again(self, calls: int) -> datetime:
        """Return the minute from which so many calls are within the bounds."""
        used, free = replace(self._used), datetime.now(UTC)
        with Session(self._engine) as session:
            sent = sent_since(session, free - _HOUR)
        for sent_at, attempts, cost_usd in sent:
            if _reached(self._bounds, used, calls) is None:
                break
            used.calls -= attempts
            used.cost_usd -= cost_usd
            free = sent_at + _HOUR
        else:
            if _reached(self._bounds, used, calls):  # by calls whose sending is not stored yet
                free = datetime.now(UTC) + _HOUR
        return free.replace(second=0, microsecond=0) + timedelta(minutes=1)


def bound_warnings(
    session: Session, providers: Providers, calls: int, cost_usd: float
) -> Iterator[str]:
    """Yield a warning for each bound that calls to real models, at this cost, will exceed."""
    bounds, used = providers.bounds, _Used(*spent_since(session, datetime.now(UTC) - _HOUR))
    for key, bound, before, needed in (
        ("calls_per_hour", bounds.calls_per_hour, used.calls, calls),
        ("cost_usd_per_hour", bounds.cost_usd_per_hour, used.cost_usd, cost_usd),
    ):
        if bound is not None and needed and before + needed > bound:
            hours = math.ceil(needed / bound)
            yield (
                f"{key} is {bound:g} in [bounds] of {providers.file}, {before:.4g} of it used in "
                f"the last hour; the {needed:.4g} needed take at least {counted(hours, 'hour')}. "
                "The run stops at the bound; rerun it later."
            )


def _reached(bounds: Bounds, used: _Used, calls: int) -> tuple[str, str] | None:
    """Return the bound that keeps calls from being made, and what it is and was used."""
    most, dearest = bounds.calls_per_hour, bounds.cost_usd_per_hour
    if most is not None and used.calls + calls > most:
        verb = "was" if used.calls == 1 else "were"
        return "calls_per_hour", f"{most:,}, and {counted(used.calls, 'call')} {verb} made"
    if dearest is not None and used.cost_usd >= dearest:
        return "cost_usd_per_hour", f"{dearest:g}, and {used.cost_usd:.4g} USD were spent"
    return None
