"""Reads what an analysis works on: experiments, items, arms and counts of a sweep.

Rows come in the order of natural keys, so that seeded figures do not depend on a database's ids.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import aggregate_order_by
from sqlalchemy.orm import Session

from judge_gym.design.experiment import Experiment
from judge_gym.records.calls import IMPORTED
from judge_gym.store import tables as t
from judge_gym.store.bulk import among
from judge_gym.store.experiments import experiments_of_sweep
from judge_gym.store.recipes import point_key, view_recipe
from judge_gym.store.units import within


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
    keys = sa.func.string_agg(
        t.EvidenceItem.key, aggregate_order_by(sa.literal(","), t.EvidenceItem.key)
    )
    rows = session.execute(
        sa.select(t.ExperimentItem.experiment_id, sa.func.count(), sa.func.md5(keys))
        .join(t.EvidenceItem, t.EvidenceItem.id == t.ExperimentItem.item_id)
        .join(t.Experiment, t.Experiment.id == t.ExperimentItem.experiment_id)
        .where(among(t.Experiment.id, ids), ~t.Experiment.model.startswith(f"{IMPORTED}/"))
        .group_by(t.ExperimentItem.experiment_id)
    )
    return {id_: FrozenItems(count, md5[:16]) for id_, count, md5 in rows}


ITEM_ORDER = (sa.func.min(t.Document.key.collate("C")), t.EvidenceItem.key.collate("C"))
"""How the analysis numbers items that are joined to their documents: by the documents' keys.

The key of an item has its window's, which changes with the form of a file of the same rows.
"""


def true_values(session: Session, item_ids: Sequence[int]) -> list[TrueValue]:
    """Return the truth about each of these items, in the order in which the analysis numbers them.

    A bundle has a value only when each of its documents has one.
    """
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
        sa.select(t.EvidenceItem.id, value, label, category, outlet, *of_system, length)
        .join(t.ItemDocument, t.ItemDocument.item_id == t.EvidenceItem.id)
        .join(t.Document, t.Document.id == t.ItemDocument.document_id)
        .where(among(t.EvidenceItem.id, item_ids))
        .group_by(t.EvidenceItem.id)
        .order_by(*ITEM_ORDER)
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
