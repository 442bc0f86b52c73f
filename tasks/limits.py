"""Declaring the concurrency limits that the tasks' tags refer to."""

from prefect.client.orchestration import get_client

from judge_gym.llm.providers import Providers
from tasks.policy import provider_tag
from tasks.runtime import runtime


def limits_of(providers: Providers) -> dict[str, int]:
    """Return the name of each provider's limit → the tasks that may be in progress at once."""
    return {f"tag:{provider_tag(one.name)}": one.task_slots for one in providers.by_name.values()}


async def declare_limits() -> None:
    """Create or update the tag limit of every provider in the providers file; idempotent."""
    async with runtime() as current, get_client() as client:
        for name, slots in limits_of(current.providers).items():
            await client.upsert_global_concurrency_limit_by_name(name, slots)
