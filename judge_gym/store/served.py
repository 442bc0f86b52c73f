"""Which models and configurations answered, by what the providers say of themselves."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.records.calls import IMPORTED
from judge_gym.store import tables as t
from judge_gym.store.bulk import among
from judge_gym.store.experiments import within


@dataclass(frozen=True)
class Served:
    """Who answered the judgements and probes of one arm."""

    experiment_id: int
    models: tuple[str, ...]
    """The served models; empty where the provider names none."""
    fingerprints: int
    """How many configurations the provider names."""
    mixed: int
    """Cells of the arm, an item each, that several served models answered."""


def served(session: Session, experiment_ids: Sequence[int], sweep: str) -> list[Served]:
    """Return who answered under each arm of a sweep's experiments."""
    samples = (
        sa.select(
            t.Arm.experiment_id, t.Sample.arm_id, t.Sample.item_id, t.Sample.call_id, t.Sample.id
        )
        .join(t.Arm, t.Arm.id == t.Sample.arm_id)
        .where(t.Arm.experiment_id.in_(experiment_ids))
    )
    judged = within(samples, sweep).cte("judged")
    cell = (judged.c.experiment_id, judged.c.arm_id, judged.c.item_id)
    asked = sa.union_all(
        sa.select(*cell, judged.c.call_id),
        sa.select(*cell, t.Probe.call_id).join(t.Probe, t.Probe.sample_id == judged.c.id),
    ).subquery("asked")
    # Few rows for each cell, which PostgreSQL finds by hashing, without sorting texts.
    by_whom = (
        asked.c.experiment_id,
        asked.c.arm_id,
        asked.c.item_id,
        t.Call.served_model,
        t.Call.fingerprint,
    )
    found = sa.select(*by_whom).join(t.Call, t.Call.id == asked.c.call_id).group_by(*by_whom)
    models: dict[tuple[int, int], dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    fingerprints: dict[tuple[int, int], set[str]] = defaultdict(set)
    for experiment_id, arm_id, item_id, model, fingerprint in session.execute(found):
        of_item = models[experiment_id, arm_id][item_id]
        of_item.update([model] if model is not None else ())
        marks = fingerprints[experiment_id, arm_id]
        marks.update([fingerprint] if fingerprint is not None else ())
    return [
        Served(
            experiment_id,
            tuple(sorted(set().union(*by_item.values()))),
            len(fingerprints[experiment_id, arm_id]),
            sum(len(names) > 1 for names in by_item.values()),
        )
        for (experiment_id, arm_id), by_item in sorted(models.items())
    ]


def served_models(session: Session, call_ids: Iterable[int]) -> tuple[str, ...]:
    """Return the served models of these calls, sorted; none where the provider names none."""
    named = t.Call.served_model.is_not(None)
    names = sa.select(t.Call.served_model).distinct().where(among(t.Call.id, call_ids), named)
    return tuple(sorted(filter(None, session.scalars(names))))


def configurations(session: Session, call_ids: Iterable[int]) -> set[tuple[str, str]]:
    """Return (served model, system fingerprint) of these calls; empty where none is named."""
    rows = session.execute(
        sa.select(t.Call.served_model, t.Call.fingerprint)
        .distinct()
        .where(among(t.Call.id, call_ids))
    )
    return {(served or "", fingerprint or "") for served, fingerprint in rows}


def newest_configuration(session: Session, model: str) -> tuple[str, str] | None:
    """Return (served model, system fingerprint) of the newest answer of a model; None without."""
    own = t.Call.route.not_in(("cache", IMPORTED)) & (t.Call.status == "succeeded")
    named = t.Call.served_model.is_not(None) | t.Call.fingerprint.is_not(None)
    row = session.execute(
        sa.select(t.Call.served_model, t.Call.fingerprint)
        .where(own, named, t.Call.model == model)
        .order_by(t.Call.finished_at.desc(), t.Call.id.desc())
        .limit(1)
    ).first()
    return None if row is None else (row[0] or "", row[1] or "")


@dataclass(frozen=True)
class ServedChange:
    """A model that began to be answered by another served model."""

    model: str
    before: str
    now: str
    since: datetime
    """When the new one first answered."""
    experiments: tuple[str, ...]
    """Tags of the experiments that it answered since."""


def served_changes(session: Session, start: datetime) -> Iterator[ServedChange]:
    """Yield the changes of served models among the answers to calls sent since `start`.

    Answers of batches that ended since count, too. The first served model of a model is no change.
    """
    own = t.Call.route.not_in(("cache", IMPORTED)) & t.Call.served_model.is_not(None)
    ended = sa.select(t.Batch.id).where(t.Batch.ended_at >= start)
    rows = session.execute(
        sa.select(
            t.Call.model,
            t.Call.served_model,
            sa.func.min(t.Call.finished_at),
            sa.func.array_agg(sa.distinct(t.Experiment.tag)).filter(t.Experiment.tag.is_not(None)),
        )
        .outerjoin(t.Experiment, t.Experiment.id == t.Call.experiment_id)
        .where(own, (t.Call.sent_at >= start) | t.Call.batch_id.in_(ended))
        .group_by(t.Call.model, t.Call.served_model)
        .order_by(t.Call.model, sa.func.min(t.Call.finished_at))
    ).all()
    last: dict[str, str | None] = {}
    for model, now, since, tags in rows:
        if model not in last:
            earlier = sa.select(t.Call.served_model).where(
                own, t.Call.model == model, t.Call.finished_at < start
            )
            last[model] = session.scalar(earlier.order_by(t.Call.id.desc()).limit(1))
        before = last[model]
        if before is not None and before != now:
            yield ServedChange(model, before, now, since, tuple(tags or ()))
        last[model] = now
