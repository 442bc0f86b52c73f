"""`judge-gym judge calibrate` and `judge benchmark`: how far a judge can be trusted."""

from collections import Counter
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deployments.cli.options import PlanOnly, RetryFailed
from deployments.cli.output import (
    console,
    in_options,
    marked,
    say_simulated,
    show_checks,
    show_table,
)
from judge_gym.counting import counted
from judge_gym.errors import StoreError

if TYPE_CHECKING:
    from judge_gym.calibration.design import CalibrationDesign
    from judge_gym.judges import Item, Judge
    from judge_gym.judges.benchmarking import BenchmarkReport, BenchmarkSet
    from judge_gym.judges.calibrating.estimating import CalibrationFindings
    from judge_gym.metrics.estimate import Estimate


def calibrate(
    file: Annotated[Path, typer.Argument(help="The calibration file (YAML).", show_default=False)],
    plan: PlanOnly = False,
    retry_failed: RetryFailed = False,
) -> None:
    """Measure what a judge detects in texts changed in known ways.

    Writes a page. Rerun the command to resume; stored judgements are reused.
    """
    from judge_gym.calibration.design import load_calibration
    from judge_gym.judges.calibrating.judging import load_judges, load_originals

    # A mistake in a file is said before any server is started.
    design = load_calibration(file)
    judges = load_judges(design)
    originals = load_originals(design, judges)
    console.print(originals.said(judges[0], file), markup=False, soft_wrap=True)
    if plan:
        _plan_calibration(design, judges, originals.texts)
        return
    _run_calibration(file, design, judges, retry_failed=retry_failed)


def _plan_calibration(
    design: "CalibrationDesign", judges: "Sequence[Judge]", originals: "Sequence[Item]"
) -> None:
    from deployments.cli.environment import database
    from deployments.cli.estimates import show_judging, show_perturbing
    from judge_gym.judges.calibrating.judging import Asked
    from judge_gym.judges.calibrating.perturbing import expected
    from judge_gym.judges.calibrating.texts import changed_texts, rewritings

    wanted = rewritings(originals, design)
    with database() as session:
        texts = changed_texts(originals, design, expected(session, wanted))
    rows = [
        (
            one.name,
            design.made_by(one) or "rules",
            design.expectation(one),
            ", ".join(f"{severity:g}" for severity in design.severities_of(one)),
            str(sum(len(texts.changed[one.name, s]) for s in design.severities_of(one))),
            str(texts.not_applicable[one.name]),
        )
        for one in design.chosen
    ]
    show_table(
        f"Calibration {design.name}: {counted(len(texts.originals), 'text')}",
        ("change", "made by", "expected", "severities", "texts to judge", "nothing to change in"),
        rows,
    )
    if design.perturber and wanted:
        show_perturbing(design.perturber, wanted)
    show_judging(
        f"What it will use, {counted(len(texts.items), 'text')}, "
        f"{counted(design.repeats, 'time')} each",
        [Asked(judge, texts.items, design.repeats) for judge in judges],
    )


def _run_calibration(
    file: Path, design: "CalibrationDesign", judges: "Sequence[Judge]", *, retry_failed: bool
) -> None:
    import asyncio

    from deployments.cli.environment import (
        lost_servers_named,
        prefect_api,
        prepare_environment,
        result_of,
        simulator_for,
    )
    from judge_gym.settings import settings

    asked = [judge.answered_by for judge in judges]
    asked += [design.perturber.model] if design.perturber else []
    prepare_environment(settings().data_dir, verbose=False)
    with (
        simulator_for(asked),
        prefect_api("flows.calibration"),
        lost_servers_named(),
    ):
        from flows.calibration import calibration
        from flows.endings import PartialFailure
        from flows.judged_items import PartlyJudgedError

        made: Any = calibration(file, retry_failed=retry_failed, return_state=True)
        state = asyncio.run(made)
        # What was judged is shown before the error of a run that did not do all of it.
        with suppress(PartlyJudgedError, PartialFailure):
            result_of(state)
        try:
            asyncio.run(_show_calibration(design))
        except StoreError:
            result_of(state)  # that nothing was judged follows from what failed
            raise
        result_of(state)


async def _show_calibration(design: "CalibrationDesign") -> None:
    from judge_gym.calibration.checks import span
    from judge_gym.formats import dollars
    from judge_gym.judges.calibrating.estimating import read_findings
    from judge_gym.report.calibration import asking, gap, page_path, warning
    from judge_gym.runtime import runtime

    async with runtime() as current:
        findings = read_findings(current, design)
        page = page_path(design, current.settings.reports_dir)
    for one in findings.assessments:
        name = f"{one.judge.name}, {one.judge.answered_by}"
        show_checks(marked(name, simulated=one.simulated), one.checks)
    if findings.together:
        show_checks("Between the judges", findings.together)
    if findings.policies:
        show_table(
            "When to ask a second judge",
            ("who is asked", "right", "less than the best of these", "cost a text, USD"),
            [
                (one.name, span(one.accuracy), span(one.loss), dollars(one.cost.estimate))
                for one in findings.policies
            ],
        )
        console.print(f"{asking(findings)}\n", markup=False)
    if findings.related:
        console.print(f"Note: {warning(findings)}", markup=False)
    _show_verdicts(findings)
    if findings.missing:
        console.print(gap(findings), markup=False)
    if findings.simulated:
        say_simulated()
    console.print(f"The page: {page.resolve()}", markup=False, soft_wrap=True)


def _show_verdicts(findings: "CalibrationFindings") -> None:
    """Print what to do with each judge, and why: first of the judge to use, then of the others."""
    show_table(
        "Which judge to use",
        ("judge", "answered by", "verdict", "judgements", "with a score"),
        [
            (
                marked(one.judge.name, simulated=one.simulated),
                one.judge.answered_by,
                one.decision.verdict.words,
                one.statuses.total(),
                one.statuses["scored"],
            )
            for one in findings.assessments
        ],
    )
    console.print(in_options(findings.why), markup=False, soft_wrap=True)
    for one in findings.assessments:
        if one.decision.why not in findings.why:
            console.print(in_options(one.decision.why), markup=False, soft_wrap=True)


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
            help="The meaning of its columns (YAML), as in deployments/benchmarks.",
            show_default=False,
        ),
    ],
    limit: Annotated[
        int | None, typer.Option(help="Judge the first items only.", min=1, show_default="all")
    ] = None,
    plan: PlanOnly = False,
    retry_failed: RetryFailed = False,
) -> None:
    """Measure the accuracy of judges on a benchmark with known answers.

    Pairs are judged in both orders; a pair is right if both orders are right on balance. Rerun
    the command to resume; stored judgements are reused.
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
    table = _run_benchmark(chosen, loaded, given | {"retry_failed": retry_failed})
    console.print(f"The figures as a table: {table.resolve()}", markup=False, soft_wrap=True)


def _run_benchmark(
    chosen: "BenchmarkSet", judges: "Sequence[Judge]", given: dict[str, Any]
) -> Path:
    import asyncio

    from deployments.cli.environment import database, lost_servers_named, prefect_api, result_of
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
            _show_benchmark(read_report(session, chosen, judges))
        return Path(result_of(state))


def _simulator(chosen: "BenchmarkSet") -> AbstractContextManager[None]:
    """Have a simulator whose graders know the right answers of pairs, unless one is there."""
    from deployments.cli.environment import knowing_simulator

    known = {
        text: float(item.truth == side)
        for item in chosen.items
        if item.second is not None
        for text, side in ((item.text, "first"), (item.second, "second"))
    }
    return knowing_simulator(f"benchmark-{chosen.benchmark.name}", known)


def _show_benchmark(report: "BenchmarkReport") -> None:
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
