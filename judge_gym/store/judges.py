"""Judges for products: what they judge, their results, perturbed texts, checks and reviews."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from datetime import UTC, date, datetime
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from judge_gym.calibration.checks import Check
from judge_gym.model_names import Answered, is_version_of
from judge_gym.records.items import Item, Label, distinct
from judge_gym.records.judgements import JudgeRecord, JudgeResult
from judge_gym.store import tables as t
from judge_gym.store.bulk import among, inserting, packed
from judge_gym.store.calls import call_costs
from judge_gym.store.decisions import Decided, review_decisions
from judge_gym.store.served import served_models
from judge_gym.store.units import RESULT, REWRITING


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
    """Store the items that are new, and labels that changed; returns key → id of all of them."""
    # In one order everywhere, so that two processes with the same items cannot deadlock.
    rows = sorted(map(_item_row, distinct(items)), key=lambda row: str(row["key"]))
    statement = inserting(t.JudgeItem, _ITEM_COLUMNS)
    label = statement.excluded.label
    statement = statement.on_conflict_do_update(
        index_elements=["key"],
        set_={"label": label},
        where=label.is_not(None) & t.JudgeItem.label.is_distinct_from(label),
    )
    session.connection().execute(statement, packed(rows))
    stored = session.execute(
        sa.select(t.JudgeItem.key, t.JudgeItem.id).where(
            among(t.JudgeItem.key, (row["key"] for row in rows))
        )
    )
    return dict(stored.tuples().all())


def judged(
    session: Session, judge_id: int, item_ids: Iterable[int], repeats: int, review_day: str = ""
) -> set[tuple[int, int]]:
    """Return (item, repeat) of the judgements that are there, however they ended."""
    rows = session.execute(
        sa.select(t.JudgeResult.item_id, t.JudgeResult.repeat).where(
            _results_condition(judge_id, item_ids, repeats, review_day)
        )
    )
    return {(item_id, repeat) for item_id, repeat in rows}


def judged_times(
    session: Session, judge: JudgeRecord, items: Sequence[Item], repeats: int, review_day: str = ""
) -> dict[str, int]:
    """Return item key → how many of its repeats are judged; nothing needs to be stored yet."""
    counts = session.execute(
        sa.select(t.JudgeItem.key, sa.func.count())
        .join(t.JudgeResult, t.JudgeResult.item_id == t.JudgeItem.id)
        .join(t.Judge, t.Judge.id == t.JudgeResult.judge_id)
        .where(t.Judge.key == judge.key, t.JudgeResult.repeat < repeats)
        .where(t.JudgeResult.review_day == review_day)
        .where(among(t.JudgeItem.key, (item.key for item in items)))
        .group_by(t.JudgeItem.key)
    )
    return dict(counts.tuples().all())


def judged_on(session: Session, judge: JudgeRecord, items: Sequence[Item], repeats: int) -> str:
    """Return the days in UTC on which these judgements were stored: one, or the first to the last.

    Empty without any.
    """
    at = t.JudgeResult.created_at
    first, last = session.execute(
        sa.select(sa.func.min(at), sa.func.max(at))
        .join(t.JudgeItem, t.JudgeItem.id == t.JudgeResult.item_id)
        .join(t.Judge, t.Judge.id == t.JudgeResult.judge_id)
        .where(t.Judge.key == judge.key, t.JudgeResult.repeat < repeats)
        .where(t.JudgeResult.review_day == "")
        .where(among(t.JudgeItem.key, (item.key for item in items)))
    ).one()
    if first is None:
        return ""
    days = dict.fromkeys(str(when.astimezone(UTC).date()) for when in (first, last))
    return " to ".join(days)


@dataclass(frozen=True)
class AnswerTime:
    """A time that a judge judged items: the first one, a review, or a recheck of its gate."""

    review_day: str
    began: date
    """The day in UTC of its first judgement."""
    texts: int
    """How many of the items it has."""
    judgements: int


def answer_times(
    session: Session, judge: JudgeRecord, items: Sequence[Item], repeats: int
) -> list[AnswerTime]:
    """Return the times that a judge judged any of these items, the newest first.

    Without judgements that failed: what is judged again to mend them is of the same time.
    """
    result = t.JudgeResult
    began = sa.func.min(result.created_at)
    rows = session.execute(
        sa.select(
            result.review_day, began, sa.func.count(result.item_id.distinct()), sa.func.count()
        )
        .join(t.JudgeItem, t.JudgeItem.id == result.item_id)
        .join(t.Judge, t.Judge.id == result.judge_id)
        .where(t.Judge.key == judge.key, result.repeat < repeats)
        .where(among(t.JudgeItem.key, (item.key for item in items)))
        .where(RESULT.retryable.is_not(True))
        .group_by(result.review_day)
        .order_by(began.desc(), sa.func.max(result.id).desc())
    )
    return [AnswerTime(day, at.astimezone(UTC).date(), *counts) for day, at, *counts in rows]


@dataclass(frozen=True)
class Namesake:
    """A stored judge, by its key, and when it judged some texts first and last.

    Of reviews, these are the days that they stand for.
    """

    key: str
    config: Mapping[str, Any]
    first: datetime | date
    last: datetime | date


def namesakes(session: Session, judge: JudgeRecord, items: Sequence[Item]) -> list[Namesake]:
    """Return this judge and those of its name that have judged any of these texts, newest first.

    Texts that were judged again count, too.
    """
    first, last = sa.func.min(t.JudgeResult.created_at), sa.func.max(t.JudgeResult.created_at)
    rows = session.execute(
        sa.select(t.Judge.key, t.Judge.config, first, last)
        .join(t.JudgeResult, t.JudgeResult.judge_id == t.Judge.id)
        .join(t.JudgeItem, t.JudgeItem.id == t.JudgeResult.item_id)
        .where((t.Judge.name == judge.name) | (t.Judge.key == judge.key))
        .where(among(t.JudgeItem.key, (item.key for item in items)))
        .group_by(t.Judge.id)
        .order_by(last.desc(), t.Judge.id.desc())
    )
    return [Namesake(*row) for row in rows]


def reviewed_namesakes(
    session: Session, review: str, judge: JudgeRecord, corpus: str, before: date
) -> list[Namesake]:
    """Return this judge and those of its name that a review had in use on a corpus before a day.

    The one that was reviewed last comes first.
    """
    day = t.JudgeReview.reviewed_on
    first, last = sa.func.min(day), sa.func.max(day)
    # A judge may have had another name when it was first used, as an alternative has.
    named = sa.func.coalesce(t.JudgeReview.figures["name"].astext, t.Judge.name)
    rows = session.execute(
        sa.select(t.Judge.key, t.Judge.config, first, last)
        .join(t.JudgeReview, t.JudgeReview.judge_id == t.Judge.id)
        .where(sa.or_(t.Judge.key == judge.key, named == judge.name))
        .where(*_of_reviews(review, corpus, before))
        .group_by(t.Judge.id)
        .order_by(last.desc(), t.Judge.id.desc())
    )
    return [Namesake(*row) for row in rows]


def forget_failures(
    session: Session, judge_id: int, item_ids: Iterable[int], repeats: int, review_day: str = ""
) -> None:
    """Delete rows that failed or whose answer is empty, so that they are planned again."""
    chosen = _results_condition(judge_id, item_ids, repeats, review_day)
    RESULT.forget(session, chosen & RESULT.retryable)


def results(
    session: Session,
    judge: JudgeRecord,
    judge_id: int,
    items: Sequence[Item],
    ids: Mapping[str, int],
    repeats: int,
    review_day: str = "",
) -> list[dict[int, JudgeResult]]:
    """Return repeat → what is stored, for each of the items; `ids` are by their keys."""
    rows = session.scalars(
        sa.select(t.JudgeResult).where(
            _results_condition(judge_id, ids.values(), repeats, review_day)
        )
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
    """Store one judgement; a row that exists is kept."""
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


def answered(
    session: Session, judge: JudgeRecord, results: Iterable[Sequence[JudgeResult]]
) -> Answered:
    """Return who answered for a judge, by its results of every item.

    A custom judge has no calls that could name a model.
    """
    calls = {call for repeats in results for result in repeats for call in result.call_ids}
    served = served_models(session, calls)
    if len(judge.answerers) > 1:
        # Several models answer by design: only another one than those is worth a word.
        served = tuple(
            name
            for name in served
            if not any(is_version_of(name, model) for model in judge.answerers)
        )
    return Answered(judge.model, served)


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
    "label",
    "simulated",
)


def _results_condition(
    judge_id: int, item_ids: Iterable[int], repeats: int, review_day: str
) -> sa.ColumnElement[bool]:
    return sa.and_(
        t.JudgeResult.judge_id == judge_id,
        among(t.JudgeResult.item_id, item_ids),
        t.JudgeResult.repeat < repeats,
        t.JudgeResult.review_day == review_day,
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
        "label": None if item.truth is None else _label(item.truth),
        "simulated": item.simulated,
    }


def _label(truth: Label) -> str:
    if isinstance(truth, str):
        return truth
    return str(int(truth)) if float(truth).is_integer() else repr(float(truth))


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
        # A text that the simulator made can equal one that was stored as real before.
        simulated=row.simulated or item.simulated,
    )


@dataclass(frozen=True)
class StoredPerturbation:
    """A text as a model changed it; `text` is set when the status is `changed`, else `failure`."""

    key: str
    status: str
    text: str | None
    failure: str | None
    simulated: bool


def perturbed_texts(session: Session, keys: Collection[str]) -> dict[str, StoredPerturbation]:
    """Return key → the changed text or why there is none; keys without a row are left out."""
    columns = [getattr(t.PerturbedText, field.name) for field in fields(StoredPerturbation)]
    rows = session.execute(sa.select(*columns).where(_with_keys(keys)))
    return {row.key: StoredPerturbation(*row) for row in rows}


def forget_failed_perturbations(session: Session, keys: Collection[str]) -> None:
    """Delete rows with status `failed`; they are planned again under the same ledger rows."""
    REWRITING.forget(session, _with_keys(keys) & (t.PerturbedText.status == "failed"))


def _with_keys(keys: Collection[str]) -> sa.ColumnElement[bool]:
    return among(t.PerturbedText.key, keys)


def replace_checks(
    session: Session,
    judge: JudgeRecord,
    corpus: str,
    calibration: str,
    checks: Sequence[Check],
    *,
    simulated: bool,
) -> None:
    """Store the checks of a judge on a corpus in place of those that were there.

    `corpus` is the digest of the file of the texts, `calibration` the name of the calibration.
    """
    judge_id = save_judge(session, judge)
    # Two calibrations of one judge and corpus, under different names, may end at once.
    session.execute(sa.select(t.Judge.id).where(t.Judge.id == judge_id).with_for_update())
    session.execute(
        sa.delete(t.CalibrationCheck).where(
            t.CalibrationCheck.judge_id == judge_id, t.CalibrationCheck.corpus == corpus
        )
    )
    common = {"judge_id": judge_id, "corpus": corpus, "calibration": calibration}
    rows = [common | check_values(check) | {"simulated": simulated} for check in checks]
    session.execute(sa.insert(t.CalibrationCheck), rows)


def check_values(check: Check) -> dict[str, Any]:
    """Return a check as columns, or as JSON."""
    estimate = check.estimate
    return {
        "name": check.name,
        "perturbation": check.perturbation,
        "question": check.question,
        "result": check.result.value,
        "reason": check.reason,
        "action": check.action,
        "metric": estimate.metric,
        "estimate": estimate.estimate,
        "lower": estimate.lower,
        "upper": estimate.upper,
        "n": estimate.n,
        "n_items": estimate.n_items,
        "unit": estimate.unit,
        "method": estimate.method,
        "p": estimate.p,
        "p_adjusted": check.p_adjusted,
        "beside": [asdict(other) for other in check.beside],
    }


KEEP, RECONSIDER = "keep", "reconsider"
"""What a review recommends of a judge, where it is not `Result.CANNOT_TELL`."""


@dataclass(frozen=True)
class ReviewRow:
    """What a review found of a judge, or of an alternative to it; `figures` as they are stored.

    `config` is the configuration of the one that it is about.
    """

    review: str
    decision: str
    figures: Mapping[str, Any]
    recommendation: str
    reason: str
    simulated: bool
    config: Mapping[str, Any]
    judge_id: int = 0
    """The judge in use."""
    decided: Decided | None = None
    """What a person decided about the judge in use after the review; None without a decision, and
    of an alternative."""

    @property
    def is_alternative(self) -> bool:
        """Whether it is about an alternative to the judge in use."""
        return self.figures["alternative"] is not None


def earlier_reviews(
    session: Session,
    review: str,
    judge_id: int,
    corpus: str,
    before: date,
    since: date = date.min,
) -> dict[date, dict[str, Any]]:
    """Return the figures of the first and the last review from `since` to `before`, by day.

    Only reviews with this name, judge and corpus count. The last review comes first. The result
    has one entry if first and last are the same review, and is empty without reviews.
    """
    day = t.JudgeReview.reviewed_on
    chosen = sa.select(day, t.JudgeReview.figures).where(
        t.JudgeReview.judge_id == judge_id, *_of_reviews(review, corpus, before, since)
    )
    ends = (session.execute(chosen.order_by(end).limit(1)).all() for end in (day.desc(), day.asc()))
    return {row.reviewed_on: row.figures for rows in ends for row in rows}


def review_days(
    session: Session,
    review: str,
    judge_id: int,
    corpus: str,
    before: date,
    since: date = date.min,
) -> list[date]:
    """Return the days of all reviews from `since` to `before`, oldest first.

    Of the reviews that `earlier_reviews` counts.
    """
    day = t.JudgeReview.reviewed_on
    which = t.JudgeReview.judge_id == judge_id, *_of_reviews(review, corpus, before, since)
    return list(session.scalars(sa.select(day).where(*which).order_by(day)))


def review_figures(
    session: Session,
    review: str,
    judge_id: int,
    corpus: str,
    before: date,
    since: date = date.min,
) -> list[dict[str, Any]]:
    """Return the figures of all reviews from `since` to `before`, oldest first."""
    row = t.JudgeReview
    which = row.judge_id == judge_id, *_of_reviews(review, corpus, before, since)
    return list(session.scalars(sa.select(row.figures).where(*which).order_by(row.reviewed_on)))


def _of_reviews(
    review: str, corpus: str, before: date, since: date = date.min
) -> list[sa.ColumnElement[bool]]:
    """Return which rows are of judges in use, by a review of this name on these texts."""
    row = t.JudgeReview
    return [
        row.review == review,
        row.corpus == corpus,
        row.alternative_id.is_(None),
        row.reviewed_on < before,
        row.reviewed_on >= since,
    ]


def newest_review(session: Session, review: str) -> date | None:
    """Return the last day of a review with this name; None before the first."""
    days = sa.select(sa.func.max(t.JudgeReview.reviewed_on))
    return session.scalar(days.where(t.JudgeReview.review == review))


def replace_reviews(
    session: Session, review: str, day: date, rows: Sequence[Mapping[str, Any]]
) -> None:
    """Store what a review found on a day in place of what it had found on that day before."""
    session.execute(
        sa.delete(t.JudgeReview).where(
            t.JudgeReview.review == review, t.JudgeReview.reviewed_on == day
        )
    )
    common = {"review": review, "reviewed_on": day}
    session.execute(sa.insert(t.JudgeReview), [common | dict(row) for row in rows])


def reviews_of(session: Session, day: date) -> list[ReviewRow]:
    """Return what all reviews found on a day, each judge in use followed by its alternatives."""
    about = sa.func.coalesce(t.JudgeReview.alternative_id, t.JudgeReview.judge_id)
    reviews = session.execute(
        sa.select(t.JudgeReview, t.Judge.config)
        .join(t.Judge, t.Judge.id == about)
        .where(t.JudgeReview.reviewed_on == day)
        .order_by(t.JudgeReview.review, t.JudgeReview.id)
    )
    decided = review_decisions(session, day)
    return [
        ReviewRow(
            review.review,
            review.decision,
            review.figures,
            review.recommendation,
            review.reason,
            review.simulated,
            config,
            review.judge_id,
            decided.get((review.review, review.judge_id))
            if review.alternative_id is None
            else None,
        )
        for review, config in reviews
    ]
