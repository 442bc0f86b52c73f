"""Who moved: the judge, people or the systems. Tested at every look, valid at all of them together.

Anchors are items that are judged again, and labelled again, at every look. While nothing moves, an
anchor's newest answer is as likely to be any of those it has had: looks are exchangeable. A look's
p-value says how unlike the earlier answers the newest are; bets on small p-values are multiplied.
What they win is 1 in expectation at any time while nothing moves, so that it ever exceeds 20 in at
most 5% of streams, however often one looks (Ville 1939).

Sources: Vovk, Gammerman and Shafer 2005, Algorithmic Learning in a Random World, chapter 7
(conformal test martingales); Vovk and Wang 2021, Annals of Statistics 49 (calibrators); Shin,
Ramdas and Rinaldo 2023, New England Journal of Statistics in Data Science 2 (e-detectors). The
interval is Hoeffding's (1963, JASA 58), at a level that is spent over looks, as by Robbins 1970
(Annals of Mathematical Statistics 41).

All looks from the first on are needed. A window that moves along begins a new test at each look,
whose false alarms add up.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from judge_gym.metrics.cells import BoolArray, FloatArray

ALARM = 20.0
"""The e-value from which something has moved: false in at most 5% of whole streams."""
LEAST_ANCHORS = 20
"""Fewest anchors, and fresh items of a look, of which a stream without an alarm says anything."""
LEAST_LOOKS = 3
"""Fewest looks of a stream without an alarm that says anything."""
_DRAWS = 999
_LEVEL = 0.05


class Mover(StrEnum):
    """What moved since the first look."""

    JUDGE = "judge"
    PEOPLE = "people"
    SYSTEMS = "systems"


@dataclass(frozen=True, eq=False)
class Stream:
    """What was seen at each look: `e` is the e-value after it, `items` how many it compared.

    Of the first look, which is compared with nothing, how many it had. The e-value is 1 before the
    first comparison.
    """

    e: FloatArray
    items: tuple[int, ...]

    @property
    def alarm(self) -> int | None:
        """The first look, from 0, by which something has moved; None without one."""
        return self.first_over(ALARM)

    def first_over(self, e: float) -> int | None:
        """Return the first look, from 0, whose e-value is at least `e`; None without one."""
        over = np.flatnonzero(self.e >= e)
        return int(over[0]) if len(over) else None

    @property
    def highest(self) -> float:
        """The highest e-value so far; 1 without a look."""
        return float(self.e.max(initial=1.0))

    @property
    def why_open(self) -> str:
        """Why no alarm means nothing yet, as the end of a sentence; "" where it means something."""
        most, enough = max(self.items, default=0), sum(n >= LEAST_ANCHORS for n in self.items)
        if self.items and not enough:
            return f"a look has {most} items, and {LEAST_ANCHORS} are needed"
        return "" if enough >= LEAST_LOOKS else f"{enough} of {LEAST_LOOKS} looks are there"


def anchor_stream(
    values: FloatArray, rng: np.random.Generator, asked: BoolArray | None = None
) -> Stream:
    """Return the e-values of anchors that were looked at again (looks x anchors).

    `values` are in [0, 1]: a judge's scores or people's labels; NaN is no answer, which is as far
    from any other as 0 is from 1. `asked` says who was asked what, all anchors without it: what was
    not asked at a look counts for nothing there. An anchor counts at a look by its mean squared
    distance from its answers at all others up to there.
    """
    asked = np.isfinite(values).any(axis=0) & np.ones_like(values, bool) if asked is None else asked
    p = [_p_of_anchors(values[: end + 1], asked[: end + 1], rng) for end in range(1, len(values))]
    before = np.cumsum(asked, axis=0) > asked
    before[:1] = True
    return Stream(_e_values(p, len(values)), tuple((asked & before).sum(axis=1).tolist()))


@dataclass(frozen=True)
class AnchorChange:
    """How far the newest answers lie from the earlier ones on average, with its interval."""

    mean: float
    lower: float
    upper: float
    anchors: int


def latest_change(values: FloatArray) -> AnchorChange | None:
    """Return the mean answer of the newest look less that of earlier ones (looks x anchors).

    Over anchors answered now and before, each counted once; `values` are in [0, 1]. The interval
    holds at all looks together in 95% of streams: mean ± √(ln(2/α_t) / 2n) for n anchors, where
    α_t = 0.05 / (t·(t + 1)) at the t-th comparison, so that all of them sum to 0.05. None where
    nothing can be compared.
    """
    has = np.isfinite(values)
    both = has[-1] & has[:-1].any(axis=0) if len(values) > 1 else np.zeros(0, bool)
    n, comparison = int(both.sum()), len(values) - 1
    if not n:
        return None
    mean = float(np.mean(values[-1, both] - np.nanmean(values[:-1, both], axis=0)))
    reach = float(np.sqrt(np.log(2 * comparison * (comparison + 1) / _LEVEL) / (2 * n)))
    return AnchorChange(mean, max(mean - reach, -1.0), min(mean + reach, 1.0), n)


def fresh_stream(looks: Sequence[FloatArray], rng: np.random.Generator) -> Stream:
    """Return the e-values of looks at fresh items: one array in [0, 1] by look, of any length.

    Such as the judge's scores of what the systems answered since the last look. While nothing
    moves, the newest look is a random part of all so far. Of 0 and 1 its passes are
    hypergeometric; of other scores its mean is compared with those of 999 random parts.
    """
    items = tuple(len(of) for of in looks)
    p = [_p_of_part(looks[look], looks[: look + 1], rng) for look in range(1, len(looks))]
    return Stream(_e_values(p, len(looks)), items)


def fresh_change(looks: Sequence[FloatArray], parts: int = 1) -> AnchorChange | None:
    """Return the mean of the newest look less that of all earlier ones; None without both.

    Items are others at each look: mean ± √(ln(2/α_t)·(1/n + 1/m) / 2) for n new and m earlier ones
    (Hoeffding 1963), with α_t as in `latest_change`, divided by the `parts` that are looked at.
    """
    newest, comparison = looks[-1] if looks else np.empty(0), len(looks) - 1
    before = np.concatenate([np.empty(0), *looks[:-1]])
    if not len(newest) or not len(before):
        return None
    mean = float(newest.mean() - before.mean())
    level = _LEVEL / parts / (comparison * (comparison + 1))
    reach = float(np.sqrt(np.log(2 / level) * (1 / len(newest) + 1 / len(before)) / 2))
    return AnchorChange(mean, max(mean - reach, -1.0), min(mean + reach, 1.0), len(newest))


def _p_of_part(newest: FloatArray, looks: Sequence[FloatArray], rng: np.random.Generator) -> float:
    """Return the p-value of the newest of some looks, as a random part of all; NaN of none."""
    every = np.concatenate(looks)
    if not len(newest) or len(newest) == len(every):
        return float("nan")
    if set(np.unique(every)) <= {0.0, 1.0}:
        return _p_of_passes(newest.sum(), len(newest), every.sum(), len(every), rng)
    drawn = [rng.choice(every, len(newest), replace=False).mean() for _ in range(_DRAWS)]
    apart = np.abs(np.array(drawn) - every.mean())
    return _smoothed(abs(float(newest.mean() - every.mean())), apart, rng)


@dataclass(frozen=True)
class Moved:
    """Who moved. Where nobody is shown to have, `open` says why that is not yet known, if so."""

    who: tuple[Mover, ...]
    open: str = ""

    def __str__(self) -> str:
        """Return it in a word or two."""
        if self.who:
            return " and ".join(self.who)
        return "cannot tell" if self.open else "nobody"


def who_moved(judge: Stream, people: Stream | None = None, fresh: Stream | None = None) -> Moved:
    """Return who moved, by the judge's answers on anchors, people's, and those on fresh items.

    The systems moved where fresh items are judged otherwise and the judge is not shown to have
    moved on the anchors: had it, fresh items would follow. That is said only where the judge's
    stream could have shown it. False alarms of all streams together are at most 5%: of k streams,
    each has to exceed 20·k.
    """
    streams = [stream for stream in (judge, people, fresh) if stream is not None]

    def moved(stream: Stream | None) -> bool:
        return stream is not None and stream.first_over(ALARM * len(streams)) is not None

    who = [mover for mover, of in ((Mover.JUDGE, judge), (Mover.PEOPLE, people)) if moved(of)]
    if moved(fresh) and Mover.JUDGE not in who:
        if judge.why_open:
            return Moved(tuple(who), f"fresh items are judged otherwise, and {judge.why_open}")
        who.append(Mover.SYSTEMS)
    if who:
        return Moved(tuple(who))
    return Moved((), next(filter(None, (stream.why_open for stream in streams)), ""))


def _p_of_anchors(values: FloatArray, asked: BoolArray, rng: np.random.Generator) -> float:
    """Return the smoothed p-value of the last look, by exchanging looks within each anchor.

    NaN where nothing of it was asked before: no comparison.
    """
    compared = asked[-1] & (asked.sum(axis=0) > 1)
    if not compared.any():
        return float("nan")
    asked = asked[:, compared]
    distance = _from_others(values[:, compared], asked)
    # Looks at which an anchor was asked come first, so that one of them is drawn by its place.
    asked_first = np.take_along_axis(distance, np.argsort(~asked, axis=0, kind="stable"), axis=0)
    times = asked.sum(axis=0)
    # A single bound draws the same numbers in a quarter of the time.
    bound = times[0] if np.ptp(times) == 0 else times
    place = rng.integers(bound, size=(_DRAWS, len(times)))
    place *= len(times)
    place += np.arange(len(times))
    drawn = asked_first.take(place).sum(axis=1)
    return _smoothed(float(distance[-1].sum()), drawn, rng)


def _from_others(values: FloatArray, asked: BoolArray) -> FloatArray:
    """Return each answer's mean squared distance from the anchor's others (looks x anchors).

    Where an anchor was not asked, it means nothing. Each anchor was asked twice or more.
    """
    has = np.isfinite(values) & asked
    known = np.where(has, values, 0.0)
    count, total, squares = has.sum(axis=0), known.sum(axis=0), (known**2).sum(axis=0)
    of_known = (count - 1) * known**2 - 2 * known * (total - known) + (squares - known**2)
    times = asked.sum(axis=0)
    return np.asarray(np.where(has, of_known + times - count, count) / (times - 1))


def _p_of_passes(
    passes: float, items: int, all_passes: float, all_items: int, rng: np.random.Generator
) -> float:
    """Return the smoothed two-sided p-value of passes among the newest items."""
    every, right, part = int(all_items), int(all_passes), int(items)
    low, high = max(0, part - (every - right)), min(part, right)
    # scipy's hypergeometric takes ten times as long as the ratios of neighbours.
    k = np.arange(low, high)
    up, down = (right - k) * (part - k), (k + 1) * (every - right - part + k + 1)
    logs = np.concatenate([[0.0], np.cumsum(np.log(up / down))])
    chance = np.exp(logs - logs.max())
    chance /= chance.sum()
    at = chance[int(passes) - low]
    rarer = float(chance[chance < at * (1 - 1e-9)].sum())
    alike = float(chance[np.abs(chance - at) <= at * 1e-9].sum())
    return rarer + float(rng.random()) * alike


def _smoothed(observed: float, drawn: FloatArray, rng: np.random.Generator) -> float:
    """Return the p-value of a draw among others, ties broken at random: uniform, exactly."""
    margin = 1e-9 * max(1.0, abs(observed))
    above = np.count_nonzero(drawn > observed + margin)
    ties = np.count_nonzero(np.abs(drawn - observed) <= margin) + 1
    return float((above + rng.random() * ties) / (len(drawn) + 1))


def _e_values(p: Sequence[float], looks: int) -> FloatArray:
    """Return the e-value after each look; a change may begin at any of them.

    The mean over beginnings s = 1, 2, …, with weights 1 / (s·(s + 1)), of the product of bets from
    there on; one that has not begun is worth 1. A p-value of NaN is no comparison, and no bet.
    """
    begun, e = 0.0, [1.0] * min(looks, 1)
    for number, value in enumerate(p, start=1):
        begun = (begun + 1 / (number * (number + 1))) * (1.0 if np.isnan(value) else _bet(value))
        e.append(begun + 1 / (number + 1))
    return np.array(e)


def _bet(p: float) -> float:
    """Return (1 - p + p·ln p) / (p·(ln p)²), the mean of ε·p^(ε - 1) over ε in [0, 1]."""
    p = float(np.clip(p, 1e-12, 1.0))
    if p > 1 - 1e-4:
        return 0.5 + (1 - p) / 6  # its series at 1, where the formula is 0 / 0
    log = float(np.log(p))
    return (1 - p + p * log) / (p * log**2)
