"""What is judged: a text or a pair of them, where it comes from, and which variant it is."""

import re
from functools import cached_property
from pathlib import Path

from pydantic import Field, ValidationError, field_validator

from judge_gym.design.files import corpus_digest, corpus_files
from judge_gym.design.frozen import Frozen
from judge_gym.errors import EvidenceError
from judge_gym.evidence.corpus_files import Row, read_rows
from judge_gym.seeds import digest

LONGEST_TEXT = 500_000
"""Characters of one text of an item."""
MAX_ITEMS = 100_000
"""Most items of one file."""
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


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
    and `category`; other columns are passed over. Raises `EvidenceError` naming file, line and
    field of the first row that cannot be used, and of a name that is given twice.
    """
    digest_of_corpus = corpus_digest(path)
    items: dict[str, Item] = {}
    for file in corpus_files(path):
        for row in read_rows(file):
            item = _item(file, row, len(items) + 1, digest_of_corpus)
            if item.id in items:
                raise _fault(file, row, f"id is {item.id!r}, which an item above has, too")
            if len(items) == MAX_ITEMS:
                raise _fault(file, row, f"more than {MAX_ITEMS} items")
            items[item.id] = item
    if not items:
        raise EvidenceError(f"{path} has no item.", 'Give a line such as {"id": "1", "text": "…"}.')
    return tuple(items.values())


_COLUMNS = ("id", "text", "second", "context", "truth", "category")


def _item(file: Path, row: Row, number: int, corpus: str) -> Item:
    if row.fault:
        raise _fault(file, row, row.fault)
    # An empty cell of a CSV file is no value.
    given = {name: row.values[name] for name in _COLUMNS if row.values.get(name) not in (None, "")}
    given.setdefault("id", str(number))
    if isinstance(given["id"], int):
        given["id"] = str(given["id"])
    try:
        return Item(**given, corpus=corpus)
    except ValidationError as error:
        fault = error.errors()[0]
        raise _fault(file, row, f"{fault['loc'][0]}: {fault['msg']}") from None


def _fault(file: Path, row: Row, what: str) -> EvidenceError:
    return EvidenceError(f"{file} line {row.line}: {what}.", "Mend or remove this item.")
