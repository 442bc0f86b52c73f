"""The result of an audit, and the sentences that audits of pairs and of items share."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from judge_gym.analysis.data import SweepData, select
from judge_gym.analysis.figures.multiverse import ACCURACY, SCORE
from judge_gym.analysis.figures.scale_directions import WITH_LABELS, is_below, one_direction, turned
from judge_gym.analysis.groups import PARTS
from judge_gym.counting import counted, first_of
from judge_gym.formats import (
    ABSENT,
    estimates,
    figures_text,
    number,
    percent,
    span,
    span_of,
)
from judge_gym.metrics.estimate import LEVEL
from judge_gym.model_names import pair_of, recorded_name
from judge_gym.recorded.mapping import ScoreScale
from judge_gym.report.multiverse import HOLDS, OPEN, REVERSES, curves_of
from judge_gym.report.plots.plot import Plot
from judge_gym.report.table import Table
from judge_gym.scale_ends import other_way
from judge_gym.store.results import ResultRow

LONGER, LONGER_RIGHT = "longer_share", "longer_right_share"
FAR, FAR_ORDINAL = "people_distance", "people_distance_ordinal"
DIFFERENCE = "accuracy_difference"
ITSELF, AMONG = "replicate_icc", "krippendorff_alpha_ordinal"
_PEOPLE = FAR
ONE_WORDING = "all"
"""The wording of data that name none."""
_NEARLY_ALL = 0.9
"""Share of the items of the judge with the most that a judge has answered to be called the best."""
MOST_NAMED = 4
"""Pairs of judges that a note names."""

Means = dict[Any, list[ResultRow]]
"""Who or what a figure is of → its rows, one for each wording that it is not averaged over."""
Figures = Mapping[str, Mapping[str, ResultRow]]
"""Judge → wording → the row of a metric on all items."""


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
    orders: Sequence[str] = ()
    """How each judge ranks several systems, in a line: a page draws it."""

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
        parts = list(self.parts)
        if parts and self.orders:
            parts[0] = replace(parts[0], notes=(*self.orders, *parts[0].notes))
        shown = (*parts, self.in_terminal, self.published_in_terminal)
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


def figures_by_judge(rows: Iterable[ResultRow], metric: str) -> Figures:
    found: dict[str, dict[str, ResultRow]] = defaultdict(dict)
    for row in rows:
        if row.metric == metric and is_whole(row):
            wording = str(row.scope.get("wording", ONE_WORDING))
            found[judge_of(row)][wording] = row
    return found


def is_whole(row: ResultRow) -> bool:
    """Whether a row is of one judge on all its items."""
    return "judge" in row.scope and not row.scope.keys() & set(PARTS)


def judge_of(row: ResultRow) -> str:
    return recorded_name(str(row.scope["judge"]))


def most_right(data: SweepData, rows: Sequence[ResultRow], metric: str, thing: str) -> str:
    """Return which judge is right most often by `metric`, and how the others differ from it.

    Of judges that answered nearly all items: what was left out may be what is hard. `thing` is what
    an item is. Empty for one judge, and where judges have several accuracies each, as on several
    tasks.
    """
    whole = [
        row for row in _over_wordings(rows, metric) if is_whole(row) and row.estimate is not None
    ]
    by_judge = {str(row.scope["judge"]): row for row in whole}
    if len(by_judge) < 2 or len(by_judge) < len(whole):
        return ""
    items = max(row.n_items for row in whole)
    nearly_all = [row for row in whole if row.n_items >= _NEARLY_ALL * items]
    most = max(row.estimate or 0.0 for row in nearly_all)
    best = sorted(str(row.scope["judge"]) for row in nearly_all if row.estimate == most)
    names = [judge_of(by_judge[name]) for name in best]
    one = by_judge[best[0]]
    of = _judged(one, thing) if not best[1:] else f"their {_unit(one, thing)}s"
    said = [f"Right most often: {' and '.join(names)}, on {figures_text([one])} of {of}."]
    others = {
        name: judge_of(row) + f" ({row.n_items:,} {thing}s)" * (row not in nearly_all)
        for name, row in sorted(by_judge.items())
        if name not in best
    }
    found = _compared_with(data, rows, others, best[0], " or ".join(names)) | _guessing(rows)
    said += [f"{words}: {first_of(chosen, MOST_NAMED)}." for words, chosen in found.items()]
    return " ".join(said)


def _unit(row: ResultRow, thing: str) -> str:
    """Return what is right or wrong: things, or judgements where things have several."""
    return thing if row.n == row.n_items else "judgement"


def _judged(row: ResultRow, thing: str) -> str:
    unit, things = _unit(row, thing), counted(row.n_items, thing)
    return f"its {things}" if unit == thing else f"its {counted(row.n, unit)} of {things}"


def _over_wordings(rows: Sequence[ResultRow], metric: str) -> list[ResultRow]:
    """Return the rows of a metric that are of no single wording."""
    return [row for row in rows if row.metric == metric and "wording" not in row.scope]


def _compared_with(
    data: SweepData,
    rows: Sequence[ResultRow],
    others: Mapping[str, str],
    best: str,
    named: str,
) -> dict[str, list[str]]:
    """Return how the other judges (→ what they are called) differ from the best → their names.

    Over several wordings none is tested: rankings over every choice are.
    """
    by_pair = {str(row.scope["pair"]): row for row in _over_wordings(rows, DIFFERENCE)}
    less, more = "Shown to be right less often", "Right more often on the items of both"
    open_ = f"Not shown to differ from {named}"
    found: dict[str, list[str]] = {words: [] for words in (less, more, open_)}
    for name, shown in others.items():
        first, second = sorted((best, name))
        row = by_pair.get(pair_of(first, second))
        if row is None or row.estimate is None:
            found.setdefault(_apart_from(data, name, best, named), []).append(shown)
        elif row.p_adjusted is not None:
            behind = (row.estimate > 0) == (first == best)
            decided = less if behind else more
            found[decided if row.p_adjusted < 1 - LEVEL else open_].append(shown)
    return {words: names for words, names in found.items() if names}


def _apart_from(data: SweepData, judge: str, best: str, named: str) -> str:
    """Return what a judge lacks to be compared with the best, who is called `named`."""
    own, of_best = (_answered(data, model) for model in (judge, best))
    under = " under all wordings" if own & of_best else ""
    return f"Without an item{under} in common with {named}"


def _answered(data: SweepData, model: str) -> set[int]:
    """Return the items with a known answer that a judge gave a verdict on."""
    arms = [one.arms for one in data.judges if recorded_name(one.model) == recorded_name(model)]
    _, rows = select(data.samples, arms)
    items: list[int] = rows.item[rows.status == "scored"].tolist()
    return {item for item in items if data.truth.label[item]}


def _guessing(rows: Sequence[ResultRow]) -> dict[str, list[str]]:
    """Return the judges whose agreement with the known answers may be that of chance."""
    whole = [row for row in _over_wordings(rows, "cohens_kappa") if is_whole(row)]
    names = [judge_of(row) for row in whole if row.lower is not None and row.lower <= 0]
    return {"Not shown to be better than guessing": sorted(set(names))} if names else {}


def sentences(
    data: SweepData,
    rows: Sequence[ResultRow],
    shared: Collection[str],
    unread: Sequence[str],
    *,
    far_in_table: bool = True,
) -> Iterable[str]:
    """Yield what an audit says of judgements of any kind, below its table.

    `unread` are columns that may name wordings and whose values are read as repeats; `far_in_table`
    says that the table has each judge's distance from people.
    """
    judges = len({judge.model for judge in data.judges})
    found = (
        *(_rankings(rows), _longer(rows), _itself(rows, unread), _among(data, rows)),
        _people(data, rows, named=not far_in_table),
        _votes(rows, shared, judges),
    )
    yield from filter(None, found)
    yield f"What these data cannot say: {'; '.join(_unsaid(data, rows, unread))}."
    if following := _following(data, rows, unread):
        yield f"Collect next: {following}."


def _rankings(rows: Sequence[ResultRow]) -> str:
    """Return for how many pairs of judges one is better whatever wording and order is chosen."""
    claims = {ACCURACY: "the better judge", SCORE: "the judge with the higher scores"}
    curves = [curve for curve in curves_of(rows) if curve.scope["claim"] in claims]
    if not curves:
        return ""
    by_verdict: dict[str, list[str]] = defaultdict(list)
    for curve in curves:
        pair = recorded_name(str(curve.scope["pair"]))
        by_verdict[curve.verdict].append(pair)
    holding = len(by_verdict[HOLDS])
    over = " and ".join(_plural(axis) for axis in sorted(set().union(*(c.choices for c in curves))))
    said = (
        f"Rankings: {claims[curves[0].scope['claim']]} is the same over all {over} for {holding} "
        f"of {counted(len(curves), 'pair')} of judges (adjusted p below 0.05, readable answers)."
    )
    for verdict, words in ((REVERSES, "Reversed by a choice"), (OPEN, "Not settled")):
        if names := by_verdict[verdict]:
            more = f"; {len(names) - MOST_NAMED} more" if len(names) > MOST_NAMED else ""
            said += f" {words}: {'; '.join(names[:MOST_NAMED])}{more}."
    return said


def _plural(axis: str) -> str:
    return f"{axis.replace('_', ' ')}s"


def _following(data: SweepData, rows: Sequence[ResultRow], unread: Sequence[str]) -> str:
    """Return what to collect to learn the most important of what is not known; "" for nothing."""
    things = "pairs" if is_of_pairs(data) else "items"
    if len(wordings_of(data)) == 1 and not unread:
        return f"the same {things} under a second wording of the prompt"
    if _judged_once(data):
        orders = ", in both orders" if is_of_pairs(data) else ""
        return f"3 judgements of each of 100 {things} under one wording{orders}"
    people = "a second person" if _people_named(data) == 1 else "two people"
    return "" if _with_people(rows) else f"labels of {people} for 100 of these {things}"


def _people_named(data: SweepData) -> int:
    """Return how many people labelled items."""
    return len({name for given in data.people for name in given.annotator})


def _with_people(rows: Iterable[ResultRow]) -> bool:
    return any(row.metric == _PEOPLE and row.estimate is not None for row in rows)


def _unsaid(data: SweepData, rows: Sequence[ResultRow], unread: Sequence[str]) -> Iterable[str]:
    pairs = is_of_pairs(data)
    if not any(data.truth.label):
        who = "judges or people" if _people_named(data) else "judges"
        yield f"whether {who} are right (no known answers)"
    if not _with_people(rows):
        yield "how far people agree with each other (no labels of two people: see item.people)"
    if pairs and not figures_by_judge(rows, LONGER):
        yield "whether judges prefer longer answers (no lengths)"
    if _judged_once(data):
        each = "pair, order and wording" if pairs else "item and wording"
        yield f"whether a judge repeats itself (one judgement for each {each})"
    if unread:
        columns = " or ".join(unread)
        ask = " or ".join(f"`wording_column: {column}`" for column in unread)
        yield (
            "how far the wording of the prompt matters, and whether a judge repeats itself under "
            f"one ({columns} may name wordings and is not read: if so, write {ask} into a mapping)"
        )
    elif len(wordings_of(data)) == 1:
        yield "how far the wording of the prompt matters (one wording)"
    yield "how sure a judge is (no probes)"


def in_bands(data: SweepData, figures: Sequence[str]) -> str:
    """Return that two scores of a band are one verdict for these figures; "" without bands."""
    labels = data.judges[0].arms[0].labels
    if not figures or ScoreScale.bands(labels) is None:
        return ""
    *others, last = figures
    named = f"{', '.join(others)} and {last}" if others else last
    return (
        f"{named[0].upper()}{named[1:]} {'count' if others else 'counts'} two scores as the same "
        f"verdict where they are in one of ten equal bands ({labels[0]}, …, {labels[-1]})."
    )


def is_of_pairs(data: SweepData) -> bool:
    return data.judges[0].experiment.judges_pairs


def wordings_of(data: SweepData) -> set[str]:
    return {judge.experiment.wording for judge in data.judges}


def _judged_once(data: SweepData) -> bool:
    """Whether no judge was given an item twice under one wording, in one order."""
    columns = (data.samples.arm, data.samples.item, data.samples.shown_first)
    cells = set(zip(*(column.tolist() for column in columns), strict=True))
    return len(cells) == len(data.samples.arm)


def _longer(rows: Sequence[ResultRow]) -> str:
    """Return how often each judge chooses the longer of two texts, over all its wordings."""
    by_judge = figures_by_judge(rows, LONGER)
    shares = (f"{judge} {span_of(of.values())}" for judge, of in by_judge.items())
    if not by_judge:
        return ""
    right = next((row for row in rows if row.metric == LONGER_RIGHT), None)
    base = f" (it is right in {percent(right.estimate)} of pairs)" if right else ""
    return f"Longer: share of winners that are the longer answer{base}: {', '.join(shares)}."


def _itself(rows: Sequence[ResultRow], unread: Sequence[str]) -> str:
    by_judge = figures_by_judge(rows, ITSELF)
    values = {judge: figures_text(list(of.values())) for judge, of in by_judge.items()}
    known = [f"{judge} {value}" for judge, value in values.items() if value != ABSENT]
    if not known:
        return ""
    others = f"; repeats here may be other values of {' or '.join(unread)}" if unread else ""
    below = any(value < 0 for of in by_judge.values() for value in estimates(of.values()))
    return (
        "With itself: share of the variance of scores that is between items, not between repeats; "
        f"1 is the same judgement every time{others}"
        f"{'; at 0 and below, repeats differ as much as items' * below}: {', '.join(known)}."
    )


def _among(data: SweepData, rows: Sequence[ResultRow]) -> str:
    """Return how far judges agree with each other; "" where known answers say more."""
    found = [row for row in rows if row.metric == AMONG and row.estimate is not None]
    if not found or any(data.truth.label):
        return ""
    less = all(is_below(row) for row in found)
    more = all(((row.estimate or 0.0) if row.lower is None else row.lower) > 0 for row in found)
    words = (
        "agree less than by chance, with"
        if less
        else "agree beyond chance by"
        if more
        else "are not shown to agree beyond chance, with"
    )
    why = f" {_apart(rows)}"
    return (
        f"Among themselves: judges {words} Krippendorff's α of {figures_text(found)}, over "
        f"{items_text(found)} items; 1 is the same verdict on every item, 0 is chance.{why * less}"
    )


def _apart(rows: Sequence[ResultRow]) -> str:
    """Return why judges may agree less than by chance, and which judge is against the others."""
    against = turned(rows)
    if against and len(against) < len({row.scope["judge"] for row in rows if "judge" in row.scope}):
        return f"A scale may run the other way: that of {_names(against)}."
    if against or one_direction(rows):
        return "They use different parts of the scale."
    return "The scale of one may be reversed, or they use different parts of the scale."


def _names(judges: Iterable[str]) -> str:
    return first_of(sorted(map(recorded_name, judges)), MOST_NAMED)


def turned_cautions(rows: Sequence[ResultRow]) -> Iterator[str]:
    """Yield whose scales may run the other way, with the figures that say so."""
    if not (found := turned(rows)):
        return
    [by_labels] = {row.metric == WITH_LABELS for of in found.values() for row in of}
    figures = [f"{recorded_name(judge)} {figures_text(of)}" for judge, of in sorted(found.items())]
    beside = "the labels" if by_labels else "the mean of the others"
    look = other_way(len(found)) if by_labels else "If so, turn its scores in the file."
    yield (
        f"A scale may run the other way: rank correlation with {beside}: "
        f"{first_of(figures, MOST_NAMED)}. {look}"
    )


def from_people(rows: Sequence[ResultRow]) -> Means:
    """Return each judge's distances to people's labels: of stages in order, where they have one."""
    by_metric: dict[str, dict[str, list[ResultRow]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if row.metric in (FAR, FAR_ORDINAL) and row.estimate is not None:
            by_metric[row.metric][judge_of(row)].append(row)
    return by_metric.get(FAR_ORDINAL) or by_metric.get(FAR) or {}


def _people(data: SweepData, rows: Sequence[ResultRow], *, named: bool) -> str:
    """Return what the distance to people's labels is, each judge's (`named`), that of one person
    to the others, and how many items are left out."""
    far = from_people(rows)
    found = [row for of in far.values() for row in of]
    if not found:
        return ""
    is_ordinal = found[0].metric == FAR_ORDINAL
    unit = "distance on the scale, 0 to 1," if is_ordinal else "share of labels that differ,"
    floors = [row.floor for row in found if row.floor is not None]
    judges = ", ".join(f"{judge} {figures_text(of)}" for judge, of in sorted(far.items()))
    return (
        f"From people: {unit} of a judgement from people's labels{f': {judges}' * named}. One "
        f"person from the others: {span(floors)}.{_labelled_once(data)}"
    )


def _labelled_once(data: SweepData) -> str:
    """Return how many items have labels of one person alone, where others have those of several."""
    people: dict[tuple[str, int], set[str]] = defaultdict(set)
    for given in data.people:
        for item, name in zip(given.item.tolist(), given.annotator, strict=True):
            people[given.name, item].add(name)
    once = sum(len(names) == 1 for names in people.values())
    if not once:
        return ""
    have = "has a label" if once == 1 else "have labels"
    return (
        f" {once:,} of {counted(len(people), 'labelled item')} {have} of one person alone: the "
        "distance from people, their majority and their agreement leave "
        f"{'it' if once == 1 else 'them'} out."
    )


def shared_by_judges(data: SweepData) -> str:
    """Return that figures are of several systems, "" of one."""
    systems = {*data.truth.system} - {""}
    return f", of all {len(systems)} systems together" if len(systems) > 1 else ""


def items_text(rows: Sequence[ResultRow]) -> str:
    counts = sorted({row.n_items for row in rows})
    return " to ".join(str(count) for count in dict.fromkeys((*counts[:1], *counts[-1:]))) or ABSENT


def _votes(rows: Sequence[ResultRow], shared: Collection[str], judges: int) -> str:
    """Return how many independent judges the judges are worth under the wordings they share."""
    found = [
        row
        for row in rows
        if row.metric == "effective_votes" and str(row.scope.get("wording", ONE_WORDING)) in shared
    ]
    found = [row for row in found if row.lower is not None]
    if not found:
        against = _names(turned(rows))
        return (
            f"Independent votes: none given, as a scale may run the other way: that of {against}."
            if against
            else ""
        )
    ends = [end for row in found for end in (row.lower, row.upper) if end is not None]
    several = len(found) > 1 and ends
    within = (
        f", 95% intervals within {number(min(ends))} and {number(max(ends))}" if several else ""
    )
    more = ""
    if min(estimates(found)) > judges:
        shown = all(row.lower is not None and row.lower > judges for row in found)
        more = (
            f" That is more than the {judges} judges, because they err on different items."
            if shown
            else f" These data do not show that the {judges} judges err together."
        )
    return (
        f"Independent votes: {figures_text(found)}{within}, over {items_text(found)} items.{more}"
    )
