"""From the end of a question to its row and its part of the state, and back from a row kept."""

from collections.abc import Sequence
from typing import Any

from judge_gym.panel.asking import Ended
from judge_gym.panel.state import Agreement, ItemReview, RaterState, Review, Verdict
from judge_gym.records.calls import Row
from judge_gym.records.panels import StoredConsensus, StoredReview
from judge_gym.store import tables as t
from judge_gym.store.panels import Place


def review_row(place: Place, rater: RaterState, attempt: int, ended: Ended[Review]) -> Row:
    """Return the row of a rater's attempt."""
    review = ended.value
    return Row(
        t.PanelReview,
        {
            **_common(place, attempt, ended),
            "rater": rater.name,
            "label": rater.label,
            "model": rater.model,
            "overall_score": review.overall_score if review else None,
            "overall_comment": review.overall_comment if review else None,
            "items": [item.model_dump() for item in review.items] if review else None,
        },
    )


def consensus_row(
    place: Place,
    attempt: int,
    ended: Ended[Verdict],
    *,
    model: str,
    review_ids: Sequence[int],
    agreement: Agreement | None,
) -> Row:
    """Return the row of an attempt at a consensus."""
    verdict = ended.value.model_dump() if ended.value else dict.fromkeys(Verdict.model_fields)
    figures = ("mean", "median", "spread", "level")
    return Row(
        t.PanelConsensus,
        {
            **_common(place, attempt, ended),
            "model": model,
            "review_ids": list(review_ids),
            **{name: getattr(agreement, name, None) for name in figures},
            **verdict,
        },
    )


def told(ended: Ended[Any]) -> dict[str, Any]:
    """Return what a state says of a question that was asked and has ended."""
    return {
        "status": ended.status,
        "tier": ended.tier,
        "error": ended.error,
        "latency_ms": ended.latency_ms,
        "call_ids": ended.call_ids,
        "simulated": ended.simulated,
    }


def kept(row: StoredReview | StoredConsensus) -> dict[str, Any]:
    """Return what a state says of a question that an earlier run has had answered."""
    return {
        "status": "done",
        "tier": row.tier,
        "latency_ms": row.latency_ms,
        "call_ids": row.call_ids,
        "simulated": row.simulated,
        "kept": True,
    }


def kept_review(row: StoredReview) -> Review:
    """Return the review of a row that is done."""
    return Review(
        items=tuple(ItemReview(**item) for item in row.items),
        overall_score=row.overall_score,
        overall_comment=row.overall_comment,
    )


def kept_verdict(row: StoredConsensus) -> Verdict:
    """Return the arbiter's answer in a row that is done."""
    return Verdict(final_score=row.final_score, raw_score=row.raw_score, rationale=row.rationale)


def _common(place: Place, attempt: int, ended: Ended[Any]) -> dict[str, Any]:
    return {
        "panel_id": place.panel_id,
        "document_id": place.document_id,
        "attempt": attempt,
        "status": ended.status,
        "failure": ended.error,
        "tier": ended.tier,
        "latency_ms": ended.latency_ms,
        "call_ids": list(ended.call_ids),
        "simulated": ended.simulated,
    }
