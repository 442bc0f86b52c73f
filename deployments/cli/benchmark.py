"""`judge-gym benchmark`: what judges get right where the answers are known."""

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deployments.cli.output import console, errors, show_table

if TYPE_CHECKING:
    from judge_gym.judges import AnyJudge, JudgeResult
    from judge_gym.metrics.estimate import Estimate
    from judge_gym.workflows.benchmarking import BenchmarkFigures, BenchmarkSet

_NAMES = {
    "accuracy": "accuracy",
    "order_inconsistency": "order decides",
    "cohens_kappa": "κ",
    "absolute_error": "absolute error",
    "agreement_bias": "bias",
    "concordance": "concordance",
    "rank_agreement": "τ-b",
}


def benchmark(
    judges: Annotated[
        list[Path], typer.Argument(help="Judge files (YAML), one or more.", show_default=False)
    ],
    items: Annotated[
        Path, typer.Option(help="The benchmark's file (JSONL or CSV).", show_default=False)
    ],
    mapping: Annotated[
        Path,
        typer.Option(
            help="What its columns mean (YAML), as in deployments/benchmarks.", show_default=False
        ),
    ],
    limit: Annotated[
        int | None, typer.Option(help="Judge the first items only.", min=1, show_default="all")
    ] = None,
) -> None:
    """Judge a known-answer set and show accuracy by category; pairs in both orders.

    A pair is right when both orders are right on balance. What is already judged is not asked
    again.
    """
    import asyncio

    from deployments.cli.environment import prepare_environment
    from deployments.cli.running import lost_servers_named, simulator
    from judge_gym.benchmarks.mapping import load_benchmark
    from judge_gym.judges import load_judge
    from judge_gym.settings import settings
    from judge_gym.workflows.benchmarking import benchmark_figures, check_judge, load_set

    chosen = load_set(items, load_benchmark(mapping), limit)
    loaded = [load_judge(file) for file in judges]
    for judge in loaded:
        check_judge(judge, chosen)
    prepare_environment(settings().data_dir, verbose=False)
    simulated = any(judge.answered_by.startswith("sim/") for judge in loaded)
    with (
        simulator() if simulated else nullcontext(),
        lost_servers_named(),
        errors.status(f"Judging {len(chosen.items)} items."),
    ):
        results = asyncio.run(_judged(loaded, chosen))
    _show(loaded, chosen, benchmark_figures(loaded, results, chosen), results)
    if any(result.simulated for said in results for result in said):
        console.print("SIMULATED: these figures show judge-gym at work, and nothing else.")


async def _judged(
    judges: "Sequence[AnyJudge]", chosen: "BenchmarkSet"
) -> "list[list[JudgeResult]]":
    from judge_gym.judges.judging import judge_items
    from judge_gym.runtime import runtime

    async with runtime() as current:
        return [await judge_items(current, judge, chosen.items) for judge in judges]


def _show(
    judges: "Sequence[AnyJudge]",
    chosen: "BenchmarkSet",
    figures: "BenchmarkFigures",
    results: "Sequence[Sequence[JudgeResult]]",
) -> None:
    for judge, by_category, said in zip(judges, figures.by_judge, results, strict=True):
        metrics = [one.metric for one in next(iter(by_category.values()))]
        show_table(
            f"{judge.name}, {judge.answered_by}: {chosen.benchmark.source}",
            ("category", *(_NAMES[metric] for metric in metrics), "items"),
            [
                (name or "all", *map(_said, found), found[0].n_items)
                for name, found in by_category.items()
            ],
        )
        without = sum(result.status not in ("scored", "inconsistent") for result in said)
        if without:
            console.print(f"{without} of {len(said)} items have no answer that counts.")
    if figures.apart:
        show_table(
            "Accuracy, the second less the first (exact McNemar, Holm)",
            ("first", "second", "difference", "p"),
            [
                (judges[one].name, judges[other].name, _said(found), _p(found))
                for (one, other), found in figures.apart.items()
            ],
        )
    if figures.published:
        show_table(
            "Accuracy, less what others recorded for theirs",
            ("judge", "theirs, answers by", "difference"),
            [
                (judges[place].name, name, _said(found))
                for (place, name), found in figures.published.items()
            ],
        )


def _said(found: "Estimate") -> str:
    if found.estimate is None:
        return "–"
    if found.lower is None or found.upper is None:
        return f"{found.estimate:.3g}"
    return f"{found.estimate:.3g} [{found.lower:.3g}, {found.upper:.3g}]"


def _p(found: "Estimate") -> str:
    return "–" if found.p is None else f"{found.p:.3g}"
