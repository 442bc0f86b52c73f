"""How each judge uses its scale, in a line."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from judge_gym.analysis.figures.regimes import CANNOT_TELL
from judge_gym.counting import counted
from judge_gym.formats import number, span_of
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
    """What each judge uses of its scale, and the regime of each judge in each setting.

    `lines` are (judge, stages in use and abstentions, regimes).
    """

    lines: Sequence[tuple[str, str, str]] = ()
    regimes: Sequence[str] = ()
    brief: bool = False
    """Whether one line, which counts the regimes, stands for those of the judges."""
    question = QUESTION

    def rows(self) -> list[Row]:
        """Return a line per judge: stages in use and abstentions, and the regime."""
        if self.brief and self.regimes:
            return [Row((), heading=f"{QUESTION}  {in_numbers(self.regimes, _ORDER)}")]
        return [Row(line, heading=f"{QUESTION}  {self.note()}") for line in self.lines[:_MOST]]

    def note(self) -> str:
        """What the columns are, and how many judges are shown."""
        left_out = f"; {_MOST} of {len(self.lines)} judges" if len(self.lines) > _MOST else ""
        return f"stages in use, share of abstentions; regime, its chance{left_out}"


NO_USE = ScaleUse()


def scale_use(rows: Sequence[ResultRow]) -> ScaleUse:
    """Return the use of the scale among these figures."""
    of_judge: dict[str, dict[str, list[ResultRow]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if "judge" in row.scope:  # one that is not there stands for a figure that there is none of
            of_judge[str(row.scope["judge"])][row.metric].append(row)
    lines = [
        (
            judge,
            f"{span_of(found['stages_in_use'])}, {span_of(found['abstain_share'])}",
            _regime(found["regime"]),
        )
        for judge, found in of_judge.items()
        if found["regime"]
    ]
    names = [_name(row) for found in of_judge.values() for row in found["regime"]]
    return ScaleUse(lines, names)


def _name(row: ResultRow) -> str:
    return str(row.scope["regime"])


def _regime(rows: Sequence[ResultRow]) -> str:
    names, chance = [_name(row) for row in rows], rows[0].estimate
    if len(rows) > 1 and len(set(names)) == 1:
        return f"{names[0]} in {counted(len(names), 'setting')}"
    if len(rows) > 1:
        counts = Counter(names)
        told = ", ".join(f"{name} in {counts[name]}" for name in _ORDER if counts[name])
        return f"{told} of {counted(len(names), 'setting')}"
    sure = chance is not None and names[0] != CANNOT_TELL
    return f"{names[0]} ({number(chance)})" if sure else names[0]
