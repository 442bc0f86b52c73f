"""Reads what an analysis works on, one query a table.

Items are numbered by their natural key, so that seeded figures do not depend on a database's ids.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.analysis.data import (
    Arm,
    ItemTruth,
    Judge,
    ProbeRows,
    SampleRows,
    SweepData,
)
from judge_gym.design.experiment import Experiment
from judge_gym.store import tables as t
from judge_gym.store.experiments import not_applied, stored_experiment, sweep_tags


def load_sweep_data(session: Session, sweep: str) -> SweepData:
    """Read a sweep; raises `StoreError` when there is none of that name."""
    experiments = _experiments(session, sweep_tags(session, sweep))
    ids = list(experiments)
    number, truth = _items(session, ids)
    samples, probes = _samples(session, ids, number), _probes(session, ids, number)
    arms, simulated = _arms(session, ids)
    lost = not_applied(session, ids)
    simulated |= set(samples.arm[samples.simulated].tolist())
    simulated |= set(probes.arm[probes.simulated].tolist())
    return SweepData(
        judges=tuple(
            Judge(
                experiment,
                window,
                tuple(arms.get(experiment_id, ())),
                lost.get(experiment_id, ()),
            )
            for experiment_id, (experiment, window) in experiments.items()
        ),
        samples=samples,
        probes=probes,
        truth=truth,
        simulated_arms=frozenset(simulated),
        imported_arms=frozenset(samples.arm[samples.imported].tolist()),
    )


def _experiments(session: Session, tags: Sequence[str]) -> dict[int, tuple[Experiment, str]]:
    rows = session.execute(
        sa.select(t.Experiment, t.Window.name, t.Window.key)
        .join(t.Window, t.Window.id == t.Experiment.window_id)
        .where(t.Experiment.tag.in_(tags))
        .order_by(t.Experiment.key)
    )
    return {row.id: (stored_experiment(row), name or key) for row, name, key in rows}


def _items(session: Session, ids: Sequence[int]) -> tuple[dict[int, int], ItemTruth]:
    """Return item id → number in the order of the keys, and the truth of each item."""
    judged = (
        sa.select(t.Sample.item_id)
        .join(t.Arm, t.Arm.id == t.Sample.arm_id)
        .where(t.Arm.experiment_id.in_(ids), t.Arm.arm.in_(t.ARMS_IN_USE))
    )
    documents = sa.func.count()
    # A bundle has a truth only when each of its documents has one.
    value = sa.case(
        (sa.func.count(t.Document.truth_value) == documents, sa.func.avg(t.Document.truth_value))
    )
    label = sa.case((documents == 1, sa.func.min(t.Document.truth_label)), else_=None)
    category = sa.case((documents == 1, sa.func.min(t.Document.category)), else_="")
    rows = session.execute(
        sa.select(t.Item.id, value, label, category)
        .join(t.ItemDocument, t.ItemDocument.item_id == t.Item.id)
        .join(t.Document, t.Document.id == t.ItemDocument.document_id)
        .where(t.Item.id.in_(judged))
        .group_by(t.Item.id)
        .order_by(t.Item.key.collate("C"))
    ).all()
    ids_of_items, indices, labels, categories = _columns(rows, 4)
    return {item_id: place for place, item_id in enumerate(ids_of_items)}, ItemTruth(
        value=np.array([np.nan if index is None else index for index in indices]),
        label=tuple(text or "" for text in labels),
        category=categories,
    )


def _arms(session: Session, ids: Sequence[int]) -> tuple[dict[int, list[Arm]], set[int]]:
    """Return the arms by experiment, and which have a simulated rubric or simulated evidence."""
    rows = session.execute(
        sa.select(
            t.Arm.experiment_id,
            t.Arm.id,
            t.Arm.arm,
            t.Rubric.owner_model,
            t.Rubric.stages,
            (t.Rubric.observability + t.Rubric.discriminability) / 2,
            t.Rubric.simulated,
        )
        .join(t.Rubric, t.Rubric.id == t.Arm.rubric_id)
        .where(t.Arm.experiment_id.in_(ids), t.Arm.arm.in_(t.ARMS_IN_USE))
        .order_by(t.Rubric.owner_model.collate("C"), t.Rubric.key.collate("C"))
    )
    edited = _simulated_views(session, ids)
    arms: dict[int, list[Arm]] = {}
    simulated = set()
    for experiment_id, arm_id, kind, owner, stages, quality, marked in rows:
        labels = tuple(stage["label"] for stage in stages or ())
        rated = np.nan if quality is None else float(quality)
        arms.setdefault(experiment_id, []).append(Arm(arm_id, kind, owner, labels, rated))
        if marked or experiment_id in edited:
            simulated.add(arm_id)
    return arms, simulated


def _simulated_views(session: Session, ids: Sequence[int]) -> set[int]:
    """Return the experiments whose evidence, as they read it, was edited by a simulated model."""
    return set(
        session.scalars(
            sa.select(t.ExperimentItem.experiment_id)
            .distinct()
            .join(t.Experiment, t.Experiment.id == t.ExperimentItem.experiment_id)
            .join(t.ItemDocument, t.ItemDocument.item_id == t.ExperimentItem.item_id)
            .join(t.View, t.View.document_id == t.ItemDocument.document_id)
            .where(
                t.ExperimentItem.experiment_id.in_(ids),
                t.View.view == t.Experiment.config["evidence_view"].astext,
                t.View.simulated,
            )
        )
    )


def _samples(session: Session, ids: Sequence[int], number: dict[int, int]) -> SampleRows:
    rows = session.execute(
        sa.select(
            t.Sample.arm_id,
            t.Sample.item_id,
            t.Sample.status,
            sa.func.coalesce(t.Sample.stages, 0),
            t.Sample.display_order[1],
            sa.func.strpos(t.Sample.letters, "A"),
            t.Sample.simulated,
            t.Sample.imported,
        )
        .join(t.Arm, t.Arm.id == t.Sample.arm_id)
        .join(t.Experiment, t.Experiment.id == t.Arm.experiment_id)
        .join(t.Item, t.Item.id == t.Sample.item_id)
        .where(t.Experiment.id.in_(ids), t.Arm.arm.in_(t.ARMS_IN_USE))
        .order_by(t.Sample.arm_id, t.Item.key.collate("C"), t.Sample.replicate)
    ).all()
    arm, item, status, stages, first, lettered, simulated, imported = _columns(rows, 8)
    return SampleRows(
        arm=np.array(arm, dtype=np.int64),
        item=np.array([number[one] for one in item], dtype=np.int64),
        status=np.array(status, dtype=np.str_),
        stages=np.array(stages, dtype=np.int64),
        shown_first=np.array(first, dtype=np.int64),
        lettered_a=np.array(lettered, dtype=np.int64),
        simulated=np.array(simulated, dtype=np.bool_),
        imported=np.array(imported, dtype=np.bool_),
    )


def _probes(session: Session, ids: Sequence[int], number: dict[int, int]) -> ProbeRows:
    rows = session.execute(
        sa.select(
            t.Sample.arm_id,
            t.Sample.item_id,
            t.Sample.id,
            t.Sample.stages,
            t.Probe.probability,
            t.Probe.simulated,
        )
        .join(t.Sample, t.Sample.id == t.Probe.sample_id)
        .join(t.Arm, t.Arm.id == t.Sample.arm_id)
        .join(t.Experiment, t.Experiment.id == t.Arm.experiment_id)
        .join(t.Item, t.Item.id == t.Sample.item_id)
        .where(t.Experiment.id.in_(ids), t.Probe.status == "answered")
        .order_by(t.Sample.arm_id, t.Item.key.collate("C"), t.Sample.replicate, t.Probe.replicate)
    ).all()
    arm, item, sample, stages, probability, simulated = _columns(rows, 6)
    return ProbeRows(
        arm=np.array(arm, dtype=np.int64),
        item=np.array([number[one] for one in item], dtype=np.int64),
        sample=np.array(sample, dtype=np.int64),
        stages=np.array(stages, dtype=np.int64),
        probability=np.array(probability, dtype=np.float64),
        simulated=np.array(simulated, dtype=np.bool_),
    )


def _columns(rows: Sequence[Any], width: int) -> list[tuple[Any, ...]]:
    return list(zip(*rows, strict=True)) if rows else [()] * width
