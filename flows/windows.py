"""Windows: the evidence of a day or a week, on a schedule, each window once."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.runtime import flow_run
from pydantic import Field

from flows.chunks import Tally
from flows.claiming import alone
from flows.names import of_rolling
from flows.progress import Counted
from judge_gym.design.rolling import Cadence, load_rolling, periods
from judge_gym.lab.rolling import plan_collection
from tasks.events import tell_failure
from tasks.lab import collect_window
from tasks.runtime import runtime


@flow(name="windows", flow_run_name=of_rolling, on_failure=[tell_failure])
async def windows(
    file: Path,
    cadence: Cadence = "daily",
    catch_up: Annotated[int, Field(ge=0, le=366)] = 0,
) -> State[None]:
    """Collect the windows of the last whole day or week before the time this run was scheduled for.

    However late it runs, and however often, it stands for the same windows; what was collected is
    not collected again.

    Args:
        file: the file that says what is searched for, as this process sees it.
        cadence: whether windows are days, or weeks from Monday to Sunday.
        catch_up: so many days or weeks before that one are collected too, where they are missing,
            as after an outage.
    """
    rolling = load_rolling(file)
    wanted = periods(cadence, flow_run.scheduled_start_time, rolling.time_zone, catch_up)
    async with runtime() as current, alone(current, "rolling windows", [rolling.name]):
        with current.session() as session:
            missing, had = plan_collection(session, rolling, wanted)
        tally = await _collected(missing)
        tally.outcomes["collected before"] = had
        return await tally.state(current)


async def _collected(window_ids: Sequence[int]) -> Tally:
    """Collect these windows; one that cannot be collected leaves the others alone."""
    tally, progress = Tally(), Counted("windows", len(window_ids))
    await progress.add({})
    for window_id in window_ids:
        try:
            kept = await collect_window(window_id)
        except Exception as error:
            tally.problems.append(f"window {window_id}: {error}")
            await progress.add({"failed": 1})
        else:
            tally.outcomes["collected"] += 1
            await progress.add({"collected": 1})
            tally.outcomes["documents kept"] += kept.get("kept", 0)
    return tally
