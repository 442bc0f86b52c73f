"""ExtractGym: the claims of a document, held against those that people have marked in it."""

import re
from collections.abc import Sequence
from typing import ClassVar, Literal

from pydantic import Field

from judge_gym.gyms.base import Text
from judge_gym.gyms.similarity import matched
from judge_gym.gyms.writing import WritingCase, WritingGym

_BULLET = re.compile(r"^(?:[-*•]|\d+[.)])\s+")


class ClaimsCase(WritingCase):
    """A text with its labelled claims; without the column nothing is known of it."""

    claims: tuple[Text, ...] | None = None


class ExtractGym(WritingGym[ClaimsCase]):
    """Claims of a document: the judge marks them, and labels give precision, recall and F1."""

    FORM: ClassVar[str] = "one claim a line, or NONE without any"
    kind: Literal["extract"] = "extract"
    same_from: float = Field(default=0.5, gt=0, le=1)
    """Overlap of words from which an extracted claim and a labelled one are the same."""

    @property
    def labelled(self) -> tuple[str, ...]:
        return ("precision", "recall", "F1")

    @property
    def form(self) -> type[ClaimsCase]:
        return ClaimsCase

    @property
    def label_field(self) -> str:
        return "claims"

    def measures(self, case: ClaimsCase, text: str) -> dict[str, float]:
        if case.claims is None:
            return {}
        return against_labels(claims_in(text), case.claims, self.same_from)


def claims_in(text: str) -> list[str]:
    """Return the claims of an answer, one a line, without bullets and numbers."""
    lines = [_BULLET.sub("", line.strip()).strip() for line in text.splitlines()]
    return [line for line in lines if line and line.strip(".").upper() != "NONE"]


def against_labels(
    extracted: Sequence[str], labelled: Sequence[str], least: float
) -> dict[str, float]:
    """Return precision, recall and F1 = 2·TP / (found + labelled), in points of 100.

    A labelled claim is found once, however often it is said. Without a claim found there is no
    precision, without a labelled one no recall, and without either no F1: the document then does
    not count in that mean.
    """
    same = len(matched(extracted, labelled, least))
    shares = {
        "precision": (same, len(extracted)),
        "recall": (same, len(labelled)),
        "F1": (2 * same, len(extracted) + len(labelled)),
    }
    return {name: 100 * part / whole for name, (part, whole) in shares.items() if whole}
