"""The review file: judges in use, on which texts, against which alternatives, and what was decided.

Judges themselves are read elsewhere: here they are paths, and changes of what stands in one.
"""

from pathlib import Path
from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from judge_gym.calibration.checks import Margins
from judge_gym.design.config import Node, read_model, read_tree
from judge_gym.design.fields import Frozen, Legal, Slug
from judge_gym.design.window_files import TimeZone
from judge_gym.evidence.choosing import FieldColumns
from judge_gym.records.items import Fields

_CHANGE = Legal("a mapping of keys of the judge file, such as {model: provider/model}")


class Alternative(Frozen):
    """Another judge: a file of its own, or the judge in use with something changed."""

    judge: Path | None = None
    """Its judge file, relative to the review file."""
    change: Annotated[dict[str, Any], _CHANGE] = Field(default_factory=dict)
    """Keys of the judge file in use → what stands there instead, such as another model or other
    criteria. Its name, unless changed, says what was."""

    @model_validator(mode="after")
    def _is_one(self) -> Self:
        if (self.judge is None) == (not self.change):
            raise ValueError("an alternative has either a judge or a change")
        return self


class Reviewed(Frozen):
    """A judge in use, and what it is looked at with."""

    judge: Path
    """Its judge file, relative to the review file."""
    decision: str = Field(min_length=1, max_length=2000)
    """What was decided, when and why: what the review is to confirm or to question."""
    items: Path | None = None
    """What is judged (JSONL or CSV), relative to the review file."""
    fields: Fields = Field(default_factory=dict)
    """Field of an item → the column of `items` it stands in, such as {truth: human_score}."""
    labels: Path | None = None
    """People's labels of `items` (CSV or JSONL), relative to the review file: a row for an item, an
    annotator and a criterion."""
    label_fields: FieldColumns = Field(default_factory=dict)
    """Field of a label → the column of `labels` it stands in, such as {annotator: rater}."""
    fresh: Path | None = None
    """What the systems answered since the last review (JSONL or CSV), relative to the review file:
    other items each time. Where judge and people stay and these are judged otherwise, the systems
    moved."""
    fresh_fields: Fields = Field(default_factory=dict)
    """Field of an item → the column of `fresh` it stands in, such as {system: model}."""
    calibration: Path | None = None
    """In place of items: a calibration file, whose texts, changes and repeats are used, and whose
    checks are made of every judge. Its judges are not."""
    alternatives: tuple[Alternative, ...] = Field(default=(), max_length=20)
    """What it is compared with."""

    @model_validator(mode="after")
    def _has_texts(self) -> Self:
        if (self.items is None) == (self.calibration is None):
            raise ValueError("a review needs either items or a calibration")
        if (self.fields or self.labels) and self.items is None:
            raise ValueError("fields and labels are of items; a calibration's stand in its file")
        if self.fresh_fields and self.fresh is None:
            raise ValueError("fresh_fields are of fresh, and the review has none")
        return self


class ReviewFile(Frozen):
    """What a review file says."""

    name: Slug
    """What it is called: small letters, digits and hyphens."""
    time_zone: TimeZone
    """Whose midnight ends a day; the schedule should be in the same."""
    repeats: int = Field(default=1, ge=1, le=50)
    """How often each of the items is judged on a day; the mean or most given verdict counts."""
    margins: Margins = Margins()
    """What counts as enough: `equivalence` and `changed_verdicts` bound drift, `replacement_bias`
    and `replacement_limits` what an alternative may differ by."""
    reviews: tuple[Reviewed, ...] = Field(min_length=1, max_length=50)
    """The judges in use."""


def load_review_file(path: Path) -> tuple[ReviewFile, tuple[Node, ...]]:
    """Read a review file; returns it with the node of each of its reviews.

    Raises `ConfigError` naming file, line, key and value.
    """
    tree = read_tree(path)
    return read_model(ReviewFile, tree), tree.items["reviews"].entries
