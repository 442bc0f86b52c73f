"""Reads samples and probes of a sweep as arrays, with what their calls cost and who answered.

They are many, so each is read once, as an array a column, in no order. What an analysis adds up
over them is added up here and not in PostgreSQL, which would join them to their calls once more.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Any, TypeVar

import numpy as np
import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.metrics.reasoning import (
    CONSISTENT,
    NO_REASONING,
    NOT_ASKED,
    OBSERVABLE,
    UNMARKED,
    USES_EVIDENCE,
)
from judge_gym.store import tables as t
from judge_gym.store.bulk import among, arrays
from judge_gym.store.score_marks import critic_of_sweep, is_by
from judge_gym.store.units import declared_replicates

STATUSES = tuple(t.SAMPLE_STATUSES)
"""The status of a judgement, by its code in `SampleColumns`."""
COST_DIGITS = 8
"""Decimals of a cost as it is stored."""
UNKNOWN_COST = -1
ABSENT_TEXT = "\x01"
"""Stands for NULL where texts are hashed; no name of a model has it."""


@dataclass(frozen=True, eq=False)
class AskedColumns:
    """Samples, or probes with their samples, and their calls: parallel arrays."""

    arm: np.ndarray
    item: np.ndarray
    replicate: np.ndarray
    """Of the sample."""
    simulated: np.ndarray
    call: np.ndarray
    """The id of its call; 0 where the ledger has none."""
    cost: np.ndarray
    """Of the call, in units of 10^-8 US dollars; `UNKNOWN_COST` where it is not known."""
    answered_by: np.ndarray
    """Equal where the served model and the fingerprint are: a hash of both."""


@dataclass(frozen=True, eq=False)
class SampleColumns(AskedColumns):
    """Samples as arrays; `stages` is 0 unless scored."""

    status: np.ndarray
    """Codes of `STATUSES`."""
    stages: np.ndarray
    shown_first: np.ndarray
    lettered_a: np.ndarray
    letter_probability: np.ndarray
    """NaN where it is not known."""
    answered_at: np.ndarray
    """Seconds since 1970; NaN for an imported judgement."""
    imported: np.ndarray
    marks: np.ndarray
    """Of the sweep's critic, as `metrics.reasoning` encodes them."""


@dataclass(frozen=True, eq=False)
class ProbeColumns(AskedColumns):
    """Probes as arrays, whether answered or not."""

    probe: np.ndarray
    """The replicate of the probe."""
    sample: np.ndarray
    stages: np.ndarray
    answered: np.ndarray
    probability: np.ndarray
    """NaN unless answered."""


@dataclass(frozen=True, eq=False)
class SweepColumns:
    """The samples and probes of a sweep, of all arms of its experiments."""

    experiments: dict[int, int]
    """Arm → its experiment."""
    samples: SampleColumns
    probes: ProbeColumns


def sweep_columns(session: Session, experiment_ids: Sequence[int], sweep: str) -> SweepColumns:
    """Return the samples of these experiments that the sweep declares, and their probes."""
    declared = declared_replicates(sweep)
    arms = session.execute(
        sa.select(t.Arm.id, t.Arm.experiment_id, declared.c.replicates)
        .join(declared, declared.c.experiment_id == t.Arm.experiment_id)
        .where(t.Arm.experiment_id.in_(experiment_ids))
        .order_by(t.Arm.id)
    ).all()
    replicates = {arm: count for arm, _, count in arms}
    # By the ids of arms: PostgreSQL expects a thousandth of the rows of a join to experiments and
    # sweeps, and then looks up each call by itself.
    chosen = sa.and_(
        among(t.Sample.arm_id, replicates),
        t.Sample.replicate < max(replicates.values(), default=0),
    )
    return SweepColumns(
        {arm: experiment for arm, experiment, _ in arms},
        _declared(_samples(session, chosen, sweep), replicates),
        _declared(_probes(session, chosen), replicates),
    )


Asked = TypeVar("Asked", bound=AskedColumns)


def _declared(columns: Asked, replicates: dict[int, int]) -> Asked:
    """Return the rows with a replicate below what is declared for their arm."""
    if len(set(replicates.values())) < 2:
        return columns
    arms, limits = (np.array(list(part)) for part in (replicates, replicates.values()))
    kept = columns.replicate < limits[np.searchsorted(arms, columns.arm)]
    return type(columns)(**{one.name: getattr(columns, one.name)[kept] for one in fields(columns)})


def _samples(session: Session, chosen: sa.ColumnElement[bool], sweep: str) -> SampleColumns:
    critic = critic_of_sweep(session, sweep)
    by_critic = is_by(critic) if critic else sa.false()
    at = sa.func.coalesce(t.Call.sent_at, t.Sample.created_at)
    codes = ((t.Sample.status == name, code) for code, name in enumerate(STATUSES))
    query = (
        sa.select(
            *_asked(t.Sample),
            sa.case(*codes).label("status"),
            sa.func.coalesce(t.Sample.stages, 0).label("stages"),
            t.Sample.display_order[1].label("shown_first"),
            sa.func.strpos(t.Sample.letters, "A", type_=sa.Integer).label("lettered_a"),
            t.Sample.letter_probability.label("letter_probability"),
            sa.case((t.Sample.imported.is_(False), at)).label("answered_at"),
            t.Sample.imported.label("imported"),
            _marks().label("marks"),
        )
        .outerjoin(t.Call, t.Call.id == t.Sample.call_id)
        .outerjoin(t.ScoreMark, (t.ScoreMark.sample_id == t.Sample.id) & by_critic)
        .where(chosen)
    )
    return SampleColumns(**arrays(session, query))


def _probes(session: Session, chosen: sa.ColumnElement[bool]) -> ProbeColumns:
    query = (
        sa.select(
            *_asked(t.Probe),
            t.Probe.replicate.label("probe"),
            t.Sample.id.label("sample"),
            sa.func.coalesce(t.Sample.stages, 0).label("stages"),
            (t.Probe.status == "answered").label("answered"),
            t.Probe.probability.label("probability"),
        )
        .join(t.Sample, t.Sample.id == t.Probe.sample_id)
        .outerjoin(t.Call, t.Call.id == t.Probe.call_id)
        .where(chosen)
    )
    return ProbeColumns(**arrays(session, query))


def _asked(table: type[t.Sample | t.Probe]) -> Sequence[sa.ColumnElement[Any]]:
    """Return the columns of `AskedColumns`, of a query that joins the calls."""
    model, fingerprint = (
        sa.func.coalesce(column, ABSENT_TEXT)
        for column in (t.Call.served_model, t.Call.fingerprint)
    )
    hashed = sa.func.hashtextextended(model, sa.func.hashtextextended(fingerprint, 0))
    cost = sa.cast(t.Call.cost_usd * 10**COST_DIGITS, sa.BigInteger)
    return (
        t.Sample.arm_id.label("arm"),
        t.Sample.item_id.label("item"),
        t.Sample.replicate.label("replicate"),
        table.simulated.label("simulated"),
        sa.func.coalesce(t.Call.id, 0).label("call"),
        sa.func.coalesce(cost, UNKNOWN_COST).label("cost"),
        sa.cast(hashed, sa.BigInteger).label("answered_by"),
    )


def _marks() -> sa.ColumnElement[int]:
    bits = sum(
        (
            sa.case((column.is_(True), bit), else_=0)
            for column, bit in (
                (t.ScoreMark.observable, OBSERVABLE),
                (t.ScoreMark.consistent, CONSISTENT),
                (t.ScoreMark.uses_evidence, USES_EVIDENCE),
            )
        ),
        start=sa.literal(0),
    )
    status = t.ScoreMark.status
    return sa.case(
        (status.is_(None), NOT_ASKED),
        (status == "marked", bits),
        (status == "no_reasoning", NO_REASONING),
        else_=UNMARKED,
    )


@dataclass(frozen=True)
class CallTotals:
    """Judgements and probes of an experiment, under all its arms and whatever came of them.

    `cost` is that of their calls in US dollars; None where one is not known, as of simulated or
    imported ones.
    """

    judgements: int = 0
    probes: int = 0
    cost: float | None = None


def asked_of_experiments(columns: SweepColumns) -> dict[int, CallTotals]:
    """Return experiment id → what the sweep asked of it; without those that were asked nothing."""
    experiments = np.unique(np.array(list(columns.experiments.values()), dtype=np.int64))
    of_samples, of_probes = (
        _sums(asked, columns.experiments, experiments)
        for asked in (columns.samples, columns.probes)
    )
    found = {}
    for experiment, (judgements, cost), (probes, price) in zip(
        experiments.tolist(), of_samples, of_probes, strict=True
    ):
        if judgements:
            total = None
            if cost is not None and price is not None:
                total = float(Decimal(cost + price).scaleb(-COST_DIGITS))
            found[experiment] = CallTotals(judgements, probes, total)
    return found


def _sums(
    asked: AskedColumns, experiment_of: dict[int, int], experiments: np.ndarray
) -> list[tuple[int, int | None]]:
    """Return for each experiment how many rows it has and their costs; None if one is unknown."""
    arms = np.array(sorted(experiment_of), dtype=np.int64)
    of_arm = np.array([experiment_of[arm] for arm in arms.tolist()], dtype=np.int64)
    arm = np.searchsorted(arms, asked.arm)
    place = np.searchsorted(experiments, of_arm)
    unknown = asked.simulated | (asked.cost == UNKNOWN_COST)
    counts = np.bincount(place[arm], minlength=len(experiments))
    unknowns = np.bincount(place[arm[unknown]], minlength=len(experiments))
    costs = np.zeros(len(experiments), dtype=np.int64)
    np.add.at(costs, place[arm], asked.cost)
    return [
        (int(count), None if lacks else int(cost))
        for count, lacks, cost in zip(counts, unknowns, costs, strict=True)
    ]
