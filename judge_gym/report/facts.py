"""What was run: the sweep, its experiments, evidence and calls, read from rows."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.design.experiment import Experiment
from judge_gym.report.calls import calls_table, read_calls, utility_warnings
from judge_gym.report.provenance import provenance_table
from judge_gym.report.scopes import rubric_phrase, setting_of
from judge_gym.report.table import Row, Table
from judge_gym.store import tables as t
from judge_gym.store.experiments import not_applied, stored_experiment
from judge_gym.store.readability import of_samples
from judge_gym.store.results import RunInfo, run_info


@dataclass(frozen=True)
class Facts:
    """A sweep as it was run."""

    run: RunInfo
    description: str
    judges: tuple[str, ...]
    experiments: Table
    windows: Table
    calls: Table
    provenance: Table
    warnings: tuple[str, ...]
    experiment_ids: tuple[int, ...]


def read_facts(session: Session, run_id: int) -> Facts:
    """Return what an analysis run stands on; raises `StoreError` when there is no such run."""
    run = run_info(session, run_id)
    sweep = session.scalars(sa.select(t.Sweep).where(t.Sweep.name == run.sweep)).one()
    rows = session.scalars(
        sa.select(t.Experiment)
        .join(t.SweepExperiment, t.SweepExperiment.experiment_id == t.Experiment.id)
        .where(t.SweepExperiment.sweep_id == sweep.id)
        .order_by(t.Experiment.id)
    ).all()
    experiments = [stored_experiment(row) for row in rows]
    ids = [row.id for row in rows]
    calls = read_calls(session, ids, experiments)
    lost = not_applied(session, ids)
    provenance = provenance_table(session, run, ids, experiments, calls)
    return Facts(
        run=run,
        description=sweep.description,
        judges=tuple(sorted({one.model for one in experiments})),
        experiments=replace(
            _experiments(session, ids, experiments, lost),
            simulated=run.simulated,
            imported=provenance.imported,
        ),
        windows=_windows(session, sorted({row.window_id for row in rows})),
        calls=calls_table(calls),
        provenance=provenance,
        warnings=(
            *_unreadable(session, [row.tag for row in rows]),
            *utility_warnings(calls, experiments),
            *_unapplied(ids, experiments, lost),
        ),
        experiment_ids=tuple(ids),
    )


def _unreadable(session: Session, tags: Sequence[str]) -> Iterator[str]:
    """Yield a warning for each judge with fewer than half its answers readable."""
    for answers in of_samples(session, tags, t.ARMS_IN_USE):
        if answers.too_few:
            yield f"{answers}."


def _unapplied(
    ids: Sequence[int], experiments: Sequence[Experiment], lost: Mapping[int, Sequence[str]]
) -> Iterator[str]:
    """Yield a warning for each model that did not take a value of an axis."""
    values: dict[tuple[str, str], set[float]] = {}
    for experiment_id, one in zip(ids, experiments, strict=True):
        for axis in lost.get(experiment_id, ()):
            values.setdefault((one.model, axis), set()).add(getattr(one, axis))
    for (model, axis), asked in sorted(values.items()):
        listed = ", ".join(f"{value:g}" for value in sorted(asked))
        yield f"{model} does not apply {axis} {listed}: its answers are at its own default."


def _experiments(
    session: Session,
    ids: Sequence[int],
    experiments: Sequence[Experiment],
    lost: Mapping[int, Sequence[str]],
) -> Table:
    counted = session.execute(
        sa.select(t.ExperimentItem.experiment_id, sa.func.count())
        .where(t.ExperimentItem.experiment_id.in_(ids))
        .group_by(t.ExperimentItem.experiment_id)
    )
    items = dict(counted.tuples().all())
    return Table(
        "Experiments",
        "One judge at one point of the design space each; the setting says what is not at its "
        "default.",
        ("concept", "task", "judge", "family", "rubric", "setting", "items", "replicates"),
        tuple(
            Row(
                (
                    one.concept,
                    one.task_type,
                    one.model,
                    one.family,
                    rubric_phrase(str(one.rubric)),
                    ", ".join(
                        filter(
                            None,
                            (
                                setting_of(one),
                                *(f"{axis} not applied" for axis in lost.get(experiment_id, ())),
                            ),
                        )
                    ),
                    str(items.get(experiment_id, 0)),
                    str(one.replicates),
                )
            )
            for experiment_id, one in zip(ids, experiments, strict=True)
        ),
        words=6,
    )


def _windows(session: Session, ids: Sequence[int]) -> Table:
    counted = session.execute(
        sa.select(t.Document.window_id, sa.func.count())
        .where(t.Document.window_id.in_(ids))
        .group_by(t.Document.window_id)
    )
    kept = dict(counted.tuples().all())
    dropped: dict[int, list[str]] = {}
    for window_id, reason, count in session.execute(
        sa.select(t.DroppedDocument.window_id, t.DroppedDocument.reason, sa.func.count())
        .where(t.DroppedDocument.window_id.in_(ids))
        .group_by(t.DroppedDocument.window_id, t.DroppedDocument.reason)
        .order_by(t.DroppedDocument.reason)
    ):
        dropped.setdefault(window_id, []).append(f"{count} {reason.replace('_', ' ')}")
    windows = session.scalars(sa.select(t.Window).where(t.Window.id.in_(ids)).order_by(t.Window.id))
    return Table(
        "Windows",
        "The evidence: collected once per window, and the same for every judge.",
        ("window", "query", "country", "dates", "source", "kept out", "documents"),
        tuple(
            Row(
                (
                    one.name,
                    one.query,
                    one.country,
                    _dates(one),
                    _source(one.source),
                    ", ".join(dropped.get(one.id, ["none"])),
                    str(kept.get(one.id, 0)),
                )
            )
            for one in windows
        ),
        words=6,
    )


def _dates(window: t.Window) -> str:
    if window.start_date is None and window.end_date is None:
        return "any"
    return f"{window.start_date or '…'} to {window.end_date or '…'}"


def _source(source: dict[str, Any]) -> str:
    """Return the kind of source and the file's name; its folder is the reader's own affair."""
    name = PurePath(str(source.get("path", ""))).name
    return f"{source.get('kind', '')} {name}".strip()
