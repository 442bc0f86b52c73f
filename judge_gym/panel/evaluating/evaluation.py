"""All there is to say of a panel on a labelled set, from the states that its runs ended in."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from judge_gym.design.experiment import family_of
from judge_gym.errors import StoreError
from judge_gym.formats import figure
from judge_gym.metrics.cells import FloatArray
from judge_gym.metrics.estimate import Estimate
from judge_gym.panel.evaluating.escalating import PanelPolicy, dearer, policies
from judge_gym.panel.evaluating.figures import (
    ARBITER,
    RaterPairErrors,
    Scored,
    SecondFamily,
    WayFigures,
    pairs,
    second_family,
    votes,
    ways,
)
from judge_gym.panel.evaluating.labelled import LabelledDocument
from judge_gym.panel.evaluating.reviewing import PanelReviews
from judge_gym.panel.panel import Panel
from judge_gym.panel.state import DONE, PanelState
from judge_gym.seeds import derive_seed

ERROR_PRICE = 0.1
"""US dollars that a point of error costs where nobody says otherwise."""


class NothingToEvaluateError(StoreError):
    """No document was reviewed by every rater and the arbiter; stored answers are reused."""


@dataclass(frozen=True, eq=False)
class Figures:
    """The figures of scores of one kind: of whole documents, or of items."""

    scored: Scored
    ways: list[WayFigures]
    pairs: list[RaterPairErrors]
    votes: tuple[Estimate, Estimate]
    """The mean correlation of errors over pairs, and the effective votes that it makes."""
    second_family: list[SecondFamily]


@dataclass(frozen=True, eq=False)
class Evaluation:
    """A panel before a labelled set.

    Figures rest on the documents that every rater and the arbiter answered (`complete`), the same
    for all of them. `whole` is of overall scores, `items` of the items with a true score, None
    without any. `costs` is way → US dollars a document, NaN where it is not known; `policies` are
    of whole documents, `error_price` what one point of error was taken to cost.
    """

    panel: Panel
    labelled: Sequence[LabelledDocument]
    reviewed: PanelReviews
    whole: Figures
    items: Figures | None
    costs: Mapping[str, float]
    policies: list[PanelPolicy]
    error_price: float

    @cached_property
    def complete(self) -> list[tuple[LabelledDocument, PanelState]]:
        """The documents that the figures rest on, with what was said of them."""
        return _complete(self.labelled, self.reviewed)

    @property
    def left_out(self) -> list[tuple[str, str]]:
        """The other documents by id, and why each is in no figure."""
        reasons = []
        for document, state in zip(self.labelled, self.reviewed.states, strict=True):
            if why := _lacking(state):
                reasons.append((document.id, why))
        return reasons

    @property
    def unseen(self) -> int:
        """True scores of items that raters did not see, as the document is too long."""
        return sum(
            item.truth is not None
            for document, state in self.complete
            for item in document.items[len(state.items) :]
        )

    @property
    def simulated(self) -> bool:
        """Whether a simulated model answered."""
        return any(state.simulated for state in self.reviewed.states if state)

    @property
    def made_up(self) -> bool:
        """Whether a true score was made up by a rule."""
        return any(document.simulated for document in self.labelled)

    @property
    def answer(self) -> str:
        """Whether the panel helps, in words: by 95% intervals of whole documents."""
        pooled = [way for way in self.whole.ways if way.name not in self.whole.scored.raters]
        sure = [way for way in pooled if way.gained.lower is not None]
        better = [way.name for way in sure if (way.gained.lower or 0.0) > 0]
        worse = [way.name for way in sure if (way.gained.upper or 0.0) < 0]
        still_open = [way.name for way in pooled if way.name not in (*better, *worse)]
        text = " ".join(
            f"{heading}: {', '.join(names)}."
            for heading, names in (
                ("Less error than the best single rater", better),
                ("More error than the best single rater", worse),
                ("Not shown to err less or more than the best single rater", still_open),
            )
            if names
        )
        return (
            f"{text} Judged by 95% intervals, not corrected for several comparisons."
            if better or worse
            else text
        )

    @property
    def cheapest(self) -> PanelPolicy | None:
        """The policy whose reviews and errors together cost least, where that can be told."""
        priced = [policy for policy in self.policies if policy.total.estimate is not None]
        return min(priced, key=lambda policy: policy.total.estimate or 0.0, default=None)

    @property
    def least(self) -> str:
        """Which policy costs least here, errors included, and beside which that is not shown.

        By 95% intervals of what the others cost more, paired by document; empty without one.
        """
        best = self.cheapest
        if best is None:
            return ""
        others = {
            policy.name: dearer(policy, best)
            for policy in self.policies
            if policy is not best and len(policy.totals)
        }
        unshown = [name for name, more in others.items() if not (more.lower or 0.0) > 0]
        text = f"Least in all here, errors included: {best.name}."
        if not unshown:
            return f"{text} By 95% intervals over documents, every other costs more."
        named = "; ".join(
            f"{name}: {figure(others[name], significant=True)} USD more" for name in unshown
        )
        return f"{text} Not shown to be less, by 95% intervals over documents, than {named}."

    @property
    def call_ids(self) -> list[int]:
        """The calls behind every answer that counts."""
        return [call for _, state in self.complete for call in state.call_ids]


def evaluate(
    panel: Panel,
    labelled: Sequence[LabelledDocument],
    reviewed: PanelReviews,
    prices: Mapping[int, float],
    error_price: float,
) -> Evaluation:
    """Return the figures; the same answers give the same ones.

    `prices` is call → US dollars, `error_price` US dollars a point. Raises
    `NothingToEvaluateError`.
    """
    complete = _complete(labelled, reviewed)
    if not complete:
        raise _nothing(panel, labelled, reviewed)
    rng = np.random.default_rng(
        derive_seed(
            "panel evaluation", panel.key, *(document.document.key for document in labelled)
        )
    )
    whole, item_scores = _whole(panel, complete), _items(panel, complete)
    costs = np.array([_costs(state, prices) for _, state in complete])
    whole_figures = _figures(whole, rng)
    return Evaluation(
        panel=panel,
        labelled=labelled,
        reviewed=reviewed,
        whole=whole_figures,
        items=_figures(item_scores, rng) if len(item_scores.truth) else None,
        costs=_costs_of_ways([way.name for way in whole_figures.ways], costs.mean(axis=0)),
        policies=policies(whole, costs[:, :-1], error_price, panel.escalate),
        error_price=error_price,
    )


def _figures(scored: Scored, rng: np.random.Generator) -> Figures:
    return Figures(
        scored, ways(scored, rng), pairs(scored, rng), votes(scored), second_family(scored)
    )


def _lacking(state: PanelState | None) -> str:
    """Return why a document is in no figure; empty for one that is."""
    if state is None:
        return "not reviewed: the panel's budget was used up"
    if state.phase != DONE:
        return f"ended in error: {state.error}"
    failed = [f"{rater.name}: {rater.error}" for rater in state.raters if rater.review is None]
    return f"without every review: {'; '.join(failed)}" if failed else ""


def _complete(
    labelled: Sequence[LabelledDocument], reviewed: PanelReviews
) -> list[tuple[LabelledDocument, PanelState]]:
    entries = zip(labelled, reviewed.states, strict=True)
    return [(document, state) for document, state in entries if state and not _lacking(state)]


def _nothing(
    panel: Panel, labelled: Sequence[LabelledDocument], reviewed: PanelReviews
) -> NothingToEvaluateError:
    first = next(why for why in map(_lacking, reviewed.states) if why)
    return NothingToEvaluateError(
        f"Panel {panel.name}: none of {len(labelled)} documents was answered by every rater and "
        f"the arbiter. Of the first: {first}.",
        "Fix the cause and rerun the command: reviews are stored, and only failed calls are made "
        "again.",
    )


def _whole(panel: Panel, complete: Sequence[tuple[LabelledDocument, PanelState]]) -> Scored:
    rows = [
        (document.truth, [rater.review.overall_score for rater in state.raters if rater.review],
         state.consensus.verdict.final_score)
        for document, state in complete if state.consensus.verdict
    ]  # fmt: skip
    truth, scores, arbiter = zip(*rows, strict=True)
    return _scored(panel, truth, scores, range(len(rows)), np.array(arbiter, dtype=np.float64))


def _items(panel: Panel, complete: Sequence[tuple[LabelledDocument, PanelState]]) -> Scored:
    """Return the items whose truth is known, of those that raters saw."""
    rows = []
    for place, (labelled_document, state) in enumerate(complete):
        reviews = [rater.review.items for rater in state.raters if rater.review]
        for item, *reviewed_items in zip(
            labelled_document.items, *reviews, strict=False
        ):  # raters see the first ones
            if item.truth is not None:
                rows.append((item.truth, [review.score for review in reviewed_items], place))
    truth, scores, document = zip(*rows, strict=True) if rows else ((), (), ())
    _, numbered = np.unique(document, return_inverse=True)
    return _scored(panel, truth, scores, numbered.tolist(), None)


def _scored(
    panel: Panel,
    truth: Sequence[int],
    scores: Sequence[Sequence[int]],
    document: Sequence[int],
    arbiter: FloatArray | None,
) -> Scored:
    scale = panel.rubric.scale
    return Scored(
        raters=panel.names,
        families=[family_of(rater.model) for rater in panel.raters],
        scores=np.array(scores, dtype=np.float64).reshape(len(truth), len(panel.raters)),
        truth=np.array(truth, dtype=np.float64),
        document=np.array(document, dtype=np.int64),
        scale=np.arange(scale.lowest, scale.highest + 1, dtype=np.float64),
        arbiter=arbiter,
    )


def _costs(state: PanelState, prices: Mapping[int, float]) -> list[float]:
    """Return what each rater's review and the arbiter's answer cost; NaN where that is unknown."""
    steps = (*state.raters, state.consensus)
    return [sum(prices.get(call, math.nan) for call in step.call_ids) for step in steps]


def _costs_of_ways(ways: Sequence[str], costs: FloatArray) -> dict[str, float]:
    """Return what each way costs: one rater, all of them, or the arbiter, too."""
    *raters, arbiter = costs.tolist()
    alone = dict(zip(ways, raters, strict=False))
    pooled = dict.fromkeys(ways, sum(raters))
    return pooled | alone | {ARBITER: sum(raters) + arbiter}
