"""What a package says of a sweep beside its figures: files, windows, judges, prompts."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.store import tables as t
from judge_gym.store.units import JUDGEMENT

JUDGING = ("scorer", "prober")
"""Agents whose calls are a judge's own."""


@dataclass(frozen=True)
class SentParameters:
    """Parameters that calls were sent with, without seeds; `calls` counts these calls."""

    sent: Mapping[str, Any]
    not_applied: tuple[str, ...]
    calls: int


def sweep_files(session: Session, sweep: str) -> dict[str, str]:
    """Return name → text of the files that a sweep was last run with; empty for older runs."""
    return dict(session.scalars(sa.select(t.Sweep.files).where(t.Sweep.name == sweep)).one())


def shared_evidence(session: Session, experiment_ids: Sequence[int]) -> dict[Path, str]:
    """Return path → digest of the files of evidence that may be shared."""
    read = sa.select(t.Experiment.window_id).where(t.Experiment.id.in_(experiment_ids))
    sources = session.scalars(
        sa.select(t.Window.source).where(t.Window.id.in_(read), t.Window.shareable)
    )
    return {
        Path(source["path"]): source["digest"]
        for source in sources
        if source.get("path") and source.get("digest")
    }


def window_names(session: Session, experiment_ids: Sequence[int], *, shareable: bool) -> list[str]:
    """Return the names of the windows whose texts may be shared, or of those whose may not."""
    read = sa.select(t.Experiment.window_id).where(t.Experiment.id.in_(experiment_ids))
    name = sa.func.coalesce(sa.func.nullif(t.Window.name, ""), t.Window.key)
    query = sa.select(name).where(t.Window.id.in_(read), t.Window.shareable.is_(shareable))
    return list(session.scalars(query.order_by(name)))


def parameters_sent(
    session: Session, experiment_ids: Sequence[int]
) -> dict[str, dict[str, list[SentParameters]]]:
    """Return judge → agent → the parameters that were sent, the most frequent first."""
    sent = (t.Call.sent_parameters - "seed").label("sent")
    rows = session.execute(
        sa.select(t.Call.model, t.Call.agent, sent, t.Call.not_applied, sa.func.count())
        .where(
            t.Call.experiment_id.in_(experiment_ids),
            t.Call.agent.in_(JUDGING),
            t.Call.sent_parameters.is_not(None),
        )
        .group_by(t.Call.model, t.Call.agent, sent, t.Call.not_applied)
        .order_by(sa.func.count().desc(), sa.cast(sent, sa.Text))
    )
    by_judge: dict[str, dict[str, list[SentParameters]]] = defaultdict(lambda: defaultdict(list))
    for model, agent, parameters, lost, calls in rows:
        by_judge[model][agent].append(SentParameters(parameters, tuple(lost or ()), calls))
    return by_judge


def outcomes(
    session: Session, experiment_ids: Sequence[int], sweep: str
) -> dict[str, dict[str, int]]:
    """Return judge → status of a judgement → how many, in all arms that are in use."""
    query = (
        JUDGEMENT.rows(t.Experiment.model, t.Sample.status, sa.func.count(), sweep=sweep)
        .where(t.Experiment.id.in_(experiment_ids))
        .group_by(t.Experiment.model, t.Sample.status)
    )
    by_judge: dict[str, dict[str, int]] = defaultdict(dict)
    for model, status, count in session.execute(query):
        by_judge[model][status] = count
    return by_judge


def templates_used(session: Session) -> list[tuple[str, str, int]]:
    """Return each template of the ledger with its hash and its calls."""
    rows = session.execute(
        sa.select(t.Call.template, t.Call.template_hash, sa.func.count())
        .where(t.Call.template != "")
        .group_by(t.Call.template, t.Call.template_hash)
        .order_by(t.Call.template, t.Call.template_hash)
    )
    return [(template, digest, calls) for template, digest, calls in rows]
