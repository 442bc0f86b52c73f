"""Decides which documents a window keeps, and gives a reason for each that is dropped.

Pure: the same documents in the same order give the same result. Memory holds the documents kept
and a short record per dropped one, so the input may be of any length.
"""

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import date
from typing import Literal

from judge_gym.evidence.documents import Collected, Document, Dropped, RawDocument, Reason
from judge_gym.evidence.hidden_text import without_hidden_text
from judge_gym.evidence.near_duplicates import SHINGLE, NearDuplicates
from judge_gym.evidence.normal_text import cut_text, normal_line, normal_text
from judge_gym.evidence.plausibility import fault_of
from judge_gym.evidence.tiers import tier_of
from judge_gym.evidence.urls import BadUrl, canonical_url, domain_of

MIN_CHARACTERS = 200
MAX_CHARACTERS = 20_000
MAX_TITLE_CHARACTERS = 500


@dataclass(frozen=True)
class ScreeningLimits:
    """Limits of a window. Dates are inclusive; lengths are characters of normalised text."""

    max_documents: int
    start: date | None = None
    end: date | None = None
    min_characters: int = MIN_CHARACTERS
    max_characters: int = MAX_CHARACTERS
    verbatim: bool = False
    """Whether texts stay as they are; one that is too long is dropped instead of cut."""
    doubtful: Literal["drop", "flag", "keep"] = "keep"
    """What becomes of texts that are no article, or a copy of another but for a few words."""

    def __post_init__(self) -> None:
        # Cutting leaves at least 4/5 of the maximum, which must not be below the minimum.
        if not 1 <= self.min_characters <= self.max_characters * 4 // 5:
            raise ValueError("min_characters must be 1 to four fifths of max_characters")


def screen(raw: Iterable[RawDocument | Dropped], rules: ScreeningLimits) -> Collected:
    """Return the documents that `rules` keep, in order, and the reason for each dropped one.

    The first reason that applies is given: that of the source, the address, the dates, the length,
    a duplicate of a kept document, the limit, what makes it no article of its own.
    """
    screening = _Screening(rules)
    for document in raw:
        if isinstance(document, Dropped):
            screening.dropped.append(_shortened(document))
        else:
            screening.add(document)
    return Collected(tuple(screening.kept), tuple(screening.dropped))


@dataclass
class _Screening:
    rules: ScreeningLimits
    kept: list[Document] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)
    _origins: dict[str, str] = field(default_factory=dict)
    """Canonical address and content hash of each kept document → its origin."""
    _texts: NearDuplicates[str] = field(default_factory=NearDuplicates)
    """The texts of the kept documents, by origin."""

    def add(self, raw: RawDocument) -> None:
        outcome = self._judge(raw)
        if isinstance(outcome, Document):
            self._origins[outcome.canonical_url] = raw.origin
            self._origins[outcome.content_hash] = raw.origin
            if self.rules.doubtful != "keep":
                self._texts.add(raw.origin, outcome.text)
            self.kept.append(outcome)
        else:
            self.dropped.append(outcome)

    def _judge(self, raw: RawDocument) -> Document | Dropped:
        url = normal_line(raw.url, MAX_TITLE_CHARACTERS * 10)
        try:
            canonical = canonical_url(url) if url else ""
        except BadUrl as fault:
            return _drop(raw, "unsafe_url", str(fault))
        if (undated := self._outside(raw)) is not None:
            return undated
        verbatim = self.rules.verbatim
        visible = raw.text if verbatim else without_hidden_text(raw.text)
        whole = visible if verbatim else normal_text(visible)
        if len(whole) < self.rules.min_characters:
            least = self.rules.min_characters
            return _drop(raw, "too_short", f"{len(whole)} characters, at least {least} needed")
        most = self.rules.max_characters
        if verbatim and len(whole) > most:
            return _drop(raw, "too_large", f"{len(whole)} characters, at most {most} allowed")
        text = cut_text(whole, most)
        content_hash = hashlib.sha256(text.encode()).hexdigest()
        if canonical in self._origins:
            return _drop(raw, "duplicate_url", f"same address as {self._origins[canonical]}")
        if content_hash in self._origins:
            return _drop(raw, "duplicate_content", f"same text as {self._origins[content_hash]}")
        if len(self.kept) == self.rules.max_documents:
            most = self.rules.max_documents
            return _drop(raw, "over_limit", f"the window keeps at most {most} documents")
        doubt = self._doubt(raw, visible, text)
        if doubt is not None and self.rules.doubtful == "drop":
            return doubt
        return Document(
            url=url,
            canonical_url=canonical or f"corpus:{content_hash[:32]}",
            domain=domain_of(canonical),
            title=normal_line(raw.title, MAX_TITLE_CHARACTERS),
            published=raw.published,
            text=text,
            content_hash=content_hash,
            tier=tier_of(domain_of(canonical)),
            truth=raw.truth,
            category=normal_line(raw.category, MAX_TITLE_CHARACTERS),
            cut_from=len(whole) if len(text) < len(whole) else None,
            simulated=raw.simulated,
            origin=normal_line(raw.origin, MAX_TITLE_CHARACTERS),
            doubt="" if doubt is None else _in_words(raw, doubt),
        )

    def _doubt(self, raw: RawDocument, visible: str, text: str) -> Dropped | None:
        """Return why a document is no article of its own, None where it may be."""
        if self.rules.doubtful == "keep":
            return None
        if (fault := fault_of(visible)) is not None:
            return _drop(raw, fault.reason, fault.detail)
        if (copied := self._texts.copied_by(text)) is None:
            return None
        origin, share = copied
        said = f"{share:.0%} of its runs of {SHINGLE} words are those of {origin}"
        return _drop(raw, "near_duplicate", said)

    def _outside(self, raw: RawDocument) -> Dropped | None:
        start, end = self.rules.start, self.rules.end
        if start is None and end is None:
            return None
        if raw.published is None:
            return _drop(raw, "undated", "no date, and the window has dates")
        if (start and raw.published < start) or (end and raw.published > end):
            wanted = f"{start or 'any day'} to {end or 'any day'}"
            return _drop(raw, "outside_dates", f"dated {raw.published}, wanted {wanted}")
        return None


def _in_words(raw: RawDocument, doubt: Dropped) -> str:
    return f"{doubt.reason.replace('_', ' ')}, {doubt.detail.removeprefix(f'{raw.origin}: ')}"


def _drop(raw: RawDocument, reason: Reason, detail: str) -> Dropped:
    return _shortened(Dropped(raw.url, raw.title, reason, f"{raw.origin}: {detail}"))


def _shortened(dropped: Dropped) -> Dropped:
    """Bound the length of untrusted text in the record."""
    return Dropped(
        url=normal_line(dropped.url, MAX_TITLE_CHARACTERS),
        title=normal_line(dropped.title, MAX_TITLE_CHARACTERS),
        reason=dropped.reason,
        detail=normal_line(dropped.detail, MAX_TITLE_CHARACTERS),
    )
