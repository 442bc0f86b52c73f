"""The worker processes of one command: no more than it asked for."""

import asyncio

import psutil
from pydantic import SecretStr

from judge_gym.asking.engine import any_batch_open
from judge_gym.runtime import runtime
from judge_gym.settings import Settings
from support.rig import run
from tasks.processes import done, worker_processes


def test_chunks_that_begin_together_start_no_more_processes_than_asked_for(
    database: str,
) -> None:
    async def work() -> int:
        async with (
            runtime(configured=Settings(database_url=SecretStr(database))) as current,
            worker_processes(2),
        ):
            found = await asyncio.gather(*(done(current, any_batch_open) for _ in range(6)))
            assert found == [False] * 6
            return sum("tasks.processes" in one.cmdline() for one in psutil.Process().children())

    assert run(work()) == 2
