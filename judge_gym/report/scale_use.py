"""How each judge uses its scale, in a line."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from judge_gym.analysis.figures.shape import CANNOT_TELL
from judge_gym.counting import counted
from judge_gym.formats import ABSENT, number
from judge_gym.metrics.regimes import Regime
from judge_gym.report.moves import in_numbers
from judge_gym.report.table import Row
from judge_gym.store.results import ResultRow

QUESTION = "How do judges use their scale?"
_MOST = 8
"""Judges with a line of their own."""
_ORDER = (*Regime, CANNOT_TELL)


@dataclass(frozen=True)
class ScaleUse:
    """The regime of each judge in each setting, with the stages in use and abstentions."""

    of_judge: dict[str, list[ResultRow]] | None = None
    in_use: dict[str, list[float]] | None = None
    abstains: dict[str, list[float]] | None = None
    brief: bool = False
    """Whether one line, which counts the regimes, stands for those of the judges."""
    question = QUESTION

    def rows(self) -> list[Row]:
        """Return a line per judge: stages in use and abstentions, and the regime."""
        judges = self.of_judge or {}
        if self.brief and judges:
            names = [str(row.scope["regime"]) for rows in judges.values() for row in rows]
            return [Row((), heading=f"{QUESTION}  {in_numbers(names, _ORDER)}")]
        left_out = f"; {_MOST} of {len(judges)} judges" if len(judges) > _MOST else ""
        heading = f"{QUESTION}  stages in use, share of abstentions; regime, its chance{left_out}"
        return [
            Row((judge, self._figure(judge), _regime(rows)), heading=heading)
            for judge, rows in list(judges.items())[:_MOST]
        ]

    def _figure(self, judge: str) -> str:
        in_use, abstains = (
            _range((of or {}).get(judge, ())) for of in (self.in_use, self.abstains)
        )
        return f"{in_use}, {abstains}"


NO_USE = ScaleUse()


def scale_use(rows: Sequence[ResultRow]) -> ScaleUse:
    """Return the use of the scale among these figures."""
    regimes: dict[str, list[ResultRow]] = defaultdict(list)
    figures: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if "judge" not in row.scope:  # the row of a figure that there is none of
            continue
        if row.metric == "regime":
            regimes[str(row.scope["judge"])].append(row)
        elif row.metric in ("stages_in_use", "abstain_share") and row.estimate is not None:
            figures[row.metric][str(row.scope["judge"])].append(row.estimate)
    return ScaleUse(dict(regimes), figures["stages_in_use"], figures["abstain_share"])


def _range(values: Sequence[float]) -> str:
    if not values:
        return ABSENT
    lowest, highest = number(min(values)), number(max(values))
    return lowest if lowest == highest else f"{lowest} to {highest}"


def _regime(rows: Sequence[ResultRow]) -> str:
    names = [str(row.scope["regime"]) for row in rows]
    if len(rows) == 1:
        chance = rows[0].estimate
        if chance is None or names[0] == CANNOT_TELL:
            return names[0]
        return f"{names[0]} ({number(chance)})"
    if len(set(names)) == 1:
        return f"{names[0]} in {counted(len(names), 'setting')}"
    counts = Counter(names)
    told = ", ".join(f"{name} in {counts[name]}" for name in _ORDER if counts[name])
    return f"{told} settings"
