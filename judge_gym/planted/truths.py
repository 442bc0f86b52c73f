"""Panels of judges with planted properties, for studies without texts: drawn straight as arrays.

An item has a reading θ, uniform over `SPAN`. A judge reads it as θ + its leaning - the shift of
the rubric + logistic noise, and names every stage within its doubt of that reading. With its first
bias it names the stage displayed first instead. What estimators should find of a truth is in
`truth_values`.
"""

from dataclasses import dataclass

import numpy as np

from judge_gym.planted.judging import (
    FloatArray,
    IntArray,
    graded_response,
    logistic,
    stage_at,
    thresholds,
    with_display_bias,
)
from judge_gym.seeds import derive_seed

SPAN = (0.15, 0.85)


@dataclass(frozen=True)
class Truth:
    """The planted parameters of a panel, on the 0-1 scale of readings.

    `leaning` has one entry per judge; judges share the others.
    """

    name: str
    about: str
    leaning: tuple[float, ...] = (0.0, 0.0)
    noise: float = 0.1
    """Scale of the logistic noise of one reading."""
    doubt: float = 0.0
    """How far around its reading a judge names stages; 0 names one."""
    constant: bool = False
    """Whether judges name the second stage whatever they read."""
    first_bias: float = 0.0
    """Probability of naming the stage displayed first."""
    excess: float = 0.0
    """Stated probability above the true agreement, cut to [0, 1]."""
    loyalty: float = 0.0
    """What stated probability loses under the rival's rubric."""
    rubric_shift: float = 0.0
    """How much lower the rival's rubric puts every item; the judge's own rubric shifts nothing."""
    lost: float = 0.0
    """The share of samples whose verdict abstains, in all arms alike."""


TRUTHS = (
    Truth("identical", "judges that differ in nothing"),
    Truth("polarised", "judges that lean apart", leaning=(0.15, -0.15)),
    Truth("vague", "judges that name every stage they doubt between", doubt=0.12),
    Truth("constant", "judges that always name the second stage", constant=True),
    Truth("position-biased", "judges that take the first stage shown", first_bias=0.25),
    Truth("overconfident", "judges that claim more agreement than there is", excess=0.2),
    Truth(
        "rubric-loyal",
        "judges whose confidence and verdicts fall under the rival's rubric",
        loyalty=0.15,
        rubric_shift=0.1,
    ),
    Truth(
        "abstaining",
        "judges that lean apart and abstain from a fifth of verdicts",
        leaning=(0.1, -0.1),
        lost=0.2,
    ),
)


@dataclass(frozen=True)
class StudyDesign:
    """How much is drawn: items, replicates of each, stages of the scale."""

    items: int = 30
    replicates: int = 5
    n_stages: int = 4

    def __post_init__(self) -> None:
        """Refuse a design without items, replicates or a scale."""
        if self.items < 1 or self.replicates < 1 or not 2 <= self.n_stages <= 10:
            raise ValueError(f"{self}: 1 item, 1 replicate and 2 to 10 stages at least")


@dataclass(frozen=True, eq=False)
class DrawnArm:
    """Verdicts under one rubric, one entry per sample.

    `stages` are sets as bitmasks, the lowest bit for the first stage; `stated` is the probability
    the judge states that another judge agrees.
    """

    stages: IntArray
    stated: FloatArray


@dataclass(frozen=True, eq=False)
class DrawnData:
    """One data set. Samples run over judges, then items, then replicates, alike in each arm; those
    whose verdict abstains are left out.

    Judges score their own rubric (`own`), the rival's (`swap`) and a second own one (`sham`).
    `shown_first` and `lettered_a` are the stages (1..S) so displayed to each own sample, `reading`
    has an entry per item.
    """

    reading: FloatArray
    judge: IntArray
    item: IntArray
    own: DrawnArm
    swap: DrawnArm
    sham: DrawnArm
    shown_first: IntArray
    lettered_a: IntArray
    n_judges: int
    n_stages: int

    @property
    def n_items(self) -> int:
        """The number of items."""
        return len(self.reading)


def draw(truth: Truth, design: StudyDesign, seed: int, repeat: int = 0) -> DrawnData:
    """Return one data set of a truth; the same seed gives the same data on every machine.

    Another `repeat` has the same items, judged anew.
    """
    rng = np.random.default_rng(derive_seed("selftest", truth.name, seed))
    reading = rng.uniform(*SPAN, design.items)
    if repeat:
        rng = np.random.default_rng(derive_seed("selftest", truth.name, seed, repeat))
    shape = (len(truth.leaning), design.items, design.replicates)
    judge, item = (index.ravel().astype(np.int64) for index in np.indices(shape)[:2])

    def shown() -> IntArray:
        return rng.integers(1, design.n_stages + 1, len(judge))

    def arm(shift: float, loss: float, first: IntArray) -> DrawnArm:
        seen = reading[item] + np.array(truth.leaning)[judge] - shift
        stages = _named(truth, design.n_stages, seen, first, rng)
        return DrawnArm(stages, _stated(truth, reading, design.n_stages, judge, item, stages, loss))

    first, lettered = shown(), shown()
    own = arm(0.0, 0.0, first)
    swap = arm(truth.rubric_shift, truth.loyalty, shown())
    sham = arm(0.0, 0.0, shown())
    kept = rng.random(len(judge)) >= truth.lost
    own, swap, sham = (DrawnArm(each.stages[kept], each.stated[kept]) for each in (own, swap, sham))
    judge, item, first, lettered = (codes[kept] for codes in (judge, item, first, lettered))
    return DrawnData(
        reading, judge, item, own, swap, sham, first, lettered, shape[0], design.n_stages
    )


def set_probabilities(
    truth: Truth, reading: FloatArray, judge: int, n_stages: int
) -> tuple[IntArray, FloatArray]:
    """Return the sets of neighbouring stages, and p (readings x sets) of each as a verdict.

    A set reaches from the stage of the noisy reading less the doubt to that of it plus the doubt.
    """
    low, high = np.triu_indices(n_stages)
    sets = _span(low, high)
    if truth.constant:
        p = np.tile(sets == 0b10, (len(reading), 1)).astype(np.float64)
    else:
        edges = np.r_[-np.inf, thresholds(n_stages), np.inf]
        start = np.maximum(edges[low] + truth.doubt, edges[high] - truth.doubt)
        end = np.minimum(edges[low + 1] + truth.doubt, edges[high + 1] - truth.doubt)
        seen = (reading + truth.leaning[judge])[:, None]
        below_end, below_start = (logistic((edge - seen) / truth.noise) for edge in (end, start))
        p = np.maximum(below_end - below_start, 0.0)
    first = (low == high) / n_stages
    return sets, np.asarray((1 - truth.first_bias) * p + truth.first_bias * first)


def true_stages(reading: FloatArray, n_stages: int) -> IntArray:
    """Return the stage (1..S) that each reading falls in."""
    return 1 + stage_at(reading, thresholds(n_stages))


def single_probabilities(
    truth: Truth, reading: FloatArray, judge: int, n_stages: int, shift: float = 0.0
) -> FloatArray:
    """Return p (readings x stages) of single verdicts, a first bias included; needs no doubt."""
    if truth.doubt:
        raise ValueError(f"{truth.name}: with doubt a verdict is no single stage")
    if truth.constant:
        p = np.tile(np.eye(n_stages)[1], (len(reading), 1))
    else:
        seen = reading + truth.leaning[judge] - shift
        p = graded_response(seen, truth.noise, thresholds(n_stages))
    return with_display_bias(p, truth.first_bias)


def agreement(truth: Truth, reading: FloatArray, judge: int, n_stages: int) -> FloatArray:
    """Return readings x stages: the mean probability that another judge names this stage."""
    others = [other for other in range(len(truth.leaning)) if other != judge]
    named = [single_probabilities(truth, reading, other, n_stages) for other in others]
    return np.asarray(np.mean(named, axis=0))


def stated(truth: Truth, agreed: FloatArray, loss: float) -> FloatArray:
    """Return the stated probability where the true agreement is `agreed`."""
    return np.clip(np.clip(agreed + truth.excess, 0, 1) - loss, 0, 1)


def _named(
    truth: Truth, n_stages: int, seen: FloatArray, first: IntArray, rng: np.random.Generator
) -> IntArray:
    """Return the stages that judges name of what they perceive before noise, as bitmasks."""
    seen = seen + truth.noise * rng.logistic(size=len(seen))
    edges = thresholds(n_stages)
    stages = _span(stage_at(seen - truth.doubt, edges), stage_at(seen + truth.doubt, edges))
    if truth.constant:
        stages = np.full(len(seen), 0b10, dtype=np.int64)
    biased = rng.random(len(seen)) < truth.first_bias
    return np.where(biased, 1 << (first - 1), stages)


def _span(low: IntArray, high: IntArray) -> IntArray:
    """Return the sets of the stages from `low` to `high` (0-based), as bitmasks."""
    return np.asarray((1 << (high + 1)) - (1 << low), dtype=np.int64)


def _stated(
    truth: Truth,
    reading: FloatArray,
    n_stages: int,
    judge: IntArray,
    item: IntArray,
    stages: IntArray,
    loss: float,
) -> FloatArray:
    """Return what judges state of their verdicts; with doubt they expect everybody to agree."""
    if truth.doubt:
        return np.full(len(judge), stated(truth, np.ones(1), loss)[0])
    judges = range(len(truth.leaning))
    table = np.stack([agreement(truth, reading, one, n_stages) for one in judges])
    stage = np.bitwise_count(stages - 1).astype(np.int64)
    return stated(truth, table[judge, item, stage], loss)
