"""Recorded judgements of others: the mapping of the columns of a file, and reading it.

Reading gives all items and judgements or one error. Values only; `lab.importing` stores them.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from judge_gym.design.config import Node, corpus_files, read_model, read_tree
from judge_gym.design.experiment import ScoringMethod
from judge_gym.design.fields import Frozen, Legal
from judge_gym.design.rubric import Rubric, load_rubric
from judge_gym.errors import ConfigError, EvidenceError
from judge_gym.evidence.normal_text import normal_line, normal_text
from judge_gym.evidence.rows import Row, read_rows

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


MAX_JUDGEMENTS = 2_000_000
"""Most judgements of one file."""
MAX_ITEMS = 10_000
"""Most items of one window."""
LONGEST_NAME = 200
"""Most characters of an item's key and of a judge's name; more are cut."""


@dataclass(frozen=True, slots=True)
class RecordedItem:
    """What was judged; `truth` is the known stage, None if unknown."""

    key: str
    title: str
    text: str
    category: str
    truth: int | None


@dataclass(frozen=True, slots=True)
class Given:
    """One judgement as recorded, its stages in the rubric's own order.

    `answer` is a raw answer that is not parsed yet, `choice` a decision. Both are None where the
    file has neither.
    """

    item: str
    reversed: bool
    choice: tuple[int, ...] | Literal["abstained"] | None = None
    answer: str | None = None
    verdict: str = ""
    """The decision as written in the file."""


@dataclass
class RecordedWindow:
    """The items of a window, and judge → judgements; both in the file's order."""

    items: dict[str, RecordedItem] = field(default_factory=dict)
    judgements: dict[str, list[Given]] = field(default_factory=dict)

    def replicates(self, judge: str) -> int:
        """Return the largest number of judgements of one item by this judge."""
        counts = Counter(given.item for given in self.judgements[judge])
        return max(counts.values(), default=1)


def read_recorded(file: Path, recorded: Recorded, n_stages: int) -> dict[str, RecordedWindow]:
    """Read a JSONL or CSV file; returns window → its items and judgements.

    Raises `EvidenceError` naming file, line, column and value at the first row that does not
    fit. No row is skipped, because a file without some of its rows is another data set.
    """
    corpus_files(file)
    reading = _Reading(file, recorded, n_stages)
    for row in read_rows(file):
        reading.take(row)
    if not reading.windows:
        raise EvidenceError(f"{file} has no row.", "Check that it is the recorded file.")
    return reading.windows


class _Reading:
    def __init__(self, file: Path, recorded: Recorded, n_stages: int) -> None:
        self.windows: dict[str, RecordedWindow] = {}
        self._file, self._recorded, self._n_stages = file, recorded, n_stages
        self._left = MAX_JUDGEMENTS

    def take(self, row: Row) -> None:
        if row.fault:
            raise self._fault(row, row.fault)
        name = self._text(row, self._recorded.window_column) or self._recorded.name
        window = self.windows.setdefault(name, RecordedWindow())
        item = self._item(row)
        first = window.items.setdefault(item.key, item)
        if first != item:
            raise self._fault(row, self._difference(first, item), "Give an item one description.")
        if len(window.items) > MAX_ITEMS:
            raise self._fault(row, f"more than {MAX_ITEMS} items")
        judge = self._recorded.judge or self._named(row, self._recorded.judge_column)
        given = list(self._judgements(row, item.key))
        window.judgements.setdefault(judge, []).extend(given)

    def _item(self, row: Row) -> RecordedItem:
        columns = self._recorded.item
        truth = self._text(row, columns.truth)
        if truth and truth not in self._recorded.truths:
            known = ", ".join(map(repr, self._recorded.truths))
            raise self._fault(row, f"{columns.truth} is {truth!r}", f"`truths` has {known}.")
        return RecordedItem(
            key=self._named(row, columns.key),
            title=normal_line(self._text(row, columns.title), 500),
            text=normal_text(self._text(row, columns.text)),
            category=normal_line(self._text(row, columns.category), 500),
            truth=self._recorded.truths[truth] if truth else None,
        )

    def _difference(self, first: RecordedItem, item: RecordedItem) -> str:
        """Return the first column in which two rows describe an item differently."""
        columns = self._recorded.item
        truths: dict[int | None, str] = {None: "empty"}
        truths |= {stage: repr(name) for name, stage in self._recorded.truths.items()}
        for name in ("title", "text", "category"):
            above, here = getattr(first, name), getattr(item, name)
            if above != here:
                column = getattr(columns, name)
                return f"item {item.key!r}: {column} is {here[:80]!r} here and {above[:80]!r} above"
        return (
            f"item {item.key!r}: {columns.truth} is {truths[item.truth]} here and "
            f"{truths[first.truth]} above"
        )

    def _judgements(self, row: Row, item: str) -> Iterator[Given]:
        recorded = self._recorded
        for column in recorded.verdicts:
            self._count(row, 1)
            yield self._decision(row, item, column)
        for column in recorded.answers:
            self._count(row, 1)
            answer = self._text(row, column.column) or None
            yield Given(item, column.reversed, answer=answer)
        for name, choice in recorded.counts.items():
            for _ in range(self._number(row, name)):
                yield Given(item, False, _stages(choice), verdict=name)

    def _decision(self, row: Row, item: str, column: VerdictColumn) -> Given:
        written = self._text(row, column.column)
        if not written:
            return Given(item, column.reversed)
        if written not in self._recorded.decisions:
            known = ", ".join(map(repr, self._recorded.decisions))
            raise self._fault(
                row,
                f"{column.column} is {written!r}",
                f"`decisions` has {known}; empty is an answer that could not be read.",
            )
        chosen = _stages(self._recorded.decisions[written])
        if column.reversed and chosen != "abstained":
            chosen = tuple(sorted(self._n_stages + 1 - stage for stage in chosen))
        return Given(item, column.reversed, chosen, verdict=written)

    def _number(self, row: Row, column: str) -> int:
        written = self._text(row, column)
        # ASCII only, because digits of other scripts pass `isdecimal` too.
        if not (written.isascii() and written.isdecimal()):
            raise self._fault(row, f"{column} is {written!r}", "A count is a whole number.")
        self._count(row, int(written))
        return int(written)

    def _count(self, row: Row, judgements: int) -> None:
        self._left -= judgements
        if self._left < 0:
            raise self._fault(row, f"more than {MAX_JUDGEMENTS} judgements", "Split the file.")

    def _named(self, row: Row, column: str) -> str:
        name = normal_line(self._text(row, column), LONGEST_NAME)
        if not name:
            raise self._fault(row, f"{column} is empty")
        return name

    def _text(self, row: Row, column: str) -> str:
        """Return a value as text; "" for a column that the mapping does not name."""
        if not column:
            return ""
        if column not in row.values:
            there = ", ".join(map(repr, row.values))
            raise self._fault(row, f"there is no {column!r}", f"The row has {there}.")
        value: Any = row.values[column]
        if value is None:
            return ""
        if isinstance(value, bool) or not isinstance(value, str | int | float):
            raise self._fault(row, f"{column} is {type(value).__name__}, not text or a number")
        return str(value).strip()

    def _fault(self, row: Row, what: str, remedy: str = "") -> EvidenceError:
        return EvidenceError(f"{self._file} line {row.line}: {what[:500]}.", remedy[:500])


def _stages(choice: Choice) -> tuple[int, ...] | Literal["abstained"]:
    if isinstance(choice, int):
        return (choice,)
    return choice


def stage_set(stages: Sequence[int]) -> int:
    """Return the bit set of stages, bit s-1 for stage s."""
    return sum(1 << (stage - 1) for stage in stages)
