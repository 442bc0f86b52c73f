"""The mapping of recorded judgements: what the columns of their files mean."""

import re
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from judge_gym.design.config import Node, read_model, read_tree
from judge_gym.design.experiment import ScoringMethod
from judge_gym.design.fields import Frozen, Legal
from judge_gym.design.rubric import Rubric, load_rubric
from judge_gym.errors import ConfigError
from judge_gym.recorded.columns import fault_of, names_in

Choice = int | tuple[int, ...] | Literal["abstained"]
"""A stage, several stages, or an abstention."""


_TRUTH_VALUES = {"0": False, "1": True, "false": False, "true": True, "no": False, "yes": True}
_CHOICES = Legal("a mapping of values to a stage, a list of stages, or abstained")


def _added(default: Any = "") -> Any:
    """Return a field that is not part of a mapping's identity while it has its default.

    The identity of what was imported before the field existed stays the same.
    """
    return Field(default=default, exclude_if=lambda value: value == default)


class _Columns(Frozen):
    """Fields that name columns: a name, a path, or a text with `{...}` around either."""

    @model_validator(mode="after")
    def _check_columns(self) -> Self:
        for name, value in self:
            if name in self.columns and isinstance(value, str) and (fault := fault_of(value)):
                raise ValueError(f"{name} {fault}")
        return self

    @property
    def columns(self) -> Collection[str]:
        """The fields that name columns."""
        return type(self).model_fields


class ItemColumns(_Columns):
    """The columns that describe what was judged."""

    key: str = Field(min_length=1)
    """What tells items apart; unique within a window."""
    file: str = _added()
    """A file with a row for each item, beside the judgements; it holds the other columns."""
    title: str = ""
    """A title for people."""
    text: str = ""
    """What the judges read."""
    category: str = ""
    """The part of a benchmark; accuracy is given for each."""
    truth: str = ""
    """The known answer; `truths` says which stage each value stands for."""
    people: tuple[str, ...] = _added(())
    """Columns with a label each, of people who judged the item too; `truths` says what a value
    stands for, and an empty one is no label. An audit compares judges with them."""
    texts: Annotated[dict[str, int], Legal("a mapping of columns to stages")] = _added({})
    """Column of an answer → the stage that chooses it; an audit compares their lengths."""


class VerdictColumn(_Columns):
    """A column with one verdict a row."""

    column: str = Field(min_length=1)
    """Its name."""
    reversed: bool = False
    """The stages were shown in reverse: the other order of a pair."""
    own_order: bool = _added(False)
    """Its decisions name the stages in the rubric's order, whatever order was shown."""
    answer: str = _added()
    """A column with the raw answer behind a decision. It is stored to be read, and with
    `answer_forms` it is parsed and compared with the decision, which counts."""

    @model_validator(mode="before")
    @classmethod
    def _named(cls, given: Any) -> Any:
        return {"column": given} if isinstance(given, str) else given


Metric = Literal[
    "accuracy_of_all",
    "accuracy_as_listed",
    "accuracy_swapped",
    "accuracy_every_order",
    "same_choice",
    "kappa_between_orders",
]
"""What a published figure can be of."""


class PublishedFigures(_Columns):
    """A file of figures that others published about the same judges."""

    file: str = Field(min_length=1)
    """The file, beside the judgements."""
    judge: str = Field(min_length=1)
    """The column that names the judge, as the judgements do."""
    wording: str = ""
    """The column that names the wording, where the judgements have one."""
    category: str = ""
    """The column that names the category; without one the figures are of all items."""
    figures: dict[str, Metric] = Field(min_length=1)
    """Column → the metric that it is of."""
    percent: bool = False
    """Whether shares are in percent."""


class Recorded(_Columns):
    """How to read files of recorded judgements. Exactly one of `verdicts`, `answers` and
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
    files: str = _added()
    """Which files of a folder hold the judgements, such as `*.jsonl`; all, if not given."""
    file_pattern: str = _added()
    """A regular expression for the part of a file's name that `{file}` is: its first group. A
    named group `(?P<x>...)` is `{file.x}`."""
    judge: str = ""
    """The judge, when it is one; `{file}` where the file's name tells."""
    judge_column: str = ""
    """The column that names the judge."""
    wording_column: str = _added()
    """The column that names the wording of the prompt; each becomes experiments of its own."""
    repeats: bool = _added(False)
    """Equal rows of a file are repeated judgements; otherwise they are refused as copies."""
    swapped_column: str = _added()
    """The column that says whether a pair was shown in the other order."""
    swapped: Annotated[dict[str, bool], Legal("a mapping of values to true and false")] = _added(
        _TRUTH_VALUES
    )
    """Value of `swapped_column` → whether the order was the other one."""
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
    """Columns of raw answers. They end in a verdict line and are parsed like a model's, unless
    `answer_forms` says how a verdict is written."""
    answer_forms: Annotated[dict[str, Choice], _CHOICES] = _added({})
    """How a raw answer writes its verdict, such as `[[A>>B]]`, `Output (a)` or `Rating: 4` → stage,
    stages, or abstained; stages as they were shown. The last one that the answer asserts counts."""
    scoring_method: ScoringMethod = "single"
    """What the raw answers were asked to end in."""
    counts: Annotated[dict[str, Choice], _CHOICES] = Field(default_factory=dict)
    """Column that counts judgements → the stage or stages they chose."""

    published: PublishedFigures | None = _added(None)
    """Published figures of the same judges on pairs, to compare with the computed ones."""

    @model_validator(mode="after")
    def _check(self) -> "Recorded":
        if sum(map(bool, (self.verdicts, self.answers, self.counts))) != 1:
            raise ValueError("give exactly one of verdicts, answers and counts")
        if bool(self.verdicts) != bool(self.decisions):
            raise ValueError("verdicts, and only they, come with decisions")
        if bool(self.judge) == bool(self.judge_column):
            raise ValueError("give one of judge and judge_column")
        if self.answer_forms and not (self.answers or any(one.answer for one in self.verdicts)):
            raise ValueError("answer_forms comes with answers, or with the answer of a verdict")
        if any(one.answer or one.own_order for one in self.answers):
            raise ValueError("own_order and answer belong to verdicts, not to answers")
        if bool(self.item.truth or self.item.people) != bool(self.truths):
            raise ValueError(
                "item.truth and item.people come with truths, and truths with one of them"
            )
        if self.published and not (self.pairwise and self.item.truth):
            raise ValueError("published comes with pairs in both orders whose truth is known")
        self._check_pattern()
        for value, choice in {**self.decisions, **self.counts, **self.answer_forms}.items():
            if isinstance(choice, tuple) and (not choice or sorted(set(choice)) != list(choice)):
                raise ValueError(f"{value!r} lists stages that are not one or more, ascending")
        return self

    def _check_pattern(self) -> None:
        if self.file_pattern and "{file" not in self.model_dump_json():
            raise ValueError(
                "file_pattern is given, and no column has {file}, as in judge: '{file}'"
            )
        try:
            re.compile(self.file_pattern)
        except re.error as error:
            raise ValueError(f"file_pattern is not a regular expression: {error}") from error

    @property
    def columns(self) -> Collection[str]:
        """The fields that name columns."""
        return ("judge", "judge_column", "wording_column", "swapped_column", "window_column")

    @property
    def reads(self) -> list[str]:
        """The columns and paths of a row that the mapping names."""
        item = [self.item.key, self.item.title, self.item.text, self.item.category, self.item.truth]
        columns = [
            self.judge if "{" in self.judge else "",
            *(self.judge_column, self.wording_column, self.swapped_column, self.window_column),
            *(item[:1] if self.item.file else (*item, *self.item.people, *self.item.texts)),
            *(name for one in self.verdicts for name in (one.column, one.answer)),
            *(one.column for one in self.answers),
            *self.counts,
        ]
        return [name for column in columns for name in names_in(column)]

    @property
    def pairwise(self) -> bool:
        """Whether every item was judged in both orders."""
        if self.swapped_column:
            return True
        orders = {column.reversed for column in (*self.verdicts, *self.answers)}
        return orders == {False, True}

    @property
    def subset(self) -> bool:
        """Whether a verdict may name several stages."""
        if self.scoring_method == "subset":
            return True
        choices = (*self.decisions.values(), *self.counts.values(), *self.answer_forms.values())
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
    for name in ("truths", "decisions", "counts", "answer_forms"):
        _check_stages(tree.items.get(name), getattr(recorded, name), rubric.scale_size)
    texts = tree.items["item"].items.get("texts")
    _check_stages(texts, recorded.item.texts, rubric.scale_size)
    return recorded, rubric


def _check_stages(node: Node | None, choices: Mapping[str, Choice], scale_size: int) -> None:
    for value, choice in choices.items():
        stages = choice if isinstance(choice, tuple) else (choice,)
        if any(isinstance(stage, int) and not 1 <= stage <= scale_size for stage in stages):
            assert node is not None
            raise node.items[value].place.problem(
                f"is {', '.join(map(str, stages))}", f"The rubric has the stages 1 to {scale_size}."
            )
