"""Samples and probes: what is missing, and what is needed to make it."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from judge_gym.records.shown import Presentation, ShownDocument
from judge_gym.store import tables as t
from judge_gym.store.bulk import inserting, packed
from judge_gym.store.recipes import view_recipe
from judge_gym.store.rubrics import StoredRubric, rubric_record
from judge_gym.store.units import JUDGEMENT, PROBING, declared_replicates

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
    session: Session, experiment_ids: Sequence[int], arms: Sequence[str], sweep: str | None = None
) -> Missing:
    """Return the judgements that the arms of these experiments still lack, in a stable order.

    Of the replicates that `sweep` declares; without it, of the most that any sweep declares.
    """
    declared = declared_replicates(sweep)
    replicate = (
        sa.func.generate_series(0, declared.c.replicates - 1)
        .table_valued("value")
        .render_derived(name="replicate")
    )
    done = JUDGEMENT.done(
        arm_id=t.Arm.id, item_id=t.ExperimentItem.item_id, replicate=replicate.c.value
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
        .join(declared, declared.c.experiment_id == t.Experiment.id)
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
    """Return the first failure of a view that these experiments read."""
    query = (
        sa.select(t.View.failure)
        .join(t.Document, t.Document.id == t.View.document_id)
        .join(t.Experiment, t.Experiment.window_id == t.Document.window_id)
        .where(
            t.Experiment.id.in_(experiment_ids),
            t.View.recipe == view_recipe(t.View.view),
            t.View.status == "failed",
        )
        # "abstracted" fails when the view before it failed; that failure is more specific.
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
            t.View.recipe == view_recipe(view),
            t.View.status == "ready",
        )
        .correlate(t.ItemDocument, t.Experiment)
    )
    return sa.exists().where(
        view != "raw", t.ItemDocument.item_id == t.ExperimentItem.item_id, ~ready
    )


@dataclass(frozen=True)
class StoredArm:
    """An experiment under one rubric; `arm` is its kind."""

    id: int
    experiment_id: int
    experiment_key: str
    arm: str


def arms_by_id(
    session: Session, arm_ids: Iterable[int]
) -> dict[int, tuple[StoredArm, StoredRubric]]:
    """Return these arms with their rubrics."""
    rows = session.execute(
        sa.select(t.Arm, t.Experiment.key, t.Rubric)
        .join(t.Experiment, t.Experiment.id == t.Arm.experiment_id)
        .join(t.Rubric, t.Rubric.id == t.Arm.rubric_id)
        .where(t.Arm.id.in_(set(arm_ids)))
    )
    return {
        arm.id: (StoredArm(arm.id, arm.experiment_id, key, arm.arm), rubric_record(rubric))
        for arm, key, rubric in rows
    }


def item_keys(session: Session, item_ids: Iterable[int]) -> dict[int, str]:
    """Return the natural keys of these items."""
    rows = session.execute(
        sa.select(t.EvidenceItem.id, t.EvidenceItem.key).where(t.EvidenceItem.id.in_(set(item_ids)))
    )
    return dict(rows.tuples().all())


def shown_documents(
    session: Session, item_ids: Iterable[int], view: str, recipe: str
) -> dict[int, tuple[ShownDocument, ...]]:
    """Return item id → its documents in `view` of this recipe, in order."""
    query = (
        sa.select(t.ItemDocument.item_id, t.Document.title, t.Document.text, t.Document.simulated)
        .join(t.Document, t.Document.id == t.ItemDocument.document_id)
        .where(t.ItemDocument.item_id.in_(set(item_ids)))
        .order_by(t.ItemDocument.item_id, t.ItemDocument.position)
    )
    if view != "raw":
        query = query.join(
            t.View,
            sa.and_(
                t.View.document_id == t.Document.id, t.View.view == view, t.View.recipe == recipe
            ),
        ).with_only_columns(t.ItemDocument.item_id, t.Document.title, t.View.text, t.View.simulated)
    shown: dict[int, list[ShownDocument]] = defaultdict(list)
    for item_id, title, text, simulated in session.execute(query):
        shown[item_id].append(ShownDocument(title, text, simulated))
    return {item_id: tuple(documents) for item_id, documents in shown.items()}


@dataclass(frozen=True)
class StoredSample:
    """A sample with the conversation it ended.

    Messages and answer are empty once its call was cleaned away, messages once it was pruned.
    """

    id: int
    arm_id: int
    item_id: int
    replicate: int
    presentation: Presentation
    stages: int
    """A bit set; 0 unless it is scored."""
    simulated: bool
    messages: tuple[Any, ...]
    answer: str
    span: tuple[int, int] | None
    """Offsets of the verdict in the answer."""


def samples_by_id(session: Session, sample_ids: Iterable[int]) -> dict[int, StoredSample]:
    """Return these samples."""
    rows = session.execute(
        sa.select(t.Sample, t.Call.messages, t.Call.answer)
        .outerjoin(t.Call, t.Call.id == t.Sample.call_id)
        .where(t.Sample.id.in_(set(sample_ids)))
    )
    return {
        sample.id: StoredSample(
            id=sample.id,
            arm_id=sample.arm_id,
            item_id=sample.item_id,
            replicate=sample.replicate,
            presentation=Presentation(
                sample.seed, tuple(sample.letters), tuple(sample.display_order)
            ),
            stages=sample.stages or 0,
            simulated=sample.simulated,
            messages=tuple(messages or ()),
            answer=answer or "",
            span=None if sample.span_start is None else (sample.span_start, sample.span_end),
        )
        for sample, messages, answer in rows
    }


@dataclass(frozen=True)
class ItemVerdict:
    """A scored sample of an experiment's own arm; `stages` is a bit set."""

    experiment_id: int
    item_id: int
    stages: int


def own_verdicts(
    session: Session,
    experiment_ids: Sequence[int],
    item_ids: Sequence[int],
    sweep: str | None = None,
) -> list[ItemVerdict]:
    """Return the scored samples of these items in the own arms of these experiments."""
    query = JUDGEMENT.rows(t.Experiment.id, t.Sample.item_id, t.Sample.stages, sweep=sweep).where(
        t.Experiment.id.in_(experiment_ids),
        t.Arm.arm == "own",
        t.Sample.item_id.in_(item_ids),
        t.Sample.status == "scored",
    )
    return [ItemVerdict(*row) for row in session.execute(query)]


def missing_probes(
    session: Session, experiment_ids: Sequence[int], sweep: str | None = None
) -> dict[str, list[ProbeUnit]]:
    """Return model → the probes that scored samples of these experiments still lack.

    Of the replicates that `sweep` declares; without it, of all.
    """
    replicate = (
        sa.func.generate_series(0, sa.case((t.Sample.seed % SECOND_PROBE_ONE_IN == 0, 1), else_=0))
        .table_valued("value")
        .render_derived(name="replicate")
    )
    done = PROBING.done(sample_id=t.Sample.id, replicate=replicate.c.value)
    query = (
        JUDGEMENT.rows(t.Experiment.model, t.Sample.id, replicate.c.value, sweep=sweep)
        .join(replicate, sa.true())
        .where(
            t.Experiment.id.in_(experiment_ids),
            t.Sample.status == "scored",
            ~t.Sample.imported,
            ~done,
        )
        .order_by(t.Experiment.id, replicate.c.value, t.Sample.id)
    )
    by_model: dict[str, list[ProbeUnit]] = defaultdict(list)
    for model, sample_id, number in session.execute(query):
        by_model[model].append((sample_id, number))
    return dict(by_model)


def save_probes(session: Session, rows: Sequence[dict[str, Any]]) -> None:
    """Store probes that need no LLM call; one that exists is kept."""
    if rows:
        session.execute(insert(t.Probe).on_conflict_do_nothing(), rows)


def save_samples(session: Session, rows: Sequence[dict[str, Any]]) -> int:
    """Store imported samples, which name the same columns; returns how many are new."""
    if not rows:
        return 0
    added = inserting(t.Sample, tuple(rows[0])).on_conflict_do_nothing().returning(t.Sample.id)
    return len(session.connection().scalars(added, packed(rows)).all())
