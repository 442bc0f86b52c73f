"""One run at a time for the same work, so that nothing is asked twice."""

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from prefect.logging import get_run_logger

from judge_gym.runtime import Runtime
from judge_gym.store.claims import claimed


@asynccontextmanager
async def alone(runtime: Runtime, kind: str, names: Iterable[object]) -> AsyncIterator[None]:
    """Hold the work on these names in the block; a second run waits here until the first ended.

    What is missing is to be planned inside, since the first will have done most of it.
    """

    def waiting() -> None:
        get_run_logger().warning("Another run is at work on these %s: waiting for it.", kind)

    async with claimed(runtime.engine, kind, names, waiting):
        yield
