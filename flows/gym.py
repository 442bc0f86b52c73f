"""A gym: candidates make something of every case, a judge evaluates it, a page compares."""

import asyncio
from pathlib import Path

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.states import Completed

from flows.chunks import Tally, Work, run_chunks
from flows.claiming import alone
from flows.judged_items import PartlyJudgedError, judge_missing
from judge_gym.asking.budgeting import BudgetPassedError
from judge_gym.gyms.evaluating import LoadedGym, answers_of, items_of, lacking, made, read_gym
from judge_gym.runtime import Runtime
from tasks.events import tell_failure
from tasks.judges import make_candidates, report_gym
from tasks.policy import declare_limits
from tasks.runtime import runtime


@flow(name="gym", flow_run_name="gym {file.name}", on_failure=[tell_failure])
async def gym(file: Path, retry_failed: bool = False) -> State[Path]:
    """Have made and judged what is still missing, then write the page; the state's data is it.

    One flow for all gyms, since only what a case and a candidate are differs; each gym has a
    deployment of its own. Budgets of judges and of candidates that write stop new work once passed;
    the page is then of what there is, and the flow fails.

    Args:
        file: the gym's file, as this process sees it.
        retry_failed: ask again for what is kept as failed.
    """
    loaded = read_gym(file)
    async with runtime() as current, alone(current, "gyms", [loaded.gym.name]):
        try:
            tally = await _make_missing(current, file, loaded, retry_failed=retry_failed)
            outputs = await asyncio.to_thread(made, current, loaded)
            tally.answers += answers_of(loaded, outputs)
            items = items_of(loaded, outputs)
            judged = await judge_missing(current, [loaded.judge], items, retry_failed=retry_failed)
        except BudgetPassedError as stopped:
            raise PartlyJudgedError(stopped, await report_gym(file)) from stopped
        tally.add(judged)
        page = await report_gym(file)
        state = await tally.state(current)
    return state if state.is_failed() else Completed(message=state.message, data=page)


async def _make_missing(
    runtime: Runtime, file: Path, loaded: LoadedGym, *, retry_failed: bool
) -> Tally:
    outputs = await asyncio.to_thread(made, runtime, loaded)
    models = {one.name: one.asks for one in loaded.gym.candidates}
    works = [
        Work(
            make_candidates,
            runtime.providers.of(model).name if (model := models[name]) else "",
            cases,
            f"cases by {name}",
            {"file": file, "candidate": name, "retry_failed": retry_failed},
        )
        for name, cases in lacking(loaded, outputs, retry_failed=retry_failed).items()
    ]
    if not works:
        return Tally()
    await declare_limits()
    return await run_chunks(runtime, "cases", works)
