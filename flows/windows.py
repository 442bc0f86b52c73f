"""Windows: the evidence of a day or a week, on a schedule, each window once."""

from collections.abc import Sequence
from typing import Annotated

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.runtime import flow_run
from pydantic import Field

from flows.endings import resumable
from flows.forms import File, rolling_run_name
from flows.progress import Counted
from flows.running import Run, locked_run
from judge_gym.design.window_files import Cadence, load_rolling, periods
from judge_gym.lab.rolling import plan_collection
from judge_gym.store.engine import database_failure
from tasks.events import emit_failure


@flow(name="windows", flow_run_name=rolling_run_name, on_failure=[emit_failure])
@resumable
async def windows(
    file: File,
    cadence: Cadence = "daily",
    catch_up: Annotated[int, Field(ge=0, le=366)] = 0,
) -> State[None]:
    """Collect the windows of the last whole day or week before the time this run was scheduled for.

    A run is for the same windows, however late it runs. Windows that were collected are not
    collected again.

    Args:
        file: the file that says what is searched for, as this process sees it.
        cadence: whether windows are days, or weeks from Monday to Sunday.
        catch_up: how many days or weeks before that one to collect too, where they are missing,
            as after an outage.
    """
    rolling = load_rolling(file)
    due = periods(cadence, flow_run.scheduled_start_time, rolling.time_zone, catch_up)
    async with locked_run({"rolling windows": [rolling.name]}) as run:
        missing, had = run.query(plan_collection, rolling, due)
        await _collect(run, missing)
        run.summary.outcomes["collected before"] = had
        return await run.state()


async def _collect(run: Run, window_ids: Sequence[int]) -> None:
    """Collect these windows; one that fails leaves the others alone."""
    summary, progress = run.summary, Counted("window", len(window_ids))
    await progress.add({})
    for window_id in window_ids:
        try:
            kept = await run.collect(window_id)
        except Exception as error:
            if database_failure(error):
                raise  # the flow begins again
            summary.problems.append(f"window {window_id}: {error}".rstrip("."))
            await progress.add({"failed": 1})
        else:
            summary.outcomes["collected"] += 1
            await progress.add({"collected": 1})
            summary.outcomes["documents kept"] += kept.get("kept", 0)
