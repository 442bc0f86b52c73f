"""Lists for people: windows, documents, experiments and outcomes, newest knowledge first."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.store import tables as t


@dataclass(frozen=True)
class WindowLine:
    """A window as `evidence list` shows it; `documents` is None before it is collected."""

    id: int
    name: str
    country: str
    dates: str
    source: str
    source_kind: str
    documents: int | str
    dropped: int


@dataclass(frozen=True)
class DocumentLine:
    """A document as `evidence show` shows it."""

    id: int
    published: date | None
    tier: str
    title: str
    characters: int
    views: str
    simulated: bool


@dataclass(frozen=True)
class ExperimentLine:
    """An experiment as `analyse experiments list` shows it."""

    id: int
    tag: str
    task_type: str
    concept: str
    model: str


def windows(session: Session, of: Sequence[int] | None = None) -> list[WindowLine]:
    """Return every window, or those that the experiments `of` read; the oldest first."""
    kept = sa.select(sa.func.count()).where(t.Document.window_id == t.Window.id).scalar_subquery()
    out = (
        sa.select(sa.func.count())
        .where(t.DroppedDocument.window_id == t.Window.id)
        .scalar_subquery()
    )
    query = sa.select(t.Window, kept, out).order_by(t.Window.id)
    if of is not None:
        read = sa.select(t.Experiment.window_id).where(t.Experiment.id.in_(of))
        query = query.where(t.Window.id.in_(read))
    rows = session.execute(query)
    return [
        WindowLine(
            id=window.id,
            name=window.name,
            country=window.country,
            dates=f"{window.start_date or ''}..{window.end_date or ''}".strip("."),
            source=Path(window.source.get("path", window.source["kind"])).name,
            source_kind=window.source["kind"],
            documents=documents if window.collected_at else "not collected",
            dropped=dropped,
        )
        for window, documents, dropped in rows
    ]


def documents(session: Session, window_id: int) -> list[DocumentLine]:
    """Return a window's documents with the state of their views."""
    made = (
        sa.select(
            sa.func.string_agg(
                sa.func.concat(
                    t.View.view, sa.case((t.View.status == "failed", " (failed)"), else_="")
                ),
                sa.literal(", "),
            )
        )
        .where(t.View.document_id == t.Document.id)
        .scalar_subquery()
    )
    rows = session.execute(
        sa.select(t.Document, sa.func.length(t.Document.text), made)
        .where(t.Document.window_id == window_id)
        .order_by(t.Document.position)
    )
    return [
        DocumentLine(
            one.id, one.published, one.tier, one.title, characters, views or "", one.simulated
        )
        for one, characters, views in rows
    ]


def experiments(
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


def outcomes(session: Session, experiment_id: int) -> list[tuple[str, str, int]]:
    """Return (arm, sample status, count) of an experiment."""
    rows = session.execute(
        sa.select(t.Arm.arm, t.Sample.status, sa.func.count())
        .join(t.Sample, t.Sample.arm_id == t.Arm.id)
        .where(t.Arm.experiment_id == experiment_id)
        .group_by(t.Arm.arm, t.Sample.status)
        .order_by(t.Arm.arm, t.Sample.status)
    )
    return [(arm, status, count) for arm, status, count in rows]
