"""A known-answer benchmark as items for judges, and what their results come to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from sqlalchemy.orm import Session

from judge_gym.benchmarks.figures import (
    EVERYTHING,
    FIRST,
    SECOND,
    TIE,
    PairDecisions,
    above_published,
    judges_apart,
    pair_figures,
    published_accuracies,
    score_figures,
)
from judge_gym.benchmarks.files import Benchmark, PairItem, load_benchmark, read_benchmark
from judge_gym.benchmarks.files import Item as Known
from judge_gym.calibration.checks import Check
from judge_gym.calibration.verdict import CalibrationDecision
from judge_gym.design.config import corpus_digest
from judge_gym.errors import ConfigError
from judge_gym.judges import Item, Judge, JudgeResult
from judge_gym.judges.benchmark_checks import benchmark_checks, decide_benchmark
from judge_gym.judges.calibrating.assessing import points_of
from judge_gym.judges.calibrating.judging import Asked, newest_answers, results_of
from judge_gym.judges.files import JudgeSource, load_apart
from judge_gym.judges.pairwise_judge import ORDERS
from judge_gym.metrics.cells import BoolArray, FloatArray, IntArray
from judge_gym.metrics.estimate import Estimate
from judge_gym.metrics.points import to_points
from judge_gym.model_names import Answered
from judge_gym.seeds import derive_seed
from judge_gym.store.judges import answered, item_costs

Results = Sequence[JudgeResult | None]
"""What a judge said of each item, in the order of the items; None where it is not judged yet."""
_STAGES = {1.0: FIRST, 0.5: TIE, 0.0: SECOND}
"""Score of the first text → what was chosen."""


@dataclass(frozen=True, eq=False)
class BenchmarkFigures:
    """Category → figures of each judge, by its place; "" is all of the benchmark.

    Of pairs, judgements without a verdict (unreadable, refused, failed) are no vote. `apart` are
    differences of accuracy between judges, `published` those from accuracies that others recorded,
    on the pairs of the same part, by judge and published name.
    """

    by_judge: list[dict[str, list[Estimate]]]
    apart: Mapping[tuple[int, int], Estimate]
    published: Mapping[tuple[int, str], Estimate]


@dataclass(frozen=True, eq=False)
class BenchmarkSet:
    """A benchmark with its known answers, and the same as items in the same order."""

    file: Path
    benchmark: Benchmark
    known: Sequence[Known]
    items: Sequence[Item]

    @property
    def worths(self) -> dict[str, float]:
        """Which text of each pair is right: text → 1 or 0."""
        return {
            text: float(item.truth == side)
            for item in self.items
            if item.second is not None
            for text, side in ((item.text, "first"), (item.second, "second"))
        }

    @property
    def labels(self) -> str:
        """How many labels the items have and where they are from, for a person."""
        columns = self.benchmark.pair or self.benchmark.score
        assert columns is not None
        source = (
            f"from column {columns.truth!r}"
            if columns.truth
            else "all alike, as `better` says in the mapping"
        )
        return f"Labels: {len(self.items)} of {len(self.items)} items, {source}."


@dataclass(frozen=True, eq=False)
class BenchmarkReport:
    """All there is to say; every sequence is by judge, `costs` in US dollars, NaN where unknown."""

    chosen: BenchmarkSet
    judges: Sequence[Judge]
    results: Sequence[Results]
    answered: Sequence[Answered]
    figures: BenchmarkFigures
    costs: Sequence[float]
    checks: Sequence[Sequence[Check]]
    decisions: Sequence[CalibrationDecision]
    answers: Sequence[str]
    """That items were judged again, and whether these are the answers; empty if not."""

    @property
    def simulated(self) -> list[bool]:
        """By judge, whether one of its judgements is simulated."""
        return [any(result.simulated for result in results if result) for results in self.results]


def load_set(file: Path, mapping: Path, limit: int | None = None) -> BenchmarkSet:
    """Read a benchmark's file, or its first `limit` items.

    Raises `ConfigError` or `EvidenceError` naming the line of the file that is wrong.
    """
    benchmark = load_benchmark(mapping)
    entries = read_benchmark(file, benchmark)[:limit]
    corpus = corpus_digest(file)
    return BenchmarkSet(file, benchmark, entries, [_item(entry, corpus) for entry in entries])


def load_judges(sources: Sequence[JudgeSource], chosen: BenchmarkSet) -> list[Judge]:
    """Read judges; raises `ConfigError` for none, one that does not fit, and two of one name."""
    judges: list[Judge] = [*load_apart(sources, f"Benchmark {chosen.benchmark.name}")]
    for judge in judges:
        check_judge(judge, chosen)
    return judges


def read_report(session: Session, chosen: BenchmarkSet, judges: Sequence[Judge]) -> BenchmarkReport:
    """Return what there is to say of what is judged so far."""
    newest = [newest_answers(session, Asked(judge, chosen.items)) for judge in judges]
    by_judge = [
        results_of(session, judge, chosen.items, 1, one.review_day)
        for judge, one in zip(judges, newest, strict=True)
    ]
    results = [
        [next(iter(by_item[item.key]), None) for item in chosen.items] for by_item in by_judge
    ]
    report = report_of(
        chosen,
        judges,
        results,
        [
            answered(session, judge.record, by_item.values())
            for judge, by_item in zip(judges, by_judge, strict=True)
        ],
        [
            sum(item_costs(session, judge.record, by_item).values())
            for judge, by_item in zip(judges, by_judge, strict=True)
        ],
    )
    return replace(report, answers=[one.said for one in newest])


def report_of(
    chosen: BenchmarkSet,
    judges: Sequence[Judge],
    results: Sequence[Results],
    answered_by: Sequence[Answered],
    costs: Sequence[float],
) -> BenchmarkReport:
    """Return what there is to say of these results; every sequence is by judge."""
    figures = benchmark_figures(judges, results, chosen)
    checks = [
        benchmark_checks(judge, own, by_category[EVERYTHING])
        for judge, own, by_category in zip(judges, results, figures.by_judge, strict=True)
    ]
    decisions = [
        decide_benchmark(
            judge.name, own_checks, sum(result is not None for result in own), len(own)
        )
        for judge, own_checks, own in zip(judges, checks, results, strict=True)
    ]
    return BenchmarkReport(
        chosen=chosen,
        judges=judges,
        results=results,
        answered=answered_by,
        figures=figures,
        costs=costs,
        checks=checks,
        decisions=decisions,
        answers=[""] * len(judges),
    )


def misses(report: BenchmarkReport, place: int) -> list[int]:
    """Return the items that a judge got wrong, by their index.

    Of pairs those without the right verdict in both orders, in the order of the file; of scores
    all that are off, the furthest first.
    """
    judge, chosen = report.judges[place], report.chosen
    results = report.results[place]
    if judge.judges_pairs:
        return [
            index
            for index, (item, result) in enumerate(zip(chosen.items, results, strict=True))
            if result and result.verdict != item.truth
        ]
    given, truth, there = _scores(judge, results, chosen)
    off = np.where(there, np.abs(given - truth), 0.0)
    return [index for index in np.argsort(-off, kind="stable").tolist() if off[index] > 0]


def check_judge(judge: Judge, chosen: BenchmarkSet) -> None:
    """Raise `ConfigError` when a judge is not of the kind that the benchmark is for."""
    if judge.judges_pairs != (chosen.benchmark.pair is not None):
        kind = "pairwise" if chosen.benchmark.pair is not None else "rubric, callable or http"
        raise ConfigError(
            f"Judge {judge.name!r} is of kind {judge.kind}, which {chosen.benchmark.name} is not "
            "for.",
            f"Use a judge of kind {kind}.",
        )


def benchmark_figures(
    judges: Sequence[Judge],
    results: Sequence[Results],
    chosen: BenchmarkSet,
) -> BenchmarkFigures:
    """Return what the judges got right; `results` are one per item, in the order of the items."""
    seed = derive_seed("benchmark", chosen.benchmark.name, *(judge.key for judge in judges))
    rng = np.random.default_rng(seed)
    category = [entry.category for entry in chosen.known]
    if chosen.benchmark.score is not None:
        scored = [_scores(judge, own, chosen) for judge, own in zip(judges, results, strict=True)]
        figures = [
            score_figures(given[there], truth[there], list(np.array(category)[there]), rng)
            for given, truth, there in scored
        ]
        return BenchmarkFigures(figures, {}, {})
    better = np.array([_stage(entry) for entry in chosen.known], dtype=np.int64)
    decided = [_decisions(own) for own in results]
    figures = [pair_figures(decisions, better, category, rng) for decisions in decided]
    apart = judges_apart(
        {str(place): decisions for place, decisions in enumerate(decided)}, better, rng
    )
    return BenchmarkFigures(
        figures,
        {(int(first), int(second)): difference for (first, second), difference in apart.items()},
        {
            (place, name): difference
            for place, decisions in enumerate(decided)
            for name, difference in _beside_published(decisions, better, chosen, rng).items()
        },
    )


def _beside_published(
    decisions: PairDecisions, better: IntArray, chosen: BenchmarkSet, rng: np.random.Generator
) -> dict[str, Estimate]:
    """Return published name → the accuracy on the pairs of its part less the published one."""
    parts = [entry.part for entry in chosen.known if isinstance(entry, PairItem)]
    own = pair_figures(decisions, better, parts, rng)
    if len(set(parts)) == 1:
        own[parts[0]] = own[EVERYTHING]
    return {
        published.name: above_published(own[published.part][0], published)
        for published in published_accuracies()
        if published.benchmark == chosen.benchmark.name and published.part in own
    }


def _item(entry: Known, corpus: str) -> Item:
    texts = (
        {"text": entry.first, "second": entry.second}
        if isinstance(entry, PairItem)
        else {"text": entry.text}
    )
    return Item(
        id=entry.key,
        context=entry.question,
        category=entry.category[:200],
        corpus=corpus,
        truth=entry.better if isinstance(entry, PairItem) else entry.score,
        **texts,
    )


def _stage(entry: Known) -> int:
    assert isinstance(entry, PairItem)
    return FIRST if entry.better == "first" else SECOND


def _decisions(results: Results) -> PairDecisions:
    """Return a decision for each order of what is judged; 0 where an order has no verdict."""
    rows = [
        (place, _STAGES.get(result.subscores.get(order, -1.0), 0), order != ORDERS[0])
        for place, result in enumerate(results)
        if result
        for order in ORDERS
    ]
    item, chosen, turned = np.array(rows, dtype=np.int64).reshape(-1, 3).T
    return PairDecisions(item, chosen, turned.astype(np.bool_))


def _scores(
    judge: Judge, results: Results, chosen: BenchmarkSet
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Return points given, points known, and where both are."""
    columns = chosen.benchmark.score
    assert columns is not None
    given = [points_of(judge, [result] if result else []) for result in results]
    points = np.array([score[0] if score else np.nan for score in given])
    truths = np.array([entry.score for entry in chosen.known if not isinstance(entry, PairItem)])
    return points, to_points(truths, columns.lowest, columns.highest), ~np.isnan(points)
