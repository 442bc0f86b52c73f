"""The page of a gym, and the tables behind it as CSV."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

from judge_gym.formats import dollars, figure, number, p_value, short
from judge_gym.gyms.comparing import CandidateComparison
from judge_gym.gyms.evaluating import SCORE, GymReport
from judge_gym.metrics.estimate import Estimate
from judge_gym.metrics.margins import ALPHA
from judge_gym.report.criteria import criteria_of
from judge_gym.report.files import csv_of, excerpt, figures_of
from judge_gym.report.judge_study import StudyPage, StudyReport, stem_of
from judge_gym.report.plots.svg import draw
from judge_gym.report.table import Row, Table
from judge_gym.report.trust import MOST_TILES, Tile

_FAILURES = 3
"""Ways in which a candidate's cases failed that are shown."""


def gym_report(report: GymReport) -> StudyReport[GymReport]:
    """Return the report of a gym, with its tables as CSV.

    `-figures.csv` has a row per mean and per comparison, `-cases.csv` one per case and candidate.
    """
    gym, judge = report.loaded.gym, report.loaded.judge
    stem = stem_of("gym", gym.name)
    compared = comparison_table(report)
    figures, cases = list(figure_rows(report)), list(case_rows(report))
    page = StudyPage(
        stem=stem,
        title=f"Gym {gym.name}",
        found=conclusion(report.names, report.comparisons),
        tables=[candidate_table(report), *([compared] if compared.rows else [])],
        sentences=[
            f"{name}, {count} of {len(report.entries)} without a score: {failure}"
            for name, failures in zip(report.names, report.failures, strict=True)
            for failure, count in failures.most_common(_FAILURES)
        ],
        simulated=report.simulated,
        files=(f"{stem}-figures.csv", f"{stem}-cases.csv", f"{stem}.json"),
        read=report.loaded.labels,
        template="gym.html.j2",
        shown=_shown(report),
    )
    value = {
        "name": gym.name,
        "judge": judge.name,
        "served_models": list(report.answered.served),
        "simulated": report.simulated,
        "judge_cost_usd": _known(report.judge_cost),
        "costs_usd": dict(zip(report.names, map(_known, report.costs), strict=True)),
        "figures": figures,
        "cases": cases,
    }
    tables = {"-figures.csv": csv_of(figures), "-cases.csv": csv_of(cases)}
    return StudyReport(report, page, value, tables, answered=[report.answered])


def _shown(report: GymReport) -> dict[str, Any]:
    """Return what the page shows besides."""
    judge = report.loaded.judge
    means = zip(report.names, report.means[SCORE], strict=True)
    tiles = [
        Tile(name, number(mean.estimate, 1), f"{SCORE} of 100: {_mean(mean, len(report.entries))}")
        for name, mean in means
    ]
    return {
        "report": report,
        "whole": all(entry.simulated for row in report.entries for entry in row),
        "tiles": tiles[:MOST_TILES],
        "gym": report.loaded.gym,
        "criteria": [criteria_of(judge.name, judge.record.config)],
        "drawing": _drawing,
        "score": SCORE,
        "cut": excerpt,
        "dollars": dollars,
        "short": short,
    }


def _known(cost: float) -> float | None:
    return None if math.isnan(cost) else cost


def conclusion(names: Sequence[str], comparisons: Sequence[CandidateComparison]) -> str:
    """Return which candidate scores higher than which, as far as adjusted p values show it."""
    if len(names) == 1:
        return "One candidate: there is nothing to compare it with."
    beaten: dict[str, list[str]] = {name: [] for name in names}
    for comparison in comparisons:
        p = comparison.difference.p
        if comparison.measure == SCORE and p is not None and p < ALPHA:
            pair = (comparison.candidate, comparison.less)
            better, worse = pair if (comparison.difference.estimate or 0) > 0 else pair[::-1]
            beaten[better].append(worse)
    best = max(names, key=lambda name: len(beaten[name]))
    if not beaten[best]:
        return "Cannot tell: no candidate is shown to score higher than another."
    if len(beaten[best]) == len(names) - 1:
        return f"{best} scores higher than every other candidate."
    unclear = [
        name for name in names if name not in (best, *beaten[best]) and best not in beaten[name]
    ]
    rest = f" A difference from {', '.join(unclear)} is not shown." if unclear else ""
    return f"{best} scores higher than {', '.join(beaten[best])}.{rest}"


def candidate_table(report: GymReport) -> Table:
    """Return the mean of every measure for each candidate, how its cases ended, and its cost."""
    cases = len(report.entries)
    return Table(
        "Candidates",
        "Means over the cases that have a value, in points of 100, with 95% intervals; their "
        "number is in brackets where some have none. Cost: the candidate's own calls.",
        ("candidate", "how its cases ended", "cost, USD", *report.means),
        tuple(
            Row(
                (
                    name,
                    ", ".join(
                        f"{count} {status}"
                        for status, count in report.statuses[place].most_common()
                    ),
                    dollars(report.costs[place]),
                    *(_mean(estimates[place], cases) for estimates in report.means.values()),
                )
            )
            for place, name in enumerate(report.names)
        ),
        words=2,
        simulated=report.simulated,
    )


def _mean(estimate: Estimate, cases: int) -> str:
    count = f" ({estimate.n_items})" if estimate.n_items < cases else ""
    return f"{figure(estimate, 1)}{count}"


def comparison_table(report: GymReport) -> Table:
    """Return the difference of every two candidates by every measure."""
    return Table(
        "Every two candidates",
        "A candidate less another, over the cases for which both have a value. p: by sign flips, "
        "after Holm over the table. The last columns count the cases that are left out, because "
        "only one of the two, or neither, has a value.",
        (
            *("measure", "candidate", "less", "difference", "p", "cases"),
            *("candidate only", "other only", "neither"),
        ),
        tuple(
            Row(
                (
                    *(comparison.measure, comparison.candidate, comparison.less),
                    *(figure(comparison.difference, 1), p_value(comparison.difference.p)),
                    str(comparison.difference.n_items),
                    *map(
                        str, (comparison.candidate_only, comparison.less_only, comparison.neither)
                    ),
                )
            )
            for comparison in report.comparisons
        ),
        words=3,
        simulated=report.simulated,
    )


def figure_rows(report: GymReport) -> Iterator[dict[str, Any]]:
    """Yield a row per mean and per comparison: a comparison is of `candidate` less `less`."""
    alone = {"less": "", "candidate_only": None, "less_only": None, "neither": None}
    for measure, estimates in report.means.items():
        for name, estimate in zip(report.names, estimates, strict=True):
            yield _figure_row(report, {"candidate": name, **alone}, measure, estimate)
    for comparison in report.comparisons:
        sides = {
            "candidate": comparison.candidate,
            "less": comparison.less,
            "candidate_only": comparison.candidate_only,
            "less_only": comparison.less_only,
            "neither": comparison.neither,
        }
        yield _figure_row(report, sides, comparison.measure, comparison.difference)


def _figure_row(
    report: GymReport, sides: dict[str, Any], measure: str, estimate: Estimate
) -> dict[str, Any]:
    return {
        **sides, **figures_of(estimate), "metric": measure,
        "reason": estimate.reason, "simulated": report.simulated,
    }  # fmt: skip


def case_rows(report: GymReport) -> Iterator[dict[str, Any]]:
    """Yield a row per case and candidate, with every measure in points of 100."""
    for case, row in zip(report.loaded.cases, report.entries, strict=True):
        for name, entry in zip(report.names, row, strict=True):
            reason = entry.failure or (entry.result.reason if entry.result else "")
            yield {
                "case": case.id, "candidate": name, "status": entry.status,
                **{measure: entry.points.get(measure) for measure in report.means},
                "text": entry.output.text, "said": reason, "simulated": entry.simulated,
            }  # fmt: skip


def _drawing(report: GymReport, measure: str) -> str:
    """Return the differences of a measure below one another; empty without any."""
    rows = [
        _effect(comparison)
        for comparison in report.comparisons
        if comparison.measure == measure and comparison.difference.estimate is not None
    ]
    if not rows:
        return ""
    label = f"{'SIMULATED. ' if report.simulated else ''}Differences in {measure}, in points"
    return draw("forest", rows, f"forest-{measure.replace(' ', '-')}", label)


def _effect(comparison: CandidateComparison) -> dict[str, Any]:
    estimate = comparison.difference
    return {
        "change": f"{comparison.candidate} less {comparison.less}", "effect": estimate.estimate,
        "lower": estimate.lower, "upper": estimate.upper, "unit": "points",
        "link": "#cases",
    }  # fmt: skip
