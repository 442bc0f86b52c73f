"""What is judged: a text or a pair of them, where it comes from, and which variant it is."""

import math
import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import Annotated, Any, Self

from pydantic import AfterValidator, Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from judge_gym.design.fields import Frozen, Legal
from judge_gym.errors import did_you_mean
from judge_gym.evidence.choosing import FieldColumns, is_key
from judge_gym.evidence.numbers import plain_number
from judge_gym.records.conversations import KEYS, as_text
from judge_gym.seeds import digest

Label = float | str
"""A number, or the name of a verdict or of a step of a scale."""
LONGEST_TEXT = 500_000
"""Characters of one text of an item."""
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_NUMBER = re.compile(r"[-+]?(\d{1,12}(\.\d{0,12})?|\.\d{1,12})", re.ASCII)
COLUMNS = (
    *("id", "text", "second", "context", "truth", "category"),
    *("system", "second_system", "question"),
)
"""What a row of a file of items may give."""


def known_fields(fields: dict[str, str]) -> dict[str, str]:
    """Return them when they are fields of an item; raises `ValueError` otherwise."""
    for name in fields:
        if name not in (*COLUMNS, *KEYS) and not is_key(name):
            close = did_you_mean(name, COLUMNS)
            raise ValueError(f"{name!r} is not a field of an item. {close}Use {', '.join(COLUMNS)}")
    return fields


Fields = Annotated[
    FieldColumns,
    Legal(f"a mapping of {', '.join(COLUMNS)} to the columns of the file"),
    AfterValidator(known_fields),
]
"""Field of an item → the column it stands in, where it has another name."""


def label_in(text: str) -> Label | None:
    """Return the label that a text is: a number, a name with single spaces, or None for none."""
    text = " ".join(plain_number(text).split())
    return float(text) if _NUMBER.fullmatch(text) else text or None


def _lacks(field: str, why: str) -> PydanticCustomError:
    """Return the fault of an item without a field; `read_typed_rows` names its column."""
    return PydanticCustomError("lacks", "{why}", {"field": field, "why": why})


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
    truth: Label | None = None
    """The label: the answer that is known to be right, as a score or the name of a verdict.

    Text that reads as a number is one. Which labels a judge takes is the judge's matter (`label`).
    """
    category: str = Field(default="", max_length=200)
    system: str = Field(default="", max_length=500)
    """What made it, such as a model or a version of a prompt: figures are by system first. Of a
    pair, what made the first text."""
    second_system: str = Field(default="", max_length=500)
    """What made the second text of a pair, beside `system`."""
    question: str = Field(default="", max_length=LONGEST_TEXT)
    """What several texts answer: they are no independent evidence, and count together. Without it
    that is their context, unless all of a file have the same; see `with_questions`."""
    corpus: str = Field(default="", max_length=200)
    """The digest of the file it comes from; empty when it comes from none."""
    variant: Variant | None = None
    """None for an original."""
    simulated: bool = False
    """Whether the simulator made the text; then so is what is judged of it."""

    @field_validator("text", "second", "context", mode="before")
    @classmethod
    def _may_be_messages(cls, given: Any) -> Any:
        return as_text(given)

    @field_validator("id", "text", "second", "context", "category", "system", "second_system")
    @classmethod
    def _can_be_stored(cls, given: str | None) -> str | None:
        if given is not None and _UNSTORABLE.search(given):
            raise ValueError("has a NUL or half a character")
        return given

    @field_validator("system", "second_system")
    @classmethod
    def _without_outer_spaces(cls, given: str) -> str:
        return " ".join(given.split())

    @field_validator("truth", mode="before")
    @classmethod
    def _is_label(cls, given: Any) -> Any:
        if isinstance(given, bool):
            return str(given).lower()
        if isinstance(given, str):
            return label_in(given)
        if given is None or (isinstance(given, int | float) and math.isfinite(given)):
            return given
        raise ValueError("use a finite number or the name of a verdict")

    @model_validator(mode="after")
    def _second_system_is_of_a_pair(self) -> Self:
        if self.second_system and self.second is None:
            raise _lacks("second", "second_system is given, and there is no second text")
        if self.second_system and not self.system:
            raise _lacks("system", "second_system is given, and no system, which made the first")
        return self

    @property
    def part(self) -> str:
        """Its system; its category where it names none, and of a pair of two systems."""
        return self.category if self.second_system else self.system or self.category

    @property
    def systems(self) -> tuple[str, ...]:
        """What is compared by it: both systems of a pair, if they differ, else its part."""
        if self.second_system:
            return (self.system, self.second_system) if self.second_system != self.system else ()
        return (self.part,) if self.part else ()

    @property
    def asked(self) -> str:
        """What it answers: its question, else its context, else itself; see `with_questions`."""
        return self.question or self.context or self.key

    @property
    def shown(self) -> tuple[str, ...]:
        """The texts that a judge sees."""
        return tuple(text for text in (self.text, self.second, self.context) if text)

    @cached_property
    def key(self) -> str:
        """16-digit identity: the texts that a judge sees, and nothing else.

        So a changed label, name or file costs no call, and a text that is there twice is judged
        once. The migration 0020 makes the same key in SQL.
        """
        return digest("judge item", self.text, self.second, self.context)


def with_questions(items: Sequence[Item]) -> list[Item]:
    """Return the items of one file, where all have one context each with a question of its own.

    Such a context is no question but instructions, which can be told of a whole file alone.
    """
    contexts = {item.context for item in items}
    if len(contexts) > 1 or contexts == {""}:
        return list(items)
    return [
        item if item.question else item.model_copy(update={"question": item.key}) for item in items
    ]


def question_numbers(items: Sequence[Item]) -> list[int]:
    """Return the question that each item answers, numbered from 0 without a gap."""
    number = {name: place for place, name in enumerate(dict.fromkeys(one.asked for one in items))}
    return [number[item.asked] for item in items]


def distinct(items: Iterable[Item]) -> list[Item]:
    """Return the items without those whose texts an earlier one has."""
    found: dict[str, Item] = {}
    for item in items:
        found.setdefault(item.key, item)
    return list(found.values())
