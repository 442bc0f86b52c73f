"""How a judge errs by system, and whether one correction serves all systems.

A judge that agrees with people per item may still rank systems wrongly, because it errs more on
some systems than on others. Answers to one question are a cluster.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from judge_gym.metrics.cells import BoolArray, FloatArray, IntArray, distinct_rows, numbered
from judge_gym.metrics.class_rates import class_rates, renamed
from judge_gym.metrics.estimate import (
    EPSILON,
    LEVEL,
    MANY_ITEMS,
    SIGNED_UNIT,
    UNIT_INTERVAL,
    Estimate,
    clustered_wilson,
    mean_over_items,
    not_estimable,
    of_clusters,
    with_interval,
)
from judge_gym.metrics.inference import permutation_p

APART = 0.1
"""How far systems' rates are from their mean in the power of the test of equal rates."""
POWER = 0.8
"""The least power with which a test that finds no difference says that there is none."""
_SIGNS = 2000
"""Draws of the signs of questions."""


@dataclass(frozen=True, eq=False)
class SystemScores:
    """A judge's scores of answers of `n_systems` systems, and people's labels of a part of them.

    Parallel arrays, one entry per answer: `system` in [0, n_systems), `cluster` numbered from 0
    (answers to one question share it), `judge` and `people` in [0, 1], NaN where unreadable and
    where without a label. `binary` says that labels are 0 or 1; a judge's score is then its share
    of passes.
    """

    system: IntArray
    cluster: IntArray
    judge: FloatArray
    people: FloatArray
    n_systems: int
    binary: bool

    @classmethod
    def of_pairs(
        cls,
        first: IntArray,
        second: IntArray,
        *,
        cluster: IntArray,
        judge: FloatArray,
        people: FloatArray,
        n_systems: int,
        binary: bool,
    ) -> "SystemScores":
        """Return pairs of answers as two answers each, whose scores are what each has won.

        `judge` and `people` are 1 where the first answer is better, 0 where the second is and 0.5
        for a tie. The mean of a system is then its win rate, against the systems that it met. Both
        answers of a pair are of one cluster, so that no figure counts a pair as two.
        """
        return cls(
            system=np.concatenate([first, second]),
            cluster=np.concatenate([cluster, cluster]),
            judge=np.concatenate([judge, 1 - judge]),
            people=np.concatenate([people, 1 - people]),
            n_systems=n_systems,
            binary=binary,
        )

    @cached_property
    def readable(self) -> BoolArray:
        """Which answers the judge scored."""
        return np.isfinite(self.judge)

    @cached_property
    def both(self) -> BoolArray:
        """Which answers have a score and a label."""
        return np.asarray(self.readable & np.isfinite(self.people))

    @cached_property
    def labels(self) -> IntArray:
        """The number of answers with a score and a label, by system."""
        return np.bincount(self.system[self.both], minlength=self.n_systems)

    def questions(self, chosen: BoolArray) -> IntArray:
        """Return the number of questions with a chosen answer, by system."""
        pairs = np.unique(np.stack([self.system[chosen], self.cluster[chosen]]), axis=1)
        return np.bincount(pairs[0], minlength=self.n_systems)

    def filled(self) -> "SystemScores":
        """Return it with the judge's mean score where it gave none that is readable."""
        mean = float(self.judge[self.readable].mean()) if self.readable.any() else 0.0
        return replace(self, judge=np.where(self.readable, self.judge, mean))

    def means(self, values: FloatArray, chosen: BoolArray) -> FloatArray:
        """Return the mean of the chosen entries by system; NaN without any."""
        n = np.bincount(self.system[chosen], minlength=self.n_systems)
        sums = np.bincount(self.system[chosen], values[chosen], minlength=self.n_systems)
        return np.asarray(np.divide(sums, n, where=n > 0, out=np.full(self.n_systems, np.nan)))


def figures_of_system(judged: SystemScores, system: int) -> Iterator[Estimate]:
    """Yield a system's readable share, pass rates and, with labels, the judge's errors on it.

    Binary: sensitivity and specificity by `class_rates`, and Youden's J,
    their sum less 1, in [-1, 1], with the square-and-add interval of Newcombe 1998, Statistics in
    Medicine 17. Of any labels the bias, the mean of judge less people over answers with both, in
    [-1, 1].
    """
    own = judged.system == system
    yield _share("system_readable", judged, own, judged.readable.astype(np.float64))
    for metric, values, chosen in (
        ("system_judged", judged.judge, own & judged.readable),
        ("system_people", judged.people, own & judged.both),
        ("system_bias", judged.judge - judged.people, own & judged.both),
    ):
        bounds = SIGNED_UNIT if metric == "system_bias" else UNIT_INTERVAL
        yield _mean(metric, values[chosen], judged.cluster[chosen], bounds)
    if judged.binary:
        rates = class_rates(judged.judge[own], judged.people[own], judged.cluster[own])
        found, cleared = renamed(rates, "system")
        yield from (found, cleared, _youden(found, cleared))


def first_shown_bias(judge: FloatArray, people: FloatArray, cluster: IntArray) -> Estimate:
    """Return how much more often a judge prefers the answer shown first than people do, in [-1, 1].

    One entry per judgement of a pair: what it and people say of the answer shown first, 1, 0.5 or
    0, NaN where there is none. People saw both, so that an answer that is shown first and better is
    no bias. t interval over clusters.
    """
    both = np.isfinite(judge) & np.isfinite(people)
    return _mean("first_shown_bias", (judge - people)[both], cluster[both], SIGNED_UNIT)


def _mean(
    metric: str, values: FloatArray, cluster: IntArray, bounds: tuple[float, float]
) -> Estimate:
    """Return the mean of the values with its t interval over clusters."""
    by_question = of_clusters(values, numbered(cluster))
    return mean_over_items(metric, by_question, n=len(values), unit="share", bounds=bounds)


def figures_of_all(judged: SystemScores) -> Iterator[Estimate]:
    """Yield what is usually given of all systems together, which hides how they differ.

    Pass rates of judge and people over answers with both, and of binary labels sensitivity,
    specificity and Scott's π, (observed - expected) / (1 - expected) agreement, the expected one of
    the mean of both pass rates, in [-1, 1] (Scott 1955, Public Opinion Quarterly 19).
    """
    both, people = judged.both, np.nan_to_num(judged.people)
    yield _share("pooled_judged", judged, both, judged.judge)
    yield _share("pooled_people", judged, both, people)
    if not judged.binary or not both.any():
        return
    yield from renamed(class_rates(judged.judge, judged.people, judged.cluster), "pooled")
    given, known, n = judged.judge[both], people[both], int(both.sum())
    agreed = float((given * known + (1 - given) * (1 - known)).mean())
    rate = float((given.mean() + known.mean()) / 2)
    expected = rate**2 + (1 - rate) ** 2
    if expected < 1 - EPSILON:
        pi = (agreed - expected) / (1 - expected)
        yield Estimate("scott_pi", pi, None, None, n, n, method="Scott's π", unit="kappa")


def _share(metric: str, judged: SystemScores, chosen: BoolArray, values: FloatArray) -> Estimate:
    """Return the mean of the chosen entries with an interval clustered by question.

    Wilson's for values of 0 and 1. Graded values vary less than its p(1-p): a t interval.
    """
    n = int(chosen.sum())
    if not n:
        return not_estimable(metric, "no answer of that class has a label", unit="share")
    cluster = judged.cluster[chosen]
    if not np.isin(values[chosen], (0.0, 1.0)).all():
        return _mean(metric, values[chosen], cluster, UNIT_INTERVAL)
    sums = np.bincount(cluster, values[chosen])
    trials = np.bincount(cluster)
    method = "share, Wilson interval clustered by question"
    share = float(values[chosen].sum()) / n
    questions = int((trials > 0).sum())
    estimate = Estimate(metric, share, None, None, n, questions, method=method, unit="share")
    return with_interval(estimate, clustered_wilson(sums, trials), UNIT_INTERVAL)


def _youden(found: Estimate, cleared: Estimate) -> Estimate:
    metric = "system_youden"
    if found.estimate is None or cleared.estimate is None:
        return not_estimable(metric, "one class of answers has no label", n=found.n + cleared.n)
    at = found.estimate + cleared.estimate - 1
    ends = [(one.lower or 0.0, one.estimate or 0.0, one.upper or 0.0) for one in (found, cleared)]
    below = sum((value - lower) ** 2 for lower, value, _ in ends) ** 0.5
    above = sum((upper - value) ** 2 for _, value, upper in ends) ** 0.5
    n, method = found.n + cleared.n, "sensitivity + specificity - 1, square-and-add interval"
    estimate = Estimate(metric, at, None, None, n, n, method=method)
    return with_interval(estimate, (at - below, at + above), SIGNED_UNIT)


@dataclass(frozen=True)
class OneCorrection:
    """Whether the judge errs alike on all systems, so that one correction serves them all.

    `p` is of the test of equal rates, `power` its chance to find systems whose rates of one class
    lie `APART` above and below their mean, where that is hardest; both in [0, 1].
    """

    p: float
    power: float

    @property
    def serves(self) -> bool:
        """Whether equal rates are shown: the test finds no difference, and would have found one."""
        return self.p >= 1 - LEVEL and not self.too_few

    @property
    def too_few(self) -> bool:
        """Whether the test would have missed a difference."""
        return self.power < POWER

    @property
    def why_not(self) -> str:
        """Why one correction is refused, as the end of a sentence; "" where it serves."""
        if self.p < 1 - LEVEL:
            return f"the judge's error rates differ between systems (p {self.p:.2g})"
        if self.too_few:
            return f"too few labels tell whether its rates differ (power {self.power:.2f})"
        return ""

    @property
    def errs(self) -> str:
        """How the judge errs, and whether it may be relied on alone, as the end of a sentence."""
        if self.serves:
            return (
                f"is not shown to err more on some: errors {2 * APART:g} of the scale apart would "
                f"be found with a power of {self.power:.2f}, smaller ones less often"
            )
        if self.p < 1 - LEVEL:
            return "errs more on some systems, so do not rely on it alone"
        return "may err more on some, so do not rely on it alone"


def one_correction(judged: SystemScores, rng: np.random.Generator) -> OneCorrection | None:
    """Test that the judge errs alike on all systems; None without labels of two systems.

    Binary: Σ n·(rate - common rate)² / variance over systems, of sensitivity and of specificity,
    summed; graded: the same of the bias. Its null distribution turns the signs of whole questions
    about the common rate (wild cluster bootstrap under the null; Cameron, Gelbach and Miller 2008,
    Review of Economics and Statistics 90). Power by the noncentral χ², its scale that of the draws,
    and of the class of fewest labels, since a judge may err otherwise on what people failed alone.
    """
    from scipy.special import chdtri, chndtr

    clusters = int(judged.cluster.max(initial=0)) + 1
    parts: list[tuple[FloatArray, IntArray, float]] = []
    freedom = 0
    apart: list[float] = []
    for chosen, values in _classes(judged):
        n = np.bincount(judged.system[chosen], minlength=judged.n_systems)
        kept = n > 0
        apart.append(_noncentrality(n, values[chosen], binary=judged.binary))
        if kept.sum() < 2:
            continue
        common = values[chosen].mean()
        variance = float(values[chosen].var())
        freedom += int(kept.sum()) - 1
        if variance <= EPSILON:
            continue
        sums = np.zeros((clusters, judged.n_systems))
        place = (judged.cluster[chosen], judged.system[chosen])
        np.add.at(sums, place, values[chosen] - common)
        parts.append((sums[:, kept], n[kept], variance))
    if not freedom:
        return None
    observed, drawn = 0.0, np.zeros(_SIGNS)
    if parts:
        turned = _turned(np.hstack([sums for sums, _, _ in parts]), rng)
        ends = np.cumsum([len(n) for _, n, _ in parts])[:-1]
        for by_draw, (sums, n, variance) in zip(np.hsplit(turned, ends), parts, strict=True):
            observed += float(_between(sums.sum(axis=0)[None], n)[0]) / variance
            drawn += _between(by_draw, n) / variance
    scale = max(float(drawn.mean()) / freedom, EPSILON) if drawn.any() else 1.0
    power = 1 - float(chndtr(chdtri(freedom, 1 - LEVEL), freedom, min(apart) / scale))
    return OneCorrection(permutation_p(observed, drawn), power)


def _turned(sums: FloatArray, rng: np.random.Generator) -> FloatArray:
    """Return the totals of rows of which each has a random sign (draws x columns).

    Of many rows, those that are the same are drawn together: by how many more have one sign.
    """
    if len(sums) <= MANY_ITEMS:
        return np.asarray(np.where(rng.random((_SIGNS, len(sums))) < 0.5, -1.0, 1.0) @ sums)
    different, kind = distinct_rows(sums)
    n = np.bincount(kind)
    return np.asarray((2.0 * rng.binomial(n, 0.5, (_SIGNS, len(n))) - n) @ different)


def _noncentrality(n: IntArray, values: FloatArray, *, binary: bool) -> float:
    """Return Σ n·(rate - mean)² / variance of rates `APART` above and below, by `n` labels.

    The half of the systems with the fewest labels lies below, which is hardest to find: of 75 and 5
    labels, the 5 decide. Rates that lie so far apart have a mean in [APART, 1 - APART], so that
    labels without an error promise no smaller variance.
    """
    below, total = int(np.sort(n)[: len(n) // 2].sum()), int(n.sum())
    if not below:
        return 0.0
    mean = float(np.clip(values.mean(), APART, 1 - APART))
    # Graded scores with little spread: as if one more label had all of their range.
    apart = float(np.ptp(values))
    widest = min(apart, 1.0) if apart > EPSILON else 1.0
    variance = mean * (1 - mean) if binary else max(float(values.var()), widest**2 / (total + 2))
    return 4 * APART**2 * below * (total - below) / total / variance


def _classes(judged: SystemScores) -> Iterator[tuple[BoolArray, FloatArray]]:
    if not judged.binary:
        yield judged.both, judged.judge - judged.people
        return
    for truth in (1, 0):
        yield judged.both & (judged.people == truth), judged.judge


def _between(sums: FloatArray, n: IntArray) -> FloatArray:
    """Return Σ n·(mean - common mean)² of sums by system (draws x systems)."""
    return np.asarray((sums**2 / n).sum(axis=1) - sums.sum(axis=1) ** 2 / n.sum())


def shared_correction(judged: SystemScores) -> FloatArray:
    """Return each system's figure corrected by the errors on all systems together, in [0, 1].

    Binary: (pass rate + Sp - 1) / (Se + Sp - 1), cut to [0, 1] (Rogan and Gladen 1978); graded:
    the judge's mean less its bias. NaN without a label, and where Se + Sp - 1 is not above 0. Right
    only where `one_correction` serves.
    """
    if not judged.both.any():
        return np.full(judged.n_systems, np.nan)
    raw = judged.means(judged.judge, judged.readable)
    if not judged.binary:
        return np.asarray(raw - (judged.judge - judged.people)[judged.both].mean())
    rates = []
    for chosen, values in _classes(judged):
        rates.append(float(values[chosen].mean()) if chosen.any() else np.nan)
    youden = rates[0] - rates[1]
    if not youden > 0:
        return np.full(judged.n_systems, np.nan)
    return np.clip((raw - rates[1]) / youden, *UNIT_INTERVAL)
