"""What a judge is certified for: a part of its file, and none of its identity."""

from pathlib import Path

from pydantic import Field

from judge_gym.design.fields import Frozen
from judge_gym.evidence.choosing import FieldColumns
from judge_gym.records.items import Fields


class CertifyRule(Frozen):
    """What a judge of two verdicts has to be shown to reach, and on which labelled texts."""

    sensitivity: float = Field(gt=0, lt=1)
    """Least share of passes among what people passed; pass is the verdict whose score is 1."""
    specificity: float = Field(gt=0, lt=1)
    """Least share of fails among what people failed. Set it above `sensitivity` where a false pass
    costs more than a false fail."""
    readable: float = Field(default=0.95, gt=0, lt=1)
    """Least share of these texts that the judge gives a verdict."""
    by: str = Field(default="", max_length=200)
    """The column of `items` that names each text's slice: both rates have to be reached in every
    slice. Left out: in all texts together."""
    system: str = Field(default="system", max_length=200)
    """The column of `items` that names the system a text is of, where there is one."""
    question: str = Field(default="question", max_length=200)
    """The column of `items` that names the question a text answers, where there is one: texts with
    one question count as fewer."""
    items: Path | None = None
    """The labelled texts (JSONL or CSV), relative to this file; left out: those of the gate."""
    fields: Fields = Field(default_factory=dict)
    """Field of an item → the column of `items` it stands in, such as {truth: human_verdict}."""
    labels: Path | None = None
    """People's labels of the texts (CSV or JSONL), relative to this file: a row for an item and an
    annotator. The majority of several people counts."""
    label_fields: FieldColumns = Field(default_factory=dict)
    """Field of a label → the column of `labels` it stands in, such as {annotator: rater}."""
    repeats: int = Field(default=1, ge=1, le=50)
    """How often each text is judged."""
    valid_days: int = Field(default=90, ge=1, le=1000)
    """Days until the certificate ends."""
