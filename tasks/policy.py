"""The policy of tasks that write: retries, time limits, and the concurrency limits of providers."""

from typing import Any

from prefect.cache_policies import NO_CACHE
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import State, TaskRun
from prefect.exceptions import ObjectAlreadyExists
from prefect.tasks import Task, exponential_backoff

from judge_gym.errors import JudgeGymError
from judge_gym.llm.providers import Providers
from tasks.runtime import runtime

SOURCES = {"firecrawl": 2}
"""Kind of a source that is a service → windows that may be collected from it at once."""
LAUNCHED = "launched-by-a-sweep"
"""The tag of a flow run that a sweep launched; the sweep reports how it ended."""
PARTIAL_FAILURE = "partial-failure"
"""The tag of a flow run whose work failed in part. A sweep goes on after one that it launched."""


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


def limits_of(providers: Providers) -> dict[str, int]:
    """Return the name of each provider's limit → the tasks that may be in progress at once."""
    slots = {provider.name: provider.task_slots for provider in providers.by_name.values()}
    return {f"tag:{provider_tag(name)}": most for name, most in {**slots, **SOURCES}.items()}


async def declare_limits() -> None:
    """Create or update the tag limit of every provider in the providers file; idempotent."""
    async with runtime() as current, get_client() as client:
        stored = await client.read_global_concurrency_limits(limit=200)
        declared = {(limit.name, limit.limit) for limit in stored}
        for name, slots in limits_of(current.providers).items():
            if (name, slots) in declared:
                continue
            try:
                await client.upsert_global_concurrency_limit_by_name(name, slots)
            except ObjectAlreadyExists:  # another run created it after this one had looked
                await client.upsert_global_concurrency_limit_by_name(name, slots)
