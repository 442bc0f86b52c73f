"""`PairwiseJudge`: which of two texts is better, asked in both orders."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from judge_gym.judges.model_judge import (
    CANNOT_ASSESS,
    ModelJudge,
    WorkedExample,
    as_answer,
    field_of,
    reason_of,
)
from judge_gym.prompts import Prompt
from judge_gym.records.items import Item
from judge_gym.records.judgements import JudgeResult, MalformedAnswer, Reading

ORDERS = ("as_given", "swapped")
_WINNERS = {"1": 1.0, "2": 0.0, "tie": 0.5}
_VERDICTS = {1.0: "first", 0.0: "second", 0.5: "tie"}


@dataclass(frozen=True)
class DecidedByOrder:
    """Pairs that were read in both orders, and those of them whose winner is a matter of order."""

    pairs: int
    first: int
    """Pairs of which whatever was shown first won."""
    second: int
    """Pairs of which whatever was shown second won."""

    @classmethod
    def of(cls, results: Iterable[JudgeResult]) -> "DecidedByOrder":
        """Count the results of a pairwise judge."""
        both = [
            tuple(result.subscores[order] for order in ORDERS)
            for result in results
            if set(ORDERS) <= set(result.subscores)
        ]
        # Both are scores of the first text, which is shown second when swapped.
        return cls(len(both), both.count((1.0, 0.0)), both.count((0.0, 1.0)))


class PairExample(WorkedExample):
    """Two texts with the right winner."""

    second: str = Field(min_length=1, max_length=50_000)
    """The second text."""
    winner: Literal[1, 2, "tie", "cannot assess"]
    """The better text; tie and cannot assess only where the judge allows them."""


class PairwiseJudge(ModelJudge):
    """Compares an item's two texts; verdict `first`, `second` or `tie`, by both orders alike."""

    kind: Literal["pairwise"] = "pairwise"
    ties: bool = False
    """Whether the model may call the texts equal."""
    examples: tuple[PairExample, ...] = Field(default=(), max_length=50)
    """Pairs with the better text, in the order they are shown."""

    @model_validator(mode="after")
    def _examples_have_an_allowed_winner(self) -> Self:
        allowed = {1, 2, *(["tie"] * self.ties), *([CANNOT_ASSESS] * self.cannot_assess)}
        for example in self.examples:
            if example.winner not in allowed:
                raise ValueError(
                    f"an example has winner {example.winner!r}. Use {', '.join(map(str, allowed))}"
                )
        return self

    @property
    def noun(self) -> str:
        return "winner"

    def answer_of(self, example: PairExample) -> str:
        return as_answer(example, {"winner": example.winner})

    @property
    def judges_pairs(self) -> bool:
        return True

    @property
    def parts(self) -> tuple[str, ...]:
        return ORDERS

    @property
    def calls_per_item(self) -> int:
        return len(ORDERS)

    @property
    def verdict_scores(self) -> dict[str, float]:
        return {name: score for score, name in _VERDICTS.items() if self.ties or name != "tie"}

    @property
    def template(self) -> str:
        return "judge_pair"

    @property
    def form(self) -> str:
        allowed = '1, 2 or "tie"' if self.ties else "1 or 2"
        return f'{{"reason": "<one or two sentences>", "winner": <{allowed}>}}'

    def prompts(self, item: Item, mark_from: str) -> tuple[Prompt, ...]:
        assert item.second is not None
        pair = (item.text, item.second)
        return tuple(self._prompt(item, texts, mark_from) for texts in (pair, pair[::-1]))

    def read_object(self, fields: dict[str, Any]) -> Reading:
        """Return the score of the text shown first."""
        winner = field_of(fields, "winner")
        if self.is_unassessable(winner):
            return Reading("cannot_assess", reason=reason_of(fields))
        # JSON's true is Python's 1.
        named = "" if isinstance(winner, bool) else str(winner).strip().lower()
        if named not in _WINNERS or (named == "tie" and not self.ties):
            raise MalformedAnswer(f"'winner' is {str(winner)[:60]!r}")
        return Reading("scored", _WINNERS[named], reason=reason_of(fields))

    def combined(self, readings: tuple[Reading, ...]) -> Reading:
        """Return what both orders say of the first text; `inconsistent` when they disagree."""
        given, swapped = readings
        scores = (given.score, None if swapped.score is None else 1 - swapped.score)
        subscores = {
            order: score for order, score in zip(ORDERS, scores, strict=True) if score is not None
        }
        for reading in readings:
            if reading.status != "scored":
                return replace(reading, score=None, subscores=subscores)
        reason = " / ".join(dict.fromkeys(filter(None, (given.reason, swapped.reason))))
        score = scores[0]
        if score is None or score != scores[1]:
            return Reading("inconsistent", subscores=subscores, reason=reason)
        return Reading("scored", score, subscores, _VERDICTS[score], reason)
