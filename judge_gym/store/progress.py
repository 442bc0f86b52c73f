"""Progress computed from rows: work done per workflow, activity, lowered limits, failures."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import JSONPATH
from sqlalchemy.orm import Session

from judge_gym.design.names import CRITIC, PROBE, SCORING, SWAP
from judge_gym.design.strategies import resolve
from judge_gym.design.strategies.rubrics import Rubrics
from judge_gym.records.attempts import UNKNOWN_OUTCOME
from judge_gym.records.calls import LIMITS, RECOVERED, SHARED
from judge_gym.records.judgements import ScoreCritic
from judge_gym.store import tables as t
from judge_gym.store.bulk import among
from judge_gym.store.decisions import readings
from judge_gym.store.experiments import experiments_by_id
from judge_gym.store.recipes import view_recipe
from judge_gym.store.rubrics import applied_key, sham_key
from judge_gym.store.samples import SECOND_PROBE_ONE_IN
from judge_gym.store.score_marks import critic_of_sweep, is_by
from judge_gym.store.selecting import last_error
from judge_gym.store.spending import Scope, calls_of, writes_shams
from judge_gym.store.units import (
    JUDGEMENT,
    MARKING,
    PROBING,
    WORKFLOW_OF_ARM,
    Unit,
    declared_replicates,
)


@dataclass(frozen=True)
class WorkflowProgress:
    """`done` of `total` units; `total` is None while the workflow before it is unfinished."""

    done: int = 0
    total: int | None = None
    failed: int = 0
    refused: int = 0
    """Refused by the model or by its provider's content policy: outcomes, which nothing repeats."""

    @property
    def state(self) -> str:
        """nothing to do, pending, running or complete; failures are stored with status `failed`."""
        if self.total == 0:
            return "nothing to do"
        if self.total is None or self.done == 0:
            return "pending"
        if self.done < self.total:
            return "running"
        return "complete with failures" if self.failed else "complete"


def share_done(progress: Mapping[str, WorkflowProgress]) -> float:
    """Return the share of all workflows that is done, from 0 to 1, with equal weights.

    Workflows after an unfinished one count as 0: their totals are unknown until it ends.
    """
    done = 0.0
    for part in progress.values():
        if part.total is None or part.done < part.total:
            done += part.done / part.total if part.total else 0.0
            break
        done += 1.0
    return done / len(progress)


def sweep_progress(
    session: Session, experiment_ids: Sequence[int], sweep: str | None = None
) -> dict[str, WorkflowProgress]:
    """Return each workflow's progress, summed over these experiments.

    `sweep` limits it to the replicates that its file declares, and adds W6 if it has a critic.
    """
    by_experiment = experiment_progress(session, experiment_ids, sweep)
    return summed_progress(session, by_experiment, sweep)


def summed_progress(
    session: Session, by_experiment: Mapping[int, Mapping[str, WorkflowProgress]], sweep: str | None
) -> dict[str, WorkflowProgress]:
    """Return `sweep_progress` of experiments whose own progress is known."""
    experiment_ids = list(by_experiment)
    summed: dict[str, WorkflowProgress] = {
        "w1-evidence": _evidence(session, experiment_ids),
        "w2-rubric": _rubrics(session, experiment_ids, sweep),
    }
    critic = [CRITIC] if critic_of_sweep(session, sweep) else []
    for workflow in (SCORING, SWAP, PROBE, *critic):
        parts = [by_workflow[workflow] for by_workflow in by_experiment.values()]
        totals = [part.total for part in parts]
        summed[workflow] = WorkflowProgress(
            done=sum(part.done for part in parts),
            total=None if None in totals else sum(total or 0 for total in totals),
            failed=sum(part.failed for part in parts),
            refused=sum(part.refused for part in parts),
        )
    return summed


def experiment_progress(
    session: Session, experiment_ids: Sequence[int], sweep: str | None = None
) -> dict[int, dict[str, WorkflowProgress]]:
    """Return experiment id → progress of W3 to W5, and of W6, as `sweep_progress` counts it."""
    planned = _planned(session, experiment_ids, sweep)
    # Nothing more is asked of an experiment whose rubric a person has refused.
    left_out = not_scored(refused_rubrics(session, experiment_ids))
    chosen = among(t.Experiment.id, experiment_ids)
    samples = _counts(session, JUDGEMENT, chosen, sweep)
    probes = _counts(session, PROBING, chosen, sweep)
    to_probe = _to_probe(session, experiment_ids, sweep)
    critic = critic_of_sweep(session, sweep)
    marks = _counts(session, MARKING, chosen & is_by(critic), sweep) if critic else {}
    progress: dict[int, dict[str, WorkflowProgress]] = {}
    for experiment_id in experiment_ids:
        own, swapped = (samples[experiment_id, kind] for kind in (SCORING, SWAP))
        scored, probings = to_probe.get(experiment_id, (0, 0))
        total = planned.get((experiment_id, SCORING))
        # Swaps are planned once W3 has ended; when none are then, there is nothing to do.
        no_swaps = 0 if own.done and own.done == total else None
        progress[experiment_id] = {
            SCORING: replace(own, total=total),
            SWAP: replace(swapped, total=planned.get((experiment_id, SWAP), no_swaps)),
            PROBE: replace(_of_both(probes, experiment_id), total=probings if own.done else None),
        }
        if experiment_id in left_out:
            progress[experiment_id] = {
                name: replace(part, total=part.done)
                for name, part in progress[experiment_id].items()
            }
        if critic and experiment_id in left_out:
            progress[experiment_id][CRITIC] = WorkflowProgress(0, 0)
        elif critic:
            marked = _of_both(marks, experiment_id)
            progress[experiment_id][CRITIC] = replace(marked, total=scored if own.done else None)
    return progress


_WORKFLOW = WORKFLOW_OF_ARM.label("workflow")


def _planned(session: Session, ids: Sequence[int], sweep: str | None) -> dict[tuple[int, str], int]:
    """Judgements per experiment and workflow: items not held out, times replicates.

    For an import, the number of recorded judgements: replicates may differ between items.
    """
    recorded = (
        JUDGEMENT.rows(t.Experiment.id, sa.func.count(), sweep=sweep)
        .where(among(t.Experiment.id, ids), t.Sample.imported)
        .group_by(t.Experiment.id)
    )
    declared = declared_replicates(sweep)
    rows = session.execute(
        sa.select(t.Arm.experiment_id, _WORKFLOW, sa.func.sum(declared.c.replicates))
        .join(declared, declared.c.experiment_id == t.Arm.experiment_id)
        .join(t.ExperimentItem, t.ExperimentItem.experiment_id == t.Arm.experiment_id)
        .where(
            among(t.Arm.experiment_id, ids),
            t.ExperimentItem.item_id != sa.all_(t.Arm.held_out_items),
        )
        .group_by(t.Arm.experiment_id, sa.text("workflow"))
    )
    planned = {(experiment_id, workflow): int(count) for experiment_id, workflow, count in rows}
    return planned | {(one, SCORING): count for one, count in session.execute(recorded).tuples()}


def _counts(
    session: Session, unit: Unit, chosen: sa.ColumnElement[bool], sweep: str | None
) -> Mapping[tuple[int, str], WorkflowProgress]:
    """Return what is done of a unit, of any outcome, by experiment and the workflow of the arm."""
    query = unit.rows(
        t.Experiment.id,
        _WORKFLOW,
        sa.func.count(),
        sa.func.count().filter(unit.retryable),
        sa.func.count().filter(unit.table.status == "refused"),
        sweep=sweep,
    )
    rows = session.execute(query.where(chosen).group_by(t.Experiment.id, sa.text("workflow")))
    return defaultdict(WorkflowProgress) | {
        (experiment_id, workflow): WorkflowProgress(done, None, failed, refused)
        for experiment_id, workflow, done, failed, refused in rows
    }


def _of_both(
    counts: Mapping[tuple[int, str], WorkflowProgress], experiment_id: int
) -> WorkflowProgress:
    """Return what is done of an experiment under its own rubric and under others."""
    parts = [counts[experiment_id, name] for name in (SCORING, SWAP)]
    return WorkflowProgress(
        sum(part.done for part in parts),
        None,
        sum(part.failed for part in parts),
        sum(part.refused for part in parts),
    )


_TO_PROBE = (t.Sample.status == "scored") & ~t.Sample.imported
"""Imported judgements are not probed: their judges are not callable models."""
_SECOND_PROBES = sa.func.count().filter(_TO_PROBE, t.Sample.seed % SECOND_PROBE_ONE_IN == 0)


def _to_probe(
    session: Session, ids: Sequence[int], sweep: str | None
) -> dict[int, tuple[int, int]]:
    """Return experiment id → its samples to probe, and the probes that these need."""
    scored = sa.func.count().filter(_TO_PROBE)
    query = JUDGEMENT.rows(t.Experiment.id, scored, scored + _SECOND_PROBES, sweep=sweep)
    rows = session.execute(query.where(among(t.Experiment.id, ids)).group_by(t.Experiment.id))
    return {experiment_id: (samples, probes) for experiment_id, samples, probes in rows}


def _evidence(session: Session, ids: Sequence[int]) -> WorkflowProgress:
    """Documents in the deepest view that the experiments of their window read."""
    windows: dict[int, set[tuple[str, str]]] = defaultdict(set)
    evidence_view = t.Experiment.config["evidence_view"].astext
    rows = session.execute(
        sa.select(t.Experiment.window_id, evidence_view, view_recipe(evidence_view))
        .where(among(t.Experiment.id, ids))
        .distinct()
    )
    for window_id, view, recipe in rows:
        windows[window_id].add((view, recipe))
    collected = set(
        session.scalars(
            sa.select(t.Window.id).where(
                among(t.Window.id, windows), t.Window.collected_at.is_not(None)
            )
        )
    )
    documents = _by_window(session, collected, sa.select(t.Document.window_id))
    views = sa.select(t.Document.window_id).join(t.View, t.View.document_id == t.Document.id)
    done = total = failed = 0
    for window_id in collected:
        for view, recipe in windows[window_id]:
            total += documents.get(window_id, 0)
            if view == "raw":
                done += documents.get(window_id, 0)
                continue
            stored = views.where(t.View.view == view, t.View.recipe == recipe)
            done += _by_window(session, {window_id}, stored).get(window_id, 0)
            bad = stored.where(t.View.status == "failed")
            failed += _by_window(session, {window_id}, bad).get(window_id, 0)
    return WorkflowProgress(done, total if collected == set(windows) else None, failed)


def _by_window(session: Session, ids: set[int], query: Any) -> dict[int, int]:
    rows = session.execute(
        query.add_columns(sa.func.count())
        .where(among(t.Document.window_id, ids))
        .group_by(t.Document.window_id)
    )
    return dict(rows.tuples().all())


def _rubrics(session: Session, ids: Sequence[int], sweep: str | None) -> WorkflowProgress:
    """Rubrics that models write for these experiments, for shams too; provided ones are no work."""
    experiments = experiments_by_id(session, ids).values()
    keys = {
        applied_key(experiment)
        for experiment in experiments
        if resolve(experiment).of(Rubrics).provided is None
    }
    if sweep and writes_shams(session, sweep):
        keys |= {sham_key(one) for one in experiments if one.rubric.kind == "own"}
    rows = session.execute(
        sa.select(t.Rubric.status, sa.func.count())
        .where(among(t.Rubric.key, keys))
        .group_by(t.Rubric.status)
    )
    counts = dict(rows.tuples().all())
    done = sum(counts.values())
    by_people = sum(bool(one.owner) for one in refused_rubrics(session, ids))
    return WorkflowProgress(done, len(keys), done - counts.get("ready", 0) - by_people)


@dataclass(frozen=True)
class RefusedRubric:
    """A rubric that a person has read and refused, and the experiments that apply it."""

    owner: str
    person: str
    reason: str
    experiments: tuple[int, ...]
    """Ids of the experiments, which are not scored."""


def not_scored(refused: Iterable[RefusedRubric]) -> set[int]:
    """Return the ids of the experiments that apply one of these rubrics."""
    return {experiment_id for rubric in refused for experiment_id in rubric.experiments}


def refused_rubrics(session: Session, ids: Sequence[int]) -> list[RefusedRubric]:
    """Return the rubrics of the own arms of these experiments that a person has refused."""
    refused = sa.exists().where(t.Decision.kind == t.READING, t.Decision.subject == t.Rubric.key)
    rows = session.execute(
        sa.select(t.Rubric.key, t.Rubric.owner_model)
        .where(t.Rubric.status == "refused", refused)
        .order_by(t.Rubric.owner_model, t.Rubric.key)
    )
    owners = dict(rows.tuples().all())
    if not owners:  # of most sweeps, and then nothing more is read
        return []
    applied: dict[str, list[int]] = defaultdict(list)
    for experiment_id, experiment in experiments_by_id(session, ids).items():
        applied[applied_key(experiment)].append(experiment_id)
    decided = readings(session, owners)
    return [
        RefusedRubric(owner, decided[key].person, decided[key].reason, tuple(applied[key]))
        for key, owner in owners.items()
        if key in applied and decided[key].decision == "refuse"
    ]


KindKey = tuple[str, str, int, str | None]
"""(workflow, model, scale, reasoning effort; None: the model's default)"""


def judgements_by_kind(
    session: Session, replicates: Mapping[str, int], *, failed: bool = False
) -> dict[KindKey, int]:
    """Return the samples and probes of these experiments, of any outcome, by kind.

    `replicates` maps an experiment's key to how many of its replicates count. With `failed`, only
    failed ones and empty answers count, which `retry_failed` makes again.
    """
    done: defaultdict[KindKey, int] = defaultdict(int)
    of_model = (t.Experiment.model, t.Experiment.scale_size, _EFFORT)
    of_arm = (WORKFLOW_OF_ARM, *of_model)
    judged = _of_replicates(JUDGEMENT, replicates, *of_arm, sa.func.count(), failed=failed)
    for *kind, count in session.execute(judged.group_by(*of_arm)):
        done[*kind] = count
    probed = _of_replicates(PROBING, replicates, *of_model, sa.func.count(), failed=failed)
    for *kind, count in session.execute(probed.group_by(*of_model)):
        done[PROBE, *kind] = count
    return done


_EFFORT = sa.func.nullif(t.Experiment.config["reasoning_effort"].astext, "default")


def marks_by(
    session: Session,
    replicates: Mapping[str, int],
    critic: ScoreCritic,
    *,
    failed: bool = False,
) -> int:
    """Return how many marks a critic gave of the samples of these experiments, of any outcome.

    `replicates` and `failed` are as in `judgements_by_kind`.
    """
    query = _of_replicates(MARKING, replicates, sa.func.count(), failed=failed)
    return session.scalar(query.where(is_by(critic))) or 0


def _of_replicates(
    unit: Unit, replicates: Mapping[str, int], *columns: Any, failed: bool = False
) -> sa.Select[Any]:
    """Select from the rows of experiments, by key, those of the replicates that count."""
    wanted = (
        sa.func.unnest(
            sa.literal(list(replicates), sa.ARRAY(sa.Text)),
            sa.literal(list(replicates.values()), sa.ARRAY(sa.Integer)),
        )
        .table_valued("key", "replicates")
        .render_derived(name="wanted")
    )
    query = (
        unit.rows(*columns)
        .join(wanted, wanted.c.key == t.Experiment.key)
        .where(t.Sample.replicate < wanted.c.replicates)
    )
    return query.where(unit.retryable) if failed else query


@dataclass(frozen=True)
class SampleProgress:
    """Samples of an experiment, of any outcome; those scored; and the probes that these need."""

    samples: int = 0
    scored: int = 0
    probes: int = 0


def samples_and_probes(
    session: Session, replicates: Mapping[str, int]
) -> dict[str, SampleProgress]:
    """Return experiment key → how far it is judged."""
    scored = sa.func.count().filter(t.Sample.status == "scored")
    twice = sa.func.count().filter(
        t.Sample.status == "scored", t.Sample.seed % SECOND_PROBE_ONE_IN == 0
    )
    columns = (t.Experiment.key, sa.func.count(), scored, scored + twice)
    query = _of_replicates(JUDGEMENT, replicates, *columns).group_by(t.Experiment.key)
    return {key: SampleProgress(*counts) for key, *counts in session.execute(query)}


RECENT = timedelta(minutes=5)
"""The time span of recent activity."""
LOWERED = timedelta(hours=1)
"""How long a lowered limit is shown if it has not recovered."""
IN_FLIGHT = timedelta(hours=1)
"""How long a call can be in flight, its attempts and their waits included."""
SHORTEST = timedelta(seconds=10)
"""The shortest span for a rate; over less, the first burst would inflate it."""


FEWEST_OF_A_PROVIDER = 3
"""Calls to a provider that must have ended for a pace of it."""


@dataclass(frozen=True)
class Activity:
    """A provider's calls for a sweep in the last `RECENT`."""

    provider: str
    ended: int
    """Calls that succeeded or failed, without calls in batches."""
    per_minute: float
    in_flight: int
    """Calls sent and not ended. A killed run leaves its calls in flight stored as sent."""


@dataclass(frozen=True)
class LoweredLimit:
    """A process whose limit of requests in flight is lowered, with the reason and the time."""

    provider: str
    process: str
    in_flight: int
    reason: str
    at: datetime


@dataclass(frozen=True)
class SentCall:
    """A call that was sent and has not ended."""

    model: str
    characters: int
    """Of its prompt."""
    output_limit: int
    """In tokens."""
    again: bool
    """Whether it has been sent again since."""


@dataclass(frozen=True)
class RefusedModel:
    """Failed calls whose reason applies to every call to the model; the next run retries them."""

    workflow: str
    failure: str
    calls: int


def activity(session: Session, scope: Scope | None, now: datetime) -> list[Activity]:
    """Return each provider's recent activity for a sweep, or for all work; sorted by name.

    Of all work, calls that were sent more than `IN_FLIGHT` ago are left out: their process is gone.
    """
    chosen = calls_of(scope) if scope else t.Call.sent_at > now - IN_FLIGHT
    recent = sa.and_(
        t.Call.finished_at > now - RECENT,
        t.Call.route == "direct",
        t.Call.status.in_(("succeeded", "failed")),
    )
    in_flight = sa.and_(t.Call.status == "sent", t.Call.batch_id.is_(None))
    rows = session.execute(
        sa.select(
            t.Call.provider,
            sa.func.count().filter(recent),
            sa.func.min(t.Call.sent_at).filter(recent),
            sa.func.count().filter(in_flight),
        )
        .where(chosen)
        .group_by(t.Call.provider)
        .order_by(t.Call.provider)
    )
    return [
        Activity(provider, ended, _per_minute(ended, first, now), sent)
        for provider, ended, first, sent in rows
        if ended or sent
    ]


def paces(session: Session, scope: Scope, now: datetime) -> dict[str, float]:
    """Return provider → calls ended a minute in the last `RECENT` that it was at work.

    A provider without a call in flight was at work until its last call ended. Those of which too
    few calls ended then are left out.
    """
    last = sa.func.max(t.Call.finished_at).over(partition_by=t.Call.provider)
    waits = sa.func.bool_or(t.Call.status == "sent").over(partition_by=t.Call.provider)
    until = sa.case((waits, now), else_=last)
    rows = (
        sa.select(t.Call.provider, t.Call.status, t.Call.sent_at, t.Call.finished_at,
                  until.label("until"))
        .where(calls_of(scope), t.Call.route == "direct", t.Call.batch_id.is_(None))
        .subquery()
    )  # fmt: skip
    ended = session.execute(
        sa.select(rows.c.provider, sa.func.count(), sa.func.min(rows.c.sent_at), rows.c.until)
        .where(
            rows.c.status.in_(("succeeded", "failed")),
            rows.c.finished_at > rows.c.until - RECENT,
        )
        .group_by(rows.c.provider, rows.c.until)
    )
    return {
        provider: _per_minute(count, first, until)
        for provider, count, first, until in ended
        if count >= FEWEST_OF_A_PROVIDER
    }


def sent_calls(session: Session, scope: Scope, *, again: bool) -> list[SentCall]:
    """Return a sweep's sendings without an outcome, of calls that are in no batch.

    They are those of calls that have not ended or, with `again`, earlier ones of calls that were
    sent once more after the process of the first sending had ended.
    """
    lost = sa.func.jsonb_path_query_array(
        t.Call.errors, sa.cast(f'$[*] ? (@.kind == "{UNKNOWN_OUTCOME}")', JSONPATH)
    )
    sendings = sa.func.jsonb_array_length(lost) if again else sa.literal(1)
    rows = session.execute(
        sa.select(t.Call.model, t.Call.messages, t.Call.sent_parameters, sendings).where(
            calls_of(scope),
            sendings > 0 if again else sa.and_(t.Call.status == "sent", t.Call.batch_id.is_(None)),
        )
    )
    return [
        SentCall(
            model,
            sum(len(message["content"]) for message in messages),
            next((int(sent[name]) for name in LIMITS if name in (sent or {})), 0),
            again,
        )
        for model, messages, sent, number in rows
        for _ in range(number)
    ]


def _per_minute(ended: int, first_sent: datetime | None, now: datetime) -> float:
    """Return the rate since the first of these calls was sent, `RECENT` ago at most."""
    if first_sent is None:
        return 0.0
    span = min(RECENT, max(SHORTEST, now - first_sent))
    return ended / (span / timedelta(minutes=1))


def lowered_limits(session: Session, providers: Sequence[str], now: datetime) -> list[LoweredLimit]:
    """Return the limits that were lowered by rate limits and have not recovered."""
    newest = (
        sa.select(t.GateChange)
        .distinct(t.GateChange.provider, t.GateChange.process)
        .where(t.GateChange.provider.in_(providers), t.GateChange.at > now - LOWERED)
        .order_by(t.GateChange.provider, t.GateChange.process, t.GateChange.id.desc())
    )
    return [
        LoweredLimit(row.provider, row.process, row.in_flight, row.reason, row.at)
        for row in session.scalars(newest)
        if row.reason != RECOVERED
    ]


def refusals(session: Session, scope: Scope) -> list[RefusedModel]:
    """Return failed calls whose reason applies to every call to their model."""
    kind = last_error()
    rows = session.execute(
        sa.select(t.Call.workflow, kind, sa.func.count())
        .where(calls_of(scope), t.Call.status == "failed", kind.in_(SHARED))
        .group_by(t.Call.workflow, kind)
        .order_by(t.Call.workflow, kind)
    )
    return [RefusedModel(*row) for row in rows]
