"""What a panel reviews: a document with a title and items, within limits, from a YAML or JSON file.

Everything in it is text of others: it goes into prompts between the marks of a fence, and into no
log, state or artifact.
"""

from functools import cached_property
from itertools import accumulate
from pathlib import Path
from typing import Annotated

from pydantic import Field, field_validator

from judge_gym.design.config import read_model, read_tree
from judge_gym.design.fields import Frozen, Legal
from judge_gym.errors import ConfigError
from judge_gym.evidence.normal_text import normal_text
from judge_gym.records.items import Item
from judge_gym.records.panels import PanelDocumentRecord
from judge_gym.seeds import digest

MOST_ITEMS = 50
LONGEST_TITLE = 300
LONGEST_ITEM = 10_000
"""Characters of one item."""
LONGEST_DOCUMENT = 50_000
"""Characters of title and items that raters are shown; what follows is left out, item by item."""

_TITLE = "A text to judge"

LEGAL_ID = "1 to 60 letters, digits, dots, hyphens and underscores"
Id = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,59}$"), Legal(LEGAL_ID)]


class PanelItem(Frozen):
    """One thing that is scored by itself."""

    id: Id
    """Its name in reviews, unique in the document."""
    text: Annotated[str, Legal(f"text of 1 to {LONGEST_ITEM} characters")]
    """What it says."""

    @field_validator("text")
    @classmethod
    def _says_something(cls, text: str) -> str:
        return _seen(text, LONGEST_ITEM)


class ReviewedDocument(Frozen):
    """A document to be reviewed."""

    id: Id
    """Its name; the only part of it that states and logs have, with the names of its items."""
    title: Annotated[str, Legal(f"text of 1 to {LONGEST_TITLE} characters")]
    """Its title."""
    items: tuple[PanelItem, ...]
    """1 to 50 items."""

    @field_validator("title")
    @classmethod
    def _says_something(cls, title: str) -> str:
        return _seen(title, LONGEST_TITLE)

    @field_validator("items")
    @classmethod
    def _can_be_told_apart(cls, items: tuple[PanelItem, ...]) -> tuple[PanelItem, ...]:
        if not 1 <= len(items) <= MOST_ITEMS:
            raise ValueError(f"a document has 1 to {MOST_ITEMS} items, and this one {len(items)}")
        names = [item.id for item in items]
        if repeated := sorted({name for name in names if names.count(name) > 1}):
            raise ValueError(f"items need different ids; repeated: {', '.join(repeated)}")
        return items

    @cached_property
    def shown(self) -> tuple[PanelItem, ...]:
        """The items that raters see: the first ones, as many as fit whole."""
        lengths = accumulate((len(item.text) for item in self.items), initial=len(self.title))
        fitting = sum(length <= LONGEST_DOCUMENT for length in lengths) - 1
        return self.items[:fitting]

    @property
    def was_truncated(self) -> bool:
        """Whether raters see less than all items."""
        return len(self.shown) < len(self.items)

    @property
    def record(self) -> PanelDocumentRecord:
        """The document as the store takes it."""
        return PanelDocumentRecord(
            key=self.key,
            name=self.id,
            title=self.title,
            items=[item.model_dump() for item in self.items],
            shown_items=len(self.shown),
        )

    @cached_property
    def key(self) -> str:
        """16-digit identity: all that is in it."""
        return digest("panel document", self.model_dump(mode="json"))


def load_document(path: str | Path) -> ReviewedDocument:
    """Read a document; raises `ConfigError` naming file, line, key and what is allowed."""
    try:
        return read_model(ReviewedDocument, read_tree(Path(path)))
    except ConfigError as error:
        # Its causes quote the text, and a flow logs them.
        raise error from None


def as_document(item: Item) -> ReviewedDocument:
    """Return a text as the document of a panel."""
    context, title = item.context, _TITLE
    if 0 < len(context) <= LONGEST_TITLE:
        context, title = "", context
    parts = {f"context-{n}": part for n, part in enumerate(_parts(context), 1)}
    parts |= {f"text-{n}": part for n, part in enumerate(_parts(item.text), 1)}
    items = tuple(PanelItem(id=name, text=part) for name, part in parts.items())
    return ReviewedDocument(id="text", title=title, items=items)


def _parts(text: str) -> list[str]:
    parts = [text[at : at + LONGEST_ITEM] for at in range(0, len(text), LONGEST_ITEM)]
    return [part for part in parts if part.strip()]


def _seen(text: str, longest: int) -> str:
    """Return the text without what no reader would see.

    Raises `ValueError`, which does not quote it, when that is all or the text is too long.
    """
    if len(text) > longest:
        raise ValueError(f"it has {len(text)} characters, and {longest} are the most")
    if not (seen := normal_text(text)):
        raise ValueError("is empty")
    return seen
