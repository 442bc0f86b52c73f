"""Panels, their documents and what was answered, as they are stored."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

Tier = Literal["schema", "json", "text", "judge"]
"""How a question was asked: with a JSON schema, in JSON mode, as plain text, or by a judge."""


@dataclass(frozen=True)
class PanelRecord:
    """A panel as it is stored."""

    key: str
    name: str
    config: Mapping[str, Any]


@dataclass(frozen=True)
class PanelDocumentRecord:
    """A panel's document as it is stored."""

    key: str
    name: str
    """The id that its file gives it."""
    title: str
    items: Sequence[Mapping[str, str]]
    """Objects with `id` and `text`, all there are."""
    shown_items: int
    """How many of them raters see, from the first."""


@dataclass(frozen=True)
class StoredReview:
    """A rater's review."""

    id: int
    items: Sequence[Mapping[str, Any]]
    """Objects with `id`, `score` and `comment`."""
    overall_score: int
    overall_comment: str
    tier: Tier
    latency_ms: float | None
    call_ids: tuple[int, ...]
    simulated: bool


@dataclass(frozen=True)
class StoredConsensus:
    """An arbiter's answer; `final_score` lies within the scores of the reviews."""

    review_ids: tuple[int, ...]
    final_score: int
    raw_score: int
    rationale: str
    tier: Tier
    latency_ms: float | None
    call_ids: tuple[int, ...]
    simulated: bool
