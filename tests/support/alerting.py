"""Automations that post to a receiver, on the Prefect server of the environment."""

import asyncio
import copy
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import UUID, uuid4

from prefect.blocks.webhook import Webhook
from prefect.client.orchestration import get_client
from prefect.events import AutomationCore
from pydantic import SecretStr

from support.receiver import Receiver, receiver


@contextmanager
def posting(automations: Sequence[dict[str, Any]]) -> Iterator[Receiver]:
    """A receiver that automations, as their files describe them, post to during the block."""
    # Of its own: to save a block under a name that another test uses would take its posts away.
    block = f"judge-gym-test-{uuid4().hex[:8]}"
    with receiver() as kept:
        made = asyncio.run(_created(automations, block, kept.url))
        try:
            yield kept
        finally:
            asyncio.run(_deleted(made, block))


async def _created(automations: Sequence[dict[str, Any]], name: str, url: str) -> list[UUID]:
    block = await Webhook(url=SecretStr(url)).asave(name)
    made = []
    async with get_client() as client:
        for described in copy.deepcopy(list(automations)):
            described["actions"][0]["block_document_id"] = str(block)
            made.append(await client.create_automation(AutomationCore.model_validate(described)))
    return made


async def _deleted(automations: Sequence[UUID], block: str) -> None:
    async with get_client() as client:
        for automation in automations:
            await client.delete_automation(automation)
    await Webhook.adelete(block)
