"""What moves verdicts: changes of one axis, the largest first."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from judge_gym.formats import figure
from judge_gym.report.findings import stands
from judge_gym.report.scopes import changes
from judge_gym.report.table import Row
from judge_gym.store.results import ResultRow

QUESTION = "Do settings move verdicts?"
MOVED, NOT_SHOWN = "moved", "no move shown"
"""Of an effect whose interval holds 0, or whose corrected p is not small, no move is shown."""
UNTESTED = "not testable"
_SHOWN = 3
_VERDICT = "axis_effect"
SHAPES = {
    "axis_effect_abstain_share": ("share of abstentions", "abstentions"),
    "axis_effect_middle_mass": ("share between the ends", "between the ends"),
    "axis_effect_singleton_share": ("share that names one stage", "one stage alone"),
    "axis_effect_set_width": ("width of sets", "width of sets"),
}
"""Effects on the shape of verdicts → what moved, in a sentence and above a column."""


@dataclass(frozen=True)
class Settings:
    """How far changes of one axis move verdicts, the largest first.

    Those of the verdict itself, and of its shape those that moved. Those that cannot be estimated
    come last.
    """

    effects: Sequence[ResultRow] = ()
    question = QUESTION

    def shown(self, most: int = _SHOWN) -> Sequence[ResultRow]:
        """Return the largest effect of every varied axis, and others up to `most`."""
        first: dict[str, ResultRow] = {}
        for row in self.effects:
            first.setdefault(str(row.scope.get("axis", "")), row)
        named = set(map(id, first.values()))
        rest = [row for row in self.effects if id(row) not in named]
        named |= set(map(id, rest[: max(0, most - len(first))]))
        return [row for row in self.effects if id(row) in named]

    def note(self, most: int = _SHOWN) -> str:
        """What the figures are, and how many of them are shown."""
        total, shown = len(self.effects), len(self.shown(most))
        left_out = f"; the largest of each axis, {shown} of {total}" if total > shown else ""
        return f"change of the verdict on the 0-1 scale, or as named; no claim{left_out}"

    def rows(self, most: int | None = _SHOWN) -> list[Row]:
        """Return the effects shown, each with what changes, its figure and whether it moved.

        With `most` None, or 0 and one axis, it is one line that names the largest.
        """
        if self.effects and (most is None or (not most and len(self.shown(0)) == 1)):
            largest = self.effects[0]
            said = f"{self.question}  {self.counts}; the largest: {_label(largest)} "
            return [Row((), heading=said + figure(largest))]
        most = most or 0
        heading = f"{self.question}  {self.note(most)}"
        return [
            Row((_label(row), figure(row), _moved(row)), heading=heading)
            for row in self.shown(most)
        ]

    @property
    def counts(self) -> str:
        """How many moved verdicts, and how many did not."""
        return in_numbers(map(_moved, self.effects), (MOVED, NOT_SHOWN, UNTESTED))


NO_SETTINGS = Settings()


def in_numbers(words: Iterable[str], order: Sequence[str]) -> str:
    """Return the word where all are the same, else how many there are of each, in this order."""
    counts = Counter(words)
    if len(counts) == 1:
        return next(iter(counts))
    return ", ".join(f"{counts[word]} {word}" for word in order if counts[word])


def _label(row: ResultRow) -> str:
    [change] = changes([row.scope])
    what, _ = SHAPES.get(row.metric, ("", ""))
    return f"{change}, {what}" if what else change


def _moved(row: ResultRow) -> str:
    if row.estimate is None:
        return UNTESTED
    return MOVED if stands(row) else NOT_SHOWN


def largest_settings(rows: Sequence[ResultRow]) -> Settings:
    """Return the effects of changed axes among these figures."""
    effects = [
        row for row in rows if row.metric == _VERDICT or (row.metric in SHAPES and stands(row))
    ]
    return Settings(
        sorted(effects, key=lambda row: (row.estimate is None, -abs(row.estimate or 0.0)))
    )
