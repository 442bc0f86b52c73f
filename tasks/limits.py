"""Declaring the concurrency limits that the tasks' tags refer to."""

from prefect.client.orchestration import get_client

from tasks.policy import provider_tag
from tasks.runtime import runtime


async def declare_limits() -> None:
    """Create or update the tag limit of every provider in the providers file; idempotent."""
    async with runtime() as current, get_client() as client:
        for provider in current.providers.by_name.values():
            await client.upsert_global_concurrency_limit_by_name(
                f"tag:{provider_tag(provider.name)}", provider.task_slots
            )
