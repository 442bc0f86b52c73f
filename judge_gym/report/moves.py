"""What moves verdicts: changes of one axis, the largest first."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter

from judge_gym.analysis.facets import FACETS
from judge_gym.analysis.groups import without
from judge_gym.counting import counted
from judge_gym.formats import figure, figures_text
from judge_gym.report.findings import stands
from judge_gym.report.scopes import changes
from judge_gym.report.table import Row
from judge_gym.seeds import canonical_json
from judge_gym.store.results import ResultRow

QUESTION = "Do settings move verdicts?"
MOVED, NOT_SHOWN = "moved", "no move shown"
"""Of an effect whose interval holds 0, or whose corrected p is not small, no move is shown."""
UNTESTED = "not testable"
_SHOWN = 3
_VERDICT = "axis_effect"
BESIDE = {
    "axis_effect_abstain_share": ("share of abstentions", "abstentions"),
    "axis_effect_middle_mass": ("share between the ends", "between the ends"),
    "axis_effect_singleton_share": ("share that names one stage", "one stage alone"),
    "axis_effect_set_width": ("width of sets", "width of sets"),
    "axis_effect_confidence": ("confidence", "confidence"),
}
"""Effects beside that on the verdict → what moved, in a sentence and above a column."""
_CROSSED = "effect_over_levels"
_BESIDE_AXES = (*FACETS, "judge")
"""What is crossed with the axes and is none whose changes are pooled over judges."""
_MADE_POSSIBLE = ("abstain", "axis_effect_abstain_share")
"""The axis without which a figure cannot move."""
_WITHIN_AN_AXIS = 2
"""Changes of one axis that are named as moving judges one by one, beside that of the verdict."""


@dataclass(frozen=True)
class OtherChange:
    """A change beside those over judges: what changes, its figures and what they come to, as shown.

    Of judges one by one, or from one judge, wording or draw of a rubric to another.
    """

    cells: tuple[str, str, str]
    moved: bool
    """Whether it moved any verdicts."""


@dataclass(frozen=True)
class MovedSettings:
    """How far changes of one axis move verdicts, the largest first.

    Those of the verdict itself, and of its shape and of confidence those that moved. Those that
    cannot be estimated come last.
    """

    effects: Sequence[ResultRow] = ()
    within: Sequence[OtherChange] = ()
    """Changes that moved some judges, and whose mean over judges is not shown to move."""
    crossed: Sequence[OtherChange] = ()
    """The largest change of the wording, of the draw of the rubric, and of the judge."""
    question = QUESTION

    def shown(self, most: int = _SHOWN) -> Sequence[ResultRow]:
        """Return the largest effect of every varied axis, and others up to `most`.

        Of the choice to abstain it is the share of abstentions, a finding of its own, and the
        largest of what else it does.
        """
        first: dict[tuple[str, bool], ResultRow] = {}
        for row in self.effects:
            axis = str(row.scope.get("axis", ""))
            first.setdefault((axis, (axis, row.metric) == _MADE_POSSIBLE), row)
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
            return [Row((), heading=said + figure(largest) + self._moved_judges)]
        most = most or 0
        heading = f"{self.question}  {self.note(most)}"
        pooled = [(_label(row), figure(row), _moved(row)) for row in self.shown(most)]
        cells = [*pooled, *(one.cells for one in (*self.within, *self.crossed))]
        return [Row(one, heading=heading) for one in cells]

    @property
    def _moved_judges(self) -> str:
        """The first other change that moved verdicts, where no mean over judges is shown to."""
        if any(_moved(row) == MOVED for row in self.effects):
            return ""
        moved = [one.cells for one in (*self.within, *self.crossed) if one.moved]
        if not moved:
            return ""
        label, said, words = moved[0]
        more = f", and {counted(len(moved) - 1, 'other change')}" if len(moved) > 1 else ""
        return f"; {label} {said} {words}{more}"

    @property
    def counts(self) -> str:
        """How many moved verdicts, and how many did not."""
        return in_numbers(map(_moved, self.effects), (MOVED, NOT_SHOWN, UNTESTED))


NO_SETTINGS = MovedSettings()


def in_numbers(words: Iterable[str], order: Sequence[str]) -> str:
    """Return the word where all are the same, else how many there are of each, in this order."""
    counts = Counter(words)
    if len(counts) == 1:
        return next(iter(counts))
    return ", ".join(f"{counts[word]} {word}" for word in order if counts[word])


def _label(row: ResultRow) -> str:
    [change] = changes([row.scope])
    what, _ = BESIDE.get(row.metric, ("", ""))
    return f"{change}, {what}" if what else change


def _moved(row: ResultRow) -> str:
    if row.estimate is None:
        return UNTESTED
    return MOVED if stands(row) else NOT_SHOWN


def largest_settings(rows: Sequence[ResultRow]) -> MovedSettings:
    """Return the effects of changed axes among these figures."""
    effects = [
        row
        for row in rows
        if "axis" in row.scope  # without a changed axis one row says that there is none
        and (row.metric == _VERDICT or (row.metric in BESIDE and stands(row)))
    ]
    ordered = sorted(effects, key=lambda row: (row.estimate is None, -abs(row.estimate or 0.0)))
    return MovedSettings(ordered, list(_within(rows, ordered)), list(_crossed(rows)))


def _crossed(rows: Sequence[ResultRow]) -> Iterator[OtherChange]:
    """Yield the largest change of each of `_BESIDE_AXES`, over all that it is crossed with."""
    found: dict[str, dict[str, ResultRow]] = defaultdict(dict)
    for row in rows:
        if row.metric == _CROSSED and row.lower is not None and row.scope["axis"] in _BESIDE_AXES:
            # Its corrected p is of another question: whether the effect changes sign.
            alone = replace(row, p=None, p_adjusted=None)
            change = canonical_json(without(row.scope, "moderator", "lowest_at", "highest_at"))
            found[row.scope["axis"]].setdefault(change, alone)
    for axis in _BESIDE_AXES:
        if pairs := list(found[axis].values()):
            largest = max(pairs, key=lambda row: abs(row.estimate or 0.0))
            of = f" (largest of {len(pairs)})" if len(pairs) > 1 else ""
            moved = _moved(largest)
            yield OtherChange((_label(largest) + of, figure(largest), moved), moved == MOVED)


def _within(rows: Sequence[ResultRow], pooled: Sequence[ResultRow]) -> Iterator[OtherChange]:
    """Yield the changes that moved judges one by one: of verdicts first, then of most judges.

    A mean over few judges that move by unlike amounts has a wide interval, though each moves. That
    the verdict of a judge moved is always among them.
    """
    shown = {(_label(row), row.metric) for row in pooled if stands(row)}
    over_judges = {row.scope["axis"] for row in pooled}
    found = []
    for (label, metric), of in _contrasts(rows).items():
        axis = str(of[0].scope["axis"])
        moved = [row for row in of if stands(row)]
        judges, some = ({row.scope["judge"] for row in some} for some in (of, moved))
        if moved and (label, metric) not in shown:
            most = max(abs(row.estimate or 0.0) for row in moved)
            place = (metric == _VERDICT, len(some) / len(judges), most)
            found.append(
                (
                    place,
                    axis,
                    metric,
                    OtherChange(_moved_in(label, metric, of, moved), moved=True),
                )
            )
        elif not moved and metric == _VERDICT and axis not in over_judges:
            cells = (label, figures_text(of), f"{NOT_SHOWN} in {counted(len(judges), 'judge')}")
            unmoved = OtherChange(cells, moved=False)
            found.append(((False, 0.0, 0.0), axis, metric, unmoved))
    named = Counter[str]()
    for _, axis, metric, change in sorted(found, key=itemgetter(0, 1, 2), reverse=True):
        named[axis] += metric != _VERDICT
        if metric == _VERDICT or named[axis] <= _WITHIN_AN_AXIS:
            yield change


def _moved_in(
    label: str, metric: str, of: Sequence[ResultRow], moved: Sequence[ResultRow]
) -> tuple[str, str, str]:
    """Return who moved, over all contrasts by how much, and in how many.

    One judge that moved has its name beside the change, and the contrasts are its own.
    """
    judges, some = (dict.fromkeys(str(row.scope["judge"]) for row in rows) for rows in (of, moved))
    if len(some) == 1:
        [judge] = some
        label = f"{label}, {judge}"
        of = [row for row in of if row.scope["judge"] == judge]
    elif metric == _VERDICT:  # as distinct from the mean over judges
        label = f"{label}, by judge"
    words = f"{MOVED} in {len(some)} of {counted(len(judges), 'judge')}"
    if len(of) > len({str(row.scope["judge"]) for row in of}):
        words += f", {len(moved)} of {counted(len(of), 'contrast')}"
    return label, figures_text(of), words


def _contrasts(rows: Iterable[ResultRow]) -> dict[tuple[str, str], list[ResultRow]]:
    """Return the contrasts of judges by what changed and the metric of its effect over judges."""
    found: dict[tuple[str, str], list[ResultRow]] = defaultdict(list)
    for row in rows:
        metric = row.metric.replace("contrast", _VERDICT, 1)
        of_one = row.metric.startswith("contrast") and "judge" in row.scope
        if of_one and row.estimate is not None and metric in (_VERDICT, *BESIDE):
            found[_label(replace(row, metric=metric)), metric].append(row)
    return found
