"""The audit of recorded judgements: accuracy and preferences by judge, over wordings."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import fmean
from typing import Any

from judge_gym.analysis.data import SweepData
from judge_gym.analysis.facets import averaged
from judge_gym.analysis.groups import PARTS
from judge_gym.analysis.multiverse import ACCURACY, SCORE
from judge_gym.counting import counted
from judge_gym.design.rubric import FIRST as FIRST_OF_TWO
from judge_gym.design.rubric import SECOND
from judge_gym.formats import ABSENT, figure, number, percent, ranged
from judge_gym.recorded.mapping import as_number
from judge_gym.report.multiverse import HOLDS, OPEN, RECORDED, REVERSES, curves_of
from judge_gym.report.plots.plot import Panel, Plot, Rows
from judge_gym.report.scopes import behind, evidence_link
from judge_gym.report.table import Row, Table, plain_table
from judge_gym.store.results import ResultRow

TITLE = "Audit of recorded pairs"
RIGHT, FIRST, SAME = "accuracy_of_all", "first_shown_share", "same_winner"
TIES = "same_tie"
MEAN, MEAN_COMMON, WIN_RATE = "mean_score", "mean_score_common", "win_rate"
WRITTEN_MEAN = "written_mean"
OVER_WORDINGS = "accuracy_over_wordings"
LONGER, LONGER_RIGHT = "longer_share", "longer_right_share"
FAR, FAR_ORDINAL = "people_distance", "people_distance_ordinal"
ITSELF, AMONG = "replicate_icc", "krippendorff_alpha_ordinal"
_PEOPLE = FAR
_COLUMNS = {
    "accuracy": "accuracy",
    "kappa": "cohens_kappa",
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
_STRIP = 24
"""Characters of the strip that shows a judge's accuracy under each wording."""
_PUBLISHED = "_as_published"
_ONE = "all"
"""The wording of data that name none."""
_MOST_CATEGORIES = 6
"""Columns of the published table; with more categories it has their mean alone."""
_MOST_NAMED = 4
"""Pairs of judges that a note names."""

Means = dict[Any, list[ResultRow]]
"""Who or what a figure is of → its rows, one for each wording that it is not averaged over."""
Figures = Mapping[str, Mapping[str, ResultRow]]
"""Judge → wording → the row of a metric on all items."""


@dataclass(frozen=True)
class _Judge:
    """A judge's figures under the wordings that all judges have; `whole` is over all of them."""

    name: str
    whole: ResultRow
    right: Sequence[ResultRow]
    first: Sequence[ResultRow]
    same: Sequence[ResultRow]
    ties: Sequence[ResultRow]


@dataclass(frozen=True)
class Audit:
    """The opening of a report on recorded pairs."""

    table: Table
    parts: Sequence[Table] = ()
    """The figures of each system and of each category; they come before those of all together."""
    plot: Plot | None = None
    """The accuracies of judges of pairs."""
    strips: Sequence[str] = ()
    """For each row of the table its accuracies as a line of characters."""
    range_of_strips: str = ""
    published: Table | None = None
    """Published accuracies with the computed ones, at each judge's best and worst wording."""

    @property
    def published_in_terminal(self) -> Table | None:
        """The published table at each judge's best wording alone."""
        if self.published is None:
            return None
        best = {row.cells[0]: row for row in reversed(self.published.rows)}
        rows = tuple(row for row in self.published.rows if best[row.cells[0]] is row)
        title = "Accuracy as published / computed from the recorded answers, %: best wordings"
        return replace(self.published, title=title, explanation="", rows=rows)

    @property
    def opening(self) -> Sequence[Table]:
        """The tables that a terminal shows, in order."""
        shown = (*self.parts, self.in_terminal, self.published_in_terminal)
        return [table for table in shown if table is not None]

    @property
    def in_terminal(self) -> Table:
        """The table with the strips, which need letters of equal width."""
        name, *others = self.table.columns
        if not any(strip.strip() for strip in self.strips):
            return self.table
        rows = tuple(
            replace(row, cells=(row.cells[0], strip, *row.cells[1:]))
            for row, strip in zip(self.table.rows, self.strips, strict=True)
        )
        return replace(
            self.table,
            columns=(name, self.range_of_strips, *others),
            rows=rows,
            words=2,
        )


def audit(data: SweepData, rows: Sequence[ResultRow], person: str = "") -> Audit | None:
    """Return the audit of a sweep whose judgements were all recorded; None for other sweeps.

    Pairs with known answers have their accuracy by order; other judgements the figures they allow.
    `person` is who gave the known answers, where that was one person.
    """
    if not data.imported_arms or len(data.samples.arm) != int(data.samples.imported.sum()):
        return None
    found = _pairs(data, rows) or _others(data, rows, person)
    return replace(found, parts=tuple(_parts(data, rows)))


def _pairs(data: SweepData, rows: Sequence[ResultRow]) -> Audit | None:
    by_metric = {metric: _by_judge(rows, metric) for metric in (RIGHT, FIRST, SAME, TIES)}
    over = {name: of[_ONE] for name, of in _by_judge(rows, OVER_WORDINGS).items()}
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
    values = [[100 * value for value in _values(one.right)] for one in judges]
    low, high = min(map(min, values)), max(map(max, values))
    several, far = len(shared) > 1, _far(rows)
    ties = any(value for one in judges for value in _values(one.ties))
    table = Table(
        TITLE,
        _explanation(data, rows, estimable, shared),
        (
            *("judge", "accuracy, %", *(["by wording, %"] if several else [])),
            *("first shown", "same choice", *(["both ties"] if ties else [])),
            *(["from people"] if far else []),
        ),
        tuple(_row(judge, several, far, ties=ties) for judge in judges),
        notes=tuple(_notes(data, rows, judges, shared)),
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


def _by_judge(rows: Iterable[ResultRow], metric: str) -> Figures:
    found: dict[str, dict[str, ResultRow]] = defaultdict(dict)
    for row in rows:
        if row.metric == metric and _is_whole(row):
            wording = str(row.scope.get("wording", _ONE))
            found[_name(row)][wording] = row
    return found


def _is_whole(row: ResultRow) -> bool:
    """Whether a row is of one judge on all its items."""
    return "judge" in row.scope and not row.scope.keys() & set(PARTS)


def _name(row: ResultRow) -> str:
    return str(row.scope["judge"]).removeprefix(RECORDED)


def _chosen(of: Mapping[str, ResultRow], shared: set[str]) -> list[ResultRow]:
    return [of[wording] for wording in sorted(of) if wording in shared]


def _values(rows: Iterable[ResultRow]) -> list[float]:
    return [row.estimate for row in rows if row.estimate is not None]


def _explanation(
    data: SweepData, rows: Sequence[ResultRow], judges: Figures, shared: set[str]
) -> str:
    judgements = sum(row.n for of in judges.values() for row in of.values())
    items = max(row.n_items for of in judges.values() for row in of.values())
    most = max(len(of) for of in judges.values())
    said = f"{judgements:,} judgements of {items} pairs in both orders{_together(data)}"
    if most == 1:
        return f"{said}."
    return f"{said}, up to {most} wordings; figures are of the {len(shared)} that all judges have."


def _row(
    judge: _Judge, several: bool, far: Mapping[str, Sequence[ResultRow]], *, ties: bool
) -> Row:
    values = [100 * value for value in _values(judge.right)]
    return Row(
        (
            judge.name,
            _percents(judge.whole),
            *([f"{min(values):.0f} to {max(values):.0f}"] if several else []),
            _ranged(judge.first),
            _ranged(judge.same),
            *([_ranged(judge.ties)] if ties else []),
            *([_figures(far.get(judge.name, []))] if far else []),
        ),
        about=behind([judge.whole.scope]),
    )


def _percents(row: ResultRow) -> str:
    ends = (row.estimate, row.lower, row.upper)
    value, lower, upper = (None if end is None else 100 * end for end in ends)
    return ranged(value, lower, upper, digits=0)


def _strip(values: Sequence[float], low: float, high: float) -> str:
    """Return a line of characters with a dot at each value, a larger one for several."""
    width = (high - low) or 1
    places = Counter(round((value - low) / width * (_STRIP - 1)) for value in values)
    return "".join(" ·•"[min(places[place], 2)] for place in range(_STRIP))


def _ranged(rows: Sequence[ResultRow]) -> str:
    return _span(_values(rows))


def _span(values: Sequence[float]) -> str:
    if not values:
        return ABSENT
    low, high = number(min(values)), number(max(values))
    return low if low == high else f"{low} to {high}"


def _notes(
    data: SweepData, rows: Sequence[ResultRow], judges: Sequence[_Judge], shared: set[str]
) -> Iterable[str]:
    yield (
        "Accuracy: share of judgements that are right, with a 95% interval over pairs. Unreadable "
        "answers are not right."
    )
    yield (
        "First shown: share of winners shown first; 0.50 is no preference. Same choice: pairs with "
        "one winner in both orders."
    )
    if any(value for judge in judges for value in _values(judge.ties)):
        yield "Both ties: pairs that are a tie in both orders; they are no same choice."
    yield from _sentences(data, rows, shared)


def _sentences(
    data: SweepData, rows: Sequence[ResultRow], shared: Collection[str]
) -> Iterable[str]:
    """Yield what an audit says of judgements of any kind, below its table."""
    judges = len({judge.model for judge in data.judges})
    found = (
        *(_rankings(rows), _longer(rows), _itself(rows), _among(data, rows), _people(rows)),
        _votes(rows, shared, judges),
    )
    yield from filter(None, found)
    yield f"What these data cannot say: {'; '.join(_unsaid(data, rows))}."
    if following := _following(data, rows):
        yield f"Collect next: {following}."


def _rankings(rows: Sequence[ResultRow]) -> str:
    """Return for how many pairs of judges one is better whatever wording and order is chosen."""
    claims = {ACCURACY: "the better judge", SCORE: "the judge with the higher scores"}
    curves = [curve for curve in curves_of(rows) if curve.scope["claim"] in claims]
    if not curves:
        return ""
    by_verdict: dict[str, list[str]] = defaultdict(list)
    for curve in curves:
        pair = str(curve.scope["pair"]).replace(RECORDED, "")
        by_verdict[curve.verdict].append(pair)
    holding = len(by_verdict[HOLDS])
    over = " and ".join(_plural(axis) for axis in sorted(set().union(*(c.choices for c in curves))))
    said = (
        f"Rankings: {claims[curves[0].scope['claim']]} is the same over all {over} for {holding} "
        f"of {counted(len(curves), 'pair')} of judges (adjusted p below 0.05, readable answers)."
    )
    for verdict, words in ((REVERSES, "Reversed by a choice"), (OPEN, "Not settled")):
        if names := by_verdict[verdict]:
            more = f"; {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
            said += f" {words}: {'; '.join(names[:_MOST_NAMED])}{more}."
    return said


def _plural(axis: str) -> str:
    return f"{axis.replace('_', ' ')}s"


def _published_table(rows: Sequence[ResultRow]) -> Table | None:
    """Return each judge's best and worst wording beside what was published; None without any.

    Best and worst by the mean over categories, of the wordings with a figure for every category.
    """
    apart = [
        100 * abs(row.estimate - row.floor)
        for row in rows
        if row.metric.endswith(_PUBLISHED) and row.estimate is not None and row.floor is not None
    ]
    lines: dict[str, dict[str, dict[str, tuple[float, float]]]] = defaultdict(
        lambda: defaultdict(dict)
    )
    for row in rows:
        if row.metric == RIGHT + _PUBLISHED and None not in (row.estimate, row.floor):
            of_judge = lines[_name(row)][str(row.scope.get("wording", _ONE))]
            pair = (100 * (row.floor or 0.0), 100 * (row.estimate or 0.0))
            of_judge[str(row.scope.get("category", "all"))] = pair
    categories = sorted({name for of in lines.values() for one in of.values() for name in one})
    found = []
    for judge, of in lines.items():
        means = {
            wording: fmean(own for _, own in values.values())
            for wording, values in of.items()
            if len(values) == len(categories)
        }
        ordered = sorted(means, key=lambda wording: -means[wording])
        found += [
            (means[wording], judge, wording)
            for wording in dict.fromkeys(ordered[:1] + ordered[-1:])
        ]
    if not found:
        return None
    best = {judge: max(mean for mean, other, _ in found if other == judge) for _, judge, _ in found}
    found.sort(key=lambda line: (-best[line[1]], line[1], -line[0]))
    shown = categories if 1 < len(categories) <= _MOST_CATEGORIES else []
    cells = [
        (
            *(judge, wording),
            *(_beside(lines[judge][wording][name]) for name in shown),
            _beside([fmean(of) for of in zip(*lines[judge][wording].values(), strict=True)]),
        )
        for _, judge, wording in found
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
    return replace(
        table,
        explanation="Accuracy in percent: as published / computed here from the recorded answers.",
        notes=(
            f"{counted(count, 'accuracy')} compared, and {counted(len(apart), 'figure')} in all: "
            f"the largest difference is {max(apart):.2f} points. The report has every line.",
        ),
        imported=True,
    )


def _beside(pair: Sequence[float]) -> str:
    published, own = pair
    return f"{published:.1f} / {own:.1f}"


def _following(data: SweepData, rows: Sequence[ResultRow]) -> str:
    """Return what to collect to learn the most important of what is not known; "" for nothing."""
    things = "pairs" if _of_pairs(data) else "items"
    if len(_wordings(data)) == 1:
        return f"the same {things} under a second wording of the prompt"
    if _judged_once(data):
        orders = ", in both orders" if _of_pairs(data) else ""
        return f"3 judgements of each of 100 {things} under one wording{orders}"
    people = "a second person" if _people_named(data) == 1 else "two people"
    return "" if _with_people(rows) else f"labels of {people} for 100 of these {things}"


def _people_named(data: SweepData) -> int:
    """Return how many people labelled items."""
    return len({name for given in data.people for name in given.annotator})


def _with_people(rows: Iterable[ResultRow]) -> bool:
    return any(row.metric == _PEOPLE and row.estimate is not None for row in rows)


def _unsaid(data: SweepData, rows: Sequence[ResultRow]) -> Iterable[str]:
    pairs = _of_pairs(data)
    if not any(data.truth.label):
        yield "whether judges are right (no known answers)"
    if not _with_people(rows):
        if _people_named(data) == 1:
            yield (
                "how far people agree with each other (one person: no agreement among people can "
                "be estimated)"
            )
        else:
            yield "how far judges agree with people (no labels of two people: see item.people)"
    if pairs and not _by_judge(rows, LONGER):
        yield "whether judges prefer longer answers (no lengths)"
    if _judged_once(data):
        each = "pair, order and wording" if pairs else "item and wording"
        yield f"whether a judge repeats itself (one judgement for each {each})"
    if len(_wordings(data)) == 1:
        yield "how far the wording of the prompt matters (one wording)"
    yield "how sure a judge is (no probes)"


def _of_pairs(data: SweepData) -> bool:
    return data.judges[0].experiment.judges_pairs


def _wordings(data: SweepData) -> set[str]:
    return {judge.experiment.wording for judge in data.judges}


def _judged_once(data: SweepData) -> bool:
    """Whether no judge was given an item twice under one wording, in one order."""
    columns = (data.samples.arm, data.samples.item, data.samples.shown_first)
    cells = set(zip(*(column.tolist() for column in columns), strict=True))
    return len(cells) == len(data.samples.arm)


def _longer(rows: Sequence[ResultRow]) -> str:
    """Return how often each judge chooses the longer of two texts, over all its wordings."""
    by_judge = _by_judge(rows, LONGER)
    shares = (f"{judge} {_ranged(list(of.values()))}" for judge, of in by_judge.items())
    if not by_judge:
        return ""
    right = next((row for row in rows if row.metric == LONGER_RIGHT), None)
    base = f" (it is right in {percent(right.estimate)} of pairs)" if right else ""
    return f"Longer: share of winners that are the longer answer{base}: {', '.join(shares)}."


def _itself(rows: Sequence[ResultRow]) -> str:
    by_judge = _by_judge(rows, ITSELF)
    values = {judge: _figures(list(of.values())) for judge, of in by_judge.items()}
    known = [f"{judge} {value}" for judge, value in values.items() if value != ABSENT]
    if not known:
        return ""
    below = any(value < 0 for of in by_judge.values() for value in _values(of.values()))
    return (
        "With itself: share of the variance of scores that is between items, not between repeats; "
        "1 is the same judgement every time"
        f"{'; at 0 and below, repeats differ as much as items' * below}: {', '.join(known)}."
    )


def _among(data: SweepData, rows: Sequence[ResultRow]) -> str:
    """Return how far judges agree with each other; "" where known answers say more."""
    found = [row for row in rows if row.metric == AMONG and row.estimate is not None]
    if not found or any(data.truth.label):
        return ""
    return (
        "Among themselves: judges agree beyond chance by Krippendorff's α of "
        f"{_figures(found)}; 1 is the same verdict on every item, 0 is chance."
    )


def _far(rows: Sequence[ResultRow]) -> Means:
    """Return each judge's distances to people's labels: of stages in order, where they have one."""
    by_metric: dict[str, dict[str, list[ResultRow]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row.metric in (FAR, FAR_ORDINAL) and row.estimate is not None:
            by_metric[row.metric][_name(row)].append(row)
    return by_metric.get(FAR_ORDINAL) or by_metric.get(FAR) or {}


def _people(rows: Sequence[ResultRow]) -> str:
    """Return what the distance to people's labels is, and that of one person to the others."""
    found = [row for of in _far(rows).values() for row in of]
    if not found:
        return ""
    is_ordinal = found[0].metric == FAR_ORDINAL
    unit = "distance on the scale, 0 to 1," if is_ordinal else "share of labels that differ,"
    floors = [row.floor for row in found if row.floor is not None]
    return (
        f"From people: {unit} of a judgement from people's labels. One person from the others: "
        f"{_span(floors)}."
    )


def _figures(rows: Sequence[ResultRow], digits: int = 2) -> str:
    """Return a value with its interval, or the range of several."""
    return figure(rows[0], digits) if len(rows) == 1 else _ranged(rows)


def _digits(heading: str) -> int:
    """Return the decimals of a column: win rates are read as percent with one decimal."""
    return 3 if "win rate" in heading else 2


def _others(data: SweepData, rows: Sequence[ResultRow], person: str) -> Audit:
    """Return the audit of judgements that have no accuracy by order."""
    figures: dict[str, Means] = {
        heading: _whole(rows, metric) for heading, metric in _COLUMNS.items()
    }
    figures = {"from people": _far(rows), **figures}
    scores = figures.pop("mean score")
    if not (any(data.truth.label) or figures["from people"]):
        wins = figures.pop("win rate")
        heading = _score_heading(data, weighted=any(map(_values, wins.values())))
        written = {} if any(figures[_WRITTEN].values()) else _in_scores(data, scores)
        figures = {"win rate": wins, heading: scores, **written, **figures}
    known = {heading: of for heading, of in figures.items() if any(map(_values, of.values()))}
    for heading in (
        _IN_STEPS if "distance" in known else ("mean score",) if _WRITTEN in known else ()
    ):
        known.pop(heading, None)
    counted_by = next((of for heading, of in known.items() if heading in _OF_ITEMS), {})
    judges = sorted({_name(row) for row in rows if "judge" in row.scope})
    wordings, things = len(_wordings(data)), "pair" if _of_pairs(data) else "item"
    under = f" under {counted(wordings, 'wording')} of the prompt" if wordings > 1 else ""
    said = {
        "accuracy": (
            "Accuracy: share of readable answers that are the "
            f"{f'label of one person ({person})' if person else 'known one'}, over the items that "
            "this judge answered and whose answer is known (column items)."
        ),
        "kappa": "Kappa: agreement with the known answers beyond chance; 0 is guessing.",
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
    table = plain_table(
        "Audit of recorded judgements",
        ("judge", *known, *(["items"] if counted_by else [])),
        [
            (
                judge,
                *(
                    _figures(of[judge], _digits(heading)) if judge in of else ABSENT
                    for heading, of in known.items()
                ),
                *([_items(counted_by.get(judge, []))] if counted_by else []),
            )
            for judge in judges
        ],
        words=1,
    )
    words = " ".join(text for heading, text in said.items() if heading in known)
    spans = " A range is over wordings." if wordings > 1 else ""
    return Audit(
        replace(
            table,
            explanation=(
                f"{len(data.samples.arm):,} judgements by {counted(len(judges), 'judge')} of "
                f"{counted(len(data.truth.label), things)}{under}"
                f"{_together(data)}."
            ),
            notes=(
                f"{words}{spans}",
                *filter(None, [_common(rows) if MEAN in _shown(known) else ""]),
                *_sentences(data, rows, {*_wordings(data), _ONE}),
            ),
            imported=True,
        )
    )


_WRITTEN = "mean as written"
_IN_STEPS = ("off by", "weighted kappa", _WRITTEN)
"""Columns that the distance and the correlation of scores as written take the place of."""


def _shown(known: Mapping[str, Any]) -> set[str]:
    """Return the metrics of a table's columns."""
    means = {"mean score", _WRITTEN, "second wins", "discrete win rate"}
    return {MEAN} if known.keys() & means else set()


def _together(data: SweepData) -> str:
    """Return that figures are of several systems, "" of one."""
    systems = {*data.truth.system} - {""}
    return f", of all {len(systems)} systems together" if len(systems) > 1 else ""


def _in_scores(data: SweepData, scores: Means) -> dict[str, Means]:
    """Return the mean scores in the judgements' own numbers, where stages are evenly spaced ones;
    nothing where they are 0 to 1."""
    ends = _ends(data)
    if ends is None:
        return {}
    low, high = ends
    return {
        f"mean, {low:g} to {high:g}": {
            judge: [_scaled(row, low, high) for row in rows] for judge, rows in scores.items()
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


def _scaled(row: ResultRow, low: float, high: float) -> ResultRow:
    ends = (row.estimate, row.lower, row.upper)
    value, lower, upper = (None if end is None else low + end * (high - low) for end in ends)
    return replace(row, estimate=value, lower=lower, upper=upper)


def _common(rows: Sequence[ResultRow]) -> str:
    """Return the mean scores on the items that all judges scored, where one has more than them."""
    found = [row for row in averaged(rows) if row.metric == MEAN_COMMON and _is_whole(row)]
    if not found:
        return ""
    if all(row.estimate is None for row in found):
        return (
            "No item was scored by every judge: each mean is of other items, so a difference "
            "between judges may be one between items."
        )
    common = {_name(row): row for row in found}
    whole = {name: own[0] for name, own in _whole(rows, MEAN).items() if own}
    values = [f"{name} {figure(common.get(name, row))}" for name, row in sorted(whole.items())]
    return f"On the {_items(found)} items that every judge scored: {', '.join(values)}."


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
        metric = RIGHT if _of_pairs(data) else "accuracy"
        figures: dict[str, Means] = {"accuracy": _of_parts(of_part, metric, kind)}
    else:
        metrics = (WIN_RATE, MEAN, WRITTEN_MEAN)
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
            found[str(row.scope[kind]), _name(row)].append(row)
    return found


def _part_table(kind: str, figures: Mapping[str, Means]) -> Table:
    first = next(iter(figures.values()))
    places = sorted(first, key=lambda place: -fmean(_values(first[place])))
    cells = [
        (
            *place,
            *(
                _figures(of[place], _digits(heading)) if of.get(place) else ABSENT
                for heading, of in figures.items()
            ),
            _items(first[place]),
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


def _items(rows: Sequence[ResultRow]) -> str:
    counts = sorted({row.n_items for row in rows})
    return " to ".join(str(count) for count in dict.fromkeys((*counts[:1], *counts[-1:]))) or ABSENT


def _whole(rows: Sequence[ResultRow], metric: str) -> Means:
    """Return the rows of each judge on all items: the one over all wordings, where there is one."""
    found: Means = defaultdict(list)
    for row in averaged(rows):
        if row.metric == metric and _is_whole(row):
            found[_name(row)].append(row)
    return found


def _votes(rows: Iterable[ResultRow], shared: Collection[str], judges: int) -> str:
    """Return how many independent judges the judges are worth under the wordings they share."""
    found = [
        row
        for row in rows
        if row.metric == "effective_votes" and str(row.scope.get("wording", _ONE)) in shared
    ]
    found = [row for row in found if row.lower is not None]
    if not found:
        return ""
    ends = [end for row in found for end in (row.lower, row.upper) if end is not None]
    several = len(found) > 1 and ends
    within = (
        f", 95% intervals within {number(min(ends))} and {number(max(ends))}" if several else ""
    )
    more = ""
    if min(_values(found)) > judges:
        shown = all(row.lower is not None and row.lower > judges for row in found)
        more = (
            f" That is more than the {judges} judges, because they err on different items."
            if shown
            else f" These data do not show that the {judges} judges err together."
        )
    return (
        f"Independent votes, as judges err together: {_figures(found)}{within}, over "
        f"{_items(found)} items.{more}"
    )


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
    panels = (Panel("Accuracy", right), Panel("First shown", first))
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


def picture(plot: Plot, name: str) -> tuple[str, Sequence[str], Rows]:
    """Return a sentence, what it rests on and the rows of the chart `strips`, to stand alone.

    `name` is that of the data.
    """
    rows = [{**row, "link": ""} for row in plot.panels[0].rows]
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
