"""What files of recorded judgements hold: items, judgements, and what of them was not read."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Literal, NamedTuple, TypeGuard

from judge_gym.evidence.normal_text import normal_text
from judge_gym.evidence.redacting import Redaction
from judge_gym.recorded.content import Left, LeftRecord
from judge_gym.recorded.mapping import Choice, as_score
from judge_gym.recorded.reported import Apart
from judge_gym.seeds import digest


@dataclass(frozen=True, slots=True)
class RecordedItem:
    """What was judged; `truth` is the known stage, None if unknown."""

    key: str
    title: str
    text: str
    category: str
    truth: int | None
    people: tuple[int | None, ...] = ()
    """The stage that each person gave it; None without a label."""
    system: str = ""
    """What was compared, such as the model that wrote it; of a pair the first answer's."""
    second_system: str = ""
    """That of the second answer of a pair."""
    question: str = field(default="", compare=False)
    """What it answers, which several items may share."""
    longest: int | None = field(default=None, compare=False)
    """The stage that chooses the longest of its texts; None where several are, or are not named."""
    number: float | None = field(default=None, compare=False)
    """The known answer as a number, or the mean of people's labels; None where they are none."""


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
    behind: str | None = None
    """The raw answer behind a decision."""
    preference: float | None = None
    """The preference for the second text of a pair, in [1, 2]."""
    where: str = field(default="", compare=False)
    """Where a raw answer stands in its file."""

    @property
    def number(self) -> float | None:
        """A decision that is a number; None for any other, and one that is not on the scale."""
        return None if self.choice in (None, "abstained") else as_score(self.verdict)


@dataclass(frozen=True, slots=True)
class Judging:
    """Who judged: a judge, and the wording of its prompt, "" where the file does not name one."""

    judge: str
    wording: str = ""

    def __str__(self) -> str:
        return f"{self.judge}, wording {self.wording}" if self.wording else self.judge


LONGEST_WORDING = 80
_OPENING = 40


def wording_name(text: str) -> str:
    """Return the name of a wording: its own, or the opening of a whole prompt with its digest."""
    line = " ".join(normal_text(text).split())
    if len(line) <= LONGEST_WORDING:
        return line
    return f"{line[:_OPENING].rstrip()}… {digest(line)[:6]}"


@dataclass
class RecordedWindow:
    """The items of a window, and who judged → judgements; both in the file's order."""

    items: dict[str, RecordedItem] = field(default_factory=dict)
    judgements: dict[Judging, list[Given]] = field(default_factory=dict)
    labels: dict[str, dict[str, list[int]]] = field(default_factory=dict)
    """Item → person → the stages that they gave it, in rows of their own beside those of judges, or
    in a file of labels."""
    _numbers: dict[str, dict[str, list[float | None]]] = field(default_factory=dict)
    """As `labels`, the same labels as numbers; None for one that is none."""

    def add_label(
        self, item: str, person: str, stage: int | None, number: float | None = None
    ) -> None:
        """Add the label of a person; no stage for no label."""
        if stage is not None:
            self.labels.setdefault(item, {}).setdefault(person, []).append(stage)
            self._numbers.setdefault(item, {}).setdefault(person, []).append(number)

    def answer_by_one_person(self) -> None:
        """Make the labels of a single person the known answers, where each item has one of them.

        The mean of several people's numbers is what distances are from, without a known answer.
        """
        people = {person for of_item in self.labels.values() for person in of_item}
        alone = len(people) == 1 and all(
            len(stages) == 1 for of_item in self.labels.values() for stages in of_item.values()
        )
        for key, of_item in self.labels.items():
            numbers = list(self._numbers[key].values())
            known = not any(None in of for of in numbers)
            self.items[key] = replace(
                self.items[key],
                truth=next(iter(of_item.values()))[0] if alone else None,
                number=fmean(fmean(filter(_is_number, of)) for of in numbers) if known else None,
            )

    def replicates(self, judging: Judging) -> int:
        """Return the largest number of judgements of one item by this judge and wording."""
        counts = Counter(given.item for given in self.judgements[judging])
        return max(counts.values(), default=1)


@dataclass(frozen=True)
class DoubtedScale:
    """A column of scores whose scale may end below that of the mapping."""

    column: str
    highest: float
    """The highest score in it."""
    ends: float
    """Where its scale may end."""
    of_scale: float
    """Where the mapping's scale ends."""
    is_named: bool
    """Whether the column's name says where it ends, such as `Score (1-5)`."""
    above: Sequence[str] = ()
    """Columns with scores above that end."""
    of_labels: bool = False
    """Whether its scores are known answers, or labels of people."""


class LeftLabel(NamedTuple):
    """Why a label of a person does not count."""

    why: str
    """Such as "status is discarded"."""
    value: str = ""
    """The label, where it does not count since no stage has it."""


@dataclass
class Unread:
    """What a mapping leaves of the rows."""

    columns: dict[str, None] = field(default_factory=dict)
    """Columns that it does not name."""
    entries: dict[str, tuple[int, int]] = field(default_factory=dict)
    """A list of judgements → how many entries it reads, and how many the longest has."""
    judges: Counter[str] = field(default_factory=Counter)
    """Judge → judgements."""
    judge_column: str = ""
    """The column that names the judge; "" where columns do."""
    systems: Counter[str] = field(default_factory=Counter)
    """System → items."""
    categories: Counter[str] = field(default_factory=Counter)
    """Category → items."""
    empty: dict[Judging, list[str]] = field(default_factory=dict)
    """Who judged → item and line of each judgement whose cell is empty."""
    unlisted: dict[str, list[str]] = field(default_factory=dict)
    """An answer that is no verdict → its judgements: who judged, item and line."""
    again: list[str] = field(default_factory=list)
    """Rows of an item, judge and wording that an earlier row is of: who judged, item and line."""
    cells: int = 0
    """How many items, judges and wordings the rows are of."""
    scores: dict[str, Counter[float]] = field(default_factory=dict)
    """Judge → its verdicts that are numbers, with how many of each."""
    highest_at: dict[str, tuple[float, str]] = field(default_factory=dict)
    """Judge → its highest score, with item and line of the first such one."""
    outside: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    """Judge → its numbers that are no verdict, each with item and line."""
    scale: tuple[float, float] | None = None
    """The ends of the mapping's scale."""
    known: dict[str, Counter[float]] = field(default_factory=dict)
    """Column of known answers or labels → those that are numbers, with how many of each."""
    mixed: list[tuple[str, ...]] = field(default_factory=list)
    """Judges, and columns of known answers or labels, of each of several scales that are read as
    one; the scale that ends lowest first."""
    doubted: list[DoubtedScale] = field(default_factory=list)
    """Columns of verdicts and labels that may have another scale than the mapping's."""
    unlabelled: list[str] = field(default_factory=list)
    """Items whose known answer is empty, where there is a column of known answers."""
    unfinished: int = 0
    """Judgements of runs that were not finished."""
    between: dict[str, None] = field(default_factory=dict)
    """Scores between two whole ones of the scale."""
    others: int = 0
    """Rows that `only` leaves out."""
    not_counted: dict[LeftLabel, dict[str, None]] = field(default_factory=dict)
    """Why a label of a person does not count → its item and column."""
    differing: dict[str, None] = field(default_factory=dict)
    """Items with labels of one person that differ, and the person."""
    left: dict[Left, list[LeftRecord]] = field(default_factory=dict)
    """Why a file's records are no judgements → which they are."""
    apart: list[Apart] = field(default_factory=list)
    """Means that a file reports and that differ from those of its judgements."""
    failed: dict[str, Counter[str]] = field(default_factory=dict)
    """A column that may say how a judgement ended, and that is not read → the values of it that
    name a failure, in how many rows."""
    not_given: dict[str, Counter[str]] = field(default_factory=dict)
    """A column of a file of labels that may say which count, and that is not read → the values of
    it that name a label that does not, in how many rows."""
    people: Counter[str] = field(default_factory=Counter)
    """Person → items that they labelled, by rows or a file of labels."""
    redaction: Redaction = field(default_factory=Redaction)
    """What was replaced in texts."""
    pooled: dict[str, dict[str, None]] = field(default_factory=dict)
    """A column that may name what was compared, and that no figure is given by → its values."""
    criteria: dict[str, dict[str, None]] = field(default_factory=dict)
    """A column that may name what was asked of a judge, and that is not read → its values."""
    prompts: dict[str, bool] = field(default_factory=dict)
    """Such a column with whole prompts → whether they differ between rows of an item and a judge.
    """
    kinds: dict[str, dict[str, str]] = field(default_factory=dict)
    """A column that is not read and has the same short value in all rows of a judge → judge → it.
    """
    answers: tuple[str, ...] = ()
    """Two columns of texts that are named as the answers of a pair, where the scores may be codes
    that name one of them, or a tie."""

    def note_known(self, column: str, number: float | None) -> None:
        """Note a known answer, or the label of a person, that is a number."""
        if number is not None:
            self.known.setdefault(column, Counter())[number] += 1


@dataclass(frozen=True)
class Recordings:
    """What files hold: window → its items and judgements, and what was left."""

    windows: dict[str, RecordedWindow]
    unread: Unread


def _is_number(given: float | None) -> TypeGuard[float]:
    return given is not None


Stages = tuple[int, ...] | Literal["abstained"]


def stages_of(choice: Choice) -> Stages:
    """Return the stages of a choice, ascending."""
    return (choice,) if isinstance(choice, int) else choice


def turned(stages: Stages, n_stages: int) -> Stages:
    """Return the stages that were chosen where the rubric was shown in reverse."""
    if stages == "abstained":
        return stages
    return tuple(sorted(n_stages + 1 - stage for stage in stages))


def stage_set(stages: Sequence[int]) -> int:
    """Return the bit set of stages, bit s-1 for stage s."""
    return sum(1 << (stage - 1) for stage in stages)
