"""Power of a planned design: how often it supports a claim that is true of its judges.

Seeded simulation of planted judges, through the estimators and the decision rule of the analysis
itself: a claim is supported when its interval lies beyond the margin. The noise of the judges is
an assumption, and so is how far wordings and rubric draws move a figure, where a claim is decided
over several of them. The decision study compares more items with more replicates, for their price.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from math import prod

import numpy as np

from judge_gym.lab.power.pooled import pooled_over_levels
from judge_gym.lab.power.selftest_people import PeopleStudy, simulated_people
from judge_gym.metrics.cells import FloatArray, Probes, Verdicts, scores
from judge_gym.metrics.entrenchment import calibration
from judge_gym.metrics.estimate import EPSILON, UNBOUNDED, Estimate, ItemValues, wilson
from judge_gym.metrics.facets import ITEM, JUDGE, FacetCells, facet_components
from judge_gym.metrics.inference import paired_difference
from judge_gym.metrics.margins import MarginClaim, difference, p_at_margin
from judge_gym.metrics.polarization import measure_polarization
from judge_gym.metrics.presentation import Displays
from judge_gym.planted.truths import DrawnArm, DrawnData, StudyDesign, Truth, draw
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
_DRAWS_OF_LEVELS = 400


@dataclass(frozen=True, eq=False)
class StudyData:
    """One drawn data set in the form that the estimators take; people are drawn when asked for."""

    truth: Truth
    design: StudyDesign
    seed: int
    reading: FloatArray
    own: Verdicts
    swap: Verdicts
    displays: Displays
    own_probes: Probes
    swap_probes: Probes
    sham_probes: Probes

    @cached_property
    def people(self) -> PeopleStudy:
        """The people of this data set, and the labels of a part of its items."""
        return simulated_people(self.truth, self.design, self.seed)


def simulated(truth: Truth, design: StudyDesign, seed: int, repeat: int = 0) -> StudyData:
    """Return one data set of a truth; equal seeds give equal data on every machine.

    Another `repeat` has the same items, judged anew.
    """
    data = draw(truth, design, seed, repeat)
    return StudyData(
        truth,
        design,
        seed,
        data.reading,
        _verdicts(data, data.own),
        _verdicts(data, data.swap),
        _displays(data),
        _probes(data, data.own),
        _probes(data, data.swap),
        _probes(data, data.sham),
    )


def _verdicts(data: DrawnData, arm: DrawnArm) -> Verdicts:
    return Verdicts(
        judge=data.judge, item=data.item, n_judges=data.n_judges, n_items=data.n_items,
        stages=arm.stages, n_stages=data.n_stages,
    )  # fmt: skip


def _probes(data: DrawnData, arm: DrawnArm) -> Probes:
    return Probes(
        judge=data.judge, item=data.item, n_judges=data.n_judges, n_items=data.n_items,
        stages=arm.stages, probability=arm.stated,
    )  # fmt: skip


def _displays(data: DrawnData) -> Displays:
    lowest = data.own.stages & -data.own.stages
    return Displays(
        judge=data.judge, item=data.item, n_judges=data.n_judges, n_items=data.n_items,
        stage=np.bitwise_count(lowest - 1).astype(np.int64) + 1,
        shown_first=data.shown_first, lettered_a=data.lettered_a, n_stages=data.n_stages,
    )  # fmt: skip


@dataclass(frozen=True)
class SimulatedShare:
    """A share of simulated data sets; `share` is None without any."""

    count: int
    of: int

    @property
    def share(self) -> float | None:
        """The share, in [0, 1]."""
        return self.count / self.of if self.of else None

    @property
    def interval(self) -> tuple[float, float]:
        """The 95% Wilson interval; all of [0, 1] without data sets."""
        return wilson(self.count, self.of) if self.of else (0.0, 1.0)


@dataclass(frozen=True)
class Setting:
    """The data of a comparison: its design, a family number per judge, and their noise.

    `noise` is the scale of the logistic noise of a reading, on the 0-1 scale. `levels` counts the
    levels of each facet that the claim is decided over, and `facet_sd` is the standard deviation
    of the figure between them, in its unit.
    """

    design: StudyDesign
    families: tuple[int, ...]
    noise: float
    levels: tuple[int, ...] = ()
    facet_sd: float = 0.0


@dataclass(frozen=True)
class PowerQuestion:
    """A hypothesis (its key), its claim, the true value of its figure, and the test's level."""

    hypothesis: str
    claim: MarginClaim
    value: float
    level: float


@dataclass(frozen=True)
class Power:
    """How often a design supports the claim; `reason` says why that is unknown, else empty."""

    design: StudyDesign
    rate: SimulatedShare
    reason: str = ""


@dataclass(frozen=True)
class _Plantable:
    """A figure whose true value grows with a parameter of the truth, from 0 to `most`."""

    plant: Callable[[Truth, Sequence[int], float], Truth]
    measure: Callable[[StudyData, Sequence[int], np.random.Generator, int], tuple[Estimate, ...]]
    """The last argument is the number of permutations, where the figure has any. Of several
    parts, each is pooled over facets by itself."""
    most: float
    figure: Callable[..., Estimate] = lambda part: part
    """The figure, of its parts."""
    together: bool = False
    """Whether it takes the samples of all levels of the facets together: it is no mean over items
    of which each level has its own."""


def _apart(truth: Truth, families: Sequence[int], x: float) -> Truth:
    """Spread the families' leanings evenly from -x to x."""
    index = np.unique(families, return_inverse=True)[1]
    return replace(truth, leaning=tuple(np.linspace(-x, x, max(index) + 1)[index].tolist()))


def _excess(
    data: StudyData, families: Sequence[int], rng: np.random.Generator, permutations: int
) -> tuple[Estimate, ...]:
    measured = measure_polarization(
        data.own, rng, family=np.array(families), permutations=permutations
    )
    return (measured.excess,)


def _overconfidence(
    data: StudyData, families: Sequence[int], rng: np.random.Generator, permutations: int
) -> tuple[Estimate, ...]:
    return (calibration(data.own, data.own_probes).overconfidence_by_judge[0],)


def _swap_and_sham(
    data: StudyData, families: Sequence[int], rng: np.random.Generator, permutations: int
) -> tuple[Estimate, ...]:
    # Without the p of the swap's own test, which the claim does not use.
    own, swap, sham = (
        probes.of_judges([0]).confidence()
        for probes in (data.own_probes, data.swap_probes, data.sham_probes)
    )
    return (
        paired_difference("swap_sensitivity", own, swap, "probability"),
        paired_difference("sham_sensitivity", own, sham, "probability"),
    )


_PLANTABLE = {
    "H1": _Plantable(_apart, _excess, 0.6, together=True),
    "H2": _Plantable(lambda truth, _, x: replace(truth, excess=x), _overconfidence, 1.0),
    "H3": _Plantable(
        lambda truth, _, x: replace(truth, loyalty=x),
        _swap_and_sham,
        1.0,
        partial(difference, "swap_beyond_sham"),
    ),
    "V1.polarization": _Plantable(_apart, _excess, 0.6, together=True),
}

PLANTABLE = tuple(_PLANTABLE)
"""The hypotheses whose power can be simulated."""


def sd_between_levels(hypothesis: str, setting: Setting) -> float | None:
    """Return the standard deviation that is assumed between the levels of facets.

    None for a figure without that error: of one level, or of the samples of all levels together.
    """
    together = _PLANTABLE[hypothesis].together
    return None if together or not setting.levels else setting.facet_sd


def _as_analysed(hypothesis: str, setting: Setting) -> Setting:
    """Return the setting with the levels of facets as replicates, where the figure has them so."""
    if not setting.levels or sd_between_levels(hypothesis, setting) is not None:
        return setting
    replicates = setting.design.replicates * prod(setting.levels)
    return replace(
        setting, design=replace(setting.design, replicates=replicates), levels=(), facet_sd=0.0
    )


@dataclass(frozen=True)
class Components:
    """Variances of a 0-1 score: of judge by item, and of replicates.

    From `facets.facet_components`. An estimate below 0 counts as 0.
    """

    judge_item: float
    replicate: float


@dataclass(frozen=True)
class PowerAnswer:
    """The power of a setting, and the fewest items that bring it to `WANTED` (None: beyond reach).

    `fewest` keeps the replicates, `fewest_doubled` has twice as many. `components` are those of
    the judges' scores, for the decision study.
    """

    now: Power
    fewest: Power | None
    fewest_doubled: Power | None
    components: Components | None


def answer(question: PowerQuestion, setting: Setting, seeds: Sequence[int]) -> PowerAnswer:
    """Return the power of this setting, and the items needed with as many or twice the replicates.

    The judges are planted once, for this setting's replicates: P - P0 of the same judges grows
    with the number of replicates.
    """
    truth = planted_truth(question.hypothesis, question.value, setting)
    if isinstance(truth, str):
        return PowerAnswer(Power(setting.design, SimulatedShare(0, 0), truth), None, None, None)
    doubled = replace(
        setting, design=replace(setting.design, replicates=2 * setting.design.replicates)
    )
    now, with_doubled = (power(question, truth, each, seeds) for each in (setting, doubled))
    return PowerAnswer(
        now,
        items_needed(question, truth, setting, seeds, now),
        items_needed(question, truth, doubled, seeds, with_doubled),
        _components(truth, setting.design),
    )


def power(question: PowerQuestion, truth: Truth, setting: Setting, seeds: Sequence[int]) -> Power:
    """Return how often the claim is supported, at the question's level, for this truth."""
    supported = 0
    for seed in seeds:
        estimate = _decided(question.hypothesis, truth, setting, seed)
        if estimate.estimate is None:
            return Power(setting.design, SimulatedShare(0, 0), estimate.reason)
        supported += _supports(estimate, question)
    return Power(setting.design, SimulatedShare(supported, len(seeds)))


def _decided(hypothesis: str, truth: Truth, setting: Setting, seed: int) -> Estimate:
    """Return the figure that decides the claim in one data set, pooled over the facets."""
    plantable, setting = _PLANTABLE[hypothesis], _as_analysed(hypothesis, setting)
    rng = np.random.default_rng(derive_seed("power", hypothesis, seed))
    by_level = [
        plantable.measure(
            simulated(truth, setting.design, seed, level), setting.families, rng, PERMUTATIONS
        )
        for level in range(prod(setting.levels))
    ]
    if not setting.levels:
        return plantable.figure(*by_level[0])
    # The difference of two parts moves as one figure does.
    parts = (
        pooled_over_levels(part, setting.levels, setting.facet_sd * (number == 0), rng)
        for number, part in enumerate(zip(*by_level, strict=True))
    )
    return plantable.figure(*parts)


def items_needed(
    question: PowerQuestion, truth: Truth, setting: Setting, seeds: Sequence[int], start: Power
) -> Power | None:
    """Return the design with the fewest items that has the power `WANTED`, or None.

    None beyond `MOST_ITEMS`, and where `start`, the power of this setting, is unknown. Each guess
    follows from the power of the last: the distance of the value from the margin, in standard
    errors, grows with √items. The answer is as exact as the simulation.
    """
    if setting.levels and _most_power(question, setting) < WANTED - _NEAR:
        return None
    last, tried = start, {start.design.items: start}
    for _ in range(_ROUNDS):
        if last.rate.share is None or abs(last.rate.share - WANTED) <= _NEAR:
            break
        items = min(MOST_ITEMS, _guess(last, question))
        if items in tried:
            break
        last = power(question, truth, _with_items(setting, items), seeds)
        tried[items] = last
    enough = [each for each in tried.values() if (each.rate.share or 0) >= WANTED - _NEAR]
    return min(enough, key=lambda each: each.design.items, default=None)


def _most_power(question: PowerQuestion, setting: Setting) -> float:
    """Return the power with any number of items: that which the levels of facets leave."""
    if not _as_analysed(question.hypothesis, setting).facet_sd:
        return 1.0
    exact = ItemValues(np.arange(2), np.full(2, question.value), np.ones(2, int), UNBOUNDED)
    figure = Estimate(question.hypothesis, question.value, None, None, 2, 2, values=exact)
    rng = np.random.default_rng(derive_seed("levels", question.hypothesis))
    found = [
        pooled_over_levels([figure] * prod(setting.levels), setting.levels, setting.facet_sd, rng)
        for _ in range(_DRAWS_OF_LEVELS)
    ]
    return sum(_supports(one, question) for one in found) / len(found)


def planted_truth(hypothesis: str, value: float, setting: Setting) -> Truth | str:
    """Return the truth whose figure has this value, or the reason that there is none."""
    setting = _as_analysed(hypothesis, _with_items(setting, _REFERENCE_ITEMS))
    # The levels of facets do not move the mean.
    setting = replace(setting, levels=(), facet_sd=0.0)
    return _planted(hypothesis, value, setting)


@cache
def _planted(hypothesis: str, value: float, setting: Setting) -> Truth | str:
    """Find the parameter by bisection; the figure grows with it."""
    plantable = _PLANTABLE[hypothesis]
    base = Truth(
        "planned", "judges with the effect", leaning=(0.0,) * len(setting.families),
        noise=setting.noise,
    )  # fmt: skip

    def reached(x: float) -> Estimate:
        data = simulated(plantable.plant(base, setting.families, x), setting.design, 0)
        rng = np.random.default_rng(1)
        parts = plantable.measure(data, setting.families, rng, _REFERENCE_PERMUTATIONS)
        return plantable.figure(*parts)

    low, high, furthest = 0.0, plantable.most, reached(plantable.most)
    if furthest.estimate is None:
        return furthest.reason
    if abs(furthest.estimate) < abs(value):
        return f"simulated judges reach {furthest.estimate:.2g} at most"
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        short = abs(reached(middle).estimate or 0.0) < abs(value)
        low, high = (middle, high) if short else (low, middle)
    # A value of 0 means no effect at all, not the parameter at which the estimate is 0 by chance.
    return plantable.plant(base, setting.families, high if value else 0.0)


def _components(truth: Truth, design: StudyDesign) -> Components | None:
    """Return the components of a large data set of these judges; None with one replicate."""
    data = simulated(truth, replace(design, items=_COMPONENT_ITEMS), 0)
    own = data.own
    cells = FacetCells.of((ITEM, JUDGE), (own.item, own.judge), scores(own))
    _, variances = facet_components(cells)
    if variances is None or variances.replicate is None:
        return None
    return Components(variances.terms[ITEM, JUDGE], variances.replicate)


def _supports(estimate: Estimate, question: PowerQuestion) -> bool:
    """Whether the estimate lies in the claim's region, and beyond its margin at the level."""
    p, claim = p_at_margin(estimate, question.claim), question.claim
    low, high = claim.region
    inside = low < (estimate.estimate or 0.0) < high
    return p is not None and inside and p < question.level


def _guess(last: Power, question: PowerQuestion) -> int:
    """Return the items at which the power would be `WANTED`, the statistic being normal."""
    from scipy.special import ndtri

    critical = float(ndtri(1 - question.level / 2))
    share = min(max(last.rate.share or 0.0, 1 / (last.rate.of + 1)), 1 - 1 / (last.rate.of + 1))
    apart = max(critical + float(ndtri(share)), 0.25)
    ratio = ((critical + float(ndtri(WANTED))) / apart) ** 2
    return max(2, round(last.design.items * min(max(ratio, 0.1), 10.0)))


def _with_items(setting: Setting, items: int) -> Setting:
    return replace(setting, design=replace(setting.design, items=items))


@dataclass(frozen=True)
class Costs:
    """The price of an item (finding and editing it) and of one judgement with its probe."""

    item: float
    judgement: float

    def __post_init__(self) -> None:
        """Refuse a free judgement: nothing would limit their number."""
        if self.item < 0 or self.judgement <= 0:
            raise ValueError(f"{self}: an item costs 0 or more, a judgement more than 0")


def standard_error(components: Components, items: int, replicates: int) -> float:
    """Return the expected error of the difference of two judges' mean scores on common items.

    √(2·(σ²_judge×item + σ²_replicate / r) / n): the item's own level, shared, cancels.
    """
    judge_item, noise = max(0.0, components.judge_item), max(0.0, components.replicate)
    return float((2 * (judge_item + noise / replicates) / items) ** 0.5)


def design_advice(
    components: Components, costs: Costs, judges: int, items: int, replicates: int
) -> str:
    """Return whether to buy more items or more replicates, and what each cuts the error by.

    Compares one more replicate of every item with the items that the same money buys.
    Generalizability theory (Brennan 2001): the error of a mean falls with items in every part,
    with replicates only in the part that is their noise.
    """
    extra = items * judges * costs.judgement
    added = extra / (costs.item + replicates * judges * costs.judgement)
    now = standard_error(components, items, replicates)
    if now**2 <= EPSILON:
        return "neither: nothing varies"
    by_replicate = standard_error(components, items, replicates + 1) / now
    by_items = (items / (items + added)) ** 0.5
    comparison = (
        f"one more replicate of each of {items} items cuts the error by "
        f"{1 - by_replicate:.1%}, and more items of {replicates} for the same money by "
        f"{1 - by_items:.1%}"
    )
    return f"more {'replicates' if by_replicate < by_items else 'items'}: {comparison}"
