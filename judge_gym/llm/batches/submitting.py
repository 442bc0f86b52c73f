"""Sending batches, asking after them, taking them in and cancelling them.

Every step can be repeated: what was done is found again, in the database or at the provider.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import Engine

from judge_gym.counting import counted
from judge_gym.errors import ConfigError, JudgeGymError
from judge_gym.llm.batches.anthropic import AnthropicBatches
from judge_gym.llm.batches.clients import BatchClient, Bodies, limit_met
from judge_gym.llm.batches.openai import OpenAIBatches
from judge_gym.llm.gateway import Gateway, ProviderRefusedError, refusal
from judge_gym.llm.keys import Keys
from judge_gym.llm.providers import Providers
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


PATIENCE = timedelta(hours=1)
"""How long a batch that its provider does not find is waited for, from its creation on. Anthropic's
and OpenAI's lists and look-ups may lack a new batch for minutes."""
PATIENCE_FOR_ANSWERS = timedelta(hours=24) + PATIENCE
"""As long for answers that are not found; a batch has 24 hours."""


class BatchError(JudgeGymError):
    """A batch that a person named cannot be cancelled."""


class BatchRefusedError(JudgeGymError):
    """A provider takes no batch of calls whose direct price was not planned for."""


class Batches:
    """Submits batches and fetches their answers.

    Their calls and outcomes count in `gateway`, with those that are sent directly.
    """

    def __init__(
        self,
        engine: Engine,
        providers: Providers,
        keys: Keys,
        timeout_s: float,
        gateway: Gateway,
    ) -> None:
        self._engine = engine
        self._providers = providers
        self._keys = keys
        self._timeout_s = timeout_s
        self._gateway = gateway

    async def submit(self, model: str, call_ids: Sequence[int]) -> None:
        """Plan a batch of calls to one model and send it, in parts where it is too large.

        What the provider does not take now stays planned and is sent by `collect`. Raises
        `BatchRefusedError` when it takes no batch of these calls, which then are in none;
        `ProviderRefusedError` when it refuses every call; `ConfigError` when the key is missing.
        """
        self._gateway.check_refused(model)
        provider = self._providers.of(model)
        await self._keys.of(provider)
        await self._gateway.hourly.count(model, len(call_ids))
        batch_id = await asyncio.to_thread(store.plan, self._engine, provider.name, model, call_ids)
        if batch_id is None:
            return
        try:
            await self._advance_all(batch_id)
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
                    await self._advance_all(batch_id)
                except ProviderError as error:
                    problems.add(str(error))
                except (ConfigError, BatchRefusedError) as error:
                    problems.add(error.message.rstrip("."))

        async with asyncio.TaskGroup() as group:
            for batch_id in await asyncio.to_thread(store.open_ids, self._engine):
                group.create_task(one(batch_id))
        return sorted(problems)

    async def cancel(self, batch_id: int) -> str:
        """Cancel an open batch; returns its status then. Raises `BatchError` when it cannot be.

        Its calls are cancelled once the provider has ended it; answers it gave are kept. A batch
        that the provider does not find, or whose answers cannot be read, ends at once.
        """
        async with self._claimed(batch_id) as batch:
            if batch is None:
                raise BatchError(
                    f"There is no open batch {batch_id}, or another process is handling it.",
                    "See `judge-gym sweep batches list`; try again if it is listed as open.",
                )
            client = await self._client(batch)
            try:
                theirs = await self._sent_or_gone(client, batch)
                if theirs is None:
                    why = _WITHOUT_ANSWER["cancelled"]
                    await self._write(store.ended, batch.id, "cancelled", {}, why)
                    return "cancelled"
                await self._write(store.submitted, batch.id, theirs)
                if theirs.status == "submitted":
                    theirs = await client.cancel(theirs.id)
                if theirs.status in ("submitted", "cancelling"):
                    await self._write(store.polled, batch.id, "cancelling")
                else:
                    await self._take_in(client, batch, theirs, anyway=True)
            except ProviderError as error:
                raise BatchError(f"{batch.provider} does not cancel the batch: {error}") from None
        return "cancelling" if theirs.status == "submitted" else theirs.status

    async def _advance_all(self, batch_id: int) -> None:
        """Do the next step of an open batch, and of those that take its place."""
        ids = [batch_id]
        while ids:
            current, *ids = ids
            try:
                ids = [*await self._advance(current), *ids]
            except BatchRefusedError as error:
                for rest in ids:
                    await self._release(rest, error.message)
                raise

    async def _advance(self, batch_id: int) -> list[int]:
        """Do the next step of an open batch, unless another process is at it.

        Returns the ids of smaller batches that take its place now. Raises, and stores with the
        batch, why its provider cannot be asked.
        """
        async with self._claimed(batch_id) as batch:
            if batch is None:
                return []
            try:
                client = await self._client(batch)
                if batch.status == "planned":
                    return await self._send(client, batch)
                return await self._ask_after(client, batch)
            except (ProviderError, ConfigError) as error:
                await self._write(store.unreachable, batch.id, str(error))
                raise

    async def _send(self, client: BatchClient, batch: StoredBatch) -> list[int]:
        """Have the provider work on a planned batch, once, whoever was killed at it before."""
        if batch.requested_at is None and not self._providers.of(batch.model).batch:
            await self._write(store.replaced, batch, (), "batches were switched off")
            return []
        if batch.error is not None and await asyncio.to_thread(self._waits_for_queue, batch):
            raise ProviderError("rate_limit", batch.error)
        try:
            theirs = await self._sent(client, batch) or await self._create(client, batch)
        except ProviderError as error:
            limit = limit_met(error.status, str(error))
            if error.kind in _LATER or limit == "queue":
                raise
            if limit == "size" and batch.calls > 1:
                return await self._halved(batch, f"{batch.provider} refused it: {error}")
            refused = self._refused(batch, str(error))
            await self._write(store.replaced, batch, (), refused.message)
            raise refused from None
        await self._write(store.submitted, batch.id, theirs)
        return []

    def _waits_for_queue(self, batch: StoredBatch) -> bool:
        return store.sent_before(self._engine, batch) and store.others_at_work(self._engine, batch)

    async def _halved(self, batch: StoredBatch, why: str) -> list[int]:
        half = (batch.calls + 1) // 2
        sizes = (half, batch.calls - half)
        message = f"{why} Its {batch.calls} calls go in batches of {half}."
        return await asyncio.to_thread(store.replaced, self._engine, batch, sizes, message)

    def _refused(self, batch: StoredBatch, why: str) -> BatchRefusedError:
        return BatchRefusedError(
            f"{batch.provider} takes no batch of {counted(batch.calls, 'call')} to {batch.model}: "
            f"{why}",
            "Nothing was sent directly, at the full price. Correct what the provider names, or set "
            f"batch = false in [{batch.provider}] of {self._providers.file} to send these calls "
            "directly. Then rerun the command.",
        )

    async def _release(self, batch_id: int, why: str) -> None:
        """Take the calls of a batch that was not requested out of it."""
        async with self._claimed(batch_id) as batch:
            if batch is not None and batch.status == "planned" and batch.requested_at is None:
                await self._write(store.replaced, batch, (), why)

    async def _sent(self, client: BatchClient, batch: StoredBatch) -> ProviderBatch | None:
        """Return the provider's batch if it was made already; only a listing can tell."""
        if batch.provider_batch_id:
            return await client.retrieve(batch.provider_batch_id)
        if batch.requested_at is None:
            return None
        return await self._find(client, batch)

    async def _sent_or_gone(self, client: BatchClient, batch: StoredBatch) -> ProviderBatch | None:
        try:
            return await self._sent(client, batch)
        except ProviderError as error:
            if error.kind != "not_found" or not batch.provider_batch_id:
                raise
            return None

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

    async def _ask_after(self, client: BatchClient, batch: StoredBatch) -> list[int]:
        assert batch.provider_batch_id is not None
        theirs: ProviderBatch | None
        try:
            theirs = await client.retrieve(batch.provider_batch_id)
        except ProviderError as error:
            if error.kind != "not_found":
                raise
            # A wrong address knows no batch either: it is lost when the list lacks it as well.
            theirs = await self._find(client, batch)
            if theirs is None:
                _check_patience(batch, PATIENCE, f"its batch {batch.provider_batch_id}", error)
                why = _WITHOUT_ANSWER["vanished"]
                await self._write(store.ended, batch.id, "vanished", {}, why)
                return []
        if theirs.status not in ("submitted", "cancelling"):
            return await self._take_in(client, batch, theirs)
        await self._write(store.polled, batch.id, theirs.status)
        if theirs.note:
            raise ProviderError(
                "unreadable",
                f"{batch.provider}, batch {theirs.id}: {theirs.note}. "
                f"To give it up: judge-gym sweep batches cancel {batch.id}",
            )
        return []

    async def _take_in(
        self,
        client: BatchClient,
        batch: StoredBatch,
        theirs: ProviderBatch,
        *,
        anyway: bool = False,
    ) -> list[int]:
        """End a batch with its answers; `anyway`, also where they are not found or not understood.

        Returns the ids of smaller batches that take its place now.
        """
        if theirs.status == "failed" and theirs.cause is not None and not anyway:
            return await self._not_executed(batch, theirs)
        keys = await asyncio.to_thread(store.keys_of_batch, self._engine, batch.id)
        why = _WITHOUT_ANSWER.get(theirs.status) or f"the batch did not pass: {theirs.error}"
        outcomes: dict[int, Answer | Failure] = {}
        try:
            lines, named = await _read_lines(client, batch, theirs, keys, outcomes)
        except ProviderError as error:
            if error.kind != "not_found":
                raise ProviderError(
                    error.kind,
                    f"{batch.provider}: the answers of batch {theirs.id} could not be read yet: "
                    f"{error}",
                    status=error.status,
                ) from None
            if not anyway:
                what = f"the answers of its batch {theirs.id}"
                _check_patience(batch, PATIENCE_FOR_ANSWERS, what, error)
            why = f"the answers of the batch are gone: {error}"
        else:
            if lines and not named and not anyway:
                raise ProviderError(
                    "unreadable",
                    f"{batch.provider}, batch {theirs.id}: none of its {counted(lines, 'line')} "
                    "names a call that was sent. It is kept, and its calls are not sent again. "
                    f"To give it up: judge-gym sweep batches cancel {batch.id}",
                )
        await self._write(store.ended, batch.id, theirs.status, outcomes, why, theirs)
        self._gateway.batch_ended(
            batch.model, {keys[call_id]: end for call_id, end in outcomes.items()}
        )
        return []

    async def _not_executed(self, batch: StoredBatch, theirs: ProviderBatch) -> list[int]:
        """Put the calls of a batch that failed for money or for its size in batches again.

        Returns the ids of those to send now. Without money, or when one call is too much, the calls
        are in no batch any more and the model gets no more calls in this run.
        """
        said = f"{batch.provider} did not execute batch {theirs.id}: {theirs.error}"
        if theirs.cause == "queue":
            why = f"{said} Its {counted(batch.calls, 'call')} go in a batch when the others end."
            if await asyncio.to_thread(store.put_off, self._engine, batch, why):
                return []
        if theirs.cause != "quota" and batch.calls > 1:
            return await self._halved(batch, said)
        await self._write(store.replaced, batch, (), said)
        if theirs.cause == "quota":
            quota = ProviderError("quota", theirs.error)
            refused = refusal(batch.model, self._providers.of(batch.model), quota)
        else:
            error = self._refused(batch, theirs.error)
            refused = error.message, error.remedy
        self._gateway.refuse(batch.model, *refused)
        return []

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
        provider = self._providers.of(batch.model)
        key = await self._keys.of(provider)
        # By its API: an open batch is taken in although no more are sent (`batch = false`).
        anthropics = (provider.litellm or provider.name) == "anthropic"
        client = AnthropicBatches if anthropics else OpenAIBatches
        return client(provider, key.get_secret_value(), self._timeout_s)


async def _read_lines(
    client: BatchClient,
    batch: StoredBatch,
    theirs: ProviderBatch,
    keys: Mapping[int, str],
    outcomes: dict[int, Answer | Failure],
) -> tuple[int, int]:
    """Fill `outcomes` by call id; returns how many lines there are, and how many name a call."""
    lines = named = 0
    async for line in client.outcomes(batch, theirs):
        lines += 1
        if line is None or line[0] not in keys:
            continue
        named += 1
        call_id, outcome = line
        # The first answer counts.
        if outcome is not None and not isinstance(outcomes.get(call_id), Answer):
            outcomes[call_id] = outcome
    return lines, named


def _check_patience(
    batch: StoredBatch, patience: timedelta, what: str, error: ProviderError
) -> None:
    """Raise `ProviderError` while something that the provider does not find is waited for."""
    until = (batch.submitted_at or batch.created_at) + patience
    if datetime.now(UTC) < until:
        raise ProviderError(
            "not_found",
            f"{batch.provider} does not find {what} ({error}). It is waited for until "
            f"{until.astimezone(UTC):%Y-%m-%d %H:%M} UTC; until then its calls are not sent again",
        )
