"""Reads what an analysis works on: experiments, items, arms, samples and probes of a sweep.

Rows come in the order of natural keys, so that seeded figures do not depend on a database's ids;
but samples and probes, which are many, come as an array a column and are ordered by their reader.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import aggregate_order_by
from sqlalchemy.orm import Session

from judge_gym.design.experiment import Experiment
from judge_gym.metrics.reasoning import (
    CONSISTENT,
    NO_REASONING,
    NOT_ASKED,
    OBSERVABLE,
    UNMARKED,
    USES_EVIDENCE,
)
from judge_gym.records.calls import IMPORTED
from judge_gym.store import tables as t
from judge_gym.store.bulk import among, arrays
from judge_gym.store.experiments import experiments_of_sweep, within
from judge_gym.store.recipes import point_key, view_recipe
from judge_gym.store.score_marks import critic_of_sweep, is_by


@dataclass(frozen=True)
class TrueValue:
    """The truth about an item: an index in [0, 1] or None, a label or None, and a category.

    `category` is the part of a benchmark it belongs to, or "".
    """

    item_id: int
    value: float | None
    label: str | None
    category: str
    outlet: str
    """The domain of its documents; "" where there is none, or several."""
    system: str
    """What was compared, of an imported item; "" where that is not known, as below."""
    second_system: str
    """What made the second answer of a pair, whose first is of `system`."""
    family: str
    """The family of its system."""
    question: str
    """What it answers."""
    length: int
    """The characters of its text; 0 of several documents."""


@dataclass(frozen=True)
class SweepArm:
    """An experiment's arm with its rubric."""

    id: int
    experiment_id: int
    kind: str
    rubric_owner: str
    labels: tuple[str, ...]
    """Stage 1 first; empty when the rubric failed."""
    quality: float | None
    """The mean of the rubric's two marks, in [0, 1]."""
    simulated: bool
    """Whether the rubric was written by the simulator."""
    rubric_id: int
    rubric_family: str
    """The family of the model that wrote the rubric; empty when it was provided."""
    criteria: tuple[tuple[str, ...], ...]
    """Of each stage, stage 1 first; empty when the rubric failed."""


STATUSES = tuple(t.SAMPLE_STATUSES)
"""The status of a judgement, by its code in `SampleColumns`."""


@dataclass(frozen=True)
class SampleColumns:
    """Samples as arrays, in no order; `stages` is 0 unless scored."""

    arm: np.ndarray
    item: np.ndarray
    replicate: np.ndarray
    status: np.ndarray
    """Codes of `STATUSES`."""
    stages: np.ndarray
    shown_first: np.ndarray
    lettered_a: np.ndarray
    letter_probability: np.ndarray
    """NaN where it is not known."""
    answered_at: np.ndarray
    """Seconds since 1970; NaN for an imported judgement."""
    simulated: np.ndarray
    imported: np.ndarray
    marks: np.ndarray
    """Of the sweep's critic, as `metrics.reasoning` encodes them."""


@dataclass(frozen=True)
class ProbeColumns:
    """Answered probes as arrays, in no order."""

    arm: np.ndarray
    item: np.ndarray
    replicate: np.ndarray
    """Of the sample."""
    probe: np.ndarray
    """The replicate of the probe."""
    sample: np.ndarray
    stages: np.ndarray
    probability: np.ndarray
    simulated: np.ndarray


@dataclass(frozen=True)
class JudgementSpan:
    """How many judgements there are, how many were imported, and when the first and last came."""

    judgements: int
    imported: int
    first: datetime | None
    last: datetime | None


def experiments_with_windows(session: Session, sweep: str) -> dict[int, tuple[Experiment, str]]:
    """Return id → a sweep's experiment and its window's name or key, by experiment key.

    Raises `StoreError` when there is no such sweep.
    """
    experiments = experiments_of_sweep(session, sweep)
    rows = session.execute(
        sa.select(t.Experiment.id, t.Window.name, t.Window.key)
        .join(t.Window, t.Window.id == t.Experiment.window_id)
        .where(t.Experiment.id.in_(experiments))
        .order_by(point_key())
    )
    return {id_: (experiments[id_], name or key) for id_, name, key in rows}


@dataclass(frozen=True, order=True)
class FrozenItems:
    """The items that an experiment was frozen with: how many, and a digest of their keys."""

    count: int
    digest: str


def frozen_of_experiments(session: Session, ids: Sequence[int]) -> dict[int, FrozenItems]:
    """Return id → what an experiment was frozen with; none of recorded judgements.

    These have an item for whatever was judged, and are compared on what both sides have.
    """
    keys = sa.func.string_agg(t.Item.key, aggregate_order_by(sa.literal(","), t.Item.key))
    rows = session.execute(
        sa.select(t.ExperimentItem.experiment_id, sa.func.count(), sa.func.md5(keys))
        .join(t.Item, t.Item.id == t.ExperimentItem.item_id)
        .join(t.Experiment, t.Experiment.id == t.ExperimentItem.experiment_id)
        .where(among(t.Experiment.id, ids), ~t.Experiment.model.startswith(f"{IMPORTED}/"))
        .group_by(t.ExperimentItem.experiment_id)
    )
    return {id_: FrozenItems(count, md5[:16]) for id_, count, md5 in rows}


def true_values(session: Session, experiment_ids: Sequence[int], sweep: str) -> list[TrueValue]:
    """Return the truth about each item that the sweep judged in these experiments, by item key.

    A bundle has a value only when each of its documents has one.
    """
    judged = (
        sa.select(t.Sample.item_id)
        .join(t.Arm, t.Arm.id == t.Sample.arm_id)
        .where(t.Arm.experiment_id.in_(experiment_ids))
    )
    documents = sa.func.count()
    value = sa.case(
        (sa.func.count(t.Document.truth_value) == documents, sa.func.avg(t.Document.truth_value))
    )
    label = sa.case((documents == 1, sa.func.min(t.Document.truth_label)), else_=None)
    named = (
        *(t.Document.category, t.Document.system, t.Document.second_system),
        *(t.Document.system_family, t.Document.question),
    )
    category, *of_system = (
        sa.case((documents == 1, sa.func.min(column)), else_="") for column in named
    )
    length = sa.case((documents == 1, sa.func.min(sa.func.char_length(t.Document.text))), else_=0)
    one_outlet = sa.func.count(t.Document.domain.distinct()) == 1
    outlet = sa.case((one_outlet, sa.func.min(t.Document.domain)), else_="")
    rows = session.execute(
        sa.select(t.Item.id, value, label, category, outlet, *of_system, length)
        .join(t.ItemDocument, t.ItemDocument.item_id == t.Item.id)
        .join(t.Document, t.Document.id == t.ItemDocument.document_id)
        .where(t.Item.id.in_(within(judged, sweep)))
        .group_by(t.Item.id)
        .order_by(t.Item.key.collate("C"))
    )
    return [TrueValue(*row) for row in rows]


def arms_of_experiments(session: Session, experiment_ids: Sequence[int]) -> list[SweepArm]:
    """Return the arms of these experiments, by their rubrics' owners."""
    rows = session.execute(
        sa.select(
            t.Arm.id,
            t.Arm.experiment_id,
            t.Arm.arm,
            t.Rubric.owner_model,
            t.Rubric.stages,
            (t.Rubric.observability + t.Rubric.discriminability) / 2,
            t.Rubric.simulated,
            t.Rubric.id,
            t.Rubric.owner_family,
        )
        .join(t.Rubric, t.Rubric.id == t.Arm.rubric_id)
        .where(t.Arm.experiment_id.in_(experiment_ids))
        .order_by(t.Rubric.owner_model.collate("C"), t.Rubric.key.collate("C"))
    )
    return [
        SweepArm(
            id=arm_id,
            experiment_id=experiment_id,
            kind=kind,
            rubric_owner=owner,
            labels=tuple(stage["label"] for stage in stages or ()),
            quality=None if quality is None else float(quality),
            simulated=simulated,
            rubric_id=rubric_id,
            rubric_family=family,
            criteria=tuple(tuple(stage["criteria"]) for stage in stages or ()),
        )
        for arm_id, experiment_id, kind, owner, *rest in rows
        for stages, quality, simulated, rubric_id, family in (rest,)
    ]


def text_lengths(session: Session, experiment_ids: Sequence[int]) -> dict[tuple[int, str], int]:
    """Return (item id, view) → bytes of the documents of an item as these experiments read them."""
    view = t.Experiment.config["evidence_view"].astext
    read = (
        sa.select(t.ExperimentItem.item_id, view.label("view"), view_recipe(view).label("recipe"))
        .join(t.Experiment, t.Experiment.id == t.ExperimentItem.experiment_id)
        .where(t.ExperimentItem.experiment_id.in_(experiment_ids))
        .distinct()
        .subquery()
    )
    # The length in bytes is stored beside a long text; that in characters has it read.
    length = sa.func.octet_length(
        sa.case((read.c.view == "raw", t.Document.text), else_=t.View.text)
    )
    rows = session.execute(
        sa.select(read.c.item_id, read.c.view, sa.func.sum(length))
        .join(t.ItemDocument, t.ItemDocument.item_id == read.c.item_id)
        .join(t.Document, t.Document.id == t.ItemDocument.document_id)
        .outerjoin(
            t.View,
            sa.and_(
                t.View.document_id == t.Document.id,
                t.View.view == read.c.view,
                t.View.recipe == read.c.recipe,
            ),
        )
        .group_by(read.c.item_id, read.c.view, read.c.recipe)
    )
    return {(item, view): int(total) for item, view, total in rows if total}


def experiments_with_simulated_views(session: Session, experiment_ids: Sequence[int]) -> set[int]:
    """Return the experiments whose evidence, as they read it, was edited by a simulated model."""
    view = t.Experiment.config["evidence_view"].astext
    # Read once for each experiment: a config is long, and an experiment has many documents.
    read = (
        sa.select(t.Experiment.id, view.label("view"), view_recipe(view).label("recipe"))
        .where(t.Experiment.id.in_(experiment_ids))
        .cte("read")
        .prefix_with("MATERIALIZED")
    )
    of_view = sa.and_(
        t.View.document_id == t.ItemDocument.document_id,
        t.View.view == read.c.view,
        t.View.recipe == read.c.recipe,
    )
    return set(
        session.scalars(
            sa.select(read.c.id)
            .distinct()
            .join(t.ExperimentItem, t.ExperimentItem.experiment_id == read.c.id)
            .join(t.ItemDocument, t.ItemDocument.item_id == t.ExperimentItem.item_id)
            .join(t.View, of_view)
            .where(t.View.simulated)
        )
    )


def sample_columns(session: Session, experiment_ids: Sequence[int], sweep: str) -> SampleColumns:
    """Return the sweep's samples of these experiments."""
    critic = critic_of_sweep(session, sweep)
    by_critic = is_by(critic) if critic else sa.false()
    at = sa.extract("epoch", sa.func.coalesce(t.Call.sent_at, t.Sample.created_at))
    query = (
        sa.select(
            t.Sample.arm_id.label("arm"),
            t.Sample.item_id.label("item"),
            t.Sample.replicate.label("replicate"),
            sa.case(*((t.Sample.status == name, code) for code, name in enumerate(STATUSES))).label(
                "status"
            ),
            sa.func.coalesce(t.Sample.stages, 0).label("stages"),
            t.Sample.display_order[1].label("shown_first"),
            sa.func.strpos(t.Sample.letters, "A", type_=sa.Integer).label("lettered_a"),
            t.Sample.letter_probability.label("letter_probability"),
            sa.case((t.Sample.imported.is_(False), sa.cast(at, sa.Double))).label("answered_at"),
            t.Sample.simulated.label("simulated"),
            t.Sample.imported.label("imported"),
            _marks().label("marks"),
        )
        .outerjoin(t.Call, t.Call.id == t.Sample.call_id)
        .join(t.Arm, t.Arm.id == t.Sample.arm_id)
        .outerjoin(t.ScoreMark, (t.ScoreMark.sample_id == t.Sample.id) & by_critic)
        .where(t.Arm.experiment_id.in_(experiment_ids))
    )
    return SampleColumns(**arrays(session, within(query, sweep)))


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


def asked_of_experiments(
    session: Session, experiment_ids: Sequence[int], sweep: str
) -> dict[int, CallTotals]:
    """Return experiment id → what the sweep asked of it; without those that were asked nothing."""
    judged = sa.select(t.Arm.experiment_id, *_counted(t.Sample)).select_from(t.Sample)
    probed = (
        sa.select(t.Arm.experiment_id, *_counted(t.Probe))
        .select_from(t.Probe)
        .join(t.Sample, t.Sample.id == t.Probe.sample_id)
    )
    judgements, probes = (
        {experiment: (count, cost) for experiment, count, cost in session.execute(query).tuples()}
        for query in (
            within(
                query.join(t.Arm, t.Arm.id == t.Sample.arm_id)
                .outerjoin(t.Call, t.Call.id == asked.call_id)
                .where(t.Arm.experiment_id.in_(experiment_ids))
                .group_by(t.Arm.experiment_id),
                sweep,
            )
            for query, asked in ((judged, t.Sample), (probed, t.Probe))
        )
    )
    found = {}
    for experiment, (count, cost) in judgements.items():
        more, price = probes.get(experiment, (0, 0))
        known = cost is not None and price is not None
        found[experiment] = CallTotals(count, more, float(cost + price) if known else None)
    return found


def _counted(asked: type[t.Sample | t.Probe]) -> tuple[Any, Any]:
    """Return the number of rows, and the sum of their prices, NULL where one is not known."""
    known = sa.func.bool_and(sa.and_(t.Call.cost_usd.is_not(None), ~asked.simulated))
    return sa.func.count(), sa.case((known, sa.func.sum(t.Call.cost_usd)))


def probe_columns(session: Session, experiment_ids: Sequence[int], sweep: str) -> ProbeColumns:
    """Return the answered probes of the sweep's samples of these experiments, of all their arms."""
    query = (
        sa.select(
            t.Sample.arm_id.label("arm"),
            t.Sample.item_id.label("item"),
            t.Sample.replicate.label("replicate"),
            t.Probe.replicate.label("probe"),
            t.Sample.id.label("sample"),
            t.Sample.stages.label("stages"),
            t.Probe.probability.label("probability"),
            t.Probe.simulated.label("simulated"),
        )
        .join(t.Sample, t.Sample.id == t.Probe.sample_id)
        .join(t.Arm, t.Arm.id == t.Sample.arm_id)
        .where(t.Arm.experiment_id.in_(experiment_ids), t.Probe.status == "answered")
    )
    return ProbeColumns(**arrays(session, within(query, sweep)))


def scored_by_arm(
    session: Session, arm_ids: Sequence[int], sweep: str
) -> dict[int, dict[int, int]]:
    """Return arm id → item id → scored samples of the sweep."""
    query = (
        sa.select(t.Sample.arm_id, t.Sample.item_id, sa.func.count())
        .join(t.Arm, t.Arm.id == t.Sample.arm_id)
        .where(t.Sample.arm_id.in_(arm_ids), t.Sample.status == "scored")
        .group_by(t.Sample.arm_id, t.Sample.item_id)
    )
    scored: dict[int, dict[int, int]] = defaultdict(dict)
    for arm_id, item_id, count in session.execute(within(query, sweep)):
        scored[arm_id][item_id] = count
    return scored


def items_of_arms(session: Session, arm_ids: Sequence[int]) -> dict[int, list[int]]:
    """Return arm id → the items of its experiment, in order."""
    rows = session.execute(
        sa.select(t.Arm.id, t.ExperimentItem.item_id)
        .join(t.ExperimentItem, t.ExperimentItem.experiment_id == t.Arm.experiment_id)
        .where(t.Arm.id.in_(arm_ids))
        .order_by(t.Arm.id, t.ExperimentItem.position)
    )
    items: dict[int, list[int]] = defaultdict(list)
    for arm_id, item_id in rows:
        items[arm_id].append(item_id)
    return items


def count_items(session: Session, experiment_ids: Sequence[int]) -> dict[int, int]:
    """Return experiment id → how many items it is frozen with; those without any are left out."""
    rows = session.execute(
        sa.select(t.ExperimentItem.experiment_id, sa.func.count())
        .where(t.ExperimentItem.experiment_id.in_(experiment_ids))
        .group_by(t.ExperimentItem.experiment_id)
    )
    return dict(rows.tuples().all())


def judgement_span(session: Session, sweep: str) -> JudgementSpan:
    """Count the judgements of a sweep, over all arms."""
    query = (
        sa.select(
            sa.func.count(),
            sa.func.count().filter(t.Sample.imported),
            sa.func.min(t.Sample.created_at),
            sa.func.max(t.Sample.created_at),
        )
        .select_from(t.Sample)
        .join(t.Arm, t.Arm.id == t.Sample.arm_id)
    )
    return JudgementSpan(*session.execute(within(query, sweep)).one())


@dataclass(frozen=True)
class JudgedDocument:
    """A judgement of an own arm with the document judged; `stages` is None without a verdict."""

    experiment_key: str
    """Of its point of the design space."""
    title: str
    category: str
    stages: int | None
    simulated: bool


def judged_documents(session: Session, sweep: str) -> list[JudgedDocument]:
    """Return the judgements of a sweep, by experiment, document and replicate."""
    query = (
        sa.select(
            point_key(),
            t.Document.title,
            t.Document.category,
            t.Sample.stages,
            t.Sample.simulated,
        )
        .select_from(t.Sample)
        .join(t.Arm, sa.and_(t.Arm.id == t.Sample.arm_id, t.Arm.arm == "own"))
        .join(t.Experiment, t.Experiment.id == t.Arm.experiment_id)
        .join(t.ItemDocument, t.ItemDocument.item_id == t.Sample.item_id)
        .join(t.Document, t.Document.id == t.ItemDocument.document_id)
        .order_by(t.Experiment.id, t.Document.position, t.Sample.replicate)
    )
    return [JudgedDocument(*row) for row in session.execute(within(query, sweep))]
