"""From a window to its documents: opens the source that the window names."""

import asyncio
from typing import Literal

from judge_gym.design.window import (
    BenchmarkSource,
    CorpusSource,
    FirecrawlSource,
    PairsSource,
    Window,
)
from judge_gym.errors import EvidenceError
from judge_gym.evidence.corpus import BenchmarkFiles, CorpusFiles, read_corpus
from judge_gym.evidence.documents import Collected, Source
from judge_gym.evidence.firecrawl import FirecrawlAccess, FirecrawlNews
from judge_gym.evidence.pairs import PairFiles
from judge_gym.evidence.screening import MAX_CHARACTERS, MIN_CHARACTERS, ScreeningLimits, screen


def open_source(window: Window, access: FirecrawlAccess) -> Source:
    """Return the source `window` names; nothing is opened or sent yet."""
    source = window.source
    if isinstance(source, CorpusSource):
        return CorpusFiles(source.path, source.fields)
    if isinstance(source, BenchmarkSource):
        return BenchmarkFiles(source.path, source.fields)
    if isinstance(source, PairsSource):
        return PairFiles(source.path, source.fields)
    if isinstance(source, FirecrawlSource):
        return FirecrawlNews(access)
    raise EvidenceError(
        f"Window {window.name} holds recorded judgements, so there is nothing to collect.",
        "Import its items with `judge-gym data import-verdicts`.",
    )


def rules_of(window: Window, max_characters: int = MAX_CHARACTERS) -> ScreeningLimits:
    """Return the limits of `window`; benchmark items may have any length above 0."""
    benchmark = isinstance(window.source, BenchmarkSource | PairsSource)
    doubtful: Literal["drop", "flag", "keep"] = "keep"
    if isinstance(window.source, FirecrawlSource):
        doubtful = "drop"
    elif isinstance(window.source, CorpusSource):
        doubtful = "flag"  # whoever has a corpus has chosen its texts
    return ScreeningLimits(
        max_documents=window.max_documents,
        start=window.start,
        end=window.end,
        min_characters=1 if benchmark else MIN_CHARACTERS,
        max_characters=max_characters,
        verbatim=isinstance(window.source, PairsSource),
        doubtful=doubtful,
    )


def read_files(window: Window, max_characters: int = MAX_CHARACTERS) -> Collected | None:
    """Return what `collect` returns for a window on files, and None for any other window."""
    source = window.source
    if isinstance(source, CorpusSource):
        raw = read_corpus(source.path, source.fields)
    elif isinstance(source, BenchmarkSource):
        raw = BenchmarkFiles(source.path, source.fields).items()
    elif isinstance(source, PairsSource):
        raw = PairFiles(source.path, source.fields).items()
    else:
        return None
    return screen(raw, rules_of(window, max_characters))


async def collect(
    window: Window, access: FirecrawlAccess, max_characters: int = MAX_CHARACTERS
) -> Collected:
    """Return the documents of `window` and the reason for each dropped one.

    Raises `EvidenceError` when the source as a whole cannot be used.
    """
    raw = await open_source(window, access).collect(window)
    # Screening reads files and may take long, so it must not block the event loop.
    return await asyncio.to_thread(screen, raw, rules_of(window, max_characters))
