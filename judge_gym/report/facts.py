"""What was run: the sweep, its experiments, evidence, calls and their cost."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import PurePath
from typing import Any

from sqlalchemy.orm import Session

from judge_gym.analysis.data import served_remarks
from judge_gym.counting import counted
from judge_gym.design.axes import level_of
from judge_gym.design.experiment import Experiment, family_of
from judge_gym.evidence.documents import BY_DESIGN
from judge_gym.formats import number
from judge_gym.lab.evidence_notes import notes_on
from judge_gym.llm.capabilities import as_text
from judge_gym.records.attempts import STOPPED_BEFORE
from judge_gym.records.judgements import ARMS
from judge_gym.report.remarks import remark_text
from judge_gym.report.scopes import rubric_phrase, setting_of, task_in_words
from judge_gym.report.table import Row, Table
from judge_gym.store.experiments import (
    experiments_of_sweep,
    not_applied,
    sweep_description,
)
from judge_gym.store.judgement_texts import StoredWindow, windows_of_experiments
from judge_gym.store.readability import judgement_answers, scores_by_judge
from judge_gym.store.results import RunInfo, plan_of_run, run_info
from judge_gym.store.served import Served, served
from judge_gym.store.spending import CallSums, call_sums, writes_shams
from judge_gym.store.sweep_columns import sweep_columns
from judge_gym.store.sweep_data import count_items, judgement_span
from judge_gym.store.windows import marked_documents

MANY_UNREADABLE = 0.05
"""Share of a judge's answers, from which unreadable ones are a warning."""


@dataclass(frozen=True)
class ServedSummary:
    """How many judges there are, for how many providers name the model, and which differ."""

    judges: int = 0
    named: int = 0
    differing: tuple[str, ...] = ()


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
    served: ServedSummary = ServedSummary()
    dropped: str = ""
    """Counts of documents that windows dropped, and that lie outside their limits; or ""."""


def read_facts(session: Session, run_id: int, answered_by: Sequence[Served] | None = None) -> Facts:
    """Return what an analysis run stands on; raises `StoreError` when there is no such run.

    `answered_by` is who answered, where that has been read.
    """
    run = run_info(session, run_id)
    by_id = experiments_of_sweep(session, run.sweep)
    ids, experiments = list(by_id), list(by_id.values())
    calls = call_sums(session, by_id, sham=writes_shams(session, run.sweep))
    windows = windows_of_experiments(session, ids)
    lost = not_applied(session, ids)
    if answered_by is None:
        answered_by = served(session, sweep_columns(session, ids, run.sweep))
    provenance = provenance_table(session, run, experiments, calls)
    return Facts(
        run=run,
        description=sweep_description(session, run.sweep),
        judges=tuple(sorted({experiment.model for experiment in experiments})),
        experiments=replace(
            _experiments(session, ids, experiments, lost),
            notes=tuple(_configurations(by_id, answered_by)),
            simulated=run.simulated,
            imported=provenance.imported,
        ),
        windows=_windows(windows),
        served=_served(by_id, answered_by),
        dropped=_faulty(windows),
        calls=calls_table(calls),
        provenance=provenance,
        warnings=(
            *_unreadable(session, run.sweep, [experiment.name for experiment in experiments]),
            *utility_warnings(calls, experiments),
            *_own_rubric_of_each_sample(experiments),
            *_unapplied(ids, experiments, lost),
            *_evidence(session, windows),
            *(
                f"{remark_text(remark)}."
                for remark in served_remarks(
                    (by_id[arm.experiment_id].model, arm) for arm in answered_by
                )
            ),
        ),
        experiment_ids=tuple(ids),
    )


def _served(experiments: Mapping[int, Experiment], answered_by: Sequence[Served]) -> ServedSummary:
    models = [(experiments[arm.experiment_id].model, arm) for arm in answered_by]
    return ServedSummary(
        judges=len({experiment.model for experiment in experiments.values()}),
        named=len({model for model, arm in models if arm.models}),
        differing=tuple(remark.names[0] for remark in served_remarks(models)),
    )


def _unreadable(session: Session, sweep: str, tags: Sequence[str]) -> Iterator[str]:
    """Yield a warning for each judge of whose answers many are unreadable."""
    scores = scores_by_judge(session, tags, ARMS, sweep)
    for answers in judgement_answers(session, tags, ARMS, sweep):
        lost = answers.total - answers.readable
        if answers.too_few:
            yield f"{answers}."
        elif lost and lost >= MANY_UNREADABLE * answers.total:
            yield (
                f"{answers.judge}: {lost:,} of {counted(answers.total, 'answer')} could not be "
                f"read ({answers.causes}); its figures rest on "
                f"{counted(scores.get(answers.judge, 0), 'score')}."
            )


def _unapplied(
    ids: Sequence[int], experiments: Sequence[Experiment], lost: Mapping[int, Sequence[str]]
) -> Iterator[str]:
    """Yield a warning for each model that did not take a value of an axis."""
    values: dict[tuple[str, str], set[Any]] = {}
    for experiment_id, experiment in zip(ids, experiments, strict=True):
        for axis in lost.get(experiment_id, ()):
            values.setdefault((experiment.model, axis), set()).add(level_of(experiment, axis))
    for (model, axis), requested in sorted(values.items()):
        listed = ", ".join(as_text(value) for value in sorted(requested, key=str))
        yield f"{model} does not apply {axis} {listed}: its answers are at its own default."


def _configurations(
    experiments: Mapping[int, Experiment], answered_by: Sequence[Served]
) -> Iterator[str]:
    """Yield a note for each judge whose provider changed its configuration within an arm."""
    most: Counter[str] = Counter()
    for arm in answered_by:
        model = experiments[arm.experiment_id].model
        most[model] = max(most[model], arm.fingerprints)
    for model, count in sorted(most.items()):
        if count > 1:
            yield (
                f"{model} answered in {count} configurations of its provider (fingerprints) under "
                "one rubric: judge some items again before you trust a small difference."
            )


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
                    experiment.concept,
                    task_in_words(experiment.task_type),
                    experiment.model,
                    experiment.family,
                    rubric_phrase(str(experiment.rubric)),
                    ", ".join(
                        filter(
                            None,
                            (
                                setting_of(experiment),
                                *(f"{axis} not applied" for axis in lost.get(experiment_id, ())),
                            ),
                        )
                    ),
                    str(items.get(experiment_id, 0)),
                    str(experiment.replicates),
                )
            )
            for experiment_id, experiment in zip(ids, experiments, strict=True)
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
                    window.name,
                    window.query,
                    window.country,
                    _dates(window),
                    _source(window.source),
                    _dropped(window.dropped),
                    str(window.documents),
                )
            )
            for window in windows
        ),
        words=6,
    )


def _evidence(session: Session, windows: Sequence[StoredWindow]) -> Iterator[str]:
    """Yield warnings about texts that were cut, are doubtful, or were dropped as no articles."""
    marked = marked_documents(session, [window.key for window in windows])
    for window in windows:
        documents = marked.get(window.key, ())
        yield from notes_on(window.name, documents, window.documents, window.dropped)


def _faulty(windows: Sequence[StoredWindow]) -> str:
    counts: Counter[str] = Counter()
    for window in windows:
        counts.update(window.dropped)
    beyond = sum(counts.pop(reason, 0) for reason in BY_DESIGN)
    found = sum(window.documents for window in windows) + counts.total() + beyond
    reason = f": {next(iter(counts)).replace('_', ' ')}" if len(counts) == 1 else ""
    dropped = f"{counts.total()} of {found} unusable{reason}" if counts else ""
    outside = f"{beyond} not asked for" if beyond else ""
    return ", ".join(filter(None, (dropped, outside)))


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
        sum(getattr(group, name) for group in calls)
        for name in ("calls", "failed", "attempts", "prompt", "completion")
    ]
    rows = [
        Row(
            (
                group.agent,
                group.model,
                *(f"{n:,}" for n in (group.calls, group.failed, group.attempts)),
                *(f"{n:,}" for n in (group.prompt, group.completion)),
                cost([group]),
            ),
            heading=group.workflow,
        )
        for group in calls
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
        simulated=any(group.simulated for group in calls),
        imported=any(group.imported for group in calls),
    )


def cost(calls: Sequence[CallSums]) -> str:
    """Return what is known of the cost, and whether some of it is not: never 0 for unknown."""
    costs = [group.cost for group in calls if group.cost is not None]
    if not any(group.unpriced for group in calls):
        return number(float(sum(costs)))
    return f"{number(float(sum(costs)))} + unknown" if costs else "unknown"


def _unpriced_notes(calls: Sequence[CallSums]) -> tuple[str, ...]:
    unpriced: Counter[str] = Counter()
    lost: Counter[str] = Counter()
    for group in calls:
        unpriced[group.model] += group.unpriced - group.lost
        lost[group.model] += group.lost
    causes = (
        (unpriced, "{model} is in no price list, or sent no token counts"),
        (lost, "of {model}, " + STOPPED_BEFORE),
    )
    return tuple(
        f"The cost is unknown for {counted(count, 'call')}: {cause.format(model=model)}."
        for counts, cause in causes
        for model, count in sorted(counts.items())
        if count
    )


def _own_rubric_of_each_sample(experiments: Sequence[Experiment]) -> Iterator[str]:
    if any(one.rubric_draw for one in experiments if one.replicates == 1):
        yield (
            "No answer was repeated under one rubric: what differs between the answers to an item "
            "is noise of the judgement and of the rubric, which cannot be told apart here."
        )


def utility_warnings(calls: Sequence[CallSums], experiments: Sequence[Experiment]) -> list[str]:
    """Return a warning per utility model whose family is among the judges."""
    families = {experiment.family for experiment in experiments}
    utility = sorted({group.model for group in calls if group.agent in UTILITY_AGENTS})
    return [
        f"The utility model {model} edited evidence or rated rubrics, and its family "
        f"({family_of(model)}) is among the judges: what it lets pass may suit its own family."
        for model in utility
        if family_of(model) in families
    ]


def provenance_table(
    session: Session,
    run: RunInfo,
    experiments: Sequence[Experiment],
    calls: Sequence[CallSums],
) -> Table:
    """Return what another would need to tell this run from any other, and what it took."""
    span = judgement_span(session, run.sweep)
    judged, imported = span.judgements, span.imported
    share = "all" if imported == judged else f"{imported:,} of them"
    made_elsewhere = f", {share} made elsewhere and brought in" if imported else ""
    times = f"{_time(span.first)} to {_time(span.last)}" if span.first and span.last else "never"
    lines = [
        ("sweep", f"{run.sweep}, {counted(len(experiments), 'experiment')}"),
        ("judges", ", ".join(sorted({experiment.model for experiment in experiments}))),
        ("judgements", f"{judged:,}{made_elsewhere}"),
        ("brought in" if imported and imported == judged else "judged", times),
        *_call_lines([group for group in calls if not group.imported]),
        ("analysis", f"run {run.id}, {_time(run.created_at)}, judge-gym {run.version}"),
        ("data digest", run.data_digest or "not kept"),
        ("analysis plan", _plan(session, run.id)),
        ("frozen plan", f"SHA-256 {run.frozen}" if run.frozen else "none that holds"),
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


def _call_lines(calls: Sequence[CallSums]) -> Iterator[tuple[str, str]]:
    if not calls:
        yield "LLM calls", "none were made here"
        return
    number, failed, attempts, prompt, completion = (
        sum(getattr(group, name) for group in calls)
        for name in ("calls", "failed", "attempts", "prompt", "completion")
    )
    yield "LLM calls", f"{number:,} ({failed:,} failed), {counted(attempts, 'attempt')}"
    yield "tokens", f"{prompt:,} in, {completion:,} out"
    yield "cost", _priced(calls)
    ends = [group.last for group in calls if group.last is not None]
    until = _time(max(ends)) if ends else "no answer yet"
    yield "calls made", f"{_time(min(group.first for group in calls))} to {until}"
    yield "models asked", ", ".join(sorted({group.model for group in calls}))
    yield "prompts", ", ".join(sorted({text for group in calls for text in group.prompts or ()}))


def _priced(calls: Sequence[CallSums]) -> str:
    unpriced = sum(group.unpriced for group in calls)
    unknown = f"; {counted(unpriced, 'answer')} without a known price" if unpriced else ""
    return f"US$ {cost(calls)}{unknown}"


def _plan(session: Session, run_id: int) -> str:
    plan = plan_of_run(session, run_id)
    if plan is None:
        return "none: everything explores"
    return f"{plan.name}, SHA-256 {plan.sha256}, stored {_time(plan.stored_at)}"


def _time(at: datetime) -> str:
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M UTC")
