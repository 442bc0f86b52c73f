"""What of a calibration is still to be judged, and what came of what was."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
from sqlalchemy.orm import Session

from judge_gym.answers.readability import Answers
from judge_gym.calibration.design import CalibrationDesign
from judge_gym.counting import counted
from judge_gym.errors import ConfigError
from judge_gym.evidence.choosing import NamedBy
from judge_gym.judges import Judge, JudgeResult, load_judge
from judge_gym.judges.calibrating.perturbing import found
from judge_gym.judges.calibrating.texts import Texts, changed_texts, rewritings
from judge_gym.judges.files import JudgeSource, check_given, check_single, named
from judge_gym.judges.item_files import ItemFile, read_item_file
from judge_gym.judges.judging import judge_items, lacking
from judge_gym.judges.label_files import read_labels
from judge_gym.judges.own_judges import OwnJudge
from judge_gym.judges.people import WHOLE
from judge_gym.judges.reason_critic import (
    Criticism,
    critic_of,
    criticism,
    reasons_of,
    stand_ins,
)
from judge_gym.metrics.cells import FloatArray
from judge_gym.records.items import Item, distinct
from judge_gym.runtime import Runtime
from judge_gym.store import judges as store


@dataclass(frozen=True)
class Asked:
    """A judge, and the items it is to judge so many times."""

    judge: Judge
    items: Sequence[Item]
    repeats: int = 1
    review_day: str = ""
    """Judgements of another one do not count: the items are judged again."""
    newest: bool = False
    """Whether what is reported are the newest answers, also those of a review or a recheck."""


async def judge_asked(
    runtime: Runtime, asked: Asked, *, concurrency: int | None = None, retry_failed: bool = False
) -> None:
    """Judge what is asked and not judged yet, without batches; raises as `judge_items`."""
    await judge_items(
        runtime,
        asked.judge,
        asked.items,
        repeats=asked.repeats,
        concurrency=concurrency,
        retry_failed=retry_failed,
        review_day=asked.review_day,
    )


def load_judges(
    design: CalibrationDesign, sources: Sequence[JudgeSource] | None = None
) -> list[Judge]:
    """Read the judges of a design, or `sources` in their place.

    Raises `ConfigError` for none, and for one that cannot be used or is there twice.
    """
    chosen = design.judges if sources is None else sources
    check_given(chosen, f"Calibration {design.name}")
    judges: dict[str, str] = {}
    loaded: list[Judge] = []
    for source in chosen:
        path, judge = named(source), load_judge(source)
        check_single(source, judge, "a calibration")
        if judge.key in judges:
            raise ConfigError(f"{path} is the same judge as {judges[judge.key]}.", "Name one.")
        judges[judge.key] = path
        loaded.append(judge)
    return loaded


def load_originals(design: CalibrationDesign, judges: Sequence[Judge]) -> ItemFile:
    """Read the texts, with the reference of people's labels where there is a file of them.

    Raises `ConfigError` or `EvidenceError` for a text or a label that does not fit a judge.
    """
    labels = (
        read_labels(design.labels, design.label_fields, in_file=True) if design.labels else None
    )
    named_by = NamedBy("the calibration file")
    items = read_item_file(design.items, design.fields, named_by=named_by)
    originals = items.with_labels(labels, judges, design.label_scale)
    check_labels(judges, originals, design.label_scale)
    return originals


def check_labels(
    judges: Sequence[Judge], items: ItemFile, scale: tuple[float, float] | None = None
) -> None:
    """Raise where labels have no one scale, since judges differ in theirs, or do not fit it.

    `scale` is what the calibration file says of the labels.
    """
    scales = {judge.score_range: judge.name for judge in judges}
    numbers = any(isinstance(item.truth, float | int) for item in items.items)
    if scale is None and len(scales) > 1 and numbers:
        named = ", ".join(f"{name} {low:g} to {high:g}" for (low, high), name in scales.items())
        raise ConfigError(
            f"The texts have labels, and the judges have different scales: {named}.",
            "Say in the calibration file which scale the labels have, such as "
            "`label_scale: [1, 5]`: they are then mapped linearly to each judge's scale.",
        )
    items.check(judges, scale)


def load_texts(session: Session, design: CalibrationDesign, originals: ItemFile) -> Texts:
    """Return the texts and their variants; one that a model has not changed yet has none."""
    texts = originals.texts
    changed = changed_texts(texts, design, found(session, rewritings(texts, design)))
    return with_people(changed, originals)


def with_people(texts: Texts, file: ItemFile) -> Texts:
    """Return the texts of a file with how often each was labelled, and each person's labels."""
    people = np.zeros((0, len(file.texts))) if file.people is None else file.people.points(WHOLE).T
    return replace(texts, people=people, answers=Counter(item.key for item in file.answers))


def missing(
    session: Session,
    judge: Judge,
    items: Sequence[Item],
    repeats: int,
    *,
    retry_failed: bool,
    review_day: str = "",
) -> tuple[list[Item], int]:
    """Return the items that a judge has not judged `repeats` times, each text once.

    The number is that of their missing judgements. The items are stored first. With `retry_failed`
    what is kept as failed is forgotten first.
    """
    _, _, left = lacking(
        session, judge, items, repeats, retry_failed=retry_failed, review_day=review_day
    )
    return distinct([unit.item for unit in left]), len(left)


def results_of(
    session: Session, judge: Judge, items: Sequence[Item], repeats: int, review_day: str = ""
) -> dict[str, list[JudgeResult]]:
    """Return item key → what the judge said of it so far, by repeat."""
    return results_by_day(session, judge, items, repeats, [review_day])[0]


@dataclass(frozen=True)
class NewestAnswers:
    """Which of a judge's answers to some items are the newest that are as many as the first."""

    review_day: str
    said: str
    """That the items were judged again, and whether these answers are used; empty if not."""


def newest_answers(session: Session, asked: Asked) -> NewestAnswers:
    """Return which answers to report of a judge whose items may have been judged again.

    A review, or the recheck of a gate, that has fewer of them is only told: answers of two times
    are never mixed.
    """
    times = store.answer_times(session, asked.judge.record, asked.items, asked.repeats)
    first = next((one.judgements for one in times if not one.review_day), 0)
    chosen = next((one for one in times if one.judgements >= first), None)
    if chosen is None or chosen is times[0]:
        if chosen is None or not chosen.review_day:
            return NewestAnswers("", "")
        said = f"Judged again on {chosen.began}; earlier answers are not used."
        return NewestAnswers(chosen.review_day, said)
    newest, every = times[0], counted(len(distinct(asked.items)), "text")
    again = f"{newest.texts} of {every} {'was' if newest.texts == 1 else 'were'} judged again"
    said = f"{again} on {newest.began}; these are the earlier answers."
    return NewestAnswers(chosen.review_day, said)


def results_by_row(
    session: Session, judge: Judge, items: Sequence[Item], repeats: int, review_day: str = ""
) -> list[JudgeResult]:
    """Return what the judge said so far of every row: rows of one text have the same results."""
    by_text = results_of(session, judge, items, repeats, review_day)
    return [result for item in items for result in by_text[item.key]]


def results_by_day(
    session: Session, judge: Judge, items: Sequence[Item], repeats: int, days: Sequence[str]
) -> list[dict[str, list[JudgeResult]]]:
    """Return what `results_of` does, for each of these days of reviews."""
    judge_id, ids = store.save_judge(session, judge.record), store.save_items(session, items)
    by_day = (
        store.results(session, judge.record, judge_id, items, ids, repeats, day) for day in days
    )
    return [
        {item.key: list(some.values()) for item, some in zip(items, stored, strict=True)}
        for stored in by_day
    ]


def criticisms(
    session: Session, judgings: Sequence[Asked], *, expected: bool = False
) -> list[Asked]:
    """Return the critics of these judges, each with the reasons that it is to read so far.

    With `expected` as once all is judged, with stand-ins for reasons to come. Roll the session back
    then: the judges and items are stored in it.
    """
    asked = []
    for one in judgings:
        judge, items, repeats = one.judge, one.items, one.repeats
        if critic := critic_of(judge):
            stored = results_of(session, judge, items, repeats, _reported_day(session, one))
            given = [result for some in stored.values() for result in some]
            reasons = distinct([item for _, item in reasons_of(judge, given)])
            if expected:
                to_come = max(0, len(distinct(items)) * repeats - len(given))
                reasons = [*reasons, *stand_ins(judge, to_come)]
            asked.append(Asked(critic, reasons))
    return [one for one in asked if one.items]


def _reported_day(session: Session, asked: Asked) -> str:
    """Return the `review_day` of the answers that are reported of what is asked."""
    return newest_answers(session, asked).review_day if asked.newest else asked.review_day


def criticism_of(
    session: Session, judge: Judge, results: Iterable[JudgeResult]
) -> Criticism | None:
    """Return what the critic of a judge has said of its reasons; None without a critic."""
    critic = critic_of(judge)
    if critic is None:
        return None
    given = list(results)
    texts = distinct([item for _, item in reasons_of(judge, given)])
    return criticism(judge, given, results_of(session, critic, texts, 1))


def answers_of(session: Session, asked: Asked) -> Answers:
    """Return how many of a judge's answers so far that are reported can be read."""
    day = _reported_day(session, asked)
    stored = results_of(session, asked.judge, asked.items, asked.repeats, day)
    return readable_of(asked.judge, [result for results in stored.values() for result in results])


def readable_of(judge: Judge, results: Iterable[JudgeResult]) -> Answers:
    """Return how many of these answers of a judge can be read."""
    failures = Counter(result.failure for result in results)
    readable = failures.pop(None, 0)
    called = f"{judge.name} ({judge.answered_by})"
    kept = {why: count for why, count in failures.items() if why}
    return Answers(called, readable, kept, own=isinstance(judge, OwnJudge))


def readable_shares(results: Iterable[Sequence[JudgeResult]]) -> FloatArray:
    """Return, by text, the share of its answers that can be read; each text has one or more."""
    shares = [sum(one.failure is None for one in some) / len(some) for some in results]
    return np.array(shares, dtype=np.float64)
