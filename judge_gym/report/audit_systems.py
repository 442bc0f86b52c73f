"""The audit of judgements of several systems: how each judge ranks them, and its errors on each."""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, pairwise
from math import isclose

from judge_gym.alike import alike
from judge_gym.analysis.data import SweepData
from judge_gym.analysis.facets import averaged
from judge_gym.analysis.figures.scale_directions import turned
from judge_gym.counting import counted, first_of
from judge_gym.formats import ABSENT, estimates, figure, number, side_of_0
from judge_gym.metrics.estimate import LEVEL
from judge_gym.metrics.expert_labels import MIN_LABELLED
from judge_gym.metrics.system_scores import APART, POWER, OneCorrection
from judge_gym.report.audit_findings import (
    ONE_WORDING,
    Audit,
    in_bands,
    is_of_pairs,
    items_text,
    judge_of,
    sentences,
    wordings_of,
)
from judge_gym.report.plots.plot import Plot, PlotPanel, Rows
from judge_gym.report.reliance import favours
from judge_gym.report.table import Row, Table
from judge_gym.store.results import ResultRow

RANKING = "Ranking of systems"
_BY_SYSTEM = "Judges by system"
_DECIDED, _INVERTED, _CORRECTED = "pairs_decided", "expected_inversions", "system_corrected"
_TIED = "items_tied"
_TWO = 2
_AGREEMENT = {
    "agreement": ("accuracy", "majority_accuracy"),
    "κ": ("cohens_kappa", "majority_kappa"),
    "weighted κ": ("cohens_kappa_quadratic",),
}
"""Heading → the metrics of which the first that is estimated is shown."""
_DIGITS = 2
"""Decimals of expected inversions."""
_MOST_NAMED = 4
"""Systems that a note names."""
_MOST_DRAWN = 4
"""Judges whose rankings are drawn, the best first."""
_ERRORS = {
    "sensitivity": "system_sensitivity",
    "specificity": "system_specificity",
    "J": "system_youden",
    "bias": "system_bias",
}

Ranked = Mapping[str, ResultRow]
"""Metric → its row, of one judge."""
BySystem = Mapping[str, Mapping[str, ResultRow]]
"""System → metric → its row, of one judge."""


def audit_of_systems(
    data: SweepData, rows: Sequence[ResultRow], unread: Sequence[str] = ()
) -> Audit | None:
    """Return the audit of judges that rank systems; None where no judge's ranking is known."""
    ranked: dict[str, dict[str, ResultRow]] = defaultdict(dict)
    systems: dict[str, dict[str, dict[str, ResultRow]]] = defaultdict(lambda: defaultdict(dict))
    for row in averaged(rows):
        if "judge" not in row.scope or "rival" in row.scope:
            continue
        name = _called(row)
        if "system" in row.scope:
            systems[name][str(row.scope["system"])][row.metric] = row
        elif "category" not in row.scope:
            ranked[name][row.metric] = row
    names = [
        name for name, of in ranked.items() if estimates([of[_DECIDED]] if _DECIDED in of else [])
    ]
    if not names:
        return None
    names.sort(key=lambda name: (*_merit(ranked[name]), name))
    ordered = {name: _ordered(systems[name]) for name in names}
    best = {name: ranked[name] for name in names}
    ranking = _ranking_table(data, best, turned(rows))
    banded = in_bands(data, [one for one in _AGREEMENT if one in ranking.columns])
    notes = filter(None, (banded, _agreed(data, best), *_said(rows, best, ordered)))
    found = replace(ranking, notes=tuple(notes))
    table = replace(
        _system_table(ordered, of_pairs=bool(data.truth.pair)),
        notes=tuple(
            sentences(data, rows, {*wordings_of(data), ONE_WORDING}, unread, far_in_table=False)
        ),
    )
    return Audit(
        table, (found,), _plot(ordered, ranked), orders=tuple(_orders(rows, best, ordered))
    )


def _merit(of: Ranked) -> tuple[float, float]:
    """Return what judges are ordered by: expected inversions as shown, then agreement."""
    agreement = _first(of, _AGREEMENT["agreement"])
    inverted = round(of[_INVERTED].estimate or 0.0, _DIGITS)
    return inverted, -(agreement.estimate or 0.0) if agreement else 0.0


def _agreed(data: SweepData, ranked: Mapping[str, Ranked]) -> str:
    """Return which labelled items agreement is of, where people's majority is the answer."""
    found = [_first(of, _AGREEMENT["agreement"]) for of in ranked.values()]
    if not any(row and row.metric == "majority_accuracy" for row in found):
        return ""
    people = {name for given in data.people for name in given.annotator}
    which = (
        "on which both people agree"
        if len(people) == _TWO
        else "with one label that most of two people or more gave"
    )
    return f"Items: agreement and κ are of those {which}; no other has one known answer."


def _first(of: Ranked, metrics: Sequence[str]) -> ResultRow | None:
    """Return the first of some metrics that is estimated."""
    rows = (of[name] for name in metrics if name in of)
    return next((row for row in rows if row.estimate is not None), None)


def ranks(of: Ranked) -> str:
    """Return how a judge ranks systems, such as "ranks 9 systems: 31 of 36 pairs decided, ..."."""
    decided, inverted = of[_DECIDED], of[_INVERTED]
    pairs = f"{_decided(decided)} {'pair' if decided.n == 1 else 'pairs'}"
    value = _inverted(inverted.estimate)
    expected = f"{value} expected {'inversion' if value == '1' else 'inversions'}"
    within = _interval(inverted)
    return f"ranks {counted(decided.n_items, 'system')}: {pairs} decided, {expected}{within}"


def _inverted(value: float | None) -> str:
    """Return expected inversions as judges are ordered by them; whole ones without decimals."""
    return f"{round(value or 0.0, _DIGITS):g}"


def _interval(inverted: ResultRow) -> str:
    if inverted.lower is None or inverted.upper is None:
        return ""
    return f" [{_inverted(inverted.lower)}, {_inverted(inverted.upper)}]"


def unranked(data: SweepData, rows: Sequence[ResultRow]) -> str:
    """Return why no judge's ranking of the systems is known; "" where none is asked for."""
    systems = {*data.truth.system, *chain.from_iterable(data.truth.pair)} - {""}
    if len(systems) < 2 or (is_of_pairs(data) and not data.truth.pair):
        return ""
    missing = {
        str(row.scope["system"]): max(0, MIN_LABELLED - row.n)
        for row in sorted(rows, key=lambda row: row.n)
        # A figure that is not estimable anywhere has one row, without a system.
        if row.metric == _CORRECTED and "system" in row.scope
    }
    counts = {system: missing.get(system, MIN_LABELLED) for system in sorted(systems)}
    short = [f"{count} of {system}" for system, count in counts.items() if count]
    return (
        f"Systems are not ranked: each of two needs {MIN_LABELLED} items that people or known "
        f"answers label. Missing: {first_of(short, _MOST_NAMED)}."
    )


def _said(
    rows: Sequence[ResultRow], ranked: Mapping[str, Ranked], systems: Mapping[str, BySystem]
) -> Iterator[str]:
    """Yield which systems may be one, which items are left out, and which labels to buy next by
    the best judge."""
    if same := alike(sorted({name for of in systems.values() for name in of})):
        names = "; ".join(", ".join(group) for group in same)
        yield f"Systems that differ only in case: {names}."
    if tied := max((row.estimate or 0.0 for row in rows if row.metric == _TIED), default=0.0):
        are = "is" if tied == 1 else "are"
        yield (
            f"{counted(round(tied), 'item')} with as many people for one verdict as for the other "
            f"{are} left out."
        )
    name, of = next(iter(ranked.items()))
    if of[_DECIDED].n <= _MOST_PAIRS:
        yield from _which_is_better(rows, name, of, systems[name])
    yield from _favours(ranked)
    forecast, decided = of.get("pairs_decided_next"), of[_DECIDED]
    if forecast and forecast.estimate is not None and forecast.estimate > _pairs(decided):
        counts = {
            system: round(row.estimate or 0.0)
            for system, metrics in systems[name].items()
            if (row := metrics.get("system_labels_next"))
        }
        chosen = [f"{count} of {system}" for system, count in counts.items() if count]
        if forecast.floor is None:  # pairs of answers, each evidence on both its systems
            chosen, evenly = [f"{counted(forecast.n, 'pair')} at random"], ""
        elif decided.n == 1:
            evenly = f", {forecast.floor:.0%} if as many labels are spread evenly"
        else:
            evenly = f", {forecast.floor:.1f} if as many labels are spread evenly"
        planned = forecast.estimate
        said = (
            f"decided with a chance of {planned:.0%}"
            if decided.n == 1
            else f"{planned:.1f} pairs decided"
        )
        yield (
            f"Label next, by {name}: {', '.join(chosen)}. Forecast: {said}{evenly}; today's "
            "differences taken as true."
        )


_FEWEST_ORDERED, _MOST_ORDERED = 3, 6
"""Systems from which an order is a line of its own, and systems that it names."""
_SAME = "the same order"
_MOST_PAIRS = 3
"""Pairs of systems whose difference is told in a sentence."""


def _which_is_better(
    rows: Sequence[ResultRow], name: str, of: Ranked, systems: BySystem
) -> Iterator[str]:
    """Yield which of two systems is better by people, or that labels cannot tell, and by the judge
    alone, and whether that may be relied on."""
    for row in averaged(rows):
        if row.metric != "system_difference" or row.lower is None or _called(row) != name:
            continue
        better, other = str(row.scope["system"]), str(row.scope["rival"])
        apart = f"{better} less {other} is {figure(row, 2)}"
        shown = f"{better} is better" if row.lower > 0 else "labels cannot tell which is better"
        yield f"People: {apart}: {shown}.{_alone(better, other, of, systems)}"


def _orders(
    rows: Sequence[ResultRow], ranked: Mapping[str, Ranked], systems: Mapping[str, BySystem]
) -> Iterator[str]:
    """Yield each judge's order of three systems or more, which pairs are open, and its own order.

    Of two systems `_which_is_better` says it.
    """
    for name in list(ranked)[:_MOST_DRAWN]:
        of = {
            one: metrics
            for one, metrics in systems[name].items()
            if (row := metrics.get(_CORRECTED)) and row.estimate is not None
        }
        if len(of) < _FEWEST_ORDERED:
            continue
        open_pairs = [
            f"{row.scope['system']} and {row.scope['rival']}"
            for row in averaged(rows)
            if row.metric == "system_difference"
            and _called(row) == name
            and (row.lower is None or row.lower <= 0)
        ]
        shown = first_of(open_pairs, _MOST_PAIRS) or "none"
        by_people = {one: metrics[_CORRECTED].estimate or 0.0 for one, metrics in of.items()}
        judged = {one: metrics["system_judged"].estimate or 0.0 for one, metrics in of.items()}
        order = _in_order(by_people, _MOST_ORDERED)
        yield f"{name}: {order}; open: {shown}. Its own means: {_own_order(by_people, judged)}."


def _own_order(by_people: Mapping[str, float], judged: Mapping[str, float]) -> str:
    """Return the judge's own order of all systems beside people's; of many the first ones."""
    if _in_order(by_people) == _in_order(judged):
        return _SAME
    own = _in_order(judged, _MOST_ORDERED)
    if own == _in_order(by_people, _MOST_ORDERED):
        return f"{_SAME} of the first {_MOST_ORDERED}, and another below"
    return own


def _in_order(means: Mapping[str, float], most: int | None = None) -> str:
    """Return the names of systems by their means, best first, with = between equal ones."""
    names = sorted(means, key=lambda one: -means[one])
    said = names[0]
    for before, name in pairwise(names[:most]):
        said += f" {'=' if isclose(means[before], means[name]) else '>'} {name}"
    return f"{said} ..." if most is not None and len(names) > most else said


def _alone(better: str, other: str, of: Ranked, systems: BySystem) -> str:
    """Return what the judge alone says of two systems, and whether to rely on it."""
    judged = [systems.get(one, {}).get("system_judged") for one in (better, other)]
    means = [row.estimate for row in judged if row is not None and row.estimate is not None]
    if len(means) < 2:
        return ""
    said, test = f" The judge alone: {means[0] - means[1]:.2f}; it", of.get("one_correction")
    if test is None:  # of pairs
        biases = {one: systems.get(one, {}).get("system_bias") for one in (better, other)}
        return f"{said} {favours(biases)}."
    if test.p is None or test.estimate is None:
        return ""
    return f"{said} {OneCorrection(test.p, test.estimate).errs}."


def _called(row: ResultRow) -> str:
    return " · ".join(filter(None, (judge_of(row), str(row.scope.get("wording", "")))))


_FAVOURS = {
    "own_family_bias": "systems of its own family",
    "longer_bias": "longer answers",
}


def _favours(ranked: Mapping[str, Ranked]) -> Iterator[str]:
    """Yield which judges favour or disfavour what: where the interval of bias leaves out 0."""
    for metric, what in _FAVOURS.items():
        for judge, of in ranked.items():
            row = of.get(metric)
            if row is not None and (side := side_of_0(row)):
                verb = "favours" if side > 0 else "disfavours"
                yield (
                    f"{judge} {verb} {what} by {figure(row, 3)}: judge less people, against others "
                    "on the same questions."
                )


def _ranking_table(
    data: SweepData, ranked: Mapping[str, Ranked], against: Collection[str]
) -> Table:
    """Return the table of rankings; `against` are judges whose scale may run the other way."""
    figures = {name: dict(_cells_of_ranking(of)) for name, of in ranked.items()}
    headings = list(dict.fromkeys(heading for cells in figures.values() for heading in cells))
    best, of = next(iter(ranked.items()))
    return Table(
        RANKING,
        f"{best} {ranks(of)}. {len(data.samples.arm):,} judgements of "
        f"{len(data.truth.label):,} items, {_labelled(data):,} with a label or known answer."
        f"{' Its scale may run the other way.' * (of[_DECIDED].scope['judge'] in against)}",
        ("judge", *headings),
        tuple(
            Row((name, *(cells.get(heading, ABSENT) for heading in headings)))
            for name, cells in figures.items()
        ),
        methods=(
            "Fewest expected inversions first, then agreement. Decided: the order by people is "
            "shown; at most 5% of rankings have a wrong one. Inverted: the judge's own means say "
            "the opposite of people. Its interval, and that of τ, take the judge's means of these "
            "answers as they are, and draw people's. Items: those that agreement and κ are of. "
            + (_OF_PAIRS if data.truth.pair else _ONE_CORRECTION),
        ),
        imported=True,
    )


_ONE_CORRECTION = (
    f"One correction for all systems needs equal error rates: p at least 0.05, power {POWER:g} to "
    f"find rates {APART:g} apart."
)
_OF_PAIRS = (
    "Prefers first: how much more often than people the judge prefers the answer shown first."
)


def _labelled(data: SweepData) -> int:
    """Return how many items have a known answer; without any, a label of people."""
    known = sum(map(bool, data.truth.label))
    return known or len({item for given in data.people for item in given.item.tolist()})


def _cells_of_ranking(of: Ranked) -> Iterator[tuple[str, str]]:
    yield "pairs decided", _decided(of[_DECIDED])
    yield "inversions", f"{_inverted(of[_INVERTED].estimate)}{_interval(of[_INVERTED])}"
    if "ranking_tau" in of:
        yield "τ", figure(of["ranking_tau"], 2)
    agreed = {heading: _first(of, metrics) for heading, metrics in _AGREEMENT.items()}
    for heading, row in agreed.items():
        if row:
            yield heading, figure(row, 2)
    if items := [row for row in agreed.values() if row]:
        yield "items", items_text(items)
    if "one_correction" in of:
        yield "one correction?", _one_correction(of["one_correction"])
    if "first_shown_bias" in of:
        yield "prefers first", figure(of["first_shown_bias"], 2)


def _decided(row: ResultRow) -> str:
    return f"{_pairs(row)} of {row.n}"


def _pairs(decided: ResultRow) -> int:
    return round((decided.estimate or 0.0) * decided.n)


def _one_correction(row: ResultRow) -> str:
    if row.p is None or row.estimate is None:
        return ABSENT
    test = OneCorrection(row.p, row.estimate)
    p = "p < 0.001" if test.p < 0.001 else f"p {test.p:.3f}"
    if test.serves:
        return f"yes ({p})"
    return f"no ({p})" if test.p < 1 - LEVEL else f"open (power {test.power:.2f})"


def _ordered(of: BySystem) -> BySystem:
    """Return systems by people's mean, best first; those that are not ranked last."""
    values = {
        name: row.estimate
        for name, metrics in of.items()
        if (row := metrics.get(_CORRECTED)) and row.estimate is not None
    }
    return {name: of[name] for name in sorted(of, key=lambda one: (-values.get(one, -1.0), one))}


def _system_table(ordered: Mapping[str, BySystem], *, of_pairs: bool) -> Table:
    known = {metric for of in ordered.values() for metrics in of.values() for metric in metrics}
    errors = {name: metric for name, metric in _ERRORS.items() if metric in known}
    if of_pairs:  # of two systems, the sensitivity of one is the specificity of the other
        errors = {"bias": _ERRORS["bias"]}
    elif "J" in errors:
        errors.pop("bias", None)
    lines = [
        Row(tuple(_system_cells(judge, system, metrics, errors, of_pairs=of_pairs)))
        for judge, of in ordered.items()
        for system, metrics in of.items()
        if _CORRECTED in metrics
    ]
    said = (
        "Sensitivity, specificity: shares of what people passed, and failed, on which the judge "
        "agrees; J: their sum less 1."
        if "J" in errors
        else "Bias: judge less people."
    )
    mean = (
        "Means are win rates against the systems that each met: 1 for a win, 0.5 for a tie. "
        if of_pairs
        else ""
    )
    return Table(
        _BY_SYSTEM,
        f"{mean}People: their mean by labels and scores, with intervals for a judge's systems at "
        f"once. {said}",
        ("judge", "system", "people", "judge's mean", *errors, "readable", "labels"),
        tuple(lines),
        words=2,
        imported=True,
    )


def _system_cells(
    judge: str, system: str, of: Ranked, errors: Mapping[str, str], *, of_pairs: bool
) -> Iterator[str]:
    corrected = of[_CORRECTED]
    yield from (judge, system, figure(corrected, 2) if corrected.estimate is not None else ABSENT)
    judged = of.get("system_judged")
    yield figure(judged, 2) if of_pairs and judged else _point(judged)
    for name, metric in errors.items():
        whole = name in ("J", "bias") and metric in of and of[metric].estimate is not None
        yield figure(of[metric], 2) if whole else _point(of.get(metric))
    yield _point(of.get("system_readable"))
    missing = f" ({corrected.because})" if corrected.because else ""
    yield f"{corrected.n}{missing}"


def _point(row: ResultRow | None) -> str:
    return ABSENT if row is None or row.estimate is None else number(row.estimate)


def _plot(ordered: Mapping[str, BySystem], ranked: Mapping[str, Ranked]) -> Plot:
    drawn = list(ordered)[:_MOST_DRAWN]
    left = len(ordered) - len(drawn)
    return Plot(
        "strips",
        RANKING,
        "A filled point is people's mean of a system, with a 95% interval that holds for all "
        "systems at once; the circle is the judge's own mean. Systems are in people's order.",
        RANKING,
        panels=tuple(
            PlotPanel(name, list(_marks(ordered[name])), says=ranks(ranked[name])) for name in drawn
        ),
        notes=(f"{counted(left, 'more judge')} in the tables.",) if left else (),
        imported=True,
    )


def _marks(of: BySystem) -> Rows:
    return [
        {
            "judge": system,
            "wording": "",
            "value": row.estimate,
            "lower": row.lower if whole else None,
            "upper": row.upper if whole else None,
            "whole": whole,
            "said": figure(row, 2) if whole else "",
            "pairs": row.n_items,
            "link": "",
            "reference": None,
        }
        for system, metrics in of.items()
        for whole, metric in ((False, "system_judged"), (True, _CORRECTED))
        if (row := metrics.get(metric)) and row.estimate is not None
    ]
