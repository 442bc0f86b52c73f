"""A judge that reviews for a panel: each item by itself, and the document as one text."""

import math

from judge_gym.judges.judging import judge_items
from judge_gym.panel.document import ReviewedDocument
from judge_gym.panel.panel import JudgeRater
from judge_gym.panel.questions import Ended
from judge_gym.panel.state import ItemReview, Review
from judge_gym.records.items import Item
from judge_gym.records.judgements import LONGEST_REASON, JudgeResult
from judge_gym.runtime import Runtime


def texts_of(document: ReviewedDocument) -> list[Item]:
    """Return what a judge judges of a document: its items, then all of it as one text."""
    shown = [Item(id=item.id, text=item.text, context=document.title) for item in document.shown]
    whole = "\n\n".join(item.text for item in document.shown)
    return [*shown, Item(id=document.id, text=whole, context=document.title)]


async def judged_review(
    runtime: Runtime,
    rater: JudgeRater,
    document: ReviewedDocument,
    *,
    repeat: int,
    review_day: str,
    retry_failed: bool,
) -> Ended[Review]:
    """Return a judge's review of a document: each item by itself, and all of it as one text.

    Scores are rounded to the whole numbers of the panel's scale, halves up. One text without a
    score leaves no review.
    """
    texts = texts_of(document)
    results = await judge_items(
        runtime,
        rater.judge,
        texts,
        repeats=repeat + 1,
        review_day=review_day,
        retry_failed=retry_failed,
    )
    by_text = [results[n * (repeat + 1) + repeat] for n in range(len(texts))]
    calls = tuple(dict.fromkeys(call for result in by_text for call in result.call_ids))
    simulated = any(result.simulated for result in by_text)
    lasted = [result.duration_s for result in by_text]
    latency = None if None in lasted else 1000 * sum(filter(None, lasted))
    for result in by_text:
        if result.score is None:
            why = f"{result.item}: {result.failure or result.status}"
            return Ended("error", None, None, why[:LONGEST_REASON], latency, calls, simulated)
    *items, overall = by_text
    review = Review(
        items=tuple(
            ItemReview(id=result.item, score=_whole(result), comment=_comment(result))
            for result in items
        ),
        overall_score=_whole(overall),
        overall_comment=_comment(overall),
    )
    return Ended("done", review, "judge", None, latency, calls, simulated)


def _whole(result: JudgeResult) -> int:
    assert result.score is not None
    return math.floor(result.score + 0.5)


def _comment(result: JudgeResult) -> str:
    return result.reason or f"Score {result.score:g}, without a reason."
