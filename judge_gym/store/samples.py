"""Samples and probes: what is missing, and what is needed to make it."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.records.shown import Presentation, ShownDocument
from judge_gym.store import tables as t

ProbeUnit = tuple[int, int]
"""(sample, replicate)"""
SECOND_PROBE_ONE_IN = 10
"""One sample in this many, by its seed, is probed twice, so that probes' reliability is known."""


@dataclass(frozen=True)
class SampleUnit:
    """One judgement that is missing."""

    arm_id: int
    item_id: int
    replicate: int


@dataclass(frozen=True)
class Missing:
    """What is to be judged, by model, and how many judgements wait for a view that failed."""

    by_model: dict[str, list[SampleUnit]]
    blocked: int
    blocked_by: str = ""
    """Why one of those views failed; empty when none is on record as failed."""


def missing_samples(
    session: Session, experiment_ids: Sequence[int], arms: Sequence[str]
) -> Missing:
    """Return the judgements that the arms of these experiments still lack, in a stable order."""
    replicate = (
        sa.func.generate_series(0, t.Experiment.replicates - 1)
        .table_valued("value")
        .render_derived(name="replicate")
    )
    done = sa.exists().where(
        t.Sample.arm_id == t.Arm.id,
        t.Sample.item_id == t.ExperimentItem.item_id,
        t.Sample.replicate == replicate.c.value,
    )
    rows = session.execute(
        sa.select(
            t.Experiment.model,
            t.Arm.id,
            t.ExperimentItem.item_id,
            replicate.c.value,
            _lacks_a_view().label("unready"),
        )
        .select_from(t.Arm)
        .join(t.Experiment, t.Experiment.id == t.Arm.experiment_id)
        .join(t.ExperimentItem, t.ExperimentItem.experiment_id == t.Experiment.id)
        .join(replicate, sa.true())
        .where(
            t.Experiment.id.in_(experiment_ids),
            t.Arm.arm.in_(arms),
            t.ExperimentItem.item_id != sa.all_(t.Arm.held_out_items),
            ~done,
        )
        .order_by(t.Experiment.id, t.Arm.id, replicate.c.value, t.ExperimentItem.position)
    )
    by_model: dict[str, list[SampleUnit]] = defaultdict(list)
    blocked = 0
    for model, arm_id, item_id, number, is_unready in rows:
        if is_unready:
            blocked += 1
        else:
            by_model[model].append(SampleUnit(arm_id, item_id, number))
    why = _failed_view(session, experiment_ids) if blocked else ""
    return Missing(dict(by_model), blocked, why)


def _failed_view(session: Session, experiment_ids: Sequence[int]) -> str:
    """Return why a view of these experiments' windows failed; one speaks for all."""
    windows = sa.select(t.Experiment.window_id).where(t.Experiment.id.in_(experiment_ids))
    query = (
        sa.select(t.View.failure)
        .join(t.Document, t.Document.id == t.View.document_id)
        .where(t.Document.window_id.in_(windows), t.View.status == "failed")
        # "abstracted" fails for want of the view before it, which says more.
        .order_by(t.View.view.desc(), t.View.document_id)
        .limit(1)
    )
    return session.scalar(query) or ""


def _lacks_a_view() -> sa.ColumnElement[bool]:
    """Whether a document of the item is not ready in the view that the experiment reads."""
    view = t.Experiment.config["evidence_view"].astext
    ready = (
        sa.exists()
        .where(
            t.View.document_id == t.ItemDocument.document_id,
            t.View.view == view,
            t.View.status == "ready",
        )
        .correlate(t.ItemDocument, t.Experiment)
    )
    return sa.exists().where(
        view != "raw", t.ItemDocument.item_id == t.ExperimentItem.item_id, ~ready
    )


def arms_by_id(session: Session, arm_ids: Iterable[int]) -> dict[int, tuple[t.Arm, t.Rubric]]:
    """Return these arms with their rubrics."""
    rows = session.execute(
        sa.select(t.Arm, t.Rubric)
        .join(t.Rubric, t.Rubric.id == t.Arm.rubric_id)
        .where(t.Arm.id.in_(set(arm_ids)))
    )
    return {arm.id: (arm, rubric) for arm, rubric in rows}


def item_keys(session: Session, item_ids: Iterable[int]) -> dict[int, str]:
    """Return the natural keys of these items."""
    rows = session.execute(sa.select(t.Item.id, t.Item.key).where(t.Item.id.in_(set(item_ids))))
    return dict(rows.tuples().all())


def shown_documents(
    session: Session, item_ids: Iterable[int], view: str
) -> dict[int, tuple[ShownDocument, ...]]:
    """Return item id → its documents in `view`, in order."""
    query = (
        sa.select(t.ItemDocument.item_id, t.Document.title, t.Document.text, t.Document.simulated)
        .join(t.Document, t.Document.id == t.ItemDocument.document_id)
        .where(t.ItemDocument.item_id.in_(set(item_ids)))
        .order_by(t.ItemDocument.item_id, t.ItemDocument.position)
    )
    if view != "raw":
        query = query.join(
            t.View, sa.and_(t.View.document_id == t.Document.id, t.View.view == view)
        ).with_only_columns(t.ItemDocument.item_id, t.Document.title, t.View.text, t.View.simulated)
    shown: dict[int, list[ShownDocument]] = defaultdict(list)
    for item_id, title, text, simulated in session.execute(query):
        shown[item_id].append(ShownDocument(title, text, simulated))
    return {item_id: tuple(documents) for item_id, documents in shown.items()}


def presentation_of(sample: t.Sample) -> Presentation:
    """Return how a stored sample showed its rubric."""
    return Presentation(sample.seed, tuple(sample.letters), tuple(sample.display_order))


def missing_probes(session: Session, experiment_ids: Sequence[int]) -> dict[str, list[ProbeUnit]]:
    """Return model → the probes that scored samples of these experiments still lack."""
    replicate = (
        sa.func.generate_series(0, sa.case((t.Sample.seed % SECOND_PROBE_ONE_IN == 0, 1), else_=0))
        .table_valued("value")
        .render_derived(name="replicate")
    )
    done = sa.exists().where(
        t.Probe.sample_id == t.Sample.id, t.Probe.replicate == replicate.c.value
    )
    rows = session.execute(
        sa.select(t.Experiment.model, t.Sample.id, replicate.c.value)
        .select_from(t.Sample)
        .join(t.Arm, t.Arm.id == t.Sample.arm_id)
        .join(t.Experiment, t.Experiment.id == t.Arm.experiment_id)
        .join(replicate, sa.true())
        .where(
            t.Experiment.id.in_(experiment_ids),
            t.Arm.arm.in_(t.ARMS_IN_USE),
            t.Sample.status == "scored",
            ~t.Sample.imported,
            ~done,
        )
        .order_by(t.Experiment.id, replicate.c.value, t.Sample.id)
    )
    by_model: dict[str, list[ProbeUnit]] = defaultdict(list)
    for model, sample_id, number in rows:
        by_model[model].append((sample_id, number))
    return dict(by_model)
