"""What is judged: a text or a pair of them, where it comes from, and which variant it is."""

import re
from functools import cached_property
from pathlib import Path

from pydantic import Field, field_validator

from judge_gym.design.files import corpus_digest
from judge_gym.design.frozen import Frozen
from judge_gym.evidence.typed_rows import read_typed
from judge_gym.seeds import digest

LONGEST_TEXT = 500_000
"""Characters of one text of an item."""
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_COLUMNS = ("id", "text", "second", "context", "truth", "category")


class Variant(Frozen):
    """What was done to an original to make this item."""

    perturbation: str = Field(min_length=1, max_length=100)
    severity: float = Field(ge=0, le=1)
    seed: int = Field(default=0, ge=0, lt=2**63)
    perturber: str | None = Field(default=None, max_length=200)
    """The model that did it; None for the rules."""


class Item(Frozen):
    """One thing to judge; everything in it but `text`, `second` and `context` is never shown."""

    id: str = Field(min_length=1, max_length=200)
    """Its name, unique in its corpus; a variant keeps the name of its original."""
    text: str = Field(min_length=1, max_length=LONGEST_TEXT)
    """What is judged; of a pair the first."""
    second: str | None = Field(default=None, min_length=1, max_length=LONGEST_TEXT)
    """The second text of a pair."""
    context: str = Field(default="", max_length=LONGEST_TEXT)
    """What a judge may compare it with: a source, a question, what is already there."""
    truth: float | str | None = None
    """The answer that is known to be right."""
    category: str = Field(default="", max_length=200)
    corpus: str = Field(default="", max_length=200)
    """The digest of the file it comes from; empty when it comes from none."""
    variant: Variant | None = None
    """None for an original."""
    simulated: bool = False
    """Whether the simulator made the text; then so is what is judged of it."""

    @field_validator("id", "text", "second", "context", "category")
    @classmethod
    def _can_be_stored(cls, given: str | None) -> str | None:
        if given is not None and _UNSTORABLE.search(given):
            raise ValueError("has a NUL or half a character")
        return given

    @property
    def shown(self) -> tuple[str, ...]:
        """The texts that a judge sees."""
        return tuple(text for text in (self.text, self.second, self.context) if text)

    @cached_property
    def key(self) -> str:
        """16-digit identity: name, corpus, variant and content, but not truth and category."""
        # Without what is None, a variant by the rules keeps the key it had before models made any.
        variant = self.variant.model_dump(mode="json", exclude_none=True) if self.variant else None
        content = (self.text, self.second, self.context)
        return digest("judge item", self.corpus, self.id, variant, *content)


def read_items(path: Path) -> tuple[Item, ...]:
    """Read the items of a JSONL or CSV file, or of a folder of them, in file and row order.

    A row has `id` (without one, its number), `text`, and optionally `second`, `context`, `truth`
    and `category`; other columns are passed over. Raises `EvidenceError` as `read_typed` does.
    """
    return read_typed(path, Item, _COLUMNS, corpus=corpus_digest(path))
