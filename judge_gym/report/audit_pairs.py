"""The audit of recorded pairs: accuracy of each judge by the order and the wording shown."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Any

from judge_gym.analysis.data import SweepData
from judge_gym.counting import counted, first_of
from judge_gym.formats import estimates, figures_text, ranged, span_of
from judge_gym.metrics.estimate import rescaled
from judge_gym.report.audit_findings import (
    MOST_NAMED,
    ONE_WORDING,
    Audit,
    Figures,
    figures_by_judge,
    from_people,
    judge_of,
    most_right,
    sentences,
    shared_by_judges,
)
from judge_gym.report.plots.plot import Plot, PlotPanel
from judge_gym.report.scopes import behind, evidence_link
from judge_gym.report.table import Row, Table, plain_table
from judge_gym.store.results import ResultRow

TITLE = "Audit of recorded pairs"
RIGHT, FIRST, SAME = "accuracy_of_all", "first_shown_share", "same_winner"
TIES, OVER_ORDERS = "same_tie", "accuracy_both_orders"
OVER_WORDINGS = "accuracy_over_wordings"
_STRIP = 24
"""Characters of the strip that shows a judge's accuracy under each wording."""
_PUBLISHED = "_as_published"
_MOST_CATEGORIES = 6
"""Columns of the published table; with more categories it has their mean alone."""


@dataclass(frozen=True)
class _Judge:
    """A judge's figures under the wordings that all judges have; `whole` is over all of them."""

    name: str
    whole: ResultRow
    right: Sequence[ResultRow]
    first: Sequence[ResultRow]
    same: Sequence[ResultRow]
    ties: Sequence[ResultRow]


def audit_of_pairs(
    data: SweepData, rows: Sequence[ResultRow], unread: Sequence[str] = ()
) -> Audit | None:
    by_metric = {metric: figures_by_judge(rows, metric) for metric in (RIGHT, FIRST, SAME, TIES)}
    over = {name: of[ONE_WORDING] for name, of in figures_by_judge(rows, OVER_WORDINGS).items()}
    estimable = {
        judge: of
        for judge, of in by_metric[RIGHT].items()
        if any(row.estimate is not None for row in of.values())
    }
    if not estimable:
        return None
    shared = set.intersection(*(set(of) for of in estimable.values()))
    judges = []
    for name in estimable:
        right, *others = (_chosen(by_metric[metric].get(name, {}), shared) for metric in by_metric)
        whole = over.get(name) if len(shared) > 1 else next(iter(right), None)
        if whole is not None and whole.estimate is not None:
            judges.append(_Judge(name, whole, right, *others))
    if not judges:
        return None
    judges.sort(key=lambda one: -(one.whole.estimate or 0.0))
    values = [[100 * value for value in estimates(one.right)] for one in judges]
    low, high = min(map(min, values)), max(map(max, values))
    several, far = len(shared) > 1, from_people(rows)
    ties = any(value for one in judges for value in estimates(one.ties))
    found = most_right(data, rows, OVER_WORDINGS if over else RIGHT, "pair")
    table = Table(
        TITLE,
        f"{found} {_explanation(data, rows, estimable, shared)}".lstrip(),
        (
            *("judge", "accuracy, %", *(["by wording, %"] if several else [])),
            *("first shown", "same choice", *(["both ties"] if ties else [])),
            *(["from people"] if far else []),
        ),
        tuple(_row(judge, several, far, ties=ties) for judge in judges),
        notes=(*_notes(judges), *sentences(data, rows, shared, unread)),
        methods=("Right less wrong, in the checks, is 0 for guessing.",),
        imported=True,
        simulated=any(row.simulated for of in estimable.values() for row in of.values()),
    )
    return Audit(
        table,
        (),
        _plot(judges, table, _chance(data)),
        [_strip(of, low, high) if several else "" for of in values],
        f"· wording, • several, {low:.0f} to {high:.0f}%",
        _published_table(rows),
    )


def _chosen(of: Mapping[str, ResultRow], shared: set[str]) -> list[ResultRow]:
    return [of[wording] for wording in sorted(of) if wording in shared]


def _explanation(
    data: SweepData, rows: Sequence[ResultRow], judges: Figures, shared: set[str]
) -> str:
    judgements = sum(row.n for of in judges.values() for row in of.values())
    items = max(row.n_items for of in judges.values() for row in of.values())
    most = max(len(of) for of in judges.values())
    orders, lacking = _orders(rows, judges, items)
    said = f"{judgements:,} judgements of {items} pairs{orders}{shared_by_judges(data)}"
    if most > 1:
        said += f", up to {most} wordings; figures are of the {len(shared)} that all judges have"
    return f"{said}.{lacking}"


def _orders(rows: Sequence[ResultRow], judges: Figures, items: int) -> tuple[str, str]:
    """Return in how many orders pairs are judged, and which judges lack an order of how many."""
    in_both = figures_by_judge(rows, OVER_ORDERS)
    lacking = {
        judge: [items - in_both[judge][wording].n_items for wording in of]
        for judge, of in judges.items()
    }
    if all(least == items for of in lacking.values() for least in of):
        return ", each in one order", ""
    named = [
        f"{judge} {' to '.join(map(str, sorted({min(of), max(of)})))}"
        for judge, of in lacking.items()
        if any(of)
    ]
    if not named:
        return " in both orders", ""
    return "", f" Not judged in both orders, of {items} pairs: {first_of(named, MOST_NAMED)}."


def _row(
    judge: _Judge, several: bool, far: Mapping[str, Sequence[ResultRow]], *, ties: bool
) -> Row:
    values = [100 * value for value in estimates(judge.right)]
    return Row(
        (
            judge.name,
            _percents(judge.whole),
            *([f"{min(values):.0f} to {max(values):.0f}"] if several else []),
            span_of(judge.first),
            span_of(judge.same),
            *([span_of(judge.ties)] if ties else []),
            *([figures_text(far.get(judge.name, []))] if far else []),
        ),
        about=behind([judge.whole.scope]),
    )


def _percents(row: ResultRow) -> str:
    share = rescaled(row, 100)
    return ranged(share.estimate, share.lower, share.upper, digits=0)


def _strip(values: Sequence[float], low: float, high: float) -> str:
    """Return a line of characters with a dot at each value, a larger one for several."""
    width = (high - low) or 1
    places = Counter(round((value - low) / width * (_STRIP - 1)) for value in values)
    return "".join(" ·•"[min(places[place], 2)] for place in range(_STRIP))


def _notes(judges: Sequence[_Judge]) -> Iterable[str]:
    yield (
        "Accuracy: share of judgements that are right, with a 95% interval over pairs. Unreadable "
        "answers are not right."
    )
    yield (
        "First shown: share of winners shown first; 0.50 is no preference. Same choice: pairs with "
        "one winner in both orders."
    )
    if any(value for judge in judges for value in estimates(judge.ties)):
        yield "Both ties: pairs that are a tie in both orders; they are no same choice."


Published = dict[str, dict[str, dict[str, tuple[float, float]]]]
"""Judge → wording → category → the accuracy in percent as published, and as computed here."""


def _published_table(rows: Sequence[ResultRow]) -> Table | None:
    """Return each judge's best and worst wording beside what was published; None without any.

    Best and worst by the mean over categories, of the wordings with a figure for every category.
    """
    lines = _published_lines(rows)
    categories = sorted({name for of in lines.values() for one in of.values() for name in one})
    found = _best_and_worst(lines, len(categories))
    if not found:
        return None
    shown = categories if 1 < len(categories) <= _MOST_CATEGORIES else []
    cells = [
        (
            *(judge, wording),
            *(_beside(lines[judge][wording][name]) for name in shown),
            _beside([fmean(of) for of in zip(*lines[judge][wording].values(), strict=True)]),
        )
        for judge, wording in found
    ]
    short = [name.rsplit("/", 1)[-1] for name in shown]
    headings = short if len(set(short)) == len(short) else shown
    last = "mean" if len(categories) > 1 else "accuracy"
    table = plain_table(
        "As published: each judge's best and worst wording",
        ("judge", "wording", *headings, last),
        cells,
        words=2,
    )
    count = sum(len(values) for of in lines.values() for values in of.values())
    apart = [
        100 * abs(row.estimate - row.floor)
        for row in rows
        if row.metric.endswith(_PUBLISHED) and row.estimate is not None and row.floor is not None
    ]
    return replace(
        table,
        explanation="Accuracy in percent: as published / computed here from the recorded answers.",
        notes=(
            f"{counted(count, 'accuracy')} compared, and {counted(len(apart), 'figure')} in all: "
            f"the largest difference is {max(apart):.2f} points. The report has every line.",
        ),
        imported=True,
    )


def _published_lines(rows: Sequence[ResultRow]) -> Published:
    lines: Published = defaultdict(lambda: defaultdict(dict))
    for row in rows:
        if row.metric == RIGHT + _PUBLISHED and None not in (row.estimate, row.floor):
            of_judge = lines[judge_of(row)][str(row.scope.get("wording", ONE_WORDING))]
            pair = (100 * (row.floor or 0.0), 100 * (row.estimate or 0.0))
            of_judge[str(row.scope.get("category", "all"))] = pair
    return lines


def _best_and_worst(lines: Published, categories: int) -> list[tuple[str, str]]:
    """Return each judge with its best and its worst wording, the best judge first."""
    found = []
    for judge, of in lines.items():
        means = {
            wording: fmean(own for _, own in values.values())
            for wording, values in of.items()
            if len(values) == categories
        }
        ordered = sorted(means, key=lambda wording: -means[wording])
        found += [
            (-means[ordered[0]], judge, -means[wording], wording)
            for wording in dict.fromkeys(ordered[:1] + ordered[-1:])
        ]
    return [(judge, wording) for _, judge, _, wording in sorted(found, key=lambda one: one[:3])]


def _beside(pair: Sequence[float]) -> str:
    published, own = pair
    return f"{published:.1f} / {own:.1f}"


def _chance(data: SweepData) -> float | None:
    """Return what guessing scores on pairs without a tie; None where there are other answers."""
    return 0.5 if {judge.experiment.scale_size for judge in data.judges} == {2} else None


def _plot(judges: Sequence[_Judge], table: Table, chance: float | None) -> Plot:
    right = [
        mark
        for judge in judges
        for mark in (
            *(_mark(judge, row, chance) for row in judge.right if len(judge.right) > 1),
            _mark(judge, judge.whole, chance, whole=True),
        )
    ]
    first = [_mark(judge, row, 0.5) for judge in judges for row in judge.first]
    panels = (PlotPanel("Accuracy", right), PlotPanel("First shown", first))
    return Plot(
        "strips",
        "Judges over wordings",
        "A circle is a judge under one wording of the prompt. Accuracy: the share of judgements "
        "that are right; the filled point is over all wordings, with its 95% interval over pairs. "
        "First shown: the share of winners that were shown first. The line is what guessing gives.",
        TITLE,
        panels=tuple(
            replace(panel, rows=drawn)
            for panel in panels
            if (drawn := [mark for mark in panel.rows if mark["value"] is not None])
        ),
        simulated=table.simulated,
        imported=True,
    )


def _mark(
    judge: _Judge, row: ResultRow, reference: float | None, *, whole: bool = False
) -> dict[str, Any]:
    return {
        "judge": judge.name,
        "wording": str(row.scope.get("wording", "")),
        "value": row.estimate,
        "lower": row.lower if whole else None,
        "upper": row.upper if whole else None,
        "whole": whole,
        "said": _percents(row) if whole else "",
        "pairs": row.n_items,
        "link": evidence_link(behind([row.scope])),
        "reference": reference,
    }
