"""What was run, in a few lines: judges, calls, cost, time span, prompts, versions and plan."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.counting import counted
from judge_gym.design.experiment import Experiment
from judge_gym.report.calls import CallSums, cost
from judge_gym.report.table import Row, Table
from judge_gym.store import tables as t
from judge_gym.store.results import RunInfo


def provenance_table(
    session: Session,
    run: RunInfo,
    ids: Sequence[int],
    experiments: Sequence[Experiment],
    calls: Sequence[CallSums],
) -> Table:
    """Return what another would need to tell this run from any other, and what it took."""
    judged, imported, first, last = session.execute(_judged(ids)).one()
    share = "all" if imported == judged else f"{imported:,} of them"
    made_elsewhere = f", {share} made elsewhere and brought in" if imported else ""
    span = f"{_time(first)} to {_time(last)}" if judged else "never"
    lines = [
        ("sweep", f"{run.sweep}, {counted(len(experiments), 'experiment')}"),
        ("judges", ", ".join(sorted({one.model for one in experiments}))),
        ("judgements", f"{judged:,}{made_elsewhere}"),
        ("brought in" if imported and imported == judged else "judged", span),
        *_of_calls([one for one in calls if not one.imported]),
        ("analysis", f"run {run.id}, {_time(run.created_at)}, judge-gym {run.version}"),
        ("data digest", run.data_digest or "not kept"),
        ("analysis plan", _plan(session, run.id)),
    ]
    return Table(
        "In short",
        "The run behind these figures.",
        ("what", "value"),
        tuple(Row(line) for line in lines),
        words=2,
        simulated=run.simulated,
        imported=bool(imported),
    )


def _judged(ids: Sequence[int]) -> Any:
    return (
        sa.select(
            sa.func.count(),
            sa.func.count().filter(t.Sample.imported),
            sa.func.min(t.Sample.created_at),
            sa.func.max(t.Sample.created_at),
        )
        .select_from(t.Sample)
        .join(t.Arm, t.Arm.id == t.Sample.arm_id)
        .where(t.Arm.experiment_id.in_(ids))
    )


def _of_calls(calls: Sequence[CallSums]) -> Iterator[tuple[str, str]]:
    if not calls:
        yield "LLM calls", "none were made here"
        return
    number, failed, attempts, prompt, completion = (
        sum(getattr(one, name) for one in calls)
        for name in ("calls", "failed", "attempts", "prompt", "completion")
    )
    yield "LLM calls", f"{number:,} ({failed:,} failed), {attempts:,} attempts"
    yield "tokens", f"{prompt:,} in, {completion:,} out"
    yield "cost", _priced(calls)
    ends = [one.last for one in calls if one.last is not None]
    until = _time(max(ends)) if ends else "no answer yet"
    yield "calls made", f"{_time(min(one.first for one in calls))} to {until}"
    yield "models asked", ", ".join(sorted({one.model for one in calls}))
    yield "prompts", ", ".join(sorted({text for one in calls for text in one.prompts or ()}))


def _priced(calls: Sequence[CallSums]) -> str:
    unpriced = sum(one.unpriced for one in calls)
    unknown = f"; {unpriced:,} answers have no known price" if unpriced else ""
    return f"US$ {cost(calls)}{unknown}"


def _plan(session: Session, run_id: int) -> str:
    row = session.execute(
        sa.select(t.AnalysisPlan.content, t.AnalysisPlan.sha256, t.AnalysisPlan.stored_at)
        .join(t.AnalysisRun, t.AnalysisRun.plan_id == t.AnalysisPlan.id)
        .where(t.AnalysisRun.id == run_id)
    ).one_or_none()
    if row is None:
        return "none: everything explores"
    content, sha256, stored_at = row
    return f"{content['name']}, SHA-256 {sha256}, stored {_time(stored_at)}"


def _time(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
