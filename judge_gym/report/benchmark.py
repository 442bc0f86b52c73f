"""The page of a benchmark with known answers, and the tables behind it as CSV."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from judge_gym.benchmarks.figures import EVERYTHING, published_accuracies
from judge_gym.formats import dollars, figure, p_value, percent
from judge_gym.judges import JudgeResult
from judge_gym.judges.benchmark_checks import CHANCE
from judge_gym.judges.benchmarking import BenchmarkReport, misses
from judge_gym.judges.pairwise_judge import ORDERS
from judge_gym.metrics.estimate import Estimate
from judge_gym.report.calibration import check_table
from judge_gym.report.criteria import criteria_of
from judge_gym.report.files import csv_of, excerpt, figures_of
from judge_gym.report.judge_study import StudyPage, StudyReport, stem_of, verdicts_value
from judge_gym.report.plots.svg import draw
from judge_gym.report.table import Row, Table, marks_of
from judge_gym.report.trust import MOST_TILES, Tile

JUDGE, PUBLISHED, APART = "judge", "published", "apart"
"""What a figure is of: a judge, or it `less` a published accuracy or `less` another judge."""


_METRICS = {
    "accuracy": "accuracy",
    "order_inconsistency": "order decides",
    "position_bias": "bias to the first shown",
    "cohens_kappa": "κ",
    "absolute_error": "absolute error",
    "agreement_bias": "bias",
    "concordance": "concordance",
    "rank_agreement": "τ-b",
}
_MEANINGS = (
    "Accuracy: share of pairs that are right over both orders. Order decides: share of pairs whose "
    "answer changes with the order. Bias to the first shown: 1 is always the first, -1 always the "
    "second. κ: agreement with the known answers beyond chance.",
    "Absolute error and bias: points of 100 from the known score. Concordance and τ-b: 1 is the "
    "known scores, or their order; 0 is unrelated.",
)
_THRESHOLDS = {"accuracy": "accuracy", "agreement": "concordance"}
"""What a threshold is called → its figure: the first of known pairs, the second of scores."""
_READ = 10
"""Items shown of a judge that it got wrong."""


def benchmark_report(
    report: BenchmarkReport, files: Sequence[Path] = ()
) -> StudyReport[BenchmarkReport]:
    """Return the report of the judges of `files` on a benchmark, with its tables as CSV.

    `-figures.csv` has a row per figure, `-judgements.csv` one per judge and item.
    """
    benchmark, places = report.chosen.benchmark, range(len(report.judges))
    stem = stem_of("benchmark", benchmark.name)
    page = StudyPage(
        stem=stem,
        title=f"Benchmark {benchmark.name}",
        found=" ".join(decision.why for decision in report.decisions),
        tables=_tables(report),
        sentences=[f"{report.judges[place].name}: {outcomes(report, place)}" for place in places],
        simulated=any(report.simulated),
        files=(f"{stem}-figures.csv", f"{stem}-judgements.csv", f"{stem}.json"),
        of=[report.chosen.file, *files],
        read=report.chosen.labels,
        template="benchmark.html.j2",
        shown=_shown(report),
    )
    of_judges = {
        judge.name: {estimate.metric: estimate for estimate in by_category[EVERYTHING]}
        for judge, by_category in zip(report.judges, report.figures.by_judge, strict=True)
    }
    value = {
        "benchmark": benchmark.name,
        "figures": {
            name: [figures_of(one) for one in own.values()] for name, own in of_judges.items()
        },
        "judges": verdicts_value(report.judges, report.decisions, report.checks),
        "answers": dict(zip(of_judges, report.answers, strict=True)),
        "thresholds": [],
    }
    tables = {
        "-judgements.csv": csv_of(_judgements(report)),
        "-figures.csv": csv_of(_figures(report)),
    }
    results = [decision.result for decision in report.decisions]
    figures = {
        name: {called: own[metric] for called, metric in _THRESHOLDS.items() if metric in own}
        for name, own in of_judges.items()
    }
    return StudyReport(report, page, value, tables, results, figures)


def _tables(report: BenchmarkReport) -> list[Table]:
    """Return the figures of each judge, and of judges beside others, where there are any."""
    own = [figure_table(report, place) for place in range(len(report.judges))]
    beside = (apart_table(report), published_table(report))
    return [*own, *(table for table in beside if table.rows)]


def _shown(report: BenchmarkReport) -> dict[str, Any]:
    """Return what the page shows besides; equal reports give equal values."""
    whole, judges = all(report.simulated), range(len(report.judges))
    return {
        "report": report,
        "whole": whole,
        "marks_beside": lambda simulated: () if whole else marks_of(simulated, imported=False),
        "tiles": verdict_tiles(report),
        "checks": [
            check_table(checks, f"Checks of {judge.name}", "", simulated=simulated)
            for judge, checks, simulated in zip(
                report.judges, report.checks, report.simulated, strict=True
            )
        ],
        "drawing": _drawing(report),
        "missed": [
            [(report.chosen.items[item], results[item]) for item in misses(report, place)[:_READ]]
            for place, results in zip(judges, report.results, strict=True)
        ],
        "criteria": [criteria_of(judge.name, judge.record.config) for judge in report.judges],
        "cut": excerpt,
    }


def verdict_tiles(report: BenchmarkReport) -> list[Tile]:
    """Return the verdict on each of the first judges, with what it rests on."""
    tiles = []
    for place, judge in enumerate(report.judges[:MOST_TILES]):
        _, right, bias = report.checks[place]
        verdict = report.decisions[place].verdict.words
        cost = f"cost in USD: {dollars(report.costs[place])}"
        says = f"{_short(right.estimate)}; {_short(bias.estimate)}; {cost}"
        tiles.append(Tile(judge.name, f"{verdict[0].upper()}{verdict[1:]}", says))
    return tiles


def _short(estimate: Estimate) -> str:
    name = _METRICS[estimate.metric]
    if estimate.estimate is None:
        return f"{name}: {estimate.reason}"
    return f"{name} {figure(estimate, 1 if estimate.unit == 'points' else 2)}"


def figure_table(report: BenchmarkReport, place: int) -> Table:
    """Return the figures of a judge on all items, and on those of each category."""
    by_category = report.figures.by_judge[place]
    metrics = [estimate.metric for estimate in by_category[EVERYTHING]]
    judge, is_pairs = report.judges[place], report.chosen.benchmark.pair is not None
    rows = [
        (
            category or "all",
            *(figure(estimate, 2 if is_pairs else 1 + (i > 1)) for i, estimate in enumerate(own)),
            str(own[0].n_items),
        )
        for category, own in by_category.items()
    ]
    return Table(
        f"{judge.name}, {report.answered[place]}",
        f"{_MEANINGS[not is_pairs]} 95% intervals over items.",
        ("category", *(_METRICS[metric] for metric in metrics), "items"),
        tuple(map(Row, rows)),
        simulated=report.simulated[place],
    )


def apart_table(report: BenchmarkReport) -> Table:
    """Return the difference in accuracy of every two judges; without rows for one judge."""
    names = [judge.name for judge in report.judges]
    rows = [
        (names[first], names[second], figure(estimate), p_value(estimate.p), str(estimate.n_items))
        for (first, second), estimate in report.figures.apart.items()
    ]
    return Table(
        "Every two judges: accuracy of the second less that of the first",
        "On the pairs that both judged. p by McNemar's exact test, after Holm over the table.",
        ("first", "second", "difference", "p", "pairs"),
        tuple(map(Row, rows)),
        words=2,
        simulated=any(report.simulated),
    )


def published_table(report: BenchmarkReport) -> Table:
    """Return accuracies less published ones; without rows where none is published."""
    published = {
        entry.name: f"{percent(entry.accuracy, 1)} of {entry.pairs}"
        for entry in published_accuracies()
        if entry.benchmark == report.chosen.benchmark.name
    }
    rows = [
        (report.judges[place].name, name, figure(estimate), published[name])
        for (place, name), estimate in report.figures.published.items()
    ]
    return Table(
        "Accuracy less a published accuracy",
        "On the pairs of the same part of the benchmark.",
        ("judge", "published judge, answers by", "difference", "published, of pairs"),
        tuple(map(Row, rows)),
        words=2,
        simulated=any(report.simulated),
    )


def outcomes(report: BenchmarkReport, place: int) -> str:
    """Return how the judgements of a judge ended, and how the figures count them."""
    results = report.results[place]
    statuses = Counter(result.status if result else "missing" for result in results)
    sentences = [", ".join(f"{count} {status}" for status, count in statuses.most_common()) + "."]
    if statuses["unparseable"] or statuses["refused"]:
        sentences.append("Unparseable or refused orders count as no vote.")
    if statuses["failed"]:
        sentences.append("Failed judgements are left out; retry them with --retry-failed.")
    if report.answers[place]:
        sentences.append(report.answers[place])
    if note := report.answered[place].note():
        sentences.append(f"{note}.")
    if report.costs[place]:
        sentences.append(f"Cost of the calls: {dollars(report.costs[place])} USD.")
    return " ".join(sentences)


def _drawing(report: BenchmarkReport) -> str:
    """Return the accuracies of judges of pairs, with a circle for each category; "" without any."""
    rows: list[dict[str, Any]] = []
    of_judges = zip(report.judges, report.figures.by_judge, strict=True)
    for place, (judge, by_category) in enumerate(of_judges, start=1):
        for category, (first, *_) in by_category.items():
            if first.metric != "accuracy" or first.estimate is None:
                continue
            whole = category == EVERYTHING
            rows.append({
                "judge": judge.name, "value": first.estimate, "whole": whole,
                "lower": first.lower if whole else None, "upper": first.upper if whole else None,
                "said": figure(first) if whole else "", "reference": CHANCE,
                "link": f"#judge-{place}",
            })  # fmt: skip
    if not rows:
        return ""
    mark = "SIMULATED. " if any(report.simulated) else ""
    return draw("strips", rows, "accuracy", f"{mark}Accuracy of each judge")


def _figures(report: BenchmarkReport) -> Iterator[dict[str, Any]]:
    names, simulated = [judge.name for judge in report.judges], report.simulated
    for place, by_category in enumerate(report.figures.by_judge):
        for category, estimates in by_category.items():
            for estimate in estimates:
                yield _row(JUDGE, names[place], "", category, estimate, simulated[place])
    for (place, published), estimate in report.figures.published.items():
        yield _row(PUBLISHED, names[place], published, "", estimate, simulated[place])
    for (first, second), estimate in report.figures.apart.items():
        either = simulated[first] or simulated[second]
        yield _row(APART, names[second], names[first], "", estimate, either)


def _row(
    of: str, judge: str, less: str, category: str, estimate: Estimate, simulated: bool
) -> dict[str, Any]:
    return {
        "of": of, "judge": judge, "less": less, "category": category, **figures_of(estimate),
        "reason": estimate.reason, "simulated": simulated,
    }  # fmt: skip


def _judgements(report: BenchmarkReport) -> Iterator[dict[str, Any]]:
    for judge, results in zip(report.judges, report.results, strict=True):
        for item, result in zip(report.chosen.items, results, strict=True):
            about = {"judge": judge.name, "item": item.id, "category": item.category,
                     "truth": item.truth}  # fmt: skip
            yield about | _result_fields(result)


def _result_fields(result: JudgeResult | None) -> dict[str, Any]:
    if result is None:
        empty = ("score", "verdict", *ORDERS, "failure", "simulated")
        return {"status": "missing", **dict.fromkeys(empty)}
    return {
        "status": result.status, "score": result.score, "verdict": result.verdict,
        **{order: result.subscores.get(order) for order in ORDERS},
        "failure": result.failure, "simulated": result.simulated,
    }  # fmt: skip
