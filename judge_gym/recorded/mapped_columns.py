"""The columns that a mapping of recorded judgements names, by what they are of."""

from collections.abc import Collection
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, GetJsonSchemaHandler, model_validator
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema

from judge_gym.design.fields import Frozen, Legal
from judge_gym.evidence.choosing import Only, TableKeys
from judge_gym.evidence.columns import fault_of, names_in


def added(default: Any = "") -> Any:
    """Return a field that is not part of a mapping's identity while it has its default.

    The identity of what was imported before the field existed stays the same.
    """
    return Field(default=default, exclude_if=lambda value: value == default)


REST = "{rest}"
"""A column that stands for all that a mapping names for nothing else, until files are read."""


class MappedColumns(Frozen):
    """Fields that name columns: a name, a path, or a text with `{...}` around either."""

    @model_validator(mode="after")
    def _check_columns(self) -> Self:
        for name, value in self:
            if name in self.column_fields and isinstance(value, str) and (fault := fault_of(value)):
                raise ValueError(f"{name} {fault}")
        return self

    @property
    def column_fields(self) -> Collection[str]:
        """The fields that name columns."""
        return type(self).model_fields


def rest_of(given: Any) -> Any:
    """Return names of columns as given, or the one that stands for the rest."""
    if given == "rest":
        return (REST,)
    return tuple(given) if isinstance(given, list) else given


ColumnsOrRest = Annotated[
    tuple[str, ...],
    BeforeValidator(rest_of, json_schema_input_type=tuple[str, ...] | Literal["rest"]),
    Legal("a list of columns, or rest"),
]
"""Names of columns, or `rest`: all that a mapping names for nothing else."""


class ItemColumns(MappedColumns):
    """The columns that describe what was judged."""

    key: str = Field(min_length=1)
    """What tells items apart; unique within a window."""
    file: str = added()
    """A file with a row for each item, beside the judgements; it holds the other columns."""
    title: str = ""
    """A title for people."""
    text: str = ""
    """What the judges read."""
    category: str = ""
    """The part of a benchmark; accuracy is given for each."""
    system: str = added()
    """What was compared, such as the model that wrote the text: an audit gives the figures of each
    system first, and says how rightly each judge ranks them. Of a pair, what made the first."""
    second_system: str = added()
    """What made the second answer of a pair, beside `system`; the first stage chooses the first
    answer, the last one the second. An audit ranks systems by how often they win."""
    question: str = added()
    """What the item answers, where several do: such items are no independent evidence. Without it,
    the key, which several systems may have."""
    truth: str = ""
    """The known answer; `truths` says which stage each value stands for."""
    people: ColumnsOrRest = added(())
    """Columns with a label each, of people who judged the item too, or `rest`: all that the mapping
    names for nothing else. `truths` says what a value stands for, and an empty one is no label. An
    audit compares judges with them. Labels of one person are the known answers, where `truth` is
    not given."""
    only: Only = added({})
    """A key of a list's entry, such as `status` of a response → its value, or its values, in the
    entries whose labels count. Without it, a label does not count whose entry has `was_cancelled`
    or the status discarded, draft or pending; the page counts them."""
    texts: Annotated[dict[str, int], Legal("a mapping of columns to stages")] = added({})
    """Column of an answer → the stage that chooses it; an audit compares their lengths."""

    @property
    def reads(self) -> tuple[str, ...]:
        """The columns and paths that describe an item."""
        own = (self.key, self.title, self.text, self.category, self.system, self.second_system)
        columns = (*own, self.question, self.truth, *self.people, *self.texts)
        return tuple(name for column in columns for name in names_in(column))

    @property
    def person(self) -> str:
        """The column of the one person whose labels are the known answers; "" without one."""
        return self.people[0] if len(self.people) == 1 and not self.truth else ""

    @property
    def known(self) -> str:
        """The column of the known answers; "" without one."""
        return self.truth or self.person


class VerdictColumn(MappedColumns):
    """A column with one verdict a row."""

    column: str = Field(min_length=1)
    """Its name."""
    reversed: bool = False
    """The stages were shown in reverse: the other order of a pair."""
    own_order: bool = added(False)
    """Its decisions name the stages in the rubric's order, whatever order was shown."""
    preference: str = added()
    """A column with a preference for the second text of a pair, from 1 (the first) to 2, as
    AlpacaEval weights it; an audit gives its mean less 1, the win rate."""
    answer: str = added()
    """A column with the raw answer behind a decision. It is stored to be read, and with
    `answer_forms` it is parsed and compared with the decision, which counts."""

    @model_validator(mode="before")
    @classmethod
    def _named(cls, given: Any) -> Any:
        return {"column": given} if isinstance(given, str) else given

    @classmethod
    def __get_pydantic_json_schema__(
        cls, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {"anyOf": [{"type": "string"}, handler(schema)]}


Metric = Literal[
    "accuracy_of_all",
    "accuracy_as_listed",
    "accuracy_swapped",
    "accuracy_every_order",
    "same_choice",
    "kappa_between_orders",
]
"""What a published figure can be of."""


class PublishedFigures(MappedColumns):
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


class LabelsFile(MappedColumns, TableKeys):
    """A file of people's labels of the items: `label` with several rows an item, or `people` with a
    column for each."""

    file: str = Field(min_length=1)
    """The file, beside the judgements."""
    item: str = ""
    """The item that a row is of, as the judgements name it; without it, as `item.key`."""
    person: str = ""
    """The column that names the person; without it, all labels are of one."""
    label: str = ""
    """The column with the label; `truths` says what a value stands for, and an empty one is no
    label. Several labels of a person of an item are a set."""
    people: ColumnsOrRest = ()
    """Columns with a label each, of people that they name, or `rest`: all of the file that name
    neither the item nor its system."""

    @model_validator(mode="after")
    def _check_form(self) -> "LabelsFile":
        if bool(self.label) == bool(self.people):
            raise ValueError(
                "give one of label and people: label: score with a row for each label, people: "
                "[ann, bo] with a column for each person"
            )
        if self.person and not self.label:
            raise ValueError("person comes with label: columns of people name them")
        return self

    @property
    def column_fields(self) -> Collection[str]:
        """The fields that name columns."""
        return ("item", "person", "label")
