"""Batches of calls, as their provider and as the store describe them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

ProviderStatus = Literal["submitted", "cancelling", "completed", "failed", "expired", "cancelled"]
BatchCause = Literal["quota", "queue", "size"]
"""Why a whole batch was not executed, where sending it directly is no remedy: no money, too much in
the provider's queue, or too large."""


@dataclass(frozen=True)
class ProviderBatch:
    """A batch as its provider describes it."""

    id: str
    status: ProviderStatus
    input_file_id: str | None = None
    """None at providers without files, as are the other two."""
    output_file_id: str | None = None
    error_file_id: str | None = None
    error: str = ""
    """Why validation failed; "" otherwise."""
    cause: BatchCause | None = None
    """The class of `error`, where its calls belong in a batch again."""
    note: str = ""
    """What the provider says of it that is not understood; "" otherwise."""


@dataclass(frozen=True)
class StoredBatch:
    """A batch as it is stored; `answered` and `failed` count calls once it has ended."""

    id: int
    key: str
    """Our own name for it, which its metadata or its requests at the provider have."""
    provider: str
    model: str
    status: str
    calls: int
    answered: int
    failed: int
    input_file_id: str | None
    provider_batch_id: str | None
    error: str | None
    created_at: datetime
    requested_at: datetime | None
    """When its creation was requested; None while the provider certainly does not have it."""
    submitted_at: datetime | None
    polled_at: datetime | None
    ended_at: datetime | None


@dataclass(frozen=True)
class BatchCall:
    """A call of a batch: its messages, and its parameters as planned and as sent."""

    id: int
    messages: list[Any]
    parameters: Mapping[str, Any]
    sent_parameters: Mapping[str, Any] | None
    """None for a call planned before these were recorded."""

    @property
    def given(self) -> Mapping[str, Any]:
        """What is sent of its parameters, as far as it was recorded."""
        return self.sent_parameters or self.parameters
