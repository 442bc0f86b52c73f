"""Stages of verdicts in files whose format says what their columns mean."""

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from judge_gym.recorded.mapping import Choice, ScoreScale, WrittenScore, as_score, read_score
from judge_gym.scale_ends import wider

GRADES = {"I": "incorrect", "P": "partly correct", "C": "correct"}
"""Grades of Inspect, lowest first; N is no answer."""
NO_ANSWER = "N"
OPPOSITES = (
    ("false", "true"), ("fail", "pass"), ("no", "yes"), ("incorrect", "correct"),
    ("wrong", "right"), ("bad", "good"), ("0", "1"),
    ("nein", "ja"), ("non", "oui"), ("no", "sí"), ("no", "si"), ("no", "sì"), ("não", "sim"),
    ("nee", "ja"), ("nej", "ja"), ("nie", "tak"), ("нет", "да"), ("否", "是"), ("いいえ", "はい"),
    ("falsch", "richtig"), ("faux", "vrai"), ("falso", "verdadero"),
    ("✗", "✓"), ("✘", "✔"), ("❌", "✅"), ("👎", "👍"),
)  # fmt: skip
"""Pairs of verdicts, the lower one first."""
_LOW = {low for low, _ in OPPOSITES} | {"i"}
_HIGH = {high for _, high in OPPOSITES} | {"c"}
MOST = 10
"""Most stages, and most values that an error names."""


_CODES = tuple(
    (10.0**digits / 10, frozenset(10.0**digits - down for down in (1, 2, 3)))
    for digits in (2, 3, 4)
)
"""Numbers such as 99, 98 and 97 that stand for a missing score, after the highest that others may
have beside them: 10, 100, 1,000."""
_MOST_BELOW = 2
"""Most numbers below 0 that stand for a missing score in one file."""
_TIE = 2
"""The highest code where 0 is a tie; with 1, 2 and 3 the tie is one of these."""
SUMMARIES = frozenset(
    {"average", "averages", "avg", "mean", "means", "median", "total", "totals", "sum", "overall",
     "std", "stdev", "sd", "σ", "ø", "min", "max", "deviation", "count", "mittelwert",
     "durchschnitt", "summe", "gesamt", "moyenne", "media", "promedio"}
)  # fmt: skip
"""Words that name what sums up others."""
_BESIDE_SUMMARIES = frozenset(
    {"all", "of", "the", "grand", "standard", "row", "rows", "score", "scores", "item", "items",
     "rating", "ratings", "column", "per", "judge", "dev"}
)  # fmt: skip
LAST = 3
"""Items at the end of a file among which one may sum up the others."""


def sums_up(name: str) -> bool:
    """Whether an item is named as a row that sums up others is, such as Overall average."""
    words = set(re.findall(r"[^\W_]+", name.casefold()))
    return bool(words & SUMMARIES) and words <= SUMMARIES | _BESIDE_SUMMARIES


def no_scores(values: Iterable[str]) -> list[str]:
    """Return the numbers that may say that there is no score: -1 beside 1 to 5, 98 and 99 beside 7.

    A number below 0 is one where others than its opposite are above, and two are where no scale
    from -n to n has them: the lower one is beyond its upper end, or less than half of it.
    """
    numbers = {value: number for value in values if (number := as_score(value)) is not None}
    scores = set(numbers.values())
    for highest, codes in _CODES:
        rest = {one for one in scores if one >= 0} - codes
        if rest and max(rest) <= highest:
            scores -= codes
    below = {one for one in scores if one < 0}
    above = max(scores - below, default=0.0)
    if len(below) == 1:
        [lone] = below
        are_codes = bool(scores - below - {0.0, -lone})
    else:
        lowest = -min(below, default=0.0)
        are_codes = len(below) <= _MOST_BELOW and (lowest > above + 1 or 2 * lowest < above)
    if are_codes and all(map(float.is_integer, below)):
        scores -= below
    return [value for value, number in numbers.items() if number not in scores]


def wider_scale(
    scale: tuple[float, float], written: Iterable[str], named: str = "the scale"
) -> str:
    """Return what to write if scores off a scale are on it; "" where none may be.

    Numbers that may say that there is no score, such as -1 and 99, are none.
    """
    values = [*written]
    codes = no_scores([*values, *(f"{end:g}" for end in scale)])
    numbers = (as_score(value) for value in values if value not in codes)
    return wider(*scale, [one for one in numbers if one is not None], named)


@dataclass(frozen=True)
class Stages:
    """Verdicts as stages."""

    names: tuple[str, ...]
    decisions: Mapping[str, Choice]
    scale: ScoreScale | None = None
    cuts: Sequence[float] = ()
    written: bool = True
    """Whether files write verdicts by these names."""

    def same(self, value: str) -> int | None:
        """Return the stage of a value that is literally a verdict, whatever its case."""
        if self.scale:
            return self.scale.stage(value)
        named = {name: at for at, name in enumerate(self.names, 1)} if self.written else {}
        for verdict, choice in {**named, **self.decisions}.items():
            if isinstance(choice, int) and verdict.casefold() == value.casefold():
                return choice
        return None

    def label(self, value: str) -> int | None:
        """Return the stage that a known answer stands for."""
        if (choice := self.decisions.get(value)) is not None:
            return choice if isinstance(choice, int) else None
        if value in self.names:
            return self.names.index(value) + 1
        if self.scale:
            return self.scale.stage(value)
        if self.cuts and (number := as_score(value)) is not None:
            return _cut(number, self.cuts)
        low = value.casefold() in _LOW
        if low or value.casefold() in _HIGH:
            return 1 if low else len(self.names)
        return None


class Unfit(Exception):
    """Verdicts that are no stages; says why, and `scale` where they are more numbers than those."""

    def __init__(self, why: str, scale: ScoreScale | None = None) -> None:
        super().__init__(why)
        self.scale = scale

    @property
    def cut(self) -> str:
        """An option that reads two stages, in the middle of the scale."""
        if self.scale is None:
            return ""
        middle = (self.scale.lowest + self.scale.highest) / 2
        return f"--cut {middle:.0f}" if abs(middle) >= MOST else f"--cut {middle:.2g}"

    def noted(self, scorer: str) -> str:
        """Return why, with the options that read the scores of a scorer."""
        if not self.scale:
            return str(self)
        return f"{self}; --scorer {shlex.quote(scorer)} {self.cut} reads two"


def stages_from(values: Iterable[str], cuts: Sequence[float], *, named: bool = False) -> Stages:
    """Return the stages of verdicts; raises `Unfit` where they are none.

    `named` verdicts may be any words, in alphabetical order.
    """
    given = {value for value in values if value}
    if not given:
        raise Unfit("no score is readable")
    if given <= {*GRADES, NO_ANSWER}:
        letters = [letter for letter in GRADES if letter != "P" or "P" in given]
        decisions: dict[str, Choice] = {letter: at for at, letter in enumerate(letters, 1)}
        if NO_ANSWER in given:
            decisions[NO_ANSWER] = "abstained"
        return Stages(tuple(GRADES[letter] for letter in letters), decisions, written=False)
    for low, high in OPPOSITES:
        if {value.casefold() for value in given} <= {low, high}:
            of = {value: 1 + (value.casefold() == high) for value in given}
            return Stages((low, high), of)
    scores = {value: score for value in given if (score := read_score(value))}
    if len(scores) == len(given):
        numbers = {value: score.number for value, score in scores.items()}
        scale = _written_scale(scores)
        return Stages((), {}, scale) if scale and not cuts else _of_numbers(numbers, cuts)
    if named and 2 <= len(given) <= MOST:
        return Stages(tuple(sorted(given)), {name: at for at, name in enumerate(sorted(given), 1)})
    shown = ", ".join(map(repr, sorted(given - set(scores))[:3]))
    raise Unfit(f"verdicts such as {shown} have no order that is known")


def _of_numbers(numbers: Mapping[str, float], cuts: Sequence[float]) -> Stages:
    if cuts:
        edges = sorted(cuts)
        names = (f"below {edges[0]:g}", *(f"{edge:g} or more" for edge in edges))
        return Stages(names, {value: _cut(number, edges) for value, number in numbers.items()},
                       cuts=edges, written=False)  # fmt: skip
    distinct = sorted(set(numbers.values()))
    if len(distinct) < 2:
        raise Unfit(f"the score is always {distinct[0]:g}")
    lowest, highest = int(distinct[0]), int(distinct[-1])
    if all(number.is_integer() for number in distinct) and highest - lowest < MOST:
        return Stages((), {}, ScoreScale(lowest=lowest, highest=highest))
    if len(distinct) > MOST:
        raise Unfit(
            f"{len(distinct)} scores from {distinct[0]:g} to {distinct[-1]:g} are more than "
            f"{MOST} stages",
            scale=scale_of(distinct[0], distinct[-1]),
        )
    return Stages(
        tuple(f"{number:g}" for number in distinct),
        {value: distinct.index(number) + 1 for value, number in numbers.items()},
    )


def _written_scale(scores: Mapping[str, WrittenScore]) -> ScoreScale | None:
    """Return the scale whose end is written in scores: 4/5, 80%; None where none is.

    It begins at the lowest score, that of percent at 0. Raises `Unfit` for scores of two scales.
    """
    ends: dict[float, str] = {}
    plain = ""
    for value, score in sorted(scores.items()):
        if score.out_of is None:
            plain = plain or value
        else:
            ends.setdefault(score.out_of, value)
    if not ends:
        return None
    (end, first), *others = ends.items()
    if others:
        raise Unfit(f"{first!r} and {others[0][1]!r} are of two scales")
    is_percent = scores[first].is_percent
    if is_percent and plain:
        raise Unfit(f"{first!r} has a percent sign and {plain!r} has none")
    lowest = 0.0 if is_percent else min(score.number for score in scores.values())
    for value, score in sorted(scores.items()):
        if not lowest <= score.number <= end:
            raise Unfit(f"{value!r} is not from {lowest:g} to {end:g}")
    if lowest == end:
        raise Unfit(f"the score is always {end:g}")
    return scale_of(lowest, end)


def scale_of(lowest: float, highest: float) -> ScoreScale:
    """Return a scale, whose ends are whole where both are."""
    whole = lowest.is_integer() and highest.is_integer()
    return ScoreScale(
        lowest=int(lowest) if whole else lowest, highest=int(highest) if whole else highest
    )


def may_be_codes(scale: ScoreScale | None) -> bool:
    """Whether verdicts are numbers that may name one of two answers, or a tie, such as 0, 1, 2."""
    return scale is not None and scale.is_whole and scale.lowest >= 0 and scale.highest <= _TIE + 1


def covering(scale: ScoreScale, known: Iterable[str]) -> ScoreScale:
    """Return a scale that has the known answers, too, where all of them are numbers."""
    written = {value for value in known if value}
    numbers = [number for value in written if (number := as_score(value)) is not None]
    if len(numbers) < len(written):
        return scale
    ends = [float(scale.lowest), float(scale.highest), *numbers]
    return scale_of(min(ends), max(ends))


def _cut(number: float, cuts: Sequence[float]) -> int:
    return 1 + sum(number >= cut for cut in cuts)
