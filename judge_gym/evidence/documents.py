"""What collecting yields: documents that were kept, and the reason for each that was not.

Values only. Where documents come from is in the `*_source` modules, which of them are kept is
in `screening`.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from typing import Literal, Protocol

from judge_gym.design.window import Window
from judge_gym.evidence.tiers import Tier

Reason = Literal[
    "outside_dates",
    "undated",
    "too_short",
    "too_large",
    "unreadable",
    "unsafe_url",
    "scrape_failed",
    "duplicate_url",
    "duplicate_content",
    "over_limit",
]

Truth = float | str


@dataclass(frozen=True, slots=True)
class RawDocument:
    """One document as its source gave it, before screening."""

    origin: str
    """Where it stood, for people: `news.csv line 3`, or the address of a search result."""
    text: str
    url: str = ""
    title: str = ""
    published: date | None = None
    truth: Truth | None = None
    category: str = ""
    simulated: bool = False
    """Whether the simulator served it."""


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a window, screened: the `raw` view of a piece of evidence."""

    url: str
    """As the source gave it; empty when it gave none."""
    canonical_url: str
    """Identity within a window; `corpus:…` when the source gave no address."""
    domain: str
    title: str
    published: date | None
    text: str
    content_hash: str
    """SHA-256 of `text`, as 64 hex digits."""
    tier: Tier
    truth: Truth | None
    """The known answer, where the source has one; for the analysis, never for a prompt."""
    category: str
    """The part of a benchmark it belongs to; empty when the source names none."""
    cut_from: int | None
    """Length in characters before the text was cut; None when it was not."""
    simulated: bool
    """Whether the simulator served it: what is judged of it is no finding."""

    @property
    def truncated(self) -> bool:
        return self.cut_from is not None


@dataclass(frozen=True, slots=True)
class Dropped:
    """A document that was kept out, and why."""

    url: str
    title: str
    reason: Reason
    detail: str


@dataclass(frozen=True, slots=True)
class Collected:
    """The outcome for one window: every document is in exactly one of the two."""

    documents: tuple[Document, ...]
    dropped: tuple[Dropped, ...]

    def dropped_by_reason(self) -> dict[Reason, int]:
        """Return how many documents were kept out for each reason, most frequent first."""
        return dict(Counter(one.reason for one in self.dropped).most_common())


class Source(Protocol):
    """Somewhere documents come from."""

    async def collect(self, window: Window) -> Iterable[RawDocument | Dropped]:
        """Return what the source has for `window`, in its own order.

        What the source itself must refuse (an unreadable row, a failed page) comes as `Dropped`.
        The result may be read lazily from a file of any size. Raises `EvidenceError`, while
        being read too, when the source as a whole cannot be used.
        """
        ...


RawStream = Iterator[RawDocument | Dropped]
