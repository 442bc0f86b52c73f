"""The regime of each judge, and the response curve that graded and thresholded are told by."""

from collections.abc import Iterator

import numpy as np

from judge_gym.analysis.groups import Group
from judge_gym.analysis.registry import Column, Figure, FigureTable
from judge_gym.analysis.truths import KnownTruth, truth_of
from judge_gym.metrics.cells import FloatArray, item_means, mean_scores, pignistic
from judge_gym.metrics.estimate import Estimate, not_estimable
from judge_gym.metrics.regimes import (
    DRAWS,
    SURE,
    RegimeChances,
    UsePerItem,
    regime_chances,
    response_curve,
    steepest_rise,
)
from judge_gym.metrics.shape import Readable
from judge_gym.store.results import ResultRow

CANNOT_TELL = "cannot tell"
KNOWN, OTHERS = "what is known", "the other judges"
"""What a curve is drawn against: the `part` of its scope."""
_A_REFERENCE = "another judge of the same items, or known answers"
_CURVE = "a + b·σ(k(x − m)), x what is known or the mean of the other judges"

TABLES = (
    FigureTable(
        "Regime of each judge",
        (
            "Graded follows what it reads in steps, thresholded jumps from low to high, compressed "
            "hardly distinguishes, interior stays away from both ends. The chance is how often "
            f"the regime holds when items are drawn again; below {SURE:.0%} one cannot tell."
        ),
        question="scale",
        rank=10,
        figures=(Figure("regime", "probability"), Figure("steepest_rise", "share", _A_REFERENCE)),
        columns=(
            Column("chance", "regime"),
            Column("steepest fifth", "steepest_rise"),
            Column("of a line", "steepest_rise", "floor"),
            Column("items", "regime", "items"),
        ),
        formulas=(
            "compressed: abstains ≥ 0.8, or entropy ≤ 0.35; interior: mass at the ends ≤ (2/S)/3",
            (
                "thresholded: half of the rise or more within the steepest fifth of the reference "
                f"(a straight line has 0.2 there), the others graded; the curve is {_CURVE}"
            ),
        ),
        needs=(
            "Needs 6 items; graded and thresholded need another judge or known answers, and 3 "
            "items in the middle third of these.",
        ),
    ),
    FigureTable(
        "Response curves",
        (
            "Each judge's expected stage against what is known of the items, or the mean of the "
            "other judges (0-1): the mean of each fifth of this reference, the fitted curve, and a "
            "straight line between the same ends."
        ),
        question="scale",
        rank=15,
        figures=(
            Figure("response_mean", "stages", _A_REFERENCE),
            Figure("response_fit", "stages", _A_REFERENCE),
        ),
        columns=(
            Column("mean stage", "response_mean"),
            Column("curve", "response_fit"),
            Column("line", "response_fit", "floor"),
            Column("items", "response_mean", "items"),
        ),
        in_terminal=False,
        formulas=(f"curve = {_CURVE}, by least squares over a grid of k and m",),
        needs=(
            "Needs items that the reference tells apart; the curve 3 in its middle third, "
            "and a judge that rises with it.",
        ),
    ),
)


def regimes(group: Group) -> Iterator[ResultRow]:
    """Yield the regime of each judge of a group, the rise it is told by, and its curve."""
    if group.judges[0].experiment.judges_pairs or group.is_level:
        return
    for number, judge in enumerate(group.judges):
        own = [group.own_arms[number]]
        readable = group.readable(own)
        against, reference = _reference(group, number)
        use = _use(readable, reference)
        found = regime_chances(use, group.rng("regime", judge=judge.model))
        name = found.regime or CANNOT_TELL
        for estimate in (
            _regime(found, len(readable)),
            steepest_rise(use, found.rises, len(readable)),
        ):
            yield group.row(estimate, own, judge=judge.model, regime=name)
        for place, estimate in response_curve(use, readable.verdicts.sizes()[0]):
            at = f"{place:.3f}"
            yield group.row(estimate, own, judge=judge.model, part=against, reference=at)


def _use(readable: Readable, reference: FloatArray) -> UsePerItem:
    abstained = readable.means((readable.stages == 0).astype(np.float64))
    p, present = pignistic(readable.verdicts)
    return UsePerItem(
        distribution=np.where(present[0][:, None], p[0], np.nan),
        abstained=np.where(abstained.present[0], abstained.value[0], np.nan),
        reference=reference,
    )


def _regime(found: RegimeChances, n: int) -> Estimate:
    """Return the probability of a judge's regime."""
    metric = "regime"
    if not found.chances:
        return not_estimable(metric, found.because, n=n, n_items=found.n_items)
    chances = ", ".join(f"{name} {chance:.2f}" for name, chance in found.chances.items())
    method = f"share of {DRAWS} draws of items: {chances}"
    method += f"; {found.because}" if found.because else ""
    return Estimate(
        metric,
        max(found.chances.values()),
        *(None, None, n, found.n_items),
        method=method,
        unit="probability",
    )


def _reference(group: Group, number: int) -> tuple[str, FloatArray]:
    """Return where each item stands in [0, 1]: as is known, else by the other judges' mean."""
    truth = truth_of(group, number)
    if isinstance(truth, KnownTruth):
        return KNOWN, np.where(truth.stage > 0, truth.index, np.nan)
    others = [other for other in group.present if other != number]
    reference = np.full(len(group.items), np.nan)
    if others:
        cells = mean_scores(group.own.of_judges(others))
        values, kept = item_means(cells.value, cells.present)
        reference[kept] = values
    return OTHERS, reference


OF_GROUP = (regimes,)
