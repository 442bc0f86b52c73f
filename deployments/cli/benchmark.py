"""`judge-gym benchmark`: what judges get right where the answers are known."""

from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deployments.cli.options import PlanOnly, RetryFailed
from deployments.cli.output import console, marked, say_simulated, show_table
from judge_gym.counting import counted

if TYPE_CHECKING:
    from judge_gym.judges import Judge
    from judge_gym.judges.benchmarking import BenchmarkReport, BenchmarkSet
    from judge_gym.metrics.estimate import Estimate

_NAMES = {
    "accuracy": "accuracy",
    "order_inconsistency": "order decides",
    "position_bias": "bias to the first shown",
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
    plan: PlanOnly = False,
    retry_failed: RetryFailed = False,
) -> None:
    """Judge a known-answer set and show accuracy by category; pairs in both orders.

    A pair is right when both orders are right on balance. Stopped, it goes on with the same
    command: what is already judged is not asked again.
    """
    from deployments.cli.environment import prepare_environment
    from deployments.cli.estimates import show_judging
    from judge_gym.judges.benchmarking import load_judges, load_set
    from judge_gym.judges.calibrating.judging import Asked
    from judge_gym.settings import settings

    # A mistake in a file is said before any server is started.
    chosen = load_set(items, mapping, limit)
    loaded = load_judges(judges, chosen)
    console.print(chosen.labels, markup=False, soft_wrap=True)
    prepare_environment(settings().data_dir, verbose=False)
    asked = [Asked(judge, chosen.items) for judge in loaded]
    show_judging(
        f"What {chosen.benchmark.name} will use, {counted(len(chosen.items), 'item')}", asked
    )
    if plan:
        return
    given = {"judges": judges, "items": items, "mapping": mapping, "limit": limit}
    table = _run(chosen, loaded, given | {"retry_failed": retry_failed})
    console.print(f"The figures as a table: {table.resolve()}", markup=False, soft_wrap=True)


def _run(chosen: "BenchmarkSet", judges: "Sequence[Judge]", given: dict[str, Any]) -> Path:
    import asyncio

    from deployments.cli.database import database
    from deployments.cli.prefect_api import prefect_api
    from deployments.cli.running import lost_servers_named, result_of
    from judge_gym.judges.benchmarking import read_report

    simulated = any(judge.is_simulated for judge in judges)
    with (
        _simulator(chosen) if simulated else nullcontext(),
        prefect_api("flows.benchmark"),
        lost_servers_named(),
    ):
        from flows.benchmark import benchmark
        from flows.judged_items import PartlyJudgedError

        made: Any = benchmark(**given, return_state=True)
        state = asyncio.run(made)
        with suppress(PartlyJudgedError):
            result_of(state)
        with database() as session:
            _show(read_report(session, chosen, judges))
        return Path(result_of(state))


def _simulator(chosen: "BenchmarkSet") -> AbstractContextManager[None]:
    """Have a simulator whose graders know the right answers of pairs, unless one is there."""
    from deployments.cli.running import knowing_simulator

    known = {
        text: float(item.truth == side)
        for item in chosen.items
        if item.second is not None
        for text, side in ((item.text, "first"), (item.second, "second"))
    }
    return knowing_simulator(f"benchmark-{chosen.benchmark.name}", known)


def _show(report: "BenchmarkReport") -> None:
    names = [
        marked(one.name, simulated=simulated)
        for one, simulated in zip(report.judges, report.simulated, strict=True)
    ]
    for place, by_category in enumerate(report.figures.by_judge):
        metrics = [one.metric for one in next(iter(by_category.values()))]
        judge = f"{report.judges[place].name}, {report.judges[place].answered_by}"
        show_table(
            f"{marked(judge, simulated=report.simulated[place])}: {report.chosen.benchmark.source}",
            ("category", *(_NAMES[metric] for metric in metrics), "items"),
            [
                (name or "all", *map(_said, found), found[0].n_items)
                for name, found in by_category.items()
            ],
        )
        console.print(_ended(report, place), markup=False)
    if report.figures.apart:
        show_table(
            "Accuracy, the second less the first (exact McNemar, Holm)",
            ("first", "second", "difference", "p"),
            [
                (names[one], names[other], _said(found), _p(found))
                for (one, other), found in report.figures.apart.items()
            ],
        )
    if report.figures.published:
        show_table(
            "Accuracy, less what others recorded for theirs",
            ("judge", "theirs, answers by", "difference", "theirs"),
            [
                (
                    names[place],
                    name,
                    _said(found),
                    found.method.partition(";")[0].removeprefix("less "),
                )
                for (place, name), found in report.figures.published.items()
            ],
        )
    if any(report.simulated):
        say_simulated()


def _ended(report: "BenchmarkReport", place: int) -> str:
    """Return how many judgements ended in which way, and what became of them in the figures."""
    from judge_gym.formats import dollars

    ends = Counter(one.status if one else "missing" for one in report.results[place])
    told = [", ".join(f"{count} {end}" for end, count in ends.most_common()) + "."]
    if ends["unparseable"] or ends["refused"]:
        told.append("An order that cannot be read or is refused is no vote.")
    if ends["failed"]:
        told.append("Failed ones are left out; --retry-failed asks them again.")
    if report.costs[place]:
        told.append(f"What its calls have cost, in USD: {dollars(report.costs[place])}.")
    return " ".join(told) + "\n"


def _said(found: "Estimate") -> str:
    if found.estimate is None:
        return "–"
    if found.lower is None or found.upper is None:
        return f"{found.estimate:.3g}"
    return f"{found.estimate:.3g} [{found.lower:.3g}, {found.upper:.3g}]"


def _p(found: "Estimate") -> str:
    return "–" if found.p is None else f"{found.p:.3g}"
