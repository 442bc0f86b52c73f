"""Values of a collection: documents that are kept, and a reason for each that is dropped.

`corpus` and `firecrawl` read documents; `screening` decides which are kept.
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
    "binary",
    "not_article",
    "only_beginning",
    "duplicate_url",
    "duplicate_content",
    "near_duplicate",
    "over_limit",
]

BY_DESIGN: tuple[Reason, ...] = ("outside_dates", "over_limit")
"""Reasons that a window states as its limits; the others are faults of a document."""

DOUBTFUL: tuple[Reason, ...] = ("binary", "not_article", "only_beginning", "near_duplicate")
"""Reasons for which a page of the web is dropped, and a text of one's own is doubtful."""

Truth = float | str


@dataclass(frozen=True, slots=True)
class RawDocument:
    """One document as its source gave it, before screening."""

    origin: str
    """Location for people: `news.csv line 3`, or `search result 2`."""
    text: str
    url: str = ""
    title: str = ""
    published: date | None = None
    truth: Truth | None = None
    category: str = ""
    simulated: bool = False
    """Whether the simulator produced it."""


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a window, screened: the `raw` view of a piece of evidence."""

    url: str
    """As written in the source; empty without one."""
    canonical_url: str
    """Identity within a window; `corpus:…` without an address."""
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
    """Part of a benchmark; empty without one."""
    cut_from: int | None
    """Length in characters before the text was cut; None for a whole text."""
    simulated: bool
    """Whether the simulator produced it: judgements of it are no finding."""
    origin: str = ""
    """Location for people, as in `RawDocument`."""
    doubt: str = ""
    """Why a text of the user's own is doubtful as evidence; a page of the web is dropped for it."""

    @property
    def characters(self) -> int:
        return len(self.text)

    @property
    def truncated(self) -> bool:
        return self.cut_from is not None


@dataclass(frozen=True, slots=True)
class Dropped:
    """A dropped document and the reason."""

    url: str
    title: str
    reason: Reason
    detail: str


@dataclass(frozen=True, slots=True)
class Collected:
    """The documents of one window, kept or dropped."""

    documents: tuple[Document, ...]
    dropped: tuple[Dropped, ...]

    def dropped_by_reason(self) -> dict[Reason, int]:
        """Return the number of dropped documents per reason, most frequent first."""
        return dict(Counter(document.reason for document in self.dropped).most_common())


class Source(Protocol):
    """A source of documents."""

    async def collect(self, window: Window) -> Iterable[RawDocument | Dropped]:
        """Return the documents for `window`, in the order of the source.

        Unreadable rows and failed pages are `Dropped`. The result may be a lazy iterator over a
        file of any size. Raises `EvidenceError`, also during iteration, when the source as a
        whole cannot be used.
        """
        ...


RawStream = Iterator[RawDocument | Dropped]
