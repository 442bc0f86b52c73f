"""A window: one query, one country, one date range, and where its evidence comes from.

Evidence is collected once per window and shared by every experiment that names it.
"""

from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field, model_validator

from judge_gym.design.frozen import Frozen
from judge_gym.seeds import digest

DOCUMENT_FIELDS = ("title", "url", "date", "text", "truth", "category")


def _known_fields(fields: dict[str, str]) -> dict[str, str]:
    for ours in fields:
        if ours not in DOCUMENT_FIELDS:
            raise ValueError(f"{ours!r} is not one of {', '.join(DOCUMENT_FIELDS)}")
    return fields


FieldNames = Annotated[dict[str, str], AfterValidator(_known_fields)]


class CorpusSource(Frozen):
    """Documents from a JSONL or CSV file, or a folder of them."""

    kind: Literal["corpus"] = "corpus"
    path: Path
    """File or folder; a relative path is relative to the sweep file that names it."""
    fields: FieldNames = Field(default_factory=dict)
    """Our name (title, url, date, text, truth, category) → the file's, where they differ."""
    digest: str = ""
    """SHA-256 of the contents, filled in when the sweep is read: the corpus's identity."""


class BenchmarkSource(Frozen):
    """Known-answer items: like a corpus, but every item carries its truth and may be short."""

    kind: Literal["benchmark"] = "benchmark"
    path: Path
    """File or folder; a relative path is relative to the sweep file that names it."""
    fields: FieldNames = Field(default_factory=dict)
    """Our name (title, url, text, truth, category) → the file's, where they differ."""
    digest: str = ""
    """SHA-256 of the contents, filled in when the sweep is read."""


class FirecrawlSource(Frozen):
    """News found by a Firecrawl search; the window's query and dates are passed to it."""

    kind: Literal["firecrawl"] = "firecrawl"


class RecordedSource(Frozen):
    """Items that others had judged; `judge-gym data import-verdicts` brings them in."""

    WRITTEN: ClassVar[bool] = False
    """No sweep file can ask for it: the judgements are made."""

    kind: Literal["recorded"] = "recorded"
    pairwise: bool = False
    """Every item is a pair, judged in both orders."""
    digest: str = ""
    """SHA-256 of the recorded file and of how it was read."""


Source = Annotated[
    CorpusSource | BenchmarkSource | FirecrawlSource | RecordedSource,
    Field(discriminator="kind"),
]


class Window(Frozen):
    """One query, country and date range; its `key` is its identity, its `name` is for people."""

    name: str = ""
    """What people call it; not part of its identity."""
    query: str = Field(default="", max_length=500)
    """What is searched for (news) or what the corpus is about (files)."""
    country: str = Field(min_length=1, max_length=200)
    """The country or setting that rubrics and prompts name."""
    start: date | None = None
    """First day, inclusive; documents dated before it are kept out."""
    end: date | None = None
    """Last day, inclusive; documents dated after it are kept out."""
    max_documents: int = Field(default=15, ge=1, le=10_000)
    """At most this many documents are kept, in the order the source gives them."""
    source: Source
    """Where the documents come from: `corpus`, `benchmark`, `firecrawl` or `recorded`."""

    @model_validator(mode="after")
    def _check(self) -> "Window":
        if self.start and self.end and self.end < self.start:
            raise ValueError(f"end ({self.end}) is before start ({self.start})")
        if self.source.kind == "firecrawl" and not (self.query and self.start and self.end):
            raise ValueError("a firecrawl window needs query, start and end")
        return self

    @cached_property
    def key(self) -> str:
        """16-digit identity: query, country, dates, limit and source contents, not paths."""
        content = self.model_dump(mode="json", exclude={"name": True, "source": {"path"}})
        return digest("window", content)
