"""A known-answer benchmark as items for judges, and what their results come to."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from judge_gym.benchmarks.figures import (
    EVERYTHING,
    FIRST,
    SECOND,
    TIE,
    Decisions,
    judges_apart,
    pair_figures,
    score_figures,
)
from judge_gym.benchmarks.mapping import Benchmark
from judge_gym.benchmarks.published import above_published, published_accuracies
from judge_gym.benchmarks.reading import Item as Known
from judge_gym.benchmarks.reading import PairItem, read_benchmark
from judge_gym.design.files import corpus_digest
from judge_gym.errors import ConfigError
from judge_gym.judges import Item, Judge, JudgeResult
from judge_gym.judges.pairwise_judge import ORDERS
from judge_gym.metrics.cells import BoolArray, FloatArray
from judge_gym.metrics.estimate import Estimate
from judge_gym.metrics.points import to_points
from judge_gym.seeds import derive_seed
from judge_gym.workflows.calibrating.assessing import points_of

_STAGES = {1.0: FIRST, 0.5: TIE, 0.0: SECOND}
"""Score of the first text → what was chosen."""


@dataclass(frozen=True, eq=False)
class BenchmarkFigures:
    """Category → figures of each judge, by its place; "" is all of the benchmark.

    `apart` are differences of accuracy between judges, `published` those from accuracies that
    others recorded, by judge and published name.
    """

    by_judge: list[dict[str, list[Estimate]]]
    apart: Mapping[tuple[int, int], Estimate]
    published: Mapping[tuple[int, str], Estimate]


@dataclass(frozen=True, eq=False)
class BenchmarkSet:
    """A benchmark with its known answers, and the same as items in the same order."""

    benchmark: Benchmark
    known: Sequence[Known]
    items: Sequence[Item]


def load_set(file: Path, benchmark: Benchmark, limit: int | None = None) -> BenchmarkSet:
    """Read a benchmark's file, or its first `limit` items; errors as `read_benchmark` has them."""
    known = read_benchmark(file, benchmark)[:limit]
    corpus = corpus_digest(file)
    return BenchmarkSet(benchmark, known, [_item(one, corpus) for one in known])


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
    results: Sequence[Sequence[JudgeResult]],
    chosen: BenchmarkSet,
) -> BenchmarkFigures:
    """Return what the judges got right; `results` are one per item, in the order of the items."""
    seed = derive_seed("benchmark", chosen.benchmark.name, *(judge.key for judge in judges))
    rng = np.random.default_rng(seed)
    category = [one.category for one in chosen.known]
    if chosen.benchmark.score is not None:
        scored = [_scores(judge, said, chosen) for judge, said in zip(judges, results, strict=True)]
        figures = [
            score_figures(given[there], truth[there], list(np.array(category)[there]), rng)
            for given, truth, there in scored
        ]
        return BenchmarkFigures(figures, {}, {})
    better = np.array([_stage(one) for one in chosen.known], dtype=np.int64)
    decided = [_decisions(said) for said in results]
    figures = [pair_figures(one, better, category, rng) for one in decided]
    apart = judges_apart({str(place): one for place, one in enumerate(decided)}, better, rng)
    return BenchmarkFigures(
        figures,
        {(int(one), int(other)): found for (one, other), found in apart.items()},
        {
            (place, f"{one.judge}, {one.part}"): above_published(of[EVERYTHING][0], one)
            for place, of in enumerate(figures)
            for one in published_accuracies()
            if one.benchmark == chosen.benchmark.name
        },
    )


def _item(one: Known, corpus: str) -> Item:
    texts = (
        {"text": one.first, "second": one.second}
        if isinstance(one, PairItem)
        else {"text": one.text}
    )
    return Item(
        id=one.key, context=one.question, category=one.category[:200], corpus=corpus, **texts
    )


def _stage(one: Known) -> int:
    assert isinstance(one, PairItem)
    return FIRST if one.better == "first" else SECOND


def _decisions(results: Sequence[JudgeResult]) -> Decisions:
    """Return a decision for each order; 0 where an order has no verdict."""
    chosen = [
        _STAGES.get(result.subscores.get(order, -1.0), 0) for result in results for order in ORDERS
    ]
    places = np.repeat(np.arange(len(results)), len(ORDERS))
    turned = np.tile([False, True], len(results))
    return Decisions(places, np.array(chosen, dtype=np.int64), turned)


def _scores(
    judge: Judge, results: Sequence[JudgeResult], chosen: BenchmarkSet
) -> tuple[FloatArray, FloatArray, BoolArray]:
    """Return points given, points known, and where both are."""
    columns = chosen.benchmark.score
    assert columns is not None
    given = [points_of(judge, [result]) for result in results]
    points = np.array([one[0] if one else np.nan for one in given])
    known = np.array([one.score for one in chosen.known if not isinstance(one, PairItem)])
    return points, to_points(known, columns.lowest, columns.highest), ~np.isnan(points)
