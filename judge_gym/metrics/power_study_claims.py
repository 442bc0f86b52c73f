"""Power: how often a planned design supports a hypothesis whose effect is there.

Seeded simulation of judges that have the effect, through the estimators and the rule of the
analysis itself: the claim is supported when its interval lies beyond the margin. The judges are
those of `power_study_truths`; how far real ones repeat themselves has to be assumed.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

import numpy as np

from judge_gym.metrics.components import variance_components
from judge_gym.metrics.contrasts import paired_difference
from judge_gym.metrics.entrenchment import calibration
from judge_gym.metrics.estimate import Estimate
from judge_gym.metrics.hypotheses_margins import Claim, difference, p_at_margin
from judge_gym.metrics.polarization import measure_polarization
from judge_gym.metrics.power_study import Rate
from judge_gym.metrics.power_study_decision import Components
from judge_gym.metrics.power_study_truths import DrawnData, StudyDesign, Truth, draw
from judge_gym.seeds import derive_seed

WANTED = 0.8
"""The power that a design is brought to."""
MOST_ITEMS = 1000
PERMUTATIONS = 59
_NEAR = 0.02
_ROUNDS = 4
_REFERENCE_ITEMS = 2000
_REFERENCE_PERMUTATIONS = 10
_COMPONENT_ITEMS = 1000
_HALVINGS = 10


@dataclass(frozen=True)
class Setting:
    """What a comparison gathers: its design, a family number per judge, and their noise.

    `noise` is the scale of the logistic noise of a reading, on the 0-1 scale.
    """

    design: StudyDesign
    families: tuple[int, ...]
    noise: float


@dataclass(frozen=True)
class Question:
    """A hypothesis (its key), its claim, the true value to be found, and the level of the test."""

    hypothesis: str
    claim: Claim
    value: float
    level: float


@dataclass(frozen=True)
class Found:
    """How often a design found the value; `reason` says why it cannot be told, else it is empty."""

    design: StudyDesign
    rate: Rate
    reason: str = ""


@dataclass(frozen=True)
class _Plantable:
    """A figure whose true value a parameter of the truth sets, from 0 to `most`."""

    plant: Callable[[Truth, Sequence[int], float], Truth]
    measure: Callable[[DrawnData, Sequence[int], np.random.Generator, int], Estimate]
    """The last argument is the number of permutations, where the figure has any."""
    most: float


def _apart(truth: Truth, families: Sequence[int], x: float) -> Truth:
    """Spread the families' leanings evenly from -x to x."""
    place = np.unique(families, return_inverse=True)[1]
    return replace(truth, leaning=tuple(np.linspace(-x, x, max(place) + 1)[place].tolist()))


def _excess(
    data: DrawnData, families: Sequence[int], rng: np.random.Generator, permutations: int
) -> Estimate:
    return measure_polarization(
        data.own, rng, family=np.array(families), permutations=permutations
    ).excess


def _overconfidence(
    data: DrawnData, families: Sequence[int], rng: np.random.Generator, permutations: int
) -> Estimate:
    return calibration(data.own, data.own_probes).overconfidence_by_judge[0]


def _beyond_sham(
    data: DrawnData, families: Sequence[int], rng: np.random.Generator, permutations: int
) -> Estimate:
    # Without the p of the swap's own test, which the claim does not use.
    own, swap, sham = (
        probes.of_judges([0]).confidence()
        for probes in (data.own_probes, data.swap_probes, data.sham_probes)
    )
    return difference(
        "swap_beyond_sham",
        paired_difference("swap_sensitivity", own, swap, "probability"),
        paired_difference("sham_sensitivity", own, sham, "probability"),
    )


_PLANTABLE = {
    "H1": _Plantable(_apart, _excess, 0.6),
    "H2": _Plantable(lambda truth, _, x: replace(truth, excess=x), _overconfidence, 1.0),
    "H3": _Plantable(lambda truth, _, x: replace(truth, loyalty=x), _beyond_sham, 1.0),
    "V1.polarization": _Plantable(_apart, _excess, 0.6),
}

PLANTABLE = tuple(_PLANTABLE)
"""The hypotheses whose power is known by simulation."""


@dataclass(frozen=True)
class Answer:
    """The power of a setting, and the fewest items that bring it to `WANTED`, None beyond reach.

    `fewest` keeps the replicates, `fewest_doubled` has twice as many. `components` are those of
    the judges' scores, for the decision study.
    """

    now: Found
    fewest: Found | None
    fewest_doubled: Found | None
    components: Components | None


def answer(question: Question, setting: Setting, seeds: Sequence[int]) -> Answer:
    """Return the power of this setting and what more items, or more replicates too, would take.

    The judges stay those whose figure has the value at this setting's replicates: P - P0 of the
    same judges grows with their number.
    """
    truth = planted_truth(question.hypothesis, question.value, setting)
    if isinstance(truth, str):
        return Answer(Found(setting.design, Rate(0, 0), truth), None, None, None)
    doubled = replace(
        setting, design=replace(setting.design, replicates=2 * setting.design.replicates)
    )
    now, then = (power(question, truth, one, seeds) for one in (setting, doubled))
    return Answer(
        now,
        items_needed(question, truth, setting, seeds, now),
        items_needed(question, truth, doubled, seeds, then),
        _components(truth, setting.design),
    )


def power(question: Question, truth: Truth, setting: Setting, seeds: Sequence[int]) -> Found:
    """Return how often the claim is supported, at the question's level, of judges so planted."""
    plantable, found = _PLANTABLE[question.hypothesis], 0
    for seed in seeds:
        rng = np.random.default_rng(derive_seed("power", question.hypothesis, seed))
        data = draw(truth, setting.design, seed)
        estimate = plantable.measure(data, setting.families, rng, PERMUTATIONS)
        if estimate.estimate is None:
            return Found(setting.design, Rate(0, 0), estimate.reason)
        found += _supports(estimate, question)
    return Found(setting.design, Rate(found, len(seeds)))


def items_needed(
    question: Question, truth: Truth, setting: Setting, seeds: Sequence[int], start: Found
) -> Found | None:
    """Return the design with the fewest items that finds the value in `WANTED` of runs, or None.

    None beyond `MOST_ITEMS`, and where `start`, the power of this setting, is not known. Each
    guess follows from the power of the last: the distance of the value from the margin, in
    standard errors, grows with √items. The answer is good to the error of the simulation.
    """
    last, tried = start, {start.design.items: start}
    for _ in range(_ROUNDS):
        if last.rate.share is None or abs(last.rate.share - WANTED) <= _NEAR:
            break
        items = min(MOST_ITEMS, _guess(last, question))
        if items in tried:
            break
        last = power(question, truth, _with_items(setting, items), seeds)
        tried[items] = last
    enough = [one for one in tried.values() if (one.rate.share or 0) >= WANTED - _NEAR]
    return min(enough, key=lambda one: one.design.items, default=None)


def planted_truth(hypothesis: str, value: float, setting: Setting) -> Truth | str:
    """Return the judges whose figure has this true value, or why there are none."""
    return _planted(hypothesis, value, _with_items(setting, _REFERENCE_ITEMS))


@cache
def _planted(hypothesis: str, value: float, setting: Setting) -> Truth | str:
    """Find the parameter by bisection: the figure grows with it, away from 0."""
    plantable = _PLANTABLE[hypothesis]
    base = Truth(
        "planned", "judges with the effect", leaning=(0.0,) * len(setting.families),
        noise=setting.noise,
    )  # fmt: skip

    def reached(x: float) -> Estimate:
        data = draw(plantable.plant(base, setting.families, x), setting.design, 0)
        rng = np.random.default_rng(1)
        return plantable.measure(data, setting.families, rng, _REFERENCE_PERMUTATIONS)

    low, high, furthest = 0.0, plantable.most, reached(plantable.most)
    if furthest.estimate is None:
        return furthest.reason
    if abs(furthest.estimate) < abs(value):
        return f"simulated judges reach {furthest.estimate:.2g} at most"
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        short = abs(reached(middle).estimate or 0.0) < abs(value)
        low, high = (middle, high) if short else (low, middle)
    # A value of 0 is no effect at all, not the parameter at which chance gives 0.
    return plantable.plant(base, setting.families, high if value else 0.0)


def _components(truth: Truth, design: StudyDesign) -> Components | None:
    """Return what a large data set of these judges shows; None with one replicate."""
    data = draw(truth, replace(design, items=_COMPONENT_ITEMS), 0)
    _, _, judge_item, replicate = variance_components(data.own, np.random.default_rng(1))
    if judge_item.estimate is None or replicate.estimate is None:
        return None
    return Components(judge_item.estimate, replicate.estimate)


def _supports(estimate: Estimate, question: Question) -> bool:
    """Whether the estimate lies in the claim's region, and beyond its margin at the level."""
    p, claim = p_at_margin(estimate, question.claim), question.claim
    low, high = claim.region
    inside = low < (estimate.estimate or 0.0) < high
    return p is not None and inside and p < question.level


def _guess(last: Found, question: Question) -> int:
    """Return the items at which the power would be `WANTED`, the statistic being normal."""
    from scipy.special import ndtri

    critical = float(ndtri(1 - question.level / 2))
    share = min(max(last.rate.share or 0.0, 1 / (last.rate.of + 1)), 1 - 1 / (last.rate.of + 1))
    apart = max(critical + float(ndtri(share)), 0.25)
    ratio = ((critical + float(ndtri(WANTED))) / apart) ** 2
    return max(2, round(last.design.items * min(max(ratio, 0.1), 10.0)))


def _with_items(setting: Setting, items: int) -> Setting:
    return replace(setting, design=replace(setting.design, items=items))
