"""`judge-gym gym`: several ways to do one step of a pipeline, beside each other."""

import json
import math
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

from deployments.cli.options import AsJson, PlanOnly, RetryFailed
from deployments.cli.output import console, marked, say_simulated, show_table
from judge_gym.counting import counted

if TYPE_CHECKING:
    from judge_gym.gyms.evaluating import GymReport, LoadedGym
    from judge_gym.runtime import Runtime

T = TypeVar("T")

app = typer.Typer(
    help="Gyms: candidates for one step of a pipeline, compared by a judge.",
    no_args_is_help=True,
)


@app.command()
def run(
    file: Annotated[Path, typer.Argument(help="The gym's file (YAML).", show_default=False)],
    plan: PlanOnly = False,
    retry_failed: RetryFailed = False,
    as_json: AsJson = False,
) -> None:
    """Have every candidate work on every case, judge what they make, and write a page.

    Stopped, it goes on with the same command: what is made and judged is not asked again.
    """

    from deployments.cli.environment import prepare_environment
    from judge_gym.gyms.evaluating import read_gym
    from judge_gym.settings import settings

    # A mistake in a file is said before any server is started.
    loaded = read_gym(file)
    if not as_json:
        console.print(loaded.labels, markup=False, soft_wrap=True)
    prepare_environment(settings().data_dir, verbose=False)
    if plan:
        _plan(loaded)
        return
    _run(file, loaded, retry_failed=retry_failed, as_json=as_json)


def _plan(loaded: "LoadedGym") -> None:
    import asyncio

    from deployments.cli.estimates import show_uses
    from judge_gym.gyms.evaluating import plan

    title = f"What {loaded.gym.name} will use at most, {counted(len(loaded.cases), 'case')}"
    show_uses(title, asyncio.run(_in_runtime(plan, loaded)))
    console.print("An answer that cannot be read is asked for once more, which is a call more.")


def _run(file: Path, loaded: "LoadedGym", *, retry_failed: bool, as_json: bool) -> None:
    import asyncio

    from deployments.cli.prefect_api import prefect_api
    from deployments.cli.running import lost_servers_named, result_of, simulator_for
    from judge_gym.gyms.evaluating import read_report

    models = [loaded.judge.answered_by, *(one.asks or "" for one in loaded.gym.candidates)]
    with (
        simulator_for(models),
        prefect_api("flows.gym"),
        lost_servers_named(),
    ):
        from flows.gym import gym
        from flows.judged_items import PartlyJudgedError

        made: Any = gym(file, retry_failed=retry_failed, return_state=True)
        state = asyncio.run(made)
        with suppress(PartlyJudgedError):
            result_of(state)
        report = asyncio.run(_in_runtime(read_report, loaded))
        if as_json:
            _print_json(report)
        else:
            _show(report)
        page = result_of(state)
    if not as_json:
        console.print(f"The page: {page.resolve()}", markup=False, soft_wrap=True)


async def _in_runtime(read: "Callable[[Runtime, LoadedGym], T]", loaded: "LoadedGym") -> "T":
    from judge_gym.runtime import runtime

    async with runtime() as current:
        return read(current, loaded)


def _show(report: "GymReport") -> None:
    from judge_gym.formats import figure, p_value

    judged = f"{report.loaded.gym.name}, judged by {report.loaded.judge.name}"
    show_table(
        f"{marked(judged, simulated=report.simulated)}, points of 100",
        ("measure", "candidate", "mean", "cases"),
        [
            (measure, name, figure(found, 1), found.n_items)
            for measure, estimates in report.means.items()
            for name, found in zip(report.names, estimates, strict=True)
        ],
    )
    if report.comparisons:
        show_table(
            "A candidate less another, case by case (p by sign flips, after Holm)",
            ("measure", "candidate", "less", "difference", "p", "cases", "left out"),
            [
                (
                    one.measure,
                    one.candidate,
                    one.less,
                    figure(one.difference, 1),
                    p_value(one.difference.p),
                    one.difference.n_items,
                    one.left_out,
                )
                for one in report.comparisons
            ],
        )
    for name, failures in zip(report.names, report.failures, strict=True):
        for failure, count in failures.most_common(3):
            told = f"{name}, {count} of {len(report.entries)} without a score: {failure}"
            console.print(told, markup=False, soft_wrap=True)
    if report.simulated:
        say_simulated()


def _print_json(report: "GymReport") -> None:
    from judge_gym.report.gym import case_rows, figure_rows

    told = {
        "name": report.loaded.gym.name,
        "judge": report.loaded.judge.name,
        "simulated": report.simulated,
        "judge_cost_usd": _known(report.judge_cost),
        "costs_usd": dict(zip(report.names, map(_known, report.costs), strict=True)),
        "figures": list(figure_rows(report)),
        "cases": list(case_rows(report)),
    }
    console.print_json(json.dumps(told))


def _known(cost: float) -> float | None:
    return None if math.isnan(cost) else cost
