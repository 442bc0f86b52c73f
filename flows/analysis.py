"""Analysis: every figure of a sweep, with its uncertainty, as result rows."""

from prefect import flow

from tasks.analysis import analyse_sweep
from tasks.runtime import runtime


@flow(name="analysis", flow_run_name="analyse {sweep}")
async def analysis(sweep: str) -> int:
    """Analyse a sweep; returns the id of the analysis run.

    Args:
        sweep: the sweep's name.
    """
    async with runtime():
        return await analyse_sweep(sweep)
