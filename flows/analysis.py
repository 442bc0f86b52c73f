"""Analysis: every figure of a sweep, with its uncertainty, as result rows."""

from prefect import flow
from prefect.logging import get_run_logger
from prefect.runtime import deployment

from flows.endings import resumable
from flows.forms import analysis_run_name
from judge_gym.errors import first_line
from tasks.analysis import analyse_sweep, show_results
from tasks.events import emit_failure
from tasks.runtime import runtime


@flow(
    name="analysis",
    flow_run_name=analysis_run_name,
    on_failure=[emit_failure],
)
@resumable
async def analysis(sweep: str) -> int:
    """Analyse a sweep; returns the id of the analysis run.

    A run of a deployment writes the report too, where it runs; a command does so by itself.

    Args:
        sweep: the sweep's name.
    """
    async with runtime():
        run_id = await analyse_sweep(sweep)
        try:
            await show_results(sweep, run_id, with_report=deployment.id is not None)
        except Exception as error:  # its task has failed; the figures are there
            get_run_logger().warning("The figures cannot be shown: %s", first_line(error))
    return run_id
