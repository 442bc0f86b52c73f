"""Batches of calls, as their provider and as the store describe them."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

ProviderStatus = Literal["submitted", "cancelling", "completed", "failed", "expired", "cancelled"]


@dataclass(frozen=True)
class ProviderBatch:
    """A batch as its provider describes it."""

    id: str
    status: ProviderStatus
    input_file_id: str
    output_file_id: str | None
    error_file_id: str | None
    our_key: str
    error: str
    """Why validation failed; "" otherwise."""
    created_at: datetime


@dataclass(frozen=True)
class StoredBatch:
    """A batch as it is stored; `answered` and `failed` count calls once it has ended."""

    id: int
    key: str
    """Our own name for it, which the provider keeps as metadata."""
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
