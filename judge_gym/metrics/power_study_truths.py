"""Named truths: judges with planted properties, drawn straight as arrays, without LLM or store.

An item has a reading θ, uniform over `SPAN`. A judge reads it as θ + its leaning + the shift of
the rubric + logistic noise, and names every stage that its reading, give or take its doubt,
falls in; with its first bias it names the stage displayed first instead.
"""

from dataclasses import dataclass

import numpy as np

from judge_gym.metrics.cells import FloatArray, IntArray, Probes, Verdicts
from judge_gym.metrics.presentation import Displays
from judge_gym.seeds import derive_seed

SPAN = (0.15, 0.85)


@dataclass(frozen=True)
class Truth:
    """What is planted. `leaning` has one entry per judge; all are on the 0-1 scale of readings."""

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
    """How much lower the rival's rubric puts everything; each judge's own puts it nowhere."""


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
class DrawnData:
    """One data set: verdicts and probes by arm, and how each own verdict was displayed.

    Judges score their own rubric (`own`), the rival's (`swap`) and a second own one (`sham`).
    """

    reading: FloatArray
    own: Verdicts
    swap: Verdicts
    displays: Displays
    own_probes: Probes
    swap_probes: Probes
    sham_probes: Probes


def draw(truth: Truth, design: StudyDesign, seed: int) -> DrawnData:
    """Return one data set of a truth; the same seed gives the same data on every machine."""
    rng = np.random.default_rng(derive_seed("selftest", truth.name, seed))
    reading = rng.uniform(*SPAN, design.items)
    first, lettered = (_shown(truth, design, rng) for _ in range(2))
    own = _verdicts(truth, design, reading, 0.0, first, rng)
    swapped, again = (
        _verdicts(truth, design, reading, shift, _shown(truth, design, rng), rng)
        for shift in (truth.rubric_shift, 0.0)
    )
    displays = Displays(
        judge=own.judge, item=own.item, n_judges=own.n_judges, n_items=own.n_items,
        stage=np.bitwise_count((own.stages & -own.stages) - 1).astype(np.int64) + 1,
        shown_first=first, lettered_a=lettered, n_stages=design.n_stages,
    )  # fmt: skip
    return DrawnData(
        reading,
        own,
        swapped,
        displays,
        _probes(truth, own, reading, 0.0),
        _probes(truth, swapped, reading, truth.loyalty),
        _probes(truth, again, reading, 0.0),
    )


def stage_probabilities(
    truth: Truth, reading: FloatArray, judge: int, n_stages: int, shift: float = 0.0
) -> FloatArray:
    """Return p (readings x stages) of the lowest stage a judge names, before any first bias.

    P(stage <= k) = logistic((k/S - θ') / noise), θ' the shifted reading less the doubt.
    """
    if truth.constant:
        return np.tile(np.eye(n_stages)[1], (len(reading), 1))
    return _between(reading + truth.leaning[judge] - shift - truth.doubt, truth.noise, n_stages)


def set_probabilities(
    truth: Truth, reading: FloatArray, judge: int, n_stages: int, shift: float = 0.0
) -> tuple[IntArray, FloatArray]:
    """Return the sets of neighbouring stages, and p (readings x sets) of each as a verdict.

    A set reaches from the stage of the noisy reading less the doubt to that of it plus the doubt.
    """
    low, high = np.triu_indices(n_stages)
    sets = np.asarray((1 << (high + 1)) - (1 << low), dtype=np.int64)
    if truth.constant:
        p = np.tile(sets == 0b10, (len(reading), 1)).astype(np.float64)
    else:
        edges = np.r_[-np.inf, np.arange(1, n_stages) / n_stages, np.inf]
        start = np.maximum(edges[low] + truth.doubt, edges[high] - truth.doubt)
        end = np.minimum(edges[low + 1] + truth.doubt, edges[high + 1] - truth.doubt)
        seen = reading[:, None] + truth.leaning[judge] - shift
        p = np.maximum(_below(end, seen, truth.noise) - _below(start, seen, truth.noise), 0.0)
    first = (low == high) / n_stages
    return sets, np.asarray((1 - truth.first_bias) * p + truth.first_bias * first)


def true_stages(reading: FloatArray, n_stages: int) -> IntArray:
    """Return the stage (1..S) that each reading falls in."""
    stage = 1 + np.floor(reading * n_stages).astype(np.int64)
    return np.asarray(np.clip(stage, 1, n_stages))


def single_probabilities(
    truth: Truth, reading: FloatArray, judge: int, n_stages: int, shift: float = 0.0
) -> FloatArray:
    """Return p (readings x stages) of single verdicts, a first bias included; needs no doubt."""
    if truth.doubt:
        raise ValueError(f"{truth.name}: with doubt a verdict is no single stage")
    p = stage_probabilities(truth, reading, judge, n_stages, shift)
    return (1 - truth.first_bias) * p + truth.first_bias / n_stages


def agreement(truth: Truth, reading: FloatArray, judge: int, n_stages: int) -> FloatArray:
    """Return readings x stages: the mean probability that another judge names this stage."""
    others = [other for other in range(len(truth.leaning)) if other != judge]
    named = [single_probabilities(truth, reading, other, n_stages) for other in others]
    return np.asarray(np.mean(named, axis=0))


def stated(truth: Truth, agreed: FloatArray, loss: float) -> FloatArray:
    """Return the stated probability where the true agreement is `agreed`."""
    return np.clip(np.clip(agreed + truth.excess, 0, 1) - loss, 0, 1)


def _shown(truth: Truth, design: StudyDesign, rng: np.random.Generator) -> IntArray:
    size = len(truth.leaning) * design.items * design.replicates
    return rng.integers(1, design.n_stages + 1, size)


def _verdicts(
    truth: Truth,
    design: StudyDesign,
    reading: FloatArray,
    shift: float,
    first: IntArray,
    rng: np.random.Generator,
) -> Verdicts:
    shape = (len(truth.leaning), design.items, design.replicates)
    judge, item, _ = (index.ravel() for index in np.indices(shape))
    seen = reading[item] + np.array(truth.leaning)[judge] - shift
    seen = seen + truth.noise * rng.logistic(size=len(item))
    low, high = (
        np.clip(np.floor((seen + side) * design.n_stages), 0, design.n_stages - 1).astype(np.int64)
        for side in (-truth.doubt, truth.doubt)
    )
    stages = (1 << (high + 1)) - (1 << low)
    if truth.constant:
        stages = np.full(len(item), 0b10, dtype=np.int64)
    biased = rng.random(len(item)) < truth.first_bias
    return Verdicts(
        judge=judge.astype(np.int64),
        item=item.astype(np.int64),
        stages=np.where(biased, 1 << (first - 1), stages),
        n_judges=shape[0],
        n_items=design.items,
        n_stages=design.n_stages,
    )


def _probes(truth: Truth, verdicts: Verdicts, reading: FloatArray, loss: float) -> Probes:
    """Return the probe of every verdict; with doubt, of a judge that expects everybody to agree."""
    if truth.doubt:
        probability = np.full(len(verdicts), stated(truth, np.ones(1), loss)[0])
    else:
        table = np.stack(
            [
                agreement(truth, reading, judge, verdicts.n_stages)
                for judge in range(verdicts.n_judges)
            ]
        )
        stage = np.bitwise_count(verdicts.stages - 1).astype(np.int64)
        probability = stated(truth, table[verdicts.judge, verdicts.item, stage], loss)
    return Probes(
        judge=verdicts.judge,
        item=verdicts.item,
        n_judges=verdicts.n_judges,
        n_items=verdicts.n_items,
        stages=verdicts.stages,
        probability=probability,
    )


def _between(seen: FloatArray, noise: float, n_stages: int) -> FloatArray:
    edges = np.arange(1, n_stages) / n_stages
    return np.diff(_below(edges, seen[:, None], noise), axis=1, prepend=0.0, append=1.0)


def _below(edge: FloatArray, seen: FloatArray, noise: float) -> FloatArray:
    """Return the probability that logistic noise about `seen` stays below `edge`."""
    from scipy.special import expit

    return np.asarray(expit((edge - seen) / noise))
