"""Whose scale may run the other way: judges that give the higher score where others give the lower.

Recorded judgements alone have these figures: of those made here, the scale is known. Labels say
more than other judges, who may all be reversed.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

import numpy as np

from judge_gym.analysis.figures.agreement import votes
from judge_gym.analysis.figures.systems import labels_of_items
from judge_gym.analysis.groups import PARTS, Group
from judge_gym.analysis.registry import Column, Figure, FigureTable
from judge_gym.metrics.accuracy import rank_correlation
from judge_gym.metrics.cells import scores
from judge_gym.metrics.estimate import not_estimable
from judge_gym.scale_ends import FEWEST
from judge_gym.store.results import ResultRow

WITH_LABELS, WITH_OTHERS = "labels_correlation", "others_correlation"
_TELLS_APART = 3
"""The fewest judges of which one can differ from the others."""
VOTES_REFUSED = "the scale of a judge may run the other way"
_RECORDED = "judgements recorded elsewhere"
TABLES = (
    FigureTable(
        "Directions of scales",
        (
            "Whether each judge gives the higher scores where the labels are higher, or without "
            "labels where the other judges give higher ones. Wholly below 0, its scale may run the "
            "other way."
        ),
        question="went-wrong",
        figures=(
            Figure(WITH_LABELS, "rho", _RECORDED),
            Figure(WITH_OTHERS, "rho", f"{_RECORDED}, without known answers"),
        ),
        columns=(
            Column("with labels", WITH_LABELS),
            Column("with other judges", WITH_OTHERS),
            Column("items", WITH_LABELS, "items"),
        ),
        formulas=(
            "Spearman's ρ over items of a judge's mean scores with known answers or means of "
            "labels; without any, with the mean of the other judges' scores",
        ),
        needs=(
            "Needs judgements recorded elsewhere, with labels or of three judges, on four items.",
        ),
        in_terminal=False,
    ),
)


def directions(group: Group) -> Iterator[ResultRow]:
    """Yield the rank correlation over items of each judge's mean scores with the labels.

    These are known answers, or means of people's labels. Without any it is with the mean of the
    other judges' scores, over items that all scored, of three judges or more, as two differ from
    each other alike.
    """
    if group.is_subset or not group.present or group.judges[0].experiment.judges_pairs:
        return
    if not group.data.imported_arms:
        return
    verdicts = group.own.of_judges(group.present)
    means = verdicts.means(scores(verdicts))
    labels, _ = labels_of_items(group)
    has_labels = bool(np.isfinite(labels).any())
    if not has_labels and len(group.present) < _TELLS_APART:
        return
    for place, number in enumerate(group.present):
        if has_labels:
            kept = means.present[place] & np.isfinite(labels)
            metric, others = WITH_LABELS, labels[kept]
        else:
            kept = np.asarray(group.common)
            metric, others = (
                WITH_OTHERS,
                np.delete(means.value[:, kept], place, axis=0).mean(axis=0),
            )
        own, questions = means.value[place, kept], np.unique(group.questions(kept))
        found = rank_correlation(metric, own, others, n=len(others), clusters=len(questions))
        yield group.row(found, [group.own_arms[number]], judge=group.judges[number].model)


def votes_of_one_direction(group: Group) -> Iterator[ResultRow]:
    """Yield the independent votes of judges, none where a scale may run the other way.

    A reversed judge errs where the others are right, which would make it worth more than any.
    """
    if not turned(directions(group)):
        yield from votes(group)
        return
    n = len(group.compared)
    for metric in ("mean_error_correlation", "effective_votes"):
        yield group.across(not_estimable(metric, VOTES_REFUSED, n=n, unit="votes"))


def turned(rows: Iterable[ResultRow]) -> Mapping[str, Sequence[ResultRow]]:
    """Return the judges whose scales may run the other way, with the figures that say so.

    Each interval lies below 0, of ten items or more. Beside other judges a turned one is in the
    minority; else nothing says which are.
    """
    by_metric: dict[str, dict[str, list[ResultRow]]] = defaultdict(lambda: defaultdict(list))
    for row in _of_judges(rows):
        by_metric[row.metric][str(row.scope["judge"])].append(row)
    for metric, by_judge in by_metric.items():
        found = {judge: of for judge, of in by_judge.items() if all(map(_is_turned, of))}
        if found and (metric == WITH_LABELS or 2 * len(found) < len(by_judge)):
            return found
    return {}


def one_direction(rows: Collection[ResultRow]) -> bool:
    """Whether every judge is shown to give the higher scores where labels or others do."""
    ends = [row.estimate if row.lower is None else row.lower for row in _of_judges(rows)]
    return bool(ends) and all(end is not None and end > 0 for end in ends)


def _of_judges(rows: Iterable[ResultRow]) -> Iterator[ResultRow]:
    """Yield the figures of judges over all their items."""
    parts = set(PARTS)
    for row in rows:
        is_figure = row.metric in (WITH_LABELS, WITH_OTHERS) and "judge" in row.scope
        if is_figure and parts.isdisjoint(row.scope):
            yield row


def is_below(row: ResultRow) -> bool:
    """Whether the interval, or a figure that is the same for all draws of items, is below 0."""
    end = row.estimate if row.upper is None else row.upper
    return end is not None and end < 0


def _is_turned(row: ResultRow) -> bool:
    return is_below(row) and row.n_items >= FEWEST


OF_GROUP = (directions, votes_of_one_direction)
