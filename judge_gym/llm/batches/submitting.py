"""Sending batches, asking after them, taking them in and cancelling them.

Every step can be repeated: what was done is found again, in the database or at the provider.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

from sqlalchemy import Engine

from judge_gym.errors import ConfigError, JudgeGymError
from judge_gym.llm.batches.anthropic import AnthropicBatches
from judge_gym.llm.batches.clients import BatchClient, Bodies
from judge_gym.llm.batches.openai import OpenAIBatches
from judge_gym.llm.gateway import ProviderRefusedError, refusal
from judge_gym.llm.hourly import Hourly
from judge_gym.llm.keys import Keys
from judge_gym.llm.providers import Provider, Providers
from judge_gym.llm.responses import without_messages
from judge_gym.records.batches import ProviderBatch, StoredBatch
from judge_gym.records.calls import (
    NO_ANSWER,
    PASSING,
    SHARED,
    Answer,
    Failure,
    FailureKind,
    ProviderError,
)
from judge_gym.store import batches as store

AT_ONCE = 4
"""Batches asked after at once; each holds a connection to the database meanwhile."""
_LATER: frozenset[FailureKind] = PASSING | {"authentication", "quota", "no_access", "unreachable"}
"""Failures after which a batch stays planned: it may be sent later, or may have been."""
_MAYBE_DONE: frozenset[FailureKind] = NO_ANSWER | {"server"}
"""Failures after which the provider may have done what it was asked."""
_WITHOUT_ANSWER = {
    "completed": "the batch ended without a line about it",
    "expired": "the batch expired before it was answered",
    "cancelled": "the batch was cancelled before it was answered",
    "vanished": "the provider does not know the batch any more",
}


Count = Callable[[str, Mapping[str, Answer | Failure]], None]
"""(model, call key → outcome): counts the outcomes of a batch for the early stop."""


class BatchError(JudgeGymError):
    """A batch that a person named cannot be cancelled."""


class Batches:
    """Submits batches and fetches their answers; gives `count` the outcomes of each.

    Their calls count in `hourly`, with those that are sent directly.
    """

    def __init__(
        self,
        engine: Engine,
        providers: Providers,
        keys: Keys,
        timeout_s: float,
        count: Count,
        hourly: Hourly,
    ) -> None:
        self._engine = engine
        self._providers = providers
        self._keys = keys
        self._timeout_s = timeout_s
        self._count = count
        self._hourly = hourly

    async def submit(self, model: str, call_ids: Sequence[int]) -> None:
        """Plan a batch of calls to one model and send it.

        What the provider does not take now stays planned and is sent by `collect`; what it will
        never take ends as failed. Raises `ConfigError` when the key is missing.
        """
        provider = self._providers.of(model)
        await self._keys.of(provider)
        await self._hourly.count(model, len(call_ids))
        batch_id = await asyncio.to_thread(store.plan, self._engine, provider.name, model, call_ids)
        if batch_id is None:
            return
        try:
            await self._advance(batch_id)
        except ProviderError as error:
            if error.kind in SHARED:
                raise ProviderRefusedError(*refusal(model, provider, error)) from None

    async def collect(self) -> list[str]:
        """Send what is still planned, ask after the rest, and take in what has ended.

        A batch whose provider cannot be asked stays as it is; returns why, once for each reason.
        """
        turns = asyncio.Semaphore(AT_ONCE)
        problems: set[str] = set()

        async def one(batch_id: int) -> None:
            async with turns:
                try:
                    await self._advance(batch_id)
                except (ProviderError, ConfigError) as error:
                    problems.add(str(error))

        async with asyncio.TaskGroup() as group:
            for batch_id in await asyncio.to_thread(store.open_ids, self._engine):
                group.create_task(one(batch_id))
        return sorted(problems)

    async def cancel(self, batch_id: int) -> str:
        """Cancel an open batch; returns its status then. Raises `BatchError` when it cannot be.

        Its calls are cancelled once the provider has ended it; answers it gave are kept.
        """
        async with self._claimed(batch_id) as batch:
            if batch is None:
                raise BatchError(
                    f"There is no open batch {batch_id}, or another process is handling it.",
                    "See `judge-gym sweep batches list`; try again if it is listed as open.",
                )
            client = await self._client(batch)
            try:
                theirs = await self._sent(client, batch)
                if theirs is None:
                    why = _WITHOUT_ANSWER["cancelled"]
                    await self._write(store.ended, batch.id, "cancelled", {}, why)
                    return "cancelled"
                await self._write(store.submitted, batch.id, theirs)
                theirs = await client.cancel(theirs.id)
                if theirs.status in ("submitted", "cancelling"):
                    await self._write(store.polled, batch.id, "cancelling")
                else:
                    await self._take_in(client, batch, theirs)
            except ProviderError as error:
                raise BatchError(f"{batch.provider} does not cancel the batch: {error}") from None
        return "cancelling" if theirs.status == "submitted" else theirs.status

    async def _advance(self, batch_id: int) -> None:
        """Do the next step of an open batch, unless another process is at it.

        Raises, and keeps with the batch, why its provider cannot be asked.
        """
        async with self._claimed(batch_id) as batch:
            if batch is None:
                return
            try:
                client = await self._client(batch)
                if batch.status == "planned":
                    await self._send(client, batch)
                else:
                    await self._ask_after(client, batch)
            except (ProviderError, ConfigError) as error:
                await self._write(store.unreachable, batch.id, str(error))
                raise

    async def _send(self, client: BatchClient, batch: StoredBatch) -> None:
        """Have the provider work on a planned batch, once, whoever was killed at it before."""
        try:
            theirs = await self._sent(client, batch) or await self._create(client, batch)
        except ProviderError as error:
            if error.kind in _LATER:
                raise
            why = f"the batch was not taken: {error.kind}: {error}"
            await self._write(store.ended, batch.id, "failed", {}, why)
            return
        await self._write(store.submitted, batch.id, theirs)

    async def _sent(self, client: BatchClient, batch: StoredBatch) -> ProviderBatch | None:
        """Return the provider's batch if it was made already; only a listing can tell."""
        if batch.provider_batch_id:
            return await client.retrieve(batch.provider_batch_id)
        if batch.requested_at is None:
            return None
        return await self._find(client, batch)

    async def _find(self, client: BatchClient, batch: StoredBatch) -> ProviderBatch | None:
        others = await asyncio.to_thread(store.other_ids, self._engine, batch)
        return await client.find(batch, others)

    async def _create(self, client: BatchClient, batch: StoredBatch) -> ProviderBatch:
        async def announce(bodies: Bodies, file_id: str | None) -> None:
            sent = {call_id: without_messages(body) for call_id, body in bodies.items()}
            await self._write(store.announced, batch.id, sent, file_id)

        calls = await asyncio.to_thread(store.calls_of_batch, self._engine, batch.id)
        try:
            return await client.create(batch, calls, announce)
        except ProviderError as error:
            if error.kind not in _MAYBE_DONE:
                await self._write(store.refused, batch.id)
            raise

    async def _ask_after(self, client: BatchClient, batch: StoredBatch) -> None:
        assert batch.provider_batch_id is not None
        try:
            theirs = await client.retrieve(batch.provider_batch_id)
        except ProviderError as error:
            # A wrong address knows no batch either: it is lost when the list lacks it as well.
            if error.kind != "not_found" or await self._find(client, batch):
                raise
            why = _WITHOUT_ANSWER["vanished"]
            await self._write(store.ended, batch.id, "vanished", {}, why)
            return
        if theirs.status in ("submitted", "cancelling"):
            await self._write(store.polled, batch.id, theirs.status)
        else:
            await self._take_in(client, batch, theirs)

    async def _take_in(
        self, client: BatchClient, batch: StoredBatch, theirs: ProviderBatch
    ) -> None:
        keys = await asyncio.to_thread(store.keys_of_batch, self._engine, batch.id)
        outcomes: dict[int, Answer | Failure] = {}
        async for call_id, outcome in client.outcomes(batch, theirs):
            # The first answer counts.
            if call_id in keys and not isinstance(outcomes.get(call_id), Answer):
                outcomes[call_id] = outcome
        why = _WITHOUT_ANSWER.get(theirs.status) or f"the batch did not pass: {theirs.error}"
        await self._write(store.ended, batch.id, theirs.status, outcomes, why, theirs)
        self._count(batch.model, {keys[call_id]: end for call_id, end in outcomes.items()})

    @asynccontextmanager
    async def _claimed(self, batch_id: int) -> AsyncIterator[StoredBatch | None]:
        holding = store.locked(self._engine, batch_id)
        batch = await asyncio.to_thread(holding.__enter__)
        try:
            yield batch
        finally:
            await asyncio.to_thread(holding.__exit__, None, None, None)

    async def _write(self, change: Any, *arguments: Any) -> None:
        await asyncio.to_thread(change, self._engine, *arguments)

    async def _client(self, batch: StoredBatch) -> BatchClient:
        provider = self._provider(batch)
        key = await self._keys.of(provider)
        client = AnthropicBatches if provider.batch == "anthropic" else OpenAIBatches
        return client(provider, key.get_secret_value(), self._timeout_s)

    def _provider(self, batch: StoredBatch) -> Provider:
        return self._providers.of(batch.model)
