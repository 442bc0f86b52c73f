"""A window: one query, one country, one date range, and a source of evidence.

Evidence is collected once per window and shared by all experiments on it.
"""

from datetime import date
from functools import cached_property
from pathlib import Path
from typing import Annotated, ClassVar, Literal

from pydantic import AfterValidator, Field, model_validator

from judge_gym.design.fields import Frozen
from judge_gym.seeds import digest

DOCUMENT_FIELDS = ("title", "url", "date", "text", "truth", "category")
PAIR_FIELDS = ("prompt", "first", "second", "winner", "category")


def _only(known: tuple[str, ...]) -> AfterValidator:
    def check(fields: dict[str, str]) -> dict[str, str]:
        for ours in fields:
            if ours not in known:
                raise ValueError(f"{ours!r} is not one of {', '.join(known)}")
        return fields

    return AfterValidator(check)


FieldNames = Annotated[dict[str, str], _only(DOCUMENT_FIELDS)]
PairFieldNames = Annotated[dict[str, str], _only(PAIR_FIELDS)]


class _MayBeEmpty(Frozen):
    allow_empty: bool = Field(default=False, exclude_if=lambda value: not value)
    """Whether a window without a document is a result; by default it is a failure. Not part of the
    identity."""


class CorpusSource(_MayBeEmpty):
    """Documents from a JSONL or CSV file, or a folder of them."""

    kind: Literal["corpus"] = "corpus"
    path: Path
    """File or folder; relative paths are relative to the sweep file."""
    fields: FieldNames = Field(default_factory=dict)
    """Field (title, url, date, text, truth, category) → column, where they differ."""
    digest: str = ""
    """SHA-256 of the contents, set when the sweep is read; identifies the corpus."""


class BenchmarkSource(Frozen):
    """Items with known answers: a corpus in which every item has its truth and may be short."""

    kind: Literal["benchmark"] = "benchmark"
    path: Path
    """File or folder; relative paths are relative to the sweep file."""
    fields: FieldNames = Field(default_factory=dict)
    """Field (title, url, text, truth, category) → column, where they differ."""
    digest: str = ""
    """SHA-256 of the contents, set when the sweep is read."""


class PairsSource(Frozen):
    """Pairs of answers to a prompt, with the better one where it is known (`task_type: pairs`)."""

    kind: Literal["pairs"] = "pairs"
    path: Path
    """File or folder; relative paths are relative to the sweep file."""
    fields: PairFieldNames = Field(default_factory=dict)
    """Field (prompt, first, second, winner, category) → column, where they differ."""
    digest: str = ""
    """SHA-256 of the contents, set when the sweep is read."""


class FirecrawlSource(_MayBeEmpty):
    """News from a Firecrawl search with the window's query and dates."""

    kind: Literal["firecrawl"] = "firecrawl"


Published = dict[str, dict[str, dict[str, dict[str, float]]]]


class RecordedSource(Frozen):
    """Items judged elsewhere, imported by `judge-gym data import-verdicts`."""

    WRITTEN: ClassVar[bool] = False
    """Not allowed in a sweep file: the judgements exist already."""

    kind: Literal["recorded"] = "recorded"
    pairwise: bool = False
    """Whether every item is a pair, judged in both orders."""
    digest: str = ""
    """SHA-256 of the recorded file and its mapping."""
    published: Published = Field(default_factory=dict, exclude_if=lambda value: not value)
    """Figures of its judges that others published: judge, wording, category ("" for all), metric
    → value."""


Source = Annotated[
    CorpusSource | BenchmarkSource | PairsSource | FirecrawlSource | RecordedSource,
    Field(discriminator="kind"),
]


class Window(Frozen):
    """One query, country and date range. Its `key` is its identity, its `name` is for people."""

    name: str = ""
    """A name for people; not part of the identity."""
    query: str = Field(default="", max_length=500)
    """The search query (news) or the subject of the corpus (files)."""
    country: str = Field(min_length=1, max_length=200)
    """The country or setting that rubrics and prompts name."""
    start: date | None = None
    """First day, inclusive; earlier documents are dropped."""
    end: date | None = None
    """Last day, inclusive; later documents are dropped."""
    max_documents: int = Field(default=15, ge=1, le=100_000)
    """Maximum number of documents, in the order of the source."""
    source: Source
    """Where the documents come from: `corpus`, `benchmark`, `pairs`, `firecrawl` or `recorded`."""
    shareable: bool | None = Field(default=None, exclude_if=lambda value: value is None)
    """Whether `judge-gym data publish` may copy the texts; by default yes, but no for `firecrawl`,
    whose texts are other publishers'. Not part of the identity."""
    licence: str = Field(default="", max_length=200, exclude_if=lambda value: not value)
    """The licence of the texts, for the datasheet; not part of the identity."""

    @model_validator(mode="after")
    def _check(self) -> "Window":
        if self.start and self.end and self.end < self.start:
            raise ValueError(f"end ({self.end}) is before start ({self.start})")
        if self.source.kind == "firecrawl" and not (self.query and self.start and self.end):
            raise ValueError("a firecrawl window needs query, start and end")
        return self

    def __str__(self) -> str:
        return self.name or self.key

    @cached_property
    def key(self) -> str:
        """16-digit identity: query, country, dates, limit and source contents, not paths."""
        content = self.model_dump(
            mode="json",
            exclude={
                "name": True,
                "shareable": True,
                "licence": True,
                "source": {"path", "allow_empty"},
            },
        )
        return digest("window", content)

    @property
    def may_be_shared(self) -> bool:
        """Whether a replication package may hold the texts."""
        return self.source.kind != "firecrawl" if self.shareable is None else self.shareable
