"""The audit of recorded pairs: accuracy and order preference by judge, over wordings."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from judge_gym.counting import counted
from judge_gym.formats import ABSENT, number
from judge_gym.report.plots.plot import Panel, Plot
from judge_gym.report.table import Row, Table
from judge_gym.store.results import ResultRow

TITLE = "Audit of recorded pairs"
RIGHT, FIRST, SAME = "accuracy_of_all", "first_shown_share", "same_choice"
LONGER, LONGER_RIGHT = "longer_share", "longer_right_share"
_PEOPLE = "alt_test_winning_rate"
_STRIP = 24
"""Characters of the strip that shows a judge's accuracy under each wording."""
_PUBLISHED = "_as_published"
_ONE = "all"
"""The wording of data that name none."""

Figures = Mapping[str, Mapping[str, ResultRow]]
"""Judge → wording → the row of a metric on all items."""


@dataclass(frozen=True)
class _Judge:
    """A judge's figures under the wordings that all judges have."""

    name: str
    right: Sequence[ResultRow]
    first: Sequence[ResultRow]
    same: Sequence[ResultRow]

    @property
    def middle(self) -> float:
        values = _values(self.right)
        return sum(values) / len(values)


@dataclass(frozen=True)
class Audit:
    """The opening of a report on recorded pairs."""

    table: Table
    plot: Plot
    strips: Sequence[str]
    """For each row of the table its accuracies as a line of characters."""

    @property
    def in_terminal(self) -> Table:
        """The table with the strips, which need letters of equal width."""
        name, *others = self.table.columns
        rows = tuple(
            replace(row, cells=(row.cells[0], strip, *row.cells[1:]))
            for row, strip in zip(self.table.rows, self.strips, strict=True)
        )
        several = any(strip.count("·") + strip.count("•") > 1 for strip in self.strips)
        dots = ("A dot is a wording (• several).",) if several else ()
        return replace(
            self.table,
            columns=(name, "accuracy", *others),
            rows=rows,
            words=2,
            notes=(*dots, *self.table.notes),
        )


def audit(rows: Sequence[ResultRow]) -> Audit | None:
    """Return the audit of a sweep of recorded pairs; None for other sweeps."""
    by_metric = {metric: _by_judge(rows, metric) for metric in (RIGHT, FIRST, SAME)}
    estimable = {
        judge: of
        for judge, of in by_metric[RIGHT].items()
        if any(row.estimate is not None for row in of.values())
    }
    if not estimable:
        return None
    shared = set.intersection(*(set(of) for of in estimable.values()))
    judges = [
        _Judge(judge, *(_chosen(by_metric[metric].get(judge, {}), shared) for metric in by_metric))
        for judge in estimable
    ]
    judges = sorted((one for one in judges if _values(one.right)), key=lambda one: -one.middle)
    if not judges:
        return None
    table = Table(
        TITLE,
        _explanation(rows, estimable, shared),
        ("judge", "lowest, %", "highest, %", "95% bounds", "first shown", "same choice"),
        tuple(map(_row, judges)),
        notes=tuple(_notes(rows, judges, shared)),
        imported=True,
        simulated=any(row.simulated for of in estimable.values() for row in of.values()),
    )
    values = [[100 * value for value in _values(one.right)] for one in judges]
    low, high = min(map(min, values)), max(map(max, values))
    return Audit(table, _plot(judges, table), [_strip(of, low, high) for of in values])


def _by_judge(rows: Iterable[ResultRow], metric: str) -> Figures:
    found: dict[str, dict[str, ResultRow]] = defaultdict(dict)
    for row in rows:
        if row.metric == metric and "judge" in row.scope and "category" not in row.scope:
            wording = str(row.scope.get("wording", _ONE))
            found[str(row.scope["judge"]).removeprefix("recorded/")][wording] = row
    return found


def _chosen(of: Mapping[str, ResultRow], shared: set[str]) -> list[ResultRow]:
    return [of[wording] for wording in sorted(of) if wording in shared]


def _values(rows: Iterable[ResultRow]) -> list[float]:
    return [row.estimate for row in rows if row.estimate is not None]


def _explanation(rows: Sequence[ResultRow], judges: Figures, shared: set[str]) -> str:
    judgements = sum(row.n for of in judges.values() for row in of.values())
    items = max(row.n_items for of in judges.values() for row in of.values())
    most = max(len(of) for of in judges.values())
    said = f"{judgements:,} judgements by {counted(len(judges), 'judge')} of {items} pairs"
    if most == 1:
        return f"{said}, both orders."
    alike = f" The figures are of the {len(shared)} wordings that all judges have."
    return f"{said}, both orders, up to {most} wordings of the prompt.{alike}"


def _row(judge: _Judge) -> Row:
    values = [100 * value for value in _values(judge.right)]
    bounds = [100 * end for row in judge.right for end in (row.lower, row.upper) if end is not None]
    return Row(
        (
            judge.name,
            f"{min(values):.0f}",
            f"{max(values):.0f}",
            f"[{min(bounds):.0f}, {max(bounds):.0f}]" if bounds else ABSENT,
            _ranged(judge.first),
            _ranged(judge.same),
        )
    )


def _strip(values: Sequence[float], low: float, high: float) -> str:
    """Return a line of characters with a dot at each value, a larger one for several."""
    width = (high - low) or 1
    places = Counter(round((value - low) / width * (_STRIP - 1)) for value in values)
    return "".join(" ·•"[min(places[place], 2)] for place in range(_STRIP))


def _ranged(rows: Sequence[ResultRow]) -> str:
    values = _values(rows)
    if not values:
        return ABSENT
    low, high = number(min(values)), number(max(values))
    return low if low == high else f"{low} to {high}"


def _notes(rows: Sequence[ResultRow], judges: Sequence[_Judge], shared: set[str]) -> Iterable[str]:
    if len(shared) > 1:
        yield (
            "Lowest, highest: accuracy under any wording; 95% bounds: the outermost of any "
            "wording, over items."
        )
    yield (
        "First shown: share of winners that were shown first; 0.50 is no preference. An answer "
        "that could not be read is not right."
    )
    if len(shared) > 1 and len(judges) > 1:
        yield _ranks(judges)
    if published := _as_published(rows):
        yield published
    if longer := _longer(rows):
        yield longer
    if independent := _votes(rows, shared):
        yield independent
    yield f"What these data cannot say: {'; '.join(_unsaid(rows, judges, shared))}."
    if following := _following(rows, judges, shared):
        yield f"Collect next: {following}."


def _ranks(judges: Sequence[_Judge]) -> str:
    """Return which ranks are the same under every wording."""
    wordings = range(min(len(judge.right) for judge in judges))
    ranks: dict[str, set[int]] = defaultdict(set)
    for place in wordings:
        values = {judge.name: judge.right[place].estimate or 0.0 for judge in judges}
        for name, value in values.items():
            ranks[name].add(1 + sum(other > value for other in values.values()))
    firm = [f"{name} {min(of)}" for name, of in ranks.items() if len(of) == 1]
    moving = [name for name, of in ranks.items() if len(of) > 1]
    said = f"Ranks under all {len(wordings)} wordings: {', '.join(firm) or 'none is the same'}."
    return f"{said} Ranks change with the wording: {', '.join(moving)}." if moving else said


def _as_published(rows: Iterable[ResultRow]) -> str:
    apart = [
        100 * abs(row.estimate - row.floor)
        for row in rows
        if row.metric.endswith(_PUBLISHED) and row.estimate is not None and row.floor is not None
    ]
    if not apart:
        return ""
    largest = f"the largest difference is {max(apart):.2f} points"
    return f"As published: {counted(len(apart), 'figure')} compared, {largest}."


def _following(rows: Sequence[ResultRow], judges: Sequence[_Judge], shared: set[str]) -> str:
    """Return what to collect to learn the most important of what is not known; "" for nothing."""
    if len(shared) == 1:
        return "the same pairs under a second wording of the prompt"
    if _judged_once([row for judge in judges for row in judge.right]):
        return "3 judgements of each of 100 pairs under one wording, in both orders"
    return "" if _with_people(rows) else "labels of two people for 100 of these pairs"


def _with_people(rows: Iterable[ResultRow]) -> bool:
    return any(row.metric == _PEOPLE and row.estimate is not None for row in rows)


def _unsaid(rows: Sequence[ResultRow], judges: Sequence[_Judge], shared: set[str]) -> Iterable[str]:
    figures = [row for judge in judges for row in judge.right]
    if not _with_people(rows):
        yield "how far judges agree with people (no labels of people)"
    if not _by_judge(rows, LONGER):
        yield "whether judges prefer longer answers (no lengths)"
    if _judged_once(figures):
        yield "whether a judge repeats itself (one judgement for each pair, order and wording)"
    if shared == {_ONE} or len(shared) == 1:
        yield "how far the wording of the prompt matters (one wording)"
    yield "how sure a judge is (no probes)"


def _judged_once(figures: Iterable[ResultRow]) -> bool:
    return all(row.n <= 2 * row.n_items for row in figures)


def _longer(rows: Sequence[ResultRow]) -> str:
    """Return how often each judge chooses the longer of two texts, over all its wordings."""
    by_judge = _by_judge(rows, LONGER)
    shares = (f"{judge} {_ranged(list(of.values()))}" for judge, of in by_judge.items())
    if not by_judge:
        return ""
    right = next((row for row in rows if row.metric == LONGER_RIGHT), None)
    base = f" (it is the right one in {number(right.estimate)})" if right else ""
    return f"Longer: share of winners that are the longer answer{base}: {', '.join(shares)}."


def _votes(rows: Iterable[ResultRow], shared: set[str]) -> str:
    """Return how many independent judges the judges are worth under the wordings they share."""
    found = [
        row
        for row in rows
        if row.metric == "effective_votes" and str(row.scope.get("wording", _ONE)) in shared
    ]
    return (
        f"Independent votes that the judges count as: {_ranged(found)}." if _values(found) else ""
    )


def _plot(judges: Sequence[_Judge], table: Table) -> Plot:
    panels = tuple(
        Panel(
            heading,
            [
                {
                    "judge": judge.name,
                    "wording": str(row.scope.get("wording", "")),
                    "value": row.estimate,
                    "reference": reference,
                }
                for judge in judges
                for row in getattr(judge, name)
                if row.estimate is not None
            ],
        )
        for heading, reference, name in (
            ("Accuracy", None, "right"),
            ("First shown", 0.5, "first"),
        )
    )
    return Plot(
        "strips",
        "Judges over wordings",
        "A point is a judge under one wording of the prompt. Accuracy: the share of all judgements "
        "that are right. First shown: the share of winners that were shown first; the line is no "
        "preference.",
        TITLE,
        panels=tuple(panel for panel in panels if panel.rows),
        simulated=table.simulated,
        imported=True,
    )
