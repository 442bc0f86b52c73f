"""The mapping file: the meaning of the columns of a file of recorded judgements."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, model_validator

from judge_gym.design.config_model import read_model
from judge_gym.design.config_tree import Node, read_tree
from judge_gym.design.experiment import ScoringMethod
from judge_gym.design.frozen import Frozen
from judge_gym.design.legal import Legal
from judge_gym.design.rubric import Rubric, rubric_faults
from judge_gym.design.rubric_file import load_rubric
from judge_gym.errors import ConfigError

Choice = int | tuple[int, ...] | Literal["abstained"]
"""A stage, several stages, or an abstention."""


_CHOICES = Legal("a mapping of values to a stage, a list of stages, or abstained")


class ItemColumns(Frozen):
    """The columns that describe what was judged."""

    key: str = Field(min_length=1)
    """What tells items apart; unique within a window."""
    title: str = ""
    """A title for people."""
    text: str = ""
    """What the judges read."""
    category: str = ""
    """The part of a benchmark; accuracy is given for each."""
    truth: str = ""
    """The known answer; `truths` says which stage each value stands for."""


class VerdictColumn(Frozen):
    """A column with one verdict a row."""

    column: str = Field(min_length=1)
    """Its name."""
    reversed: bool = False
    """The stages were shown in reverse: the other order of a pair."""


class Recorded(Frozen):
    """How to read a file of recorded judgements. Exactly one of `verdicts`, `answers` and
    `counts` says where they stand."""

    name: Annotated[str, Legal("small letters, digits and hyphens")] = Field(
        pattern=r"^[a-z0-9-]{1,80}$"
    )
    """The sweep they become: small letters, digits and hyphens."""
    description: str = ""
    """A sentence for people."""
    concept: str = Field(min_length=1, max_length=200)
    """What was judged."""
    country: str = Field(min_length=1, max_length=200)
    """The country or setting."""
    source: str = Field(min_length=1, max_length=200)
    """Where the truth, or the judgements, come from, as a paper would cite it."""
    rubric: Path
    """The stages the verdicts are mapped to: a rubric file, relative to this one."""
    judge: str = ""
    """The judge, when it is one."""
    judge_column: str = ""
    """The column that names the judge."""
    families: dict[str, str] = Field(default_factory=dict)
    """Judge → family, for judges that are of one; others are their own."""
    window_column: str = ""
    """The column whose values split the items into windows, judged by different judges."""
    item: ItemColumns
    """The columns that describe an item."""
    truths: Annotated[dict[str, int], Legal("a mapping of values to stages")] = Field(
        default_factory=dict
    )
    """Value of `item.truth` → the stage it stands for."""
    verdicts: tuple[VerdictColumn, ...] = ()
    """Columns of decisions, read through `decisions`."""
    decisions: Annotated[dict[str, Choice], _CHOICES] = Field(default_factory=dict)
    """Value of such a column → stage, stages, or abstained; stages as they were shown. An empty
    value is an answer that could not be read."""
    answers: tuple[VerdictColumn, ...] = ()
    """Columns of raw answers, which end in a verdict line and are parsed like a model's."""
    scoring_method: ScoringMethod = "single"
    """What the raw answers were asked to end in."""
    counts: Annotated[dict[str, Choice], _CHOICES] = Field(default_factory=dict)
    """Column that counts judgements → the stage or stages they chose."""

    @model_validator(mode="after")
    def _check(self) -> "Recorded":
        if sum(map(bool, (self.verdicts, self.answers, self.counts))) != 1:
            raise ValueError("give exactly one of verdicts, answers and counts")
        if bool(self.verdicts) != bool(self.decisions):
            raise ValueError("verdicts, and only they, come with decisions")
        if bool(self.judge) == bool(self.judge_column):
            raise ValueError("give one of judge and judge_column")
        if bool(self.item.truth) != bool(self.truths):
            raise ValueError("item.truth comes with truths, and truths with item.truth")
        for value, choice in {**self.decisions, **self.counts}.items():
            if isinstance(choice, tuple) and (not choice or sorted(set(choice)) != list(choice)):
                raise ValueError(f"{value!r} lists stages that are not one or more, ascending")
        return self

    @property
    def pairwise(self) -> bool:
        """Whether every item was judged in both orders."""
        orders = {column.reversed for column in (*self.verdicts, *self.answers)}
        return orders == {False, True}

    @property
    def subset(self) -> bool:
        """Whether a verdict may name several stages."""
        if self.scoring_method == "subset":
            return True
        choices = (*self.decisions.values(), *self.counts.values())
        return any(isinstance(choice, tuple) for choice in choices)


def load_recorded(path: Path) -> tuple[Recorded, Rubric]:
    """Read a mapping file and its rubric; raises `ConfigError` naming file, line, key, value."""
    tree = read_tree(path)
    recorded = read_model(Recorded, tree)
    at = tree.items["rubric"].place
    try:
        rubric = load_rubric(path.parent / recorded.rubric)
    except ConfigError as error:
        raise at.problem(f"cannot be used: {error.message.rstrip('.')}", error.remedy) from error
    if faults := rubric_faults(rubric, rubric.scale_size):
        raise at.problem(f"cannot be used: {'; '.join(faults)}")
    for name in ("truths", "decisions", "counts"):
        _check_stages(tree.items.get(name), getattr(recorded, name), rubric.scale_size)
    return recorded, rubric


def _check_stages(node: Node | None, choices: Mapping[str, Choice], scale_size: int) -> None:
    for value, choice in choices.items():
        stages = choice if isinstance(choice, tuple) else (choice,)
        if any(isinstance(stage, int) and not 1 <= stage <= scale_size for stage in stages):
            assert node is not None
            raise node.items[value].place.problem(
                f"is {', '.join(map(str, stages))}", f"The rubric has the stages 1 to {scale_size}."
            )
