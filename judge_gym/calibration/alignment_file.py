"""The alignment file: a judge, labelled texts, how they are split, and what is tried."""

from pathlib import Path
from typing import Annotated, Self

from pydantic import AfterValidator, Field, model_validator

from judge_gym.design.config import check_exists, read_model, read_tree
from judge_gym.design.fields import Frozen, Legal, ModelName, Slug
from judge_gym.design.plans import Budget
from judge_gym.evidence.choosing import FieldColumns
from judge_gym.planted.families import served
from judge_gym.records.items import Fields

_LABELS = Legal("the lowest and the highest label, such as [1, 5]")


class AlignmentSplit(Frozen):
    """How labelled texts are divided; the digest of a text alone says which part it is in.

    So a new label moves no text, and a text that is there twice is in one part.
    """

    development: float = Field(default=0.3, gt=0, lt=1)
    """Share of the texts on which a candidate is chosen."""
    test: float = Field(default=0.4, gt=0, lt=1)
    """Share of the texts that stay sealed until a candidate is chosen. The rest is for training."""
    seed: int = Field(default=0, ge=0, lt=2**63)
    """Which texts are in which part. Keep it: another seed moves texts of the test."""

    @model_validator(mode="after")
    def _leaves_training(self) -> Self:
        if self.development + self.test >= 1:
            raise ValueError(
                f"development {self.development:g} and test {self.test:g} leave nothing for "
                "training. Use shares with a sum below 1"
            )
        return self


class AlignmentCandidates(Frozen):
    """What is tried beside the judge as it is."""

    examples: int = Field(default=4, ge=0, le=20)
    """Few-shot examples chosen from training texts, at least half of them mistakes; 0 for none."""
    rubrics: int = Field(default=3, ge=0, le=20)
    """Rubrics that the proposer writes from training mistakes; 0 for none. The best of them on
    development is tried with the examples, too."""

    @model_validator(mode="after")
    def _tries_something(self) -> Self:
        if not (self.examples or self.rubrics):
            raise ValueError("examples and rubrics are both 0. Use 1 or more of one of them")
        return self


class Proposer(Frozen):
    """The model that proposes rubrics."""

    model: Annotated[ModelName, AfterValidator(served)]
    """The model that proposes, as provider/model."""
    mistakes: int = Field(default=8, ge=1, le=50)
    """How many training mistakes it reads for one proposal, drawn anew for each."""
    temperature: float = Field(default=1.0, ge=0, le=2)
    """0 to 2; at 0 proposals differ only by the mistakes that are shown."""
    max_tokens: int = Field(default=2048, ge=16, le=32_000)
    """Longest answer in tokens."""


class AlignmentFile(Frozen):
    """One alignment: a judge that asks a model, and people's labels to bring it nearer to."""

    name: Slug
    """What it is called: small letters, digits and hyphens."""
    judge: Path
    """The judge file, relative to this one: the judge before."""
    items: Path
    """The texts (JSONL or CSV), relative to this file; `truth` may hold a person's label."""
    fields: Fields = Field(default_factory=dict)
    """Field of an item → the column of the file it stands in, such as {truth: human_score}."""
    labels: Path | None = None
    """People's labels of the texts (CSV or JSONL), relative to this file: a row for an item, an
    annotator and a criterion. The mean or the majority of several people counts; their notes are
    the reasons of examples."""
    label_fields: FieldColumns = Field(default_factory=dict)
    """Field of a label → the column of `labels` it stands in, such as {annotator: rater}."""
    label_scale: Annotated[tuple[float, float], _LABELS] | None = None
    """The lowest and the highest label, such as [1, 5]: labels are mapped linearly from there to
    the judge's scale."""
    split: AlignmentSplit = AlignmentSplit()
    """How the labelled texts are divided."""
    candidates: AlignmentCandidates = AlignmentCandidates()
    """What is tried."""
    proposer: Proposer | None = None
    """The model that proposes rubrics; needed unless `candidates.rubrics` is 0."""
    repeats: int = Field(default=1, ge=1, le=50)
    """How often each text is judged; the mean counts."""
    readable: float = Field(default=0.8, gt=0, le=1)
    """Least share of the texts with a score of the judge before that a candidate scores, too."""
    budget: Budget | None = None
    """What proposals and candidates may use in all. The judge before has its own in its file."""

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if self.label_scale and not self.label_scale[0] < self.label_scale[1]:
            raise ValueError("label_scale does not ascend")
        if self.candidates.rubrics and self.proposer is None:
            raise ValueError(
                f"candidates.rubrics is {self.candidates.rubrics}, and there is no proposer. Add "
                "proposer: {model: provider/model}, or set candidates.rubrics to 0"
            )
        return self


def load_alignment(path: Path) -> AlignmentFile:
    """Read an alignment file, its paths found from where it is.

    Raises `ConfigError` naming file, line, key and value.
    """
    tree = read_tree(path)
    if "kind" in tree.items and "judge" not in tree.items:
        raise tree.place.problem(
            "is a judge file", f"Write an alignment file with judge: {path.name} and items."
        )
    design = read_model(AlignmentFile, tree)
    for key in ("judge", "items", *(("labels",) if design.labels else ())):
        check_exists(tree.items[key])
    folder = path.parent
    paths = {"judge": folder / design.judge, "items": folder / design.items}
    labels = {"labels": folder / design.labels} if design.labels else {}
    return design.model_copy(update={**paths, **labels})
