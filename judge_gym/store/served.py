"""Which models and configurations answered, by what the providers say of themselves."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import sqlalchemy as sa
from sqlalchemy.orm import Session, aliased

from judge_gym.records.calls import IMPORTED
from judge_gym.store import tables as t
from judge_gym.store.bulk import among
from judge_gym.store.sweep_columns import SweepColumns


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


def served(session: Session, columns: SweepColumns) -> list[Served]:
    """Return who answered under each arm of a sweep, of arms with a call, by experiment."""
    both = (columns.samples, columns.probes)
    called = np.concatenate([asked.call for asked in both])
    arm, item, answered_by, call = (
        np.concatenate([getattr(asked, name) for asked in both])[called > 0]
        for name in ("arm", "item", "answered_by", "call")
    )
    codes = np.unique(answered_by)
    code = np.searchsorted(codes, answered_by)
    example = np.zeros(len(codes), dtype=np.int64)
    example[code] = call
    named = _named(session, example.tolist())
    models = sorted({model for model, _ in named if model is not None})
    # Of each code its model's place in `models`; -1 where the provider names none.
    place = np.array([-1 if model is None else models.index(model) for model, _ in named], int)
    found = []
    for arm_id in sorted(columns.experiments, key=lambda id_: (columns.experiments[id_], id_)):
        rows = arm == arm_id
        own = np.unique(code[rows])
        if not len(own):
            continue
        places = np.unique(place[own][place[own] >= 0])
        mixed = _mixed(item[rows], place[code[rows]]) if len(places) > 1 else 0
        found.append(
            Served(
                columns.experiments[arm_id],
                tuple(models[number] for number in places),
                len({named[number][1] for number in own} - {None}),
                mixed,
            )
        )
    return found


def _named(session: Session, call_ids: Sequence[int]) -> list[tuple[str | None, str | None]]:
    """Return the served model and the fingerprint of each of these calls."""
    rows = session.execute(
        sa.select(t.Call.id, t.Call.served_model, t.Call.fingerprint).where(
            among(t.Call.id, call_ids)
        )
    )
    named = {id_: (model, fingerprint) for id_, model, fingerprint in rows}
    return [named[id_] for id_ in call_ids]


def _mixed(item: np.ndarray, model: np.ndarray) -> int:
    """Return how many items have answers of several models; -1 is none."""
    count = model.max() + 1
    cells = np.unique(item[model >= 0] * count + model[model >= 0]) // count
    return int((np.unique(cells, return_counts=True)[1] > 1).sum())


def served_models(session: Session, call_ids: Iterable[int]) -> tuple[str, ...]:
    """Return the served models of these calls, sorted; none where the provider names none."""
    named = t.Call.served_model.is_not(None)
    names = sa.select(t.Call.served_model).distinct().where(among(t.Call.id, call_ids), named)
    return tuple(sorted(filter(None, session.scalars(names))))


def configurations_kept(session: Session, call_ids: Iterable[int]) -> set[tuple[str, str]]:
    """Return (served model, system fingerprint) of these calls, each "" where it is not named.

    Leaves out one that took over: its first answer of a model came after the last answer of every
    other. Where configurations take turns, none takes over.
    """
    source = aliased(t.Call)
    at = sa.func.coalesce(source.finished_at, t.Call.finished_at, t.Call.created_at)
    rows = session.execute(
        sa.select(
            t.Call.model,
            sa.func.coalesce(t.Call.served_model, ""),
            sa.func.coalesce(t.Call.fingerprint, ""),
            sa.func.min(at),
            sa.func.max(at),
        )
        .outerjoin(source, source.id == t.Call.cached_from)
        .where(among(t.Call.id, call_ids), t.Call.status == "succeeded")
        .group_by(t.Call.model, t.Call.served_model, t.Call.fingerprint)
    )
    by_model: dict[str, list[tuple[tuple[str, str], datetime, datetime]]] = {}
    for model, served, fingerprint, first, last in rows:
        by_model.setdefault(model, []).append(((served, fingerprint), first, last))
    kept = set()
    for several in by_model.values():
        for one, first, _ in several:
            others = [last for other, _, last in several if other != one]
            if not others or first <= max(others):
                kept.add(one)
    return kept


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
