"""`judge-gym judge review`: judges in use, beside their alternatives and their last review."""

from datetime import date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from deployments.cli.options import PlanOnly, RetryFailed
from deployments.cli.output import console, say_simulated, show_table

if TYPE_CHECKING:
    from judge_gym.judges.reviewing.cases import Review
    from judge_gym.store.reviews import ReviewRow


def review(
    file: Annotated[Path, typer.Argument(help="The review file (YAML).", show_default=False)],
    day: Annotated[
        datetime | None,
        typer.Option(
            "--date",
            formats=["%Y-%m-%d"],
            help="The day the review stands for; the same day again asks nothing twice.",
            show_default="today, in the time zone of the file",
        ),
    ] = None,
    plan: PlanOnly = False,
    retry_failed: RetryFailed = False,
) -> None:
    """Ask judges in use and their alternatives anew; say which to keep and which to reconsider.

    A person decides: it changes nothing. Stopped, it goes on with the same command and date.
    """
    from datetime import UTC

    from judge_gym.design.rolling import day_of
    from judge_gym.judges.reviewing.cases import load_review

    # A mistake in a file is said before any server is started.
    loaded = load_review(file)
    for case in loaded.cases:
        console.print(f"{case.judge.name}: {case.labels}", markup=False, soft_wrap=True)
    of = day.date() if day else day_of(datetime.now(UTC), loaded.file.time_zone)
    if plan:
        _plan(loaded, of)
        return
    page = _run(file, loaded, of, retry_failed=retry_failed)
    console.print(f"The page: {page.resolve()}", markup=False, soft_wrap=True)


def _plan(loaded: "Review", of: date) -> None:
    from deployments.cli.estimates import show_judging

    show_judging(f"What the review {loaded.file.name} of {of} will use", loaded.asked, str(of))


def _run(file: Path, loaded: "Review", of: date, *, retry_failed: bool) -> Path:
    import asyncio

    from deployments.cli.database import database
    from deployments.cli.environment import prepare_environment
    from deployments.cli.prefect_api import prefect_api
    from deployments.cli.running import lost_servers_named, result_of, simulator_for
    from judge_gym.settings import settings
    from judge_gym.store.reviews import reviews_of

    prepare_environment(settings().data_dir, verbose=False)
    with (
        simulator_for(one.answered_by for one in loaded.judges.values()),
        prefect_api("flows.judge_review"),
        lost_servers_named(),
    ):
        from flows.judge_review import judge_review

        made: Any = judge_review(file, of, retry_failed=retry_failed, return_state=True)
        page = result_of(asyncio.run(made))
        with database() as session:
            _show([one for one in reviews_of(session, of) if one.review == loaded.file.name])
    return Path(page)


def _show(rows: "list[ReviewRow]") -> None:
    show_table(
        "Judges in use, and what could stand in their place",
        ("judge", "alternative", "recommendation", "why"),
        [
            (
                one.figures["judge"],
                one.figures["alternative"] or "its last review",
                one.recommendation,
                one.reason,
            )
            for one in rows
        ],
    )
    console.print("A person decides: nothing was changed.")
    if any(one.simulated for one in rows):
        say_simulated()
