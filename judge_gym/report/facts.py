"""What was run: the sweep, its experiments, evidence, calls and their cost."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import PurePath
from typing import Any

from sqlalchemy.orm import Session

from judge_gym.counting import counted
from judge_gym.design.experiment import Experiment, family_of
from judge_gym.formats import number, plain
from judge_gym.records.judgements import ARMS_IN_USE
from judge_gym.report.scopes import rubric_phrase, setting_of
from judge_gym.report.table import Row, Table
from judge_gym.store.experiments import (
    experiments_by_tag,
    not_applied,
    sweep_description,
    sweep_tags,
)
from judge_gym.store.judgement_texts import StoredWindow, windows_of_experiments
from judge_gym.store.readability import of_samples
from judge_gym.store.results import RunInfo, plan_of_run, run_info
from judge_gym.store.spending import CallSums, call_sums
from judge_gym.store.sweep_data import count_items, judgement_span


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
    by_id = experiments_by_tag(session, sweep_tags(session, run.sweep))
    ids, experiments = list(by_id), list(by_id.values())
    calls = call_sums(session, by_id)
    lost = not_applied(session, ids)
    provenance = provenance_table(session, run, ids, experiments, calls)
    return Facts(
        run=run,
        description=sweep_description(session, run.sweep),
        judges=tuple(sorted({one.model for one in experiments})),
        experiments=replace(
            _experiments(session, ids, experiments, lost),
            simulated=run.simulated,
            imported=provenance.imported,
        ),
        windows=_windows(windows_of_experiments(session, ids)),
        calls=calls_table(calls),
        provenance=provenance,
        warnings=(
            *_unreadable(session, [one.name for one in experiments]),
            *utility_warnings(calls, experiments),
            *_unapplied(ids, experiments, lost),
        ),
        experiment_ids=tuple(ids),
    )


def _unreadable(session: Session, tags: Sequence[str]) -> Iterator[str]:
    """Yield a warning for each judge with fewer than half its answers readable."""
    for answers in of_samples(session, tags, ARMS_IN_USE):
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
        listed = ", ".join(plain(value) for value in sorted(asked))
        yield f"{model} does not apply {axis} {listed}: its answers are at its own default."


def _experiments(
    session: Session,
    ids: Sequence[int],
    experiments: Sequence[Experiment],
    lost: Mapping[int, Sequence[str]],
) -> Table:
    items = count_items(session, ids)
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


def _windows(windows: Sequence[StoredWindow]) -> Table:
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
                    _dropped(one.dropped),
                    str(one.documents),
                )
            )
            for one in windows
        ),
        words=6,
    )


def _dropped(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{n} {reason.replace('_', ' ')}" for reason, n in counts.items()) or "none"


def _dates(window: StoredWindow) -> str:
    if window.start is None and window.end is None:
        return "any"
    return f"{window.start or '…'} to {window.end or '…'}"


def _source(source: Mapping[str, Any]) -> str:
    """Return the kind of source and the file's name; its folder is the reader's own affair."""
    name = PurePath(str(source.get("path", ""))).name
    return f"{source.get('kind', '')} {name}".strip()


UTILITY_AGENTS = ("cleaner", "neutralizer", "abstractor", "critic")
"""Agents that are the utility model's: they make the instrument and judge nothing."""


def calls_table(calls: Sequence[CallSums]) -> Table:
    """Return the calls as a table, with a last line of sums; empty without a call."""
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
                cost([one]),
            ),
            heading=one.workflow,
        )
        for one in calls
    ]
    rows.append(Row(("", "", *(f"{n:,}" for n in sums), cost(calls)), heading="all"))
    return Table(
        "LLM calls",
        "Every call behind this sweep, also those that an earlier sweep has paid for.",
        (
            *("agent", "model"),
            *("calls", "failed", "attempts", "tokens in", "tokens out", "cost (US$)"),
        ),
        tuple(rows) if calls else (),
        notes=_unpriced_notes(calls),
        words=2,
        simulated=any(one.simulated for one in calls),
        imported=any(one.imported for one in calls),
    )


def cost(calls: Sequence[CallSums]) -> str:
    """Return what is known of the cost, and whether some of it is not: never 0 for unknown."""
    known = [one.cost for one in calls if one.cost is not None]
    if not any(one.unpriced for one in calls):
        return number(float(sum(known)))
    return f"{number(float(sum(known)))} + unknown" if known else "unknown"


def _unpriced_notes(calls: Sequence[CallSums]) -> tuple[str, ...]:
    unpriced: Counter[str] = Counter()
    for one in calls:
        unpriced[one.model] += one.unpriced
    return tuple(
        f"The cost is unknown for {counted(count, 'call')}: {model} is in no "
        "price list, or sent no token counts."
        for model, count in sorted(unpriced.items())
        if count
    )


def utility_warnings(calls: Sequence[CallSums], experiments: Sequence[Experiment]) -> list[str]:
    """Return a warning per utility model whose family is among the judges."""
    families = {one.family for one in experiments}
    utility = sorted({one.model for one in calls if one.agent in UTILITY_AGENTS})
    return [
        f"The utility model {model} edited evidence or rated rubrics, and its family "
        f"({family_of(model)}) is among the judges: what it lets pass may suit its own family."
        for model in utility
        if family_of(model) in families
    ]


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
