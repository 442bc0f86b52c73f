"""Rubrics that a person reads before they are applied: which, what was decided, and by whom."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from sqlalchemy.orm import Session

from judge_gym.design.rubric import Rubric
from judge_gym.design.sweep import Sweep
from judge_gym.errors import ConfigError
from judge_gym.lab.rubrics import request_key, requests_of
from judge_gym.store.decisions import Decided, SpendingDecision, readings, save_reading
from judge_gym.store.experiments import experiments_of_sweep
from judge_gym.store.rubrics import applied_key, rubric_by_key, stored_rubric


@dataclass(frozen=True)
class RubricToRead:
    """A rubric that a model wrote for a sweep, and what a person decided about it."""

    number: int
    """Its place among the rubrics of the sweep, which stays the same."""
    key: str
    owner: str
    concept: str
    draw: int
    rubric: Rubric
    decided: Decided | None
    experiments: int
    """How many of the sweep apply it."""

    @property
    def name(self) -> str:
        """Its number, owner and concept."""
        draw = f", draw {self.draw}" if self.draw else ""
        return f"{self.number} by {self.owner} on {self.concept}{draw}"


def rubrics_of_sweep(session: Session, sweep: str) -> list[RubricToRead]:
    """Return the rubrics that models wrote for a stored sweep and that can be applied.

    Those that a person refused are among them, those that failed are not. Raises `StoreError` for
    an unknown sweep.
    """
    experiments = list(experiments_of_sweep(session, sweep).values())
    applied = [applied_key(one) for one in experiments]
    keys = [request_key(request) for request in requests_of(experiments)]
    decided = readings(session, keys)
    about = dict(zip(applied, experiments, strict=True))
    found = []
    for number, key in enumerate(keys, start=1):
        stored = rubric_by_key(session, key)
        if stored is not None and (stored.status == "ready" or key in decided):
            found.append(
                RubricToRead(
                    *(number, key, stored.owner_model, about[key].concept, about[key].rubric_draw),
                    rubric=stored_rubric(stored),
                    decided=decided.get(key),
                    experiments=applied.count(key),
                )
            )
    return found


def unread(session: Session, sweep: Sweep) -> list[RubricToRead]:
    """Return the rubrics of a stored sweep that wait for a person: where its file pauses."""
    paused = {experiment.key for experiment in sweep.paused()}
    if not paused:
        return []
    stored = experiments_of_sweep(session, sweep.name).values()
    keys = {applied_key(one) for one in stored if one.key in paused}
    waiting = rubrics_of_sweep(session, sweep.name)
    return [one for one in waiting if one.decided is None and one.key in keys]


def decide(
    session: Session,
    rubrics: Sequence[RubricToRead],
    approved: Collection[int],
    refused: Collection[int],
    person: str,
    reason: str = "",
    **where: str,
) -> list[tuple[RubricToRead, SpendingDecision]]:
    """Store who approves and who refuses which of these rubrics, by their numbers.

    `where` says where it was decided: the sweep, the flow run. Raises `ConfigError` for a number
    that is not among them, or that is both approved and refused.
    """
    known = {one.number: one for one in rubrics}
    if unknown := sorted({*approved, *refused} - known.keys()):
        raise ConfigError(
            f"There is no rubric {', '.join(map(str, unknown))} to decide about.",
            f"Use {_listed(known)}.",
        )
    if both := sorted({*approved} & {*refused}):
        raise ConfigError(
            f"Rubric {', '.join(map(str, both))} is both approved and refused.", "Name it once."
        )
    decided: list[tuple[RubricToRead, SpendingDecision]] = [
        (one, "refuse" if number in refused else "approve")
        for number, one in known.items()
        if number in approved or number in refused
    ]
    for one, decision in decided:
        details = {"owner": one.owner, "concept": one.concept} | where
        save_reading(session, one.key, decision, person, reason, details)
    return decided


def _listed(numbers: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(numbers))) or "none: no rubric waits"
