"""The audit of recorded judgements: accuracy and preferences by judge, over wordings."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from statistics import fmean
from typing import Any

from judge_gym.analysis.data import SweepData
from judge_gym.analysis.facets import averaged
from judge_gym.counting import counted
from judge_gym.design.rubric import FIRST as FIRST_OF_TWO
from judge_gym.design.rubric import SECOND
from judge_gym.formats import ABSENT, estimates, figure, figures_text
from judge_gym.metrics.estimate import rescaled
from judge_gym.recorded.mapping import as_number
from judge_gym.report.audit_findings import (
    ONE_WORDING,
    Audit,
    Means,
    from_people,
    in_bands,
    is_of_pairs,
    is_whole,
    items_text,
    judge_of,
    most_right,
    sentences,
    shared_by_judges,
    wordings_of,
)
from judge_gym.report.audit_pairs import RIGHT, audit_of_pairs
from judge_gym.report.audit_systems import RANKING, audit_of_systems, unranked
from judge_gym.report.plots.plot import Plot, Rows
from judge_gym.report.table import Table, plain_table
from judge_gym.store.results import ResultRow

MEAN, MEAN_COMMON, WIN_RATE = "mean_score", "mean_score_common", "win_rate"
WRITTEN_MEAN = "written_mean"
_COLUMNS = {
    "accuracy": "accuracy",
    "kappa": "cohens_kappa",
    "sensitivity": "known_sensitivity",
    "specificity": "known_specificity",
    "majority": "majority_accuracy",
    "its kappa": "majority_kappa",
    "off by": "stage_error",
    "weighted kappa": "cohens_kappa_quadratic",
    "mean as written": WRITTEN_MEAN,
    "distance": "written_error",
    "correlation": "written_correlation",
    "first shown": "position_bias",
    "win rate": WIN_RATE,
    "mean score": MEAN,
    "unreadable": "unparseable_rate",
}
"""Heading → the metric of judgements that have no accuracy by order."""


def audit(
    data: SweepData, rows: Sequence[ResultRow], person: str = "", unread: Sequence[str] = ()
) -> Audit | None:
    """Return the audit of a sweep whose judgements were all recorded; None for other sweeps.

    Judgements of several systems with known answers have their ranking, pairs with known answers
    their accuracy by order; other judgements the figures they allow.
    `person` is who gave the known answers, where that was one person. `unread` are columns that
    may name wordings of the prompt and whose values are read as repeats.
    """
    if not data.imported_arms or len(data.samples.arm) != int(data.samples.imported.sum()):
        return None
    pairs = audit_of_pairs(data, rows, unread)
    if (ranked := audit_of_systems(data, rows, unread)) is not None:
        return replace(ranked, parts=(*ranked.parts, pairs.table)) if pairs else ranked
    found = pairs or _others(data, rows, person, unread)
    notes = tuple(filter(None, (unranked(data, rows), *found.table.notes)))
    return replace(found, table=replace(found.table, notes=notes), parts=tuple(_parts(data, rows)))


def _digits(heading: str) -> int:
    """Return the decimals of a column: win rates are read as percent with one decimal."""
    return 3 if "win rate" in heading else 2


_EQUAL = ("accuracy", "kappa", "majority", "its kappa")
"""Columns that count whether two verdicts are the same."""
_EXACT = " Distance and correlation are of the scores as written."
_SAID = {
    "accuracy": (
        "Accuracy: share of readable answers that are the {answer}, over the items that this judge "
        "answered and whose answer is known (column items)."
    ),
    "kappa": "Kappa: agreement with the known answers beyond chance; 0 is guessing.",
    "sensitivity": "Sensitivity: share of right answers where {high} is right.",
    "specificity": "Specificity: the same where {low} is right.",
    "majority": (
        "Majority: share of readable answers that are the label most people gave; of two people, "
        "the label both gave. Its kappa: agreement with it beyond chance. Both are over the items "
        "with such a label (column its items)."
    ),
    "off by": "Off by: mean distance of these answers from the known ones, in steps.",
    "mean as written": "Mean as written: of the scores of the file, averaged by item.",
    "distance": (
        "Distance: mean distance of scores from the known ones or the mean of people's labels, "
        "in the file's points."
    ),
    "correlation": "Correlation: Spearman's rho of scores and known ones, over items.",
    "mean score": (
        "Mean score: 0 is the lowest verdict and 1 the highest, averaged by item, over the "
        "items that this judge scored (column items)."
    ),
    "second wins": "Second wins: preferences for the second text, a tie counting half.",
    "win rate": "Win rate: mean of the preferences less 1, as the annotator weighted them.",
    "discrete win rate": (
        "Discrete win rate: preferences nearer to the second text, a tie counting half."
    ),
    "weighted kappa": "Weighted kappa: an answer two steps off counts four times one step.",
    "unreadable": "Unreadable: share of answers without a verdict.",
    "first shown": "First shown: share for the answer shown first, less what is expected.",
}
"""What each column is; `answer` is the known one, or whose label it is, `low` and `high` the
ends of the scale."""


def _others(
    data: SweepData, rows: Sequence[ResultRow], person: str, unread: Sequence[str]
) -> Audit:
    """Return the audit of judgements that have no accuracy by order."""
    known = _known_columns(data, rows)
    right = {
        name: max(estimates(of), default=0.0) for name, of in known.get("accuracy", {}).items()
    }
    judges = sorted(
        {judge_of(row) for row in rows if "judge" in row.scope},
        key=lambda name: (-right.get(name, 0.0), name),
    )
    wordings, things = len(wordings_of(data)), "pair" if is_of_pairs(data) else "item"
    under = f" under {counted(wordings, 'wording')} of the prompt" if wordings > 1 else ""
    answer = f"label of one person ({person})" if person else "known one"
    low, *_, high = data.judges[0].arms[0].labels or ("the lower verdict", "the higher verdict")
    words = " ".join(
        text.format(answer=answer, low=low, high=high)
        for name, text in _SAID.items()
        if name in known
    )
    if banded := in_bands(data, [name for name in _EQUAL if name in known]):
        words = f"{words} {banded}{_EXACT * ('distance' in known)}"
    spans = " A range is over wordings." if wordings > 1 else ""
    return Audit(
        replace(
            _table_of_judges(judges, known),
            explanation=(
                f"{most_right(data, rows, 'accuracy', things)} "
                f"{len(data.samples.arm):,} judgements by {counted(len(judges), 'judge')} of "
                f"{counted(len(data.truth.label), things)}{under}"
                f"{shared_by_judges(data)}."
            ).lstrip(),
            notes=(
                f"{words}{spans}",
                *filter(None, [_common(rows) if MEAN in _shown(known) else ""]),
                *sentences(data, rows, {*wordings_of(data), ONE_WORDING}, unread),
            ),
            imported=True,
        )
    )


def _known_columns(data: SweepData, rows: Sequence[ResultRow]) -> dict[str, Means]:
    """Return the columns that have a figure, by their headings."""
    figures: dict[str, Means] = {
        heading: _whole(rows, metric) for heading, metric in _COLUMNS.items()
    }
    figures = {"from people": from_people(rows), **figures}
    scores = figures.pop("mean score")
    if not (any(data.truth.label) or figures["from people"]):
        wins = figures.pop("win rate")
        heading = _score_heading(data, weighted=any(map(estimates, wins.values())))
        written = {} if any(figures[_WRITTEN].values()) else _in_scores(data, scores)
        figures = {"win rate": wins, heading: scores, **written, **figures}
    known = {heading: of for heading, of in figures.items() if any(map(estimates, of.values()))}
    for heading in (
        _IN_STEPS if "distance" in known else ("mean score",) if _WRITTEN in known else ()
    ):
        known.pop(heading, None)
    return known


def _table_of_judges(judges: Sequence[str], known: Mapping[str, Means]) -> Table:
    columns: dict[str, Mapping[str, str]] = {}
    for heading, of in known.items():
        digits = _digits(heading)
        columns[heading] = {judge: figures_text(rows, digits) for judge, rows in of.items()}
        if heading == ("its kappa" if "its kappa" in known else "majority"):
            columns["its items"] = _items_by_judge(known.get("majority", of))
    counted_by = next((of for heading, of in known.items() if heading in _OF_ITEMS), {})
    if counted_by:
        columns["items"] = _items_by_judge(counted_by)
    return plain_table(
        "Audit of recorded judgements",
        ("judge", *columns),
        [(judge, *(of.get(judge, ABSENT) for of in columns.values())) for judge in judges],
        words=1,
    )


def _items_by_judge(of: Means) -> dict[str, str]:
    return {judge: items_text(rows) for judge, rows in of.items()}


_WRITTEN = "mean as written"
_IN_STEPS = ("off by", "weighted kappa", _WRITTEN)
"""Columns that the distance and the correlation of scores as written take the place of."""


def _shown(known: Mapping[str, Any]) -> set[str]:
    """Return the metrics of a table's columns."""
    means = {"mean score", _WRITTEN, "second wins", "discrete win rate"}
    return {MEAN} if known.keys() & means else set()


def _in_scores(data: SweepData, scores: Means) -> dict[str, Means]:
    """Return the mean scores in the judgements' own numbers, where stages are evenly spaced ones;
    nothing where they are 0 to 1."""
    ends = _ends(data)
    if ends is None:
        return {}
    low, high = ends
    return {
        f"mean, {low:g} to {high:g}": {
            judge: [rescaled(row, high - low, low) for row in rows]
            for judge, rows in scores.items()
        }
    }


def _ends(data: SweepData) -> tuple[float, float] | None:
    """Return the ends of a scale of evenly spaced numbers that is not 0 to 1; None for others."""
    numbers = [as_number(label) for label in data.judges[0].arms[0].labels]
    scores = [number for number in numbers if number is not None]
    steps = {round(after - before, 9) for before, after in pairwise(scores)}
    if len(scores) < len(numbers) or len(steps) != 1 or (scores[0], scores[-1]) == (0, 1):
        return None
    return scores[0], scores[-1]


def _common(rows: Sequence[ResultRow]) -> str:
    """Return the mean scores on the items that all judges scored, where one has more than them."""
    found = [row for row in averaged(rows) if row.metric == MEAN_COMMON and is_whole(row)]
    if not found:
        return ""
    if all(row.estimate is None for row in found):
        return (
            "No item was scored by every judge: each mean is of other items, so a difference "
            "between judges may be one between items."
        )
    common = {judge_of(row): row for row in found}
    whole = {name: own[0] for name, own in _whole(rows, MEAN).items() if own}
    values = [f"{name} {figure(common.get(name, row))}" for name, row in sorted(whole.items())]
    return f"On the {items_text(found)} items that every judge scored: {', '.join(values)}."


def _parts(data: SweepData, rows: Sequence[ResultRow]) -> Iterable[Table]:
    """Yield the figures of each judge on each system, best first.

    Without systems those on each category, where no answer is known: accuracy by category has a
    table of its own.
    """
    known = any(data.truth.label)
    kind = "system" if any("system" in row.scope for row in rows) else "category"
    if known and kind == "category":
        return
    of_part = [row for row in averaged(rows) if kind in row.scope and "judge" in row.scope]
    if known:
        metric = RIGHT if is_of_pairs(data) else "accuracy"
        figures: dict[str, Means] = {"accuracy": _of_parts(of_part, metric, kind)}
    else:
        won = WIN_RATE if any(row.metric == WIN_RATE for row in of_part) else "system_judged"
        metrics = (won, MEAN, WRITTEN_MEAN)
        rates, scores, written = (_of_parts(of_part, metric, kind) for metric in metrics)
        heading = _score_heading(data, weighted=bool(rates))
        own = {_WRITTEN: written} if written else _in_scores(data, scores)
        figures = {"win rate": rates, heading: {} if written else scores, **own}
    figures = {heading: of for heading, of in figures.items() if of}
    if figures:
        yield _part_table(kind, figures)


def _score_heading(data: SweepData, *, weighted: bool) -> str:
    """Return what a mean score is called: of pairs it is the share that the second text won."""
    labels = data.judges[0].arms[0].labels
    if (labels[0], labels[-1]) != (FIRST_OF_TWO, SECOND):
        return "mean score"
    return "discrete win rate" if weighted else "second wins"


def _of_parts(rows: Iterable[ResultRow], metric: str, kind: str) -> Means:
    """Return (part, judge) → the rows of a metric that have a value."""
    found: Means = defaultdict(list)
    for row in rows:
        if row.metric == metric and row.estimate is not None:
            found[str(row.scope[kind]), judge_of(row)].append(row)
    return found


def _part_table(kind: str, figures: Mapping[str, Means]) -> Table:
    first = next(iter(figures.values()))
    places = sorted(first, key=lambda place: -fmean(estimates(first[place])))
    cells = [
        (
            *place,
            *(
                figures_text(of[place], _digits(heading)) if of.get(place) else ABSENT
                for heading, of in figures.items()
            ),
            items_text(first[place]),
        )
        for place in places
    ]
    return replace(
        plain_table(f"By {kind}", (kind, "judge", *figures, "items"), cells, words=2),
        imported=True,
    )


_OF_ITEMS = (
    *("accuracy", "from people", "mean score", _WRITTEN, "second wins", "discrete win rate"),
)
"""Columns whose number of items the table says."""


def _whole(rows: Sequence[ResultRow], metric: str) -> Means:
    """Return the rows of each judge on all items: the one over all wordings, where there is one."""
    found: Means = defaultdict(list)
    for row in averaged(rows):
        if row.metric == metric and is_whole(row):
            found[judge_of(row)].append(row)
    return found


def picture(plot: Plot, name: str) -> tuple[str, Sequence[str], Rows]:
    """Return a sentence, what it rests on and the rows of the chart `strips`, to stand alone.

    `name` is that of the data.
    """
    panel = plot.panels[0]
    rows = [{**row, "link": ""} for row in panel.rows]
    if plot.title == RANKING:
        said = "Point: people's mean, with its 95% interval over all systems; circle: as judged"
        return f"{panel.heading} {panel.says}", (name, said), rows
    whole = [row for row in rows if row["whole"]]
    chance = whole[0]["reference"]
    title = f"Accuracy of {counted(len(whole), 'judge')}"
    if chance is not None:
        above = sum(row["lower"] is not None and row["lower"] > chance for row in whole)
        verb = "is" if above == 1 else "are"
        title = f"{above} of {counted(len(whole), 'judge')} {verb} right more often than a coin"
    wordings = (len(rows) - len(whole)) // len(whole)
    parts = ["point: share of judgements that are right, %, with its 95% interval"]
    if wordings:
        parts.append(f"circle: one of {wordings} wordings of the prompt")
    if chance is not None:
        parts.append("line: a coin")
    data = f"{name}, {counted(max(row['pairs'] for row in whole), 'pair')} of answers, both orders"
    keyed = "; ".join(parts)
    return title, (data, keyed[0].upper() + keyed[1:]), rows
