"""The ledger: every call to a model, the batches that carry some, and what limits a provider."""

from datetime import datetime
from decimal import Decimal
from typing import Any, get_args

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Index, Integer, UniqueConstraint
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from judge_gym.records.calls import CostSource
from judge_gym.store.tables.base import Base, created, new_id, one_of, reference

CALL_STATUSES = ("planned", "sent", "succeeded", "failed", "cancelled")
OPEN_BATCHES = ("planned", "submitted", "cancelling")
BATCH_STATUSES = (*OPEN_BATCHES, "completed", "failed", "expired", "cancelled", "vanished")


class Batch(Base):
    """Calls to one model that go to the provider together; written before anything is sent.

    `answered` and `failed` count calls and are known when it has ended; what it is linked to by
    `llm_calls.batch_id` waits while its status is one of `OPEN_BATCHES`.
    """

    __tablename__ = "llm_batches"
    id: Mapped[int] = new_id()
    key: Mapped[str] = mapped_column(unique=True)
    """Our own name for it, which its metadata or its requests at the provider have."""
    provider: Mapped[str]
    model: Mapped[str]
    status: Mapped[str]
    calls: Mapped[int] = mapped_column(Integer)
    answered: Mapped[int] = mapped_column(Integer, server_default="0")
    failed: Mapped[int] = mapped_column(Integer, server_default="0")
    input_file_id: Mapped[str | None]
    provider_batch_id: Mapped[str | None]
    output_file_id: Mapped[str | None]
    error_file_id: Mapped[str | None]
    error: Mapped[str | None]
    created_at: Mapped[datetime] = created()
    requested_at: Mapped[datetime | None]
    """When its creation was requested; NULL while the provider certainly does not have it."""
    submitted_at: Mapped[datetime | None]
    polled_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]
    __table_args__ = (
        one_of("status", BATCH_STATUSES),
        UniqueConstraint("provider", "provider_batch_id"),
        CheckConstraint(
            "status IN ('planned', 'cancelled', 'failed') OR provider_batch_id IS NOT NULL",
            name="provider_batch_id_when_submitted",
        ),
        CheckConstraint(
            "(status IN ('planned', 'submitted', 'cancelling')) = (ended_at IS NULL)",
            name="ended_at_when_ended",
        ),
        Index(
            "ix_llm_batches_open",
            "status",
            postgresql_where="status IN ('planned', 'submitted', 'cancelling')",
        ),
    )


class Call(Base):
    """The ledger: every LLM call, written before it is sent and completed with its answer."""

    __tablename__ = "llm_calls"
    id: Mapped[int] = new_id()
    key: Mapped[str] = mapped_column(unique=True)
    workflow: Mapped[str]
    agent: Mapped[str]
    provider: Mapped[str]
    model: Mapped[str]
    experiment_id: Mapped[int | None] = mapped_column(
        BigInteger, ForeignKey("experiments.id", ondelete="SET NULL"), index=True
    )
    messages: Mapped[list[Any]]
    """The prompt as sent: role and content of each message."""
    template: Mapped[str]
    template_hash: Mapped[str]
    parameters: Mapped[dict[str, Any]]
    """The parameters as planned."""
    sent_parameters: Mapped[dict[str, Any] | None]
    """What was sent for it; NULL before it is sent."""
    not_applied: Mapped[list[Any] | None]
    """Names of planned parameters that the model did not apply; NULL as above."""
    sent_body: Mapped[dict[str, Any] | None]
    """The body as sent, without the messages; this and the other columns of `records.Answer` are
    NULL in rows of judge-gym before they were recorded, and where the provider does not say."""
    status: Mapped[str]
    attempts: Mapped[int] = mapped_column(Integer, server_default="0")
    errors: Mapped[list[Any]] = mapped_column(JSONB, server_default="[]")
    answer: Mapped[str | None]
    """The text of the answer; NULL without one."""
    reasoning: Mapped[str | None]
    """The thinking that came with the answer, where the provider returns it."""
    logprobs: Mapped[list[Any] | None]
    """The tokens of the answer with their log probabilities and those of others in their place."""
    served_model: Mapped[str | None]
    response_id: Mapped[str | None]
    fingerprint: Mapped[str | None]
    finish_reason: Mapped[str | None]
    finish_given: Mapped[str | None]
    prompt_tokens: Mapped[int | None] = mapped_column(Integer)
    completion_tokens: Mapped[int | None] = mapped_column(Integer)
    cached_tokens: Mapped[int | None] = mapped_column(Integer)
    cache_written_tokens: Mapped[int | None] = mapped_column(Integer)
    reasoning_tokens: Mapped[int | None] = mapped_column(Integer)
    cost_usd: Mapped[Decimal | None]
    cost_source: Mapped[str | None]
    at_most_usd: Mapped[Decimal | None]
    """The most that the request in flight, or the answer of unknown cost, may cost in US dollars;
    NULL where the cost is known, and for a model without a price."""
    prompt_words: Mapped[int | None] = mapped_column(Integer)
    """Words of the prompt, where the provider counted fewer tokens; NULL otherwise."""
    latency_ms: Mapped[float | None]
    route: Mapped[str] = mapped_column(server_default="direct")
    """`direct`, `batch`, or `cache` for another call's answer, which cost nothing here."""
    request_digest: Mapped[str | None]
    """Equal for byte-identical requests of equal replicates; empty unless answers are reused."""
    cached_from: Mapped[int | None] = reference("llm_calls.id", on_delete="SET NULL", index=True)
    """The call whose answer this is, as long as the ledger has it."""
    batch_id: Mapped[int | None] = reference("llm_batches.id", on_delete="RESTRICT", index=True)
    """The batch it was sent in, one at most; calls a batch leaves open are sent directly."""
    simulated: Mapped[bool | None]
    created_at: Mapped[datetime] = created()
    sent_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]
    __table_args__ = (
        one_of("status", CALL_STATUSES),
        one_of("cost_source", get_args(CostSource)),
        CheckConstraint(
            "(status = 'succeeded') = (answer IS NOT NULL)", name="answer_when_succeeded"
        ),
        CheckConstraint("attempts >= 0", name="attempts_not_negative"),
        # Rows lie in the order of their calls, so that ranges of blocks find the last hour.
        Index("ix_llm_calls_sent_at", "sent_at", postgresql_using="brin"),
        # What an analysis reads of every call; the rows themselves are most of the database.
        Index(
            "ix_llm_calls_facts",
            "id",
            postgresql_include=["sent_at", "cost_usd", "served_model", "fingerprint"],
        ),
        # What a model did not take is asked of each analysis, and empty for almost every call.
        Index("ix_llm_calls_not_applied", "experiment_id", postgresql_where="not_applied <> '[]'"),
        Index("ix_llm_calls_open", "status", postgresql_where="status IN ('planned', 'sent')"),
        Index(
            "ix_llm_calls_request_digest",
            "request_digest",
            postgresql_where="request_digest IS NOT NULL",
        ),
    )


class GateChange(Base):
    """When a process lowered its requests in flight to a provider, and when it had recovered."""

    __tablename__ = "gate_changes"
    id: Mapped[int] = new_id()
    at: Mapped[datetime] = created()
    provider: Mapped[str]
    process: Mapped[str]
    in_flight: Mapped[int] = mapped_column(Integer)
    reason: Mapped[str]
    __table_args__ = (Index("ix_gate_changes_provider_at", "provider", "at"),)
