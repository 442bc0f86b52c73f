"""The common policy of tasks that write: never cached, retried with jitter, not for user errors."""

from typing import Any

from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State, TaskRun
from prefect.tasks import Task, exponential_backoff

from judge_gym.errors import JudgeGymError

LAUNCHED = "launched-by-a-sweep"
"""The tag of a flow run whose sweep runs it again, and says how it ended."""


async def may_pass(_task: Task[..., Any], _run: TaskRun, state: State[Any]) -> bool:
    """Whether a failure may pass by itself: an error the user has to mend does not."""
    error = await state.aresult(raise_on_failure=False)
    return not isinstance(error, JudgeGymError)


# The database decides what is missing, so a result from Prefect's cache would lose replicates.
WRITING: dict[str, Any] = {
    "cache_policy": NO_CACHE,
    "persist_result": False,
    "retries": 2,
    "retry_delay_seconds": exponential_backoff(2),
    "retry_jitter_factor": 0.5,
    "retry_condition_fn": may_pass,
    # Of chunks, flows set it from the settings; it bounds the others.
    "timeout_seconds": 1800,
}


def provider_tag(provider: str) -> str:
    """Return the tag whose concurrency limit bounds the tasks that use a provider."""
    return f"provider:{provider}"
