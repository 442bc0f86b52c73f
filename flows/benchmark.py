"""Benchmark: what judges get right of a set whose answers are known."""

from pathlib import Path

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.states import Completed

from flows.claiming import alone
from flows.judged_items import PartlyJudgedError, judge_missing
from flows.parameters import AtLeastOne, OrLeftOut
from judge_gym.asking.budgeting import BudgetPassedError
from judge_gym.judges.benchmarking import load_judges, load_set
from tasks.events import tell_failure
from tasks.judges import report_benchmark
from tasks.runtime import runtime


@flow(name="benchmark", flow_run_name="benchmark {items.name}", on_failure=[tell_failure])
async def benchmark(
    judges: list[Path],
    items: Path,
    mapping: Path,
    limit: OrLeftOut[AtLeastOne] = None,
    retry_failed: bool = False,
) -> State[Path]:
    """Judge what is still missing, then write the tables; the state's data is that of figures.

    A judge's budget, which stands in its file, stops new work once it is passed; the tables are
    then of what was judged, and the flow fails.

    Args:
        judges: judge files, as this process sees them.
        items: the benchmark's file.
        mapping: what its columns mean.
        limit: judge the first items only.
        retry_failed: ask again for what is kept as failed.
    """
    chosen = load_set(items, mapping, limit)
    loaded = load_judges(judges, chosen)
    async with runtime() as current, alone(current, "benchmarks", [chosen.benchmark.name]):
        try:
            tally = await judge_missing(current, loaded, chosen.items, retry_failed=retry_failed)
        except BudgetPassedError as stopped:
            table = await report_benchmark(judges, items, mapping, limit)
            raise PartlyJudgedError(stopped, table) from stopped
        table = await report_benchmark(judges, items, mapping, limit)
        state = await tally.state(current)
    return state if state.is_failed() else Completed(message=state.message, data=table)
