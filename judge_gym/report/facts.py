"""What was run: the sweep, its experiments, evidence and calls, read from rows."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import PurePath
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.design.experiment import Experiment, family_of
from judge_gym.report.scopes import rubric_phrase, setting_of
from judge_gym.report.table import Row, Table
from judge_gym.store import tables as t
from judge_gym.store.experiments import stored_experiment
from judge_gym.store.results import RunInfo, run_info

UTILITY_AGENTS = ("cleaner", "neutralizer", "abstractor", "critic")
"""Agents that are the utility model's: they make the instrument and judge nothing."""


@dataclass(frozen=True)
class _CallSums:
    """The ledger summed over one workflow, agent and model; `cost` is None when none is known."""

    workflow: str
    agent: str
    model: str
    calls: int
    failed: int
    attempts: int
    prompt: int
    completion: int
    cost: Decimal | None
    unpriced: int
    simulated: bool


@dataclass(frozen=True)
class Facts:
    """A sweep as it was run."""

    run: RunInfo
    description: str
    experiments: Table
    windows: Table
    calls: Table
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
    calls = _calls(session, ids, experiments)
    return Facts(
        run=run,
        description=sweep.description,
        experiments=replace(_experiments(session, ids, experiments), simulated=run.simulated),
        windows=_windows(session, sorted({row.window_id for row in rows})),
        calls=_calls_table(calls),
        warnings=tuple(_warnings(calls, experiments)),
        experiment_ids=tuple(ids),
    )


def _experiments(session: Session, ids: Sequence[int], experiments: Sequence[Experiment]) -> Table:
    counted = session.execute(
        sa.select(t.ExperimentItem.experiment_id, sa.func.count())
        .where(t.ExperimentItem.experiment_id.in_(ids))
        .group_by(t.ExperimentItem.experiment_id)
    )
    items = dict(counted.all())
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
                    setting_of(one),
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
    kept = dict(counted.all())
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


# The tokens of a reused answer were spent once, where it was asked for.
_PAID = t.Call.route != "cache"


def _calls(
    session: Session, ids: Sequence[int], experiments: Sequence[Experiment]
) -> Sequence[_CallSums]:
    """Return the sums of the ledger over the sweep's calls, by workflow, agent and model.

    Judgements and probes name their experiment; views and rubrics are found by what they made.
    """
    windows = sa.select(t.Experiment.window_id).where(t.Experiment.id.in_(ids))
    views = (
        sa.select(t.View.call_id)
        .join(t.Document, t.Document.id == t.View.document_id)
        .where(t.Document.window_id.in_(windows))
    )
    sums: Any = (
        sa.select(
            t.Call.workflow,
            t.Call.agent,
            t.Call.model,
            sa.func.count(),
            sa.func.count().filter(t.Call.status == "failed"),
            sa.func.coalesce(sa.func.sum(t.Call.attempts), 0),
            sa.func.coalesce(sa.func.sum(t.Call.prompt_tokens).filter(_PAID), 0),
            sa.func.coalesce(sa.func.sum(t.Call.completion_tokens).filter(_PAID), 0),
            sa.func.sum(t.Call.cost_usd),
            sa.func.count().filter(t.Call.status == "succeeded", t.Call.cost_usd.is_(None)),
            sa.func.coalesce(sa.func.bool_or(t.Call.simulated), sa.false()),
        )
        .where(
            sa.or_(
                t.Call.experiment_id.in_(ids),
                t.Call.id.in_(views),
                sa.func.split_part(t.Call.key, "/", 2).in_(_rubric_keys(experiments)),
            )
        )
        .group_by(t.Call.workflow, t.Call.agent, t.Call.model)
        .order_by(t.Call.workflow, t.Call.agent, t.Call.model)
    )
    return [_CallSums(*row) for row in session.execute(sums)]


def _rubric_keys(experiments: Sequence[Experiment]) -> Any:
    """Select the keys of the rubrics that judges or rubric owners of the sweep wrote for it.

    The keys of the calls that wrote and rated a rubric have its key as their second part.
    """
    owners = {one.model for one in experiments} | {
        one.rubric.model for one in experiments if one.rubric.model
    }
    subjects = {(one.concept, one.country, one.scale_size) for one in experiments}
    return sa.select(t.Rubric.key).where(
        t.Rubric.source == "generated",
        t.Rubric.owner_model.in_(owners),
        sa.tuple_(t.Rubric.concept, t.Rubric.country, t.Rubric.scale_size).in_(subjects),
    )


def _calls_table(calls: Sequence[_CallSums]) -> Table:
    sums = [
        sum(getattr(one, name) for one in calls)
        for name in ("calls", "failed", "attempts", "prompt", "completion")
    ]
    rows = [
        Row(
            (
                one.agent,
                one.model,
                *(f"{n:,}" for n in (one.calls, one.failed, one.attempts)),
                *(f"{n:,}" for n in (one.prompt, one.completion)),
                _cost([one]),
            ),
            heading=one.workflow,
        )
        for one in calls
    ]
    rows.append(Row(("", "", *(f"{n:,}" for n in sums), _cost(calls)), heading="all"))
    return Table(
        "LLM calls",
        "Every call behind this sweep, also those that an earlier sweep has paid for.",
        (
            *("agent", "model"),
            *("calls", "failed", "attempts", "tokens in", "tokens out", "cost (US$)"),
        ),
        tuple(rows) if calls else (),
        notes=_unpriced(calls),
        words=2,
        simulated=any(one.simulated for one in calls),
    )


def _cost(calls: Sequence[_CallSums]) -> str:
    """Return what is known of the cost, and whether some of it is not: never 0 for unknown."""
    known = [one.cost for one in calls if one.cost is not None]
    if not any(one.unpriced for one in calls):
        return f"{sum(known, start=Decimal(0)):.2f}"
    return f"{sum(known, start=Decimal(0)):.2f} + unknown" if known else "unknown"


def _unpriced(calls: Sequence[_CallSums]) -> tuple[str, ...]:
    unpriced: Counter[str] = Counter()
    for one in calls:
        unpriced[one.model] += one.unpriced
    return tuple(
        f"The cost is unknown for {count:,} {'call' if count == 1 else 'calls'}: {model} is in no "
        "price list, or sent no token counts."
        for model, count in sorted(unpriced.items())
        if count
    )


def _warnings(calls: Sequence[_CallSums], experiments: Sequence[Experiment]) -> list[str]:
    families = {one.family for one in experiments}
    utility = sorted({one.model for one in calls if one.agent in UTILITY_AGENTS})
    return [
        f"The utility model {model} edited evidence or rated rubrics, and its family "
        f"({family_of(model)}) is among the judges: what it lets pass may suit its own family."
        for model in utility
        if family_of(model) in families
    ]
