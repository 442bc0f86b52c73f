"""Experiments, sweeps, and the items an experiment is frozen with."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from judge_gym.design.experiment import Experiment
from judge_gym.design.strategies import resolve
from judge_gym.design.strategies.bundling import Bundling
from judge_gym.errors import StoreError, listing
from judge_gym.seeds import digest
from judge_gym.store import tables as t
from judge_gym.store.windows import register_window


def register_experiment(session: Session, experiment: Experiment) -> int:
    """Return the id of `experiment`, storing it and its window when they are new.

    The larger number of replicates is stored. Raises
    `StoreError` when the tag names another point, or the point has another tag.
    """
    values = {
        "key": experiment.key,
        "tag": experiment.name,
        "task_type": experiment.task_type,
        "concept": experiment.concept,
        "country": experiment.country,
        "window_id": register_window(session, experiment.window),
        "model": experiment.model,
        "family": experiment.family,
        "scale_size": experiment.scale_size,
        "replicates": experiment.replicates,
        "config": experiment.model_dump(mode="json"),
    }
    session.execute(insert(t.Experiment).values(values).on_conflict_do_nothing())
    stored = session.scalars(
        sa.select(t.Experiment).where(
            (t.Experiment.key == experiment.key) | (t.Experiment.tag == experiment.name)
        )
    ).all()
    if len(stored) != 1 or stored[0].key != experiment.key or stored[0].tag != experiment.name:
        others = ", ".join(sorted(f"{row.tag} ({row.key})" for row in stored))
        raise StoreError(
            f"Experiment {experiment.name} ({experiment.key}) clashes with {others}: a tag names "
            "one point of the design space and a point has one tag.",
            "Change or remove the tag.",
        )
    stored[0].replicates = max(stored[0].replicates, experiment.replicates)
    return stored[0].id


def register_sweep(
    session: Session,
    name: str,
    description: str,
    swap: dict[str, Any] | None,
    experiments: Iterable[Experiment],
) -> list[str]:
    """Store a sweep and its experiments; returns their tags in the sweep's order."""
    statement = insert(t.Sweep).values(name=name, description=description, swap=swap)
    sweep_id = session.scalars(
        statement.on_conflict_do_update(
            index_elements=["name"], set_={"description": description, "swap": swap}
        ).returning(t.Sweep.id)
    ).one()
    # The sweep is the file as it is now; experiments that it no longer names stay stored.
    session.execute(sa.delete(t.SweepExperiment).where(t.SweepExperiment.sweep_id == sweep_id))
    tags = []
    for experiment in experiments:
        experiment_id = register_experiment(session, experiment)
        session.add(t.SweepExperiment(sweep_id=sweep_id, experiment_id=experiment_id))
        tags.append(experiment.name)
    return tags


def registered_plan(session: Session, name: str) -> dict[str, Any] | None:
    """Return the swap plan a sweep was last stored with; None also when there is no such sweep."""
    return session.scalar(sa.select(t.Sweep.swap).where(t.Sweep.name == name))


def sweep_description(session: Session, name: str) -> str:
    """Return the description a sweep was last stored with."""
    return session.scalars(sa.select(t.Sweep.description).where(t.Sweep.name == name)).one()


def experiments_by_tag(session: Session, tags: Sequence[str]) -> dict[int, Experiment]:
    """Return the experiments with these tags by id; raises `StoreError` naming unknown tags."""
    rows = session.scalars(
        sa.select(t.Experiment).where(t.Experiment.tag.in_(tags)).order_by(t.Experiment.id)
    ).all()
    if unknown := sorted(set(tags) - {row.tag for row in rows}):
        known = session.scalars(sa.select(t.Experiment.tag).order_by(t.Experiment.id)).all()
        raise StoreError(
            f"There is no experiment {', '.join(unknown)}.",
            listing(known, "judge-gym analyse experiments list", unknown[0]),
        )
    return {row.id: stored_experiment(row) for row in rows}


def experiment_tag(session: Session, name: str) -> str:
    """Return the tag of an experiment given by tag or number; an unknown name stays as it is."""
    tag = sa.select(t.Experiment.tag)
    if session.scalar(tag.where(t.Experiment.tag == name)) or not name.isdecimal():
        return name
    return session.scalar(tag.where(t.Experiment.id == int(name))) or name


def experiments_by_id(session: Session, ids: Iterable[int]) -> dict[int, Experiment]:
    """Return the experiments with these ids."""
    rows = session.scalars(sa.select(t.Experiment).where(t.Experiment.id.in_(set(ids))))
    return {row.id: stored_experiment(row) for row in rows}


def stored_experiment(row: t.Experiment) -> Experiment:
    """Return the experiment of a row, with the stored number of replicates."""
    return Experiment.model_validate({**row.config, "replicates": row.replicates})


def sweep_tags(session: Session, name: str) -> list[str]:
    """Return the tags of a sweep's experiments; raises `StoreError` when there is no such sweep."""
    tags = session.scalars(
        sa.select(t.Experiment.tag)
        .join(t.SweepExperiment, t.SweepExperiment.experiment_id == t.Experiment.id)
        .join(t.Sweep, t.Sweep.id == t.SweepExperiment.sweep_id)
        .where(t.Sweep.name == name)
        .order_by(t.Experiment.id)
    ).all()
    if not tags:
        known = session.scalars(sa.select(t.Sweep.name).order_by(t.Sweep.name)).all()
        raise StoreError(
            f"There is no sweep {name!r}.", listing(known, "judge-gym sweep status", name)
        )
    return list(tags)


def windows_of(session: Session, experiment_ids: Iterable[int]) -> dict[int, list[int]]:
    """Return window id → ids of the given experiments that read it."""
    by_window: dict[int, list[int]] = {}
    rows = session.execute(
        sa.select(t.Experiment.window_id, t.Experiment.id)
        .where(t.Experiment.id.in_(set(experiment_ids)))
        .order_by(t.Experiment.id)
    )
    for window_id, experiment_id in rows:
        by_window.setdefault(window_id, []).append(experiment_id)
    return by_window


def sweep_names(session: Session) -> list[str]:
    """Return the names of all sweeps, the newest first."""
    return list(session.scalars(sa.select(t.Sweep.name).order_by(t.Sweep.id.desc())))


def was_run_here(session: Session, sweep: str, imported_provider: str) -> bool:
    """Whether a sweep of this name has a judge of another provider than `imported_provider`."""
    run_here = (
        sa.select(t.Experiment.id)
        .join(t.SweepExperiment, t.SweepExperiment.experiment_id == t.Experiment.id)
        .join(t.Sweep, t.Sweep.id == t.SweepExperiment.sweep_id)
        .where(t.Sweep.name == sweep, ~t.Experiment.model.startswith(f"{imported_provider}/"))
    )
    return bool(session.scalar(sa.select(run_here.exists())))


def frozen_items(session: Session, experiment_id: int) -> list[int]:
    """Return the items that an experiment is frozen with, in order."""
    return list(
        session.scalars(
            sa.select(t.ExperimentItem.item_id)
            .where(t.ExperimentItem.experiment_id == experiment_id)
            .order_by(t.ExperimentItem.position)
        )
    )


def items_by_document(session: Session, experiment_id: int) -> dict[str, int]:
    """Return document key → the item of an experiment that contains it."""
    rows = session.execute(
        sa.select(t.Document.key, t.ItemDocument.item_id)
        .join(t.ItemDocument, t.ItemDocument.document_id == t.Document.id)
        .join(t.ExperimentItem, t.ExperimentItem.item_id == t.ItemDocument.item_id)
        .where(t.ExperimentItem.experiment_id == experiment_id)
    )
    return dict(rows.tuples().all())


def freeze_items(session: Session, experiment_id: int, experiment: Experiment) -> int:
    """Fix the items of an experiment, once; returns how many there are.

    Items are made of the window's documents as they are now and never change afterwards. Raises
    `StoreError` when the window is not collected.
    """
    frozen = session.scalar(
        sa.select(sa.func.count()).where(t.ExperimentItem.experiment_id == experiment_id)
    )
    if frozen:
        return frozen
    row = session.get_one(t.Experiment, experiment_id, with_for_update=True)
    window = session.get_one(t.Window, row.window_id)
    if window.collected_at is None:
        raise StoreError(
            f"Window {window.name or window.id} of experiment {row.tag} is not collected yet.",
            "Run w1-evidence first.",
        )
    documents = dict(
        session.execute(
            sa.select(t.Document.key, t.Document.id)
            .where(t.Document.window_id == window.id)
            .order_by(t.Document.position)
        )
        .tuples()
        .all()
    )
    bundling = resolve(experiment).of(Bundling)
    groups = bundling.group(list(documents))
    for position, members in enumerate(groups):
        item_id = _item(session, window, [documents[key] for key in members], members)
        session.execute(
            insert(t.ExperimentItem)
            .values(experiment_id=experiment_id, item_id=item_id, position=position)
            .on_conflict_do_nothing()
        )
    return len(groups)


def _item(
    session: Session, window: t.Window, document_ids: Sequence[int], keys: Sequence[str]
) -> int:
    key = digest("item", window.key, list(keys))
    created: int | None = session.scalar(
        insert(t.Item)
        .values(key=key, window_id=window.id, bundle_size=len(keys))
        .on_conflict_do_nothing()
        .returning(t.Item.id)
    )
    if created is None:
        return session.scalars(sa.select(t.Item.id).where(t.Item.key == key)).one()
    session.execute(
        sa.insert(t.ItemDocument),
        [
            {"item_id": created, "position": position, "document_id": document_id}
            for position, document_id in enumerate(document_ids)
        ],
    )
    return created


def not_applied(session: Session, ids: Iterable[int]) -> dict[int, tuple[str, ...]]:
    """Return experiment id → sampling parameters that the model did not apply in some call."""
    name = sa.func.jsonb_array_elements_text(t.Call.not_applied).table_valued("value")
    rows = session.execute(
        sa.select(t.Call.experiment_id, name.c.value)
        .join(name, sa.true())
        .where(t.Call.experiment_id.in_(ids), name.c.value.in_(("temperature", "top_p")))
        .distinct()
        .order_by(name.c.value)
    )
    found: dict[int, tuple[str, ...]] = {}
    for experiment_id, parameter in rows:
        found[experiment_id] = (*found.get(experiment_id, ()), parameter)
    return found


@dataclass(frozen=True)
class ExperimentLine:
    """An experiment as `analyse experiments list` shows it."""

    id: int
    tag: str
    task_type: str
    concept: str
    model: str


def experiment_lines(
    session: Session,
    *,
    sweep: str | None = None,
    task_type: str | None = None,
    concept: str | None = None,
    model: str | None = None,
) -> list[ExperimentLine]:
    """Return the experiments that fit every given filter."""
    query = sa.select(t.Experiment).order_by(t.Experiment.id)
    if sweep is not None:
        query = (
            query.join(t.SweepExperiment, t.SweepExperiment.experiment_id == t.Experiment.id)
            .join(t.Sweep, t.Sweep.id == t.SweepExperiment.sweep_id)
            .where(t.Sweep.name == sweep)
        )
    for column, value in (
        (t.Experiment.task_type, task_type),
        (t.Experiment.concept, concept),
        (t.Experiment.model, model),
    ):
        if value is not None:
            query = query.where(column == value)
    return [
        ExperimentLine(one.id, one.tag, one.task_type, one.concept, one.model)
        for one in session.scalars(query)
    ]


def count_outcomes(session: Session, experiment_id: int) -> list[tuple[str, str, int]]:
    """Return (arm, sample status, count) of an experiment."""
    rows = session.execute(
        sa.select(t.Arm.arm, t.Sample.status, sa.func.count())
        .join(t.Sample, t.Sample.arm_id == t.Arm.id)
        .where(t.Arm.experiment_id == experiment_id)
        .group_by(t.Arm.arm, t.Sample.status)
        .order_by(t.Arm.arm, t.Sample.status)
    )
    return [(arm, status, count) for arm, status, count in rows]
