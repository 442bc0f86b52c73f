"""Judges, one answer as read (`Reading`), and an item judged once (`JudgeResult`)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from statistics import fmean
from typing import Any, Literal

from judge_gym.design.fields import Frozen
from judge_gym.records.items import Variant

JudgeStatus = Literal["scored", "inconsistent", "cannot_assess", "unparseable", "refused", "failed"]
LONGEST_REASON = 2000
SAMPLE_STATUSES = ("scored", "abstained", "unparseable", "refused", "failed")
MARK_STATUSES = ("marked", "no_reasoning", "unparseable", "refused", "failed")
PROBE_STATUSES = ("answered", "unparseable", "refused", "failed")
ARMS = ("own", "swap", "sham")


@dataclass(frozen=True)
class ScoreCritic:
    """Who marks the reasoning of samples, and how it is asked."""

    model: str
    template: str
    """Hash of the template; marks by another template are other marks."""


class MalformedAnswer(Exception):
    """An answer's object does not have the required form; the message says why."""


@dataclass(frozen=True)
class Reading:
    """The content of one answer, or why it has none."""

    status: JudgeStatus
    score: float | None = None
    subscores: Mapping[str, float] = field(default_factory=dict)
    verdict: str | None = None
    reason: str = ""
    failure: str | None = None


@dataclass(frozen=True)
class JudgeRecord:
    """A judge as it is stored."""

    key: str
    name: str
    kind: str
    model: str
    """The model, function or address that answers."""
    config: Mapping[str, Any]
    parts: tuple[str, ...]
    """The names of its subscores, in order, where they are known."""
    asks_model: bool
    """Whether its answers are calls of the ledger; those of a custom judge are not."""
    answerers: tuple[str, ...]
    """The models, functions or addresses that answer."""


class JudgeResult(Frozen):
    """One item judged once."""

    judge: str
    """The judge's key."""
    model: str
    """The model that answered; of a judge of your own, its function or address."""
    item: str
    """The item's name."""
    item_key: str
    corpus: str
    variant: Variant | None
    repeat: int
    """From 0."""
    status: JudgeStatus
    score: float | None
    """On the judge's scale; set when, and only when, the status is `scored`."""
    subscores: dict[str, float]
    """Rubric: criterion → mark. Pair: order → score of the first text. Of several judges: each →
    its score."""
    verdict: str | None
    reason: str
    """The model's own words."""
    failure: str | None
    """Why there is no score: `kind: detail`; None when it is scored or inconsistent."""
    call_ids: tuple[int, ...]
    """Rows of `llm_calls`, in the order they were asked; none for a judge of your own."""
    duration_s: float | None
    """Seconds its answers took, summed; None when one came from the cache."""
    simulated: bool

    @property
    def is_empty(self) -> bool:
        """Whether the answer had no text."""
        return (self.failure or "").startswith("empty: ")


def mean_scores(results: Mapping[str, Sequence[JudgeResult]]) -> dict[str, float]:
    """Return the mean score of each text over its judgements; texts without one are left out."""
    return {
        key: fmean(scores)
        for key, some in results.items()
        if (scores := [one.score for one in some if one.score is not None])
    }
