"""Judges for products in the database: they, what they judge, and what came of it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from judge_gym.records.items import Item, distinct
from judge_gym.records.judgements import JudgeRecord, JudgeResult
from judge_gym.store import tables as t
from judge_gym.store.calls import call_costs
from judge_gym.store.recordset import inserting, packed


def save_judge(session: Session, judge: JudgeRecord) -> int:
    """Store a judge that is new; returns its id."""
    session.execute(
        insert(t.Judge)
        .values(
            key=judge.key,
            kind=judge.kind,
            name=judge.name,
            model=judge.model,
            config=dict(judge.config),
        )
        .on_conflict_do_nothing()
    )
    return session.scalars(sa.select(t.Judge.id).where(t.Judge.key == judge.key)).one()


def save_items(session: Session, items: Sequence[Item]) -> dict[str, int]:
    """Store the items that are new; returns key → id of all of them."""
    # In one order everywhere, so that two processes with the same items cannot deadlock.
    rows = sorted(map(_item_row, distinct(items)), key=lambda row: str(row["key"]))
    statement = inserting(t.JudgeItem, _ITEM_COLUMNS).on_conflict_do_nothing()
    session.connection().execute(statement, packed(rows))
    found = session.execute(
        sa.select(t.JudgeItem.key, t.JudgeItem.id).where(
            t.JudgeItem.key == sa.any_(sa.literal([row["key"] for row in rows], sa.ARRAY(sa.Text)))
        )
    )
    return dict(found.tuples().all())


def judged(
    session: Session, judge_id: int, item_ids: Iterable[int], repeats: int, occasion: str = ""
) -> set[tuple[int, int]]:
    """Return (item, repeat) of the judgements that are there, however they ended."""
    rows = session.execute(
        sa.select(t.JudgeResult.item_id, t.JudgeResult.repeat).where(
            _of(judge_id, item_ids, repeats, occasion)
        )
    )
    return {(item_id, repeat) for item_id, repeat in rows}


def judged_times(
    session: Session, judge: JudgeRecord, items: Sequence[Item], repeats: int, occasion: str = ""
) -> dict[str, int]:
    """Return item key → how many of its repeats are judged; nothing needs to be stored yet."""
    keys = sa.literal([item.key for item in items], sa.ARRAY(sa.Text))
    found = session.execute(
        sa.select(t.JudgeItem.key, sa.func.count())
        .join(t.JudgeResult, t.JudgeResult.item_id == t.JudgeItem.id)
        .join(t.Judge, t.Judge.id == t.JudgeResult.judge_id)
        .where(t.Judge.key == judge.key, t.JudgeResult.repeat < repeats)
        .where(t.JudgeResult.occasion == occasion)
        .where(t.JudgeItem.key == sa.any_(keys))
        .group_by(t.JudgeItem.key)
    )
    return dict(found.tuples().all())


def forget_failures(
    session: Session, judge_id: int, item_ids: Iterable[int], repeats: int, occasion: str = ""
) -> None:
    """Delete what is kept as `failed`, so that it is asked again, under the same ledger rows."""
    failed = t.JudgeResult.status == "failed"
    chosen = _of(judge_id, item_ids, repeats, occasion)
    session.execute(sa.delete(t.JudgeResult).where(chosen, failed))


def results(
    session: Session,
    judge: JudgeRecord,
    judge_id: int,
    items: Sequence[Item],
    ids: Mapping[str, int],
    repeats: int,
    occasion: str = "",
) -> list[dict[int, JudgeResult]]:
    """Return repeat → what is stored, for each of the items; `ids` are by their keys."""
    rows = session.scalars(
        sa.select(t.JudgeResult).where(_of(judge_id, ids.values(), repeats, occasion))
    )
    by_id: dict[int, dict[int, t.JudgeResult]] = {}
    for row in rows:
        by_id.setdefault(row.item_id, {})[row.repeat] = row
    return [
        {
            repeat: _result(judge, item, row)
            for repeat, row in sorted(by_id.get(ids[item.key], {}).items())
        }
        for item in items
    ]


def save_result(engine: sa.Engine, values: Mapping[str, Any]) -> None:
    """Store one judgement; whoever wrote it first keeps it."""
    with engine.begin() as connection:
        connection.execute(insert(t.JudgeResult).values(**values).on_conflict_do_nothing())


def item_costs(
    session: Session, judge: JudgeRecord, results: Mapping[str, Sequence[JudgeResult]]
) -> dict[str, float]:
    """Return item key → US dollars of the calls behind a judge's results.

    NaN where that is unknown: for a model without a price, and for a custom judge.
    """
    if not judge.asks_model:
        return dict.fromkeys(results, float("nan"))
    calls = {
        key: [call for result in repeats for call in result.call_ids]
        for key, repeats in results.items()
    }
    costs = call_costs(session, {call for ids in calls.values() for call in ids})
    return {key: sum((costs[call] for call in ids), 0.0) for key, ids in calls.items()}


_ITEM_COLUMNS = (
    "key",
    "corpus",
    "name",
    "perturbation",
    "severity",
    "seed",
    "perturber",
    "text",
    "second",
    "context",
    "simulated",
)


def _of(
    judge_id: int, item_ids: Iterable[int], repeats: int, occasion: str
) -> sa.ColumnElement[bool]:
    return sa.and_(
        t.JudgeResult.judge_id == judge_id,
        t.JudgeResult.item_id == sa.any_(sa.literal(list(item_ids), sa.ARRAY(sa.BigInteger))),
        t.JudgeResult.repeat < repeats,
        t.JudgeResult.occasion == occasion,
    )


def _item_row(item: Item) -> dict[str, Any]:
    variant = item.variant
    return {
        "key": item.key,
        "corpus": item.corpus,
        "name": item.id,
        "perturbation": variant.perturbation if variant else "",
        "severity": variant.severity if variant else None,
        "seed": variant.seed if variant else None,
        "perturber": variant.perturber if variant else None,
        "text": item.text,
        "second": item.second,
        "context": item.context,
        "simulated": item.simulated,
    }


def _result(judge: JudgeRecord, item: Item, row: t.JudgeResult) -> JudgeResult:
    parts = sorted(row.subscores, key=[*judge.parts, *row.subscores].index)
    return JudgeResult(
        judge=judge.key,
        model=judge.model,
        item=item.id,
        item_key=item.key,
        corpus=item.corpus,
        variant=item.variant,
        repeat=row.repeat,
        status=row.status,
        score=row.score,
        # JSONB keeps no order of keys.
        subscores={part: row.subscores[part] for part in parts},
        verdict=row.verdict,
        reason=row.reason,
        failure=row.failure,
        call_ids=tuple(row.call_ids),
        duration_s=row.duration_s,
        # The simulator may make a text that was judged before as somebody's own.
        simulated=row.simulated or item.simulated,
    )
