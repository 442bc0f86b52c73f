"""What was run, in a few lines: judges, calls, cost, time span, prompts, versions and plan."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

from sqlalchemy.orm import Session

from judge_gym.counting import counted
from judge_gym.design.experiment import Experiment
from judge_gym.report.calls import cost
from judge_gym.report.table import Row, Table
from judge_gym.store.results import RunInfo, plan_of_run
from judge_gym.store.spending import CallSums
from judge_gym.store.sweep_data import judgement_span


def provenance_table(
    session: Session,
    run: RunInfo,
    ids: Sequence[int],
    experiments: Sequence[Experiment],
    calls: Sequence[CallSums],
) -> Table:
    """Return what another would need to tell this run from any other, and what it took."""
    span = judgement_span(session, ids)
    judged, imported = span.judgements, span.imported
    share = "all" if imported == judged else f"{imported:,} of them"
    made_elsewhere = f", {share} made elsewhere and brought in" if imported else ""
    times = f"{_time(span.first)} to {_time(span.last)}" if span.first and span.last else "never"
    lines = [
        ("sweep", f"{run.sweep}, {counted(len(experiments), 'experiment')}"),
        ("judges", ", ".join(sorted({one.model for one in experiments}))),
        ("judgements", f"{judged:,}{made_elsewhere}"),
        ("brought in" if imported and imported == judged else "judged", times),
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
    plan = plan_of_run(session, run_id)
    if plan is None:
        return "none: everything explores"
    return f"{plan.name}, SHA-256 {plan.sha256}, stored {_time(plan.stored_at)}"


def _time(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
