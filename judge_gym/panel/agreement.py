"""How far raters agree, in figures that are computed and never asked for."""

from collections.abc import Sequence
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from statistics import median

from pydantic import Field

from judge_gym.design.fields import Frozen
from judge_gym.judges.scale import Scale
from judge_gym.panel.state import ItemAgreement, Level, Review, ScoreAgreement

_STRONG, _MODERATE = Fraction(1, 4), Fraction(1, 2)
"""Shares of the scale's width: on a scale from 1 to 5 spreads of 1 and of 2."""


class Escalation(Frozen):
    """When only some of the raters are asked."""

    first: int = Field(ge=2)
    """How many are asked in any case, in the order of the panel."""
    within: int = Field(default=0, ge=0)
    """Points that their overall scores may lie apart without the others being asked."""


def agreement_of(scores: Sequence[int], scale: Scale) -> ScoreAgreement:
    """Return mean (to one decimal, halves up), median, spread and level of two scores or more.

    The level is strong for a spread of at most a quarter of the scale's width, moderate for at most
    half of it, else weak: 0 to 1, 2, and 3 to 4 on a scale from 1 to 5.
    """
    spread = max(scores) - min(scores)
    share = Fraction(spread, scale.highest - scale.lowest)
    level: Level = "strong" if share <= _STRONG else "moderate" if share <= _MODERATE else "weak"
    return ScoreAgreement(
        scores=tuple(scores),
        mean=_to_one_decimal(sum(scores), len(scores)),
        median=float(median(scores)),
        spread=spread,
        level=level,
    )


def item_agreements(reviews: Sequence[Review], scale: Scale) -> tuple[ItemAgreement, ...]:
    """Return the agreement on each item, in the document's order."""
    by_item = zip(*(review.items for review in reviews), strict=True)
    return tuple(
        ItemAgreement(
            id=item_reviews[0].id,
            **agreement_of([item.score for item in item_reviews], scale).model_dump(),
        )
        for item_reviews in by_item
    )


def clamped(raw: int, scores: Sequence[int]) -> int:
    """Return the score itself, or the nearest one that lies within the raters' scores."""
    return min(max(raw, min(scores)), max(scores))


def _to_one_decimal(total: int, count: int) -> float:
    exact = Decimal(total) / Decimal(count)
    return float(exact.quantize(Decimal("0.1"), ROUND_HALF_UP))
