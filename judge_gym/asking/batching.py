"""Which of a chunk's calls go as batches, and taking in what batches have brought."""

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

from judge_gym.llm.batches.policy import policy_of, split
from judge_gym.records.calls import Call
from judge_gym.runtime import Runtime
from judge_gym.store import batches as store

if TYPE_CHECKING:
    from judge_gym.llm.batches.desk import Desk
    from judge_gym.records.calls import Opened


async def hand_in(runtime: Runtime, calls: Sequence[Call], opened: "Sequence[Opened]") -> bool:
    """Send as batches what the policy says of these new ledger rows; whether there was any.

    A call that has been in a batch is not sent again: what that left open is asked directly.
    """
    new: dict[str, dict[int, None]] = defaultdict(dict)
    for call, row in zip(calls, opened, strict=True):
        if row.answer is None and not row.batched and runtime.providers.of(call.model).batch:
            new[call.model][row.id] = None
    policy = policy_of(runtime.settings)
    sizes = {model: split(len(ids), policy).batches for model, ids in new.items()}
    for model, ids in new.items():
        left = list(ids)
        for size in sizes[model]:
            await _desk(runtime).hand_in(model, left[:size])
            left = left[size:]
    return any(sizes.values())


async def collect(runtime: Runtime) -> list[str]:
    """Take in every batch that has ended; returns why providers could not be asked."""
    return await _desk(runtime).collect()


async def cancel(runtime: Runtime, batch_id: int) -> str:
    """Cancel an open batch; returns its status then. Raises `BatchError` when it cannot be."""
    return await _desk(runtime).cancel(batch_id)


async def any_open(runtime: Runtime) -> bool:
    """Whether there is a batch that has not ended."""
    return bool(await asyncio.to_thread(store.open_ids, runtime.engine))


def _desk(runtime: Runtime) -> "Desk":
    # litellm takes seconds to import, which planning alone must not pay.
    from judge_gym.llm.batches.desk import Desk

    timeout_s = runtime.settings.call_timeout_s
    return Desk(runtime.engine, runtime.providers, runtime.keys, timeout_s)
