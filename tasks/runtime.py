"""The runtime as flows and tasks open it: it finds keys in Prefect's Secret blocks too."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from prefect.runtime import flow_run

from judge_gym import runtime as library
from judge_gym.logs import of_run
from judge_gym.runtime import Runtime
from judge_gym.settings import Layers
from tasks.keys import secret_block


@asynccontextmanager
async def runtime(layers: Layers = ()) -> AsyncIterator[Runtime]:
    """Open the runtime of this event loop, or share the one already open; logs name the run."""
    with of_run(flow_run.id):
        async with library.runtime(layers, secret_block) as opened:
            yield opened
