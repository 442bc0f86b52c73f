"""`judge-gym analyse selftest`: do the estimators keep their promises where the truth is known?"""

import sys
from collections.abc import Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from deployments.cli.json_output import json_output
from deployments.cli.options import AsJson
from deployments.cli.output import console, show_table
from deployments.cli.power import on_every_core
from judge_gym.errors import ConfigError, did_you_mean

if TYPE_CHECKING:
    from judge_gym.lab.power.selftest import Scenario
    from judge_gym.lab.power.study import SimulatedShare
    from judge_gym.lab.power.trials import MetricTrials, Trial

SEEDS_PER_TASK = 20
_COLUMNS = (
    "figure", "truth", "planted", "mean estimate", "coverage", "false positives", "power", "misses",
)  # fmt: skip


def selftest(
    seeds: Annotated[int, typer.Option(help="Data sets per panel of judges.", min=20)] = 200,
    items: Annotated[
        list[int] | None,
        typer.Option(
            help="Items per panel; may be repeated. [default: 16, 30]",
            show_default=False,
            min=4,
            max=1000,
        ),
    ] = None,
    replicates: Annotated[int, typer.Option(help="Replicates per item.", min=5, max=50)] = 5,
    truth: Annotated[
        list[str] | None, typer.Option(help="Only this truth; may be repeated.")
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option(help="Write the coverage of every figure to this Markdown file."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Test the estimators on simulated data with known truths.

    Coverage of the 95% intervals should be 93 to 97%, false positives at most 6%. Exits with 1 if
    a figure misses an aim by more than the simulation error, and is not exploratory there.
    """
    from judge_gym.lab.power.selftest import ITEMS, scenarios
    from judge_gym.lab.power.trials import summarise

    design = tuple(items or ITEMS), replicates
    chosen = _chosen(scenarios(*design), truth)
    tasks = [
        (scenario.name, range(first, min(seeds * scenario.times, first + SEEDS_PER_TASK)))
        for scenario in chosen
        for first in range(0, seeds * scenario.times, SEEDS_PER_TASK)
    ]
    done = on_every_core(partial(_trials, design), tasks, "Simulating")
    summaries = summarise(trial for trials in done for trial in trials)
    missed = [summary for summary in summaries if summary.misses and not summary.exploratory]
    if page:
        page.write_text(_page(summaries, chosen, seeds), encoding="utf-8")
    if as_json:
        json_output.give([_row(summary) for summary in summaries])
    else:
        _show(summaries)
        _explain(summaries, missed, chosen)
    sys.exit(1 if missed else 0)


def _chosen(every: "Sequence[Scenario]", names: Sequence[str] | None) -> "list[Scenario]":
    truths = list(dict.fromkeys(scenario.truth for scenario in every))
    for name in names or ():
        if name not in truths:
            raise ConfigError(
                f"There is no truth {name!r}.",
                f"{did_you_mean(name, truths)}Use {', '.join(truths)}.",
            )
    return [scenario for scenario in every if not names or scenario.truth in names]


def _trials(design: tuple[Sequence[int], int], task: tuple[str, range]) -> "list[Trial]":
    from judge_gym.lab.power.selftest import scenarios

    name, seeds = task
    (scenario,) = (one for one in scenarios(*design) if one.name == name)
    return [trial for seed in seeds for trial in scenario.trials(seed)]


def _show(summaries: "Sequence[MetricTrials]") -> None:
    rows = [
        (
            summary.metric,
            summary.truth,
            "—" if summary.planted is None else f"{summary.planted:.3f}",
            "—" if summary.mean is None else f"{summary.mean:.3f}",
            _share(summary.coverage),
            _share(summary.rejected) if summary.null else "",
            _share(summary.rejected) if summary.null is False else "",
            "exploratory" if summary.exploratory else ", ".join(summary.misses),
        )
        for summary in sorted(summaries, key=lambda summary: summary.metric)
        if summary.coverage.of or summary.rejected.of
    ]
    show_table("Self-test", _COLUMNS, rows)


def _explain(
    summaries: "Sequence[MetricTrials]",
    missed: "Sequence[MetricTrials]",
    chosen: "Sequence[Scenario]",
) -> None:
    console.print(_aims(summaries), markup=False)
    for line in (*_truths(chosen), *_reasons(summaries)):
        console.print(f"  {line}", markup=False)
    if not missed:
        console.print("No aim is missed.")
        return
    console.print(f"Missed: {len(missed)}.")
    for summary in missed:
        misses = ", ".join(summary.misses)
        console.print(f"  {summary.metric}, {summary.truth}: {misses}", markup=False)


def _aims(summaries: "Sequence[MetricTrials]") -> str:
    from judge_gym.lab.power.trials import MOST_FALSE, NOMINAL

    covered = [summary for summary in summaries if summary.coverage.of]
    true_nulls = [summary for summary in summaries if summary.null and summary.rejected.of]
    named = [summary for summary in summaries if summary.least is not None]
    regimes = (
        f"{len(named)} planted regimes should be named in at least {named[0].least:.0%} of data "
        "sets (power). "
        if named
        else ""
    )
    return (
        f"{len(covered)} intervals: 95% intervals should cover the planted value in "
        f"{NOMINAL[0]:.0%} to {NOMINAL[1]:.0%} of data sets. {len(true_nulls)} true-null "
        f"tests: at most {MOST_FALSE:.0%} should be significant. {regimes}In parentheses the 95% "
        "interval of a share; an aim is missed if all of it lies on the wrong side."
    )


def _truths(chosen: "Sequence[Scenario]") -> list[str]:
    """Return a line per truth, and one about the conditions of their data."""
    from judge_gym.planted.comparisons import ABOUT_CONDITIONS

    abouts = dict.fromkeys((scenario.truth, scenario.about) for scenario in chosen)
    return [*(f"{truth}: {about}" for truth, about in abouts), ABOUT_CONDITIONS]


def _reasons(summaries: "Sequence[MetricTrials]") -> list[str]:
    """Return why figures are exploratory, and which are not tested."""
    from judge_gym.lab.power.selftest import NOT_PLANTED
    from judge_gym.lab.power.trials import exploratory

    figures = dict.fromkeys(summary.metric for summary in summaries if summary.exploratory)
    reasons = [f"Exploratory, {figure}: {exploratory()[figure].because}" for figure in figures]
    return [*reasons, f"Not tested: {NOT_PLANTED}."]


def _page(summaries: "Sequence[MetricTrials]", chosen: "Sequence[Scenario]", seeds: int) -> str:
    """Return the coverage of every figure, and where it is exploratory, in Markdown."""
    from judge_gym.lab.power.selftest import MORE_SETS
    from judge_gym.report.table import markdown_table, plain_table

    shown = sorted(
        (summary for summary in summaries if summary.coverage.of or summary.rejected.of),
        key=lambda summary: summary.metric,
    )
    by_figure = [
        (figure, list(members)) for figure, members in groupby(shown, key=lambda one: one.metric)
    ]
    figures = [
        (
            figure,
            len(members),
            _range([one.coverage for one in members if not one.exploratory]),
            _range([one.rejected for one in members if one.null and not one.exploratory]),
            sum(one.exploratory for one in members) or "",
        )
        for figure, members in by_figure
    ]
    known = [
        (one.metric, one.truth, _share(one.coverage), _share(one.rejected) if one.null else "")
        for one in shown
        if one.exploratory
    ]
    lines = "\n".join(f"- {line}" for line in (*_reasons(summaries), *_truths(chosen)))
    parts = (
        "# Coverage of the estimators",
        "`judge-gym analyse selftest --page docs/reference/coverage.md` wrote this page. It "
        f"simulates {seeds} data sets of every panel of judges with a known truth, and "
        f"{seeds * MORE_SETS} of the other truths.",
        _aims(summaries),
        "## By figure",
        "The lowest and the highest share over the truths where the figure is not exploratory.",
        markdown_table(
            plain_table(
                "",
                ("figure", "truths", "coverage", "false positives", "exploratory under"),
                figures,
                words=1,
            )
        ),
        "## Exploratory",
        markdown_table(
            plain_table("", ("figure", "truth", "coverage", "false positives"), known, words=2)
        ),
        "## Reasons and truths",
        lines,
    )
    return "\n\n".join(parts) + "\n"


def _range(rates: "Sequence[SimulatedShare]") -> str:
    shares = [rate.share for rate in rates if rate.share is not None]
    return f"{min(shares):.1%} to {max(shares):.1%}" if shares else ""


def _share(rate: "SimulatedShare") -> str:
    if rate.share is None:
        return "—"
    low, high = rate.interval
    return f"{rate.share:.1%} ({low:.0%} to {high:.0%})"


def _row(summary: "MetricTrials") -> dict[str, object]:
    def values(rate: "SimulatedShare") -> dict[str, object]:
        return {"count": rate.count, "of": rate.of, "share": rate.share, "interval": rate.interval}

    return {
        "figure": summary.metric,
        "truth": summary.truth,
        "planted": summary.planted,
        "null": summary.null,
        "mean": summary.mean,
        "missing": summary.missing,
        "coverage": values(summary.coverage),
        "rejected": values(summary.rejected),
        "misses": list(summary.misses),
        "exploratory": summary.exploratory,
    }
