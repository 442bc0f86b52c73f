"""The mapping of recorded judgements: what the columns of their files mean."""

import math
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Any, Literal, Self, get_args, get_origin

from pydantic import BaseModel, Field, model_validator

from judge_gym.alike import by_folded, folded
from judge_gym.answers.text import read_answer
from judge_gym.design.config import Node, given_tree, read_model, read_tree
from judge_gym.design.experiment import ScoringMethod
from judge_gym.design.fields import Frozen, Legal, Slug, models_of
from judge_gym.design.rubric import Rubric, load_rubric, score_rubric, verdict_rubric
from judge_gym.errors import ConfigError
from judge_gym.evidence.choosing import ColumnNames, HeaderLine, Only
from judge_gym.evidence.columns import names_in, root_of
from judge_gym.evidence.numbers import LONGEST_NUMBER, plain_number
from judge_gym.evidence.redacting import Redaction
from judge_gym.evidence.row import Layout
from judge_gym.recorded.mapped_columns import (
    ColumnsOrRest,
    ItemColumns,
    LabelsFile,
    MappedColumns,
    PublishedFigures,
    VerdictColumn,
    added,
    rest_of,
)

Choice = int | tuple[int, ...] | Literal["abstained"]
"""A stage, several stages, or an abstention."""


MOST_STAGES = 10
_TRUTH_VALUES = {"0": False, "1": True, "false": False, "true": True, "no": False, "yes": True}
_CHOICES = Legal(
    "a mapping of values to the number of a stage (1 is the lowest, the first of `stages`), a list "
    "of numbers, or abstained"
)


class ScoreScale(Frozen):
    """Scores that are numbers, of labels too: no rubric is needed. `4/5`, `Score: 4` and, from 0 to
    100, `80%` are scores. Up to 10 whole scores are a stage each, and a score between two of them
    counts as the nearer one, a half as the higher; any other scale is ten equal bands."""

    lowest: int | float
    """The lowest score."""
    highest: int | float
    """The highest score, above the lowest."""

    @model_validator(mode="after")
    def _check_size(self) -> Self:
        if not self.lowest < self.highest:
            raise ValueError("a scale has lowest below highest, such as {lowest: 1, highest: 5}")
        return self

    @property
    def is_whole(self) -> bool:
        """Whether each stage is a whole score."""
        ends = isinstance(self.lowest, int) and isinstance(self.highest, int)
        return ends and self.highest - self.lowest < MOST_STAGES

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the stages, lowest first."""
        if self.is_whole:
            return tuple(map(str, range(int(self.lowest), int(self.highest) + 1)))
        width = (self.highest - self.lowest) / MOST_STAGES
        ends = [self.lowest + width * number for number in range(MOST_STAGES + 1)]
        return tuple(f"{low:g} to {high:g}" for low, high in pairwise(ends))

    @classmethod
    def bands(cls, labels: Sequence[str]) -> Self | None:
        """Return the scale whose ten equal bands have these names; None for other stages."""
        low = as_number(labels[0].partition(" to ")[0])
        high = as_number(labels[-1].rpartition(" to ")[2])
        if len(labels) != MOST_STAGES or low is None or high is None or not low < high:
            return None
        found = cls(lowest=low, highest=high)
        return found if found.labels == tuple(labels) else None

    def position(self, number: float | None) -> float | None:
        """Return a score on 0 to 1, as written; None for no score and for one off the scale."""
        if number is None or not self.lowest <= number <= self.highest:
            return None
        return (number - self.lowest) / (self.highest - self.lowest)

    def score(self, stage: int) -> float:
        """Return the score that a stage is, or the middle of its band."""
        if self.is_whole:
            return float(self.lowest + stage - 1)
        return self.lowest + (stage - 0.5) * (self.highest - self.lowest) / MOST_STAGES

    def stage(self, written: str) -> int | None:
        """Return the stage of a score such as 4, 4.5, 4/5 or Score: 4; None for what is not on the
        scale.

        `4/5` is on a scale that ends at 5, `80%` on that from 0 to 100, and on no other.
        """
        found = read_score(written)
        if found is None or not self.lowest <= found.number <= self.highest:
            return None
        if found.out_of not in (None, self.highest) or (found.is_percent and self.lowest != 0):
            return None
        score = found.number
        if self.is_whole:
            return int(score - self.lowest + 0.5) + 1
        share = (score - self.lowest) / (self.highest - self.lowest)
        return min(int(share * MOST_STAGES), MOST_STAGES - 1) + 1


class Recorded(MappedColumns):
    """How to read files of recorded judgements. Exactly one of `verdicts`, `answers` and
    `counts` says where they stand."""

    name: Slug
    """The sweep they become: small letters, digits and hyphens."""
    description: str = ""
    """A sentence for people."""
    concept: str = Field(min_length=1, max_length=200)
    """What was judged."""
    country: str = Field(default="general", min_length=1, max_length=200)
    """The country or setting."""
    source: str = Field(min_length=1, max_length=200)
    """Where the truth, or the judgements, come from, as a paper would cite it."""
    scale: ScoreScale | None = added(None)
    """The lowest and the highest score, where verdicts and labels are scores: in place of `rubric`,
    `decisions` and `truths`."""
    rubric: Path | None = None
    """The stages the verdicts are mapped to: a rubric file, relative to this one."""
    stages: tuple[str, ...] = added(())
    """The verdicts by name, lowest first: in place of `rubric`. `decisions` and `truths` may add
    other values for them."""
    rows: str = added()
    """Where the rows stand: a key of a JSON file that is an object, such as `data.items`, or a
    sheet of a workbook."""
    columns: ColumnNames = added(())
    """The names of the columns, in order, of files whose first line has none: CSV, tables with
    tabs or spaces between values, sheets, and JSON with a list for each row."""
    header: HeaderLine = added(0)
    """The line or row, from 1, that has the names of the columns: titles above it are not read."""
    only: Only = added({})
    """Column → its value, or its values, in the rows that are read; others, and rows without the
    column, are counted and left."""
    join: str = added()
    """The key by which several files are read as one table, such as `id` or `{query}-{passage}`.
    Columns that differ between files are named after them, too, such as `gpt-4 score` of
    `gpt-4.json`."""
    format: Literal["rows", "inspect", "promptfoo", "alpaca_eval", "qrels"] = added("rows")
    """The tool that wrote the files, whose judgements are the rows; rows of a file otherwise. Of
    qrels (lines of query, 0, passage and grade) the columns are `query`, `passage` and the file's
    name, with the grade."""
    files: str = added()
    """Which files of a folder hold the judgements, such as `*.jsonl`; all, if not given."""
    file_pattern: str = added()
    """A regular expression for the part of a file's name that `{file}` is: its first group. A
    named group `(?P<x>...)` is `{file.x}`."""
    judge: str = ""
    """The judge, when it is one; `{file}` where the file's name tells, and `{column}` where each
    column of `verdicts` or `answers` is of a judge that it names."""
    judge_column: str = ""
    """The column that names the judge."""
    judges: ColumnsOrRest = added(())
    """Columns with a verdict each, of judges that they name, or `rest`: all that the mapping names
    for nothing else. In place of `judge: '{column}'` and `verdicts`."""
    wording_column: str = added()
    """The column that names the wording of the prompt, or has the prompt; each of up to 20 prompts
    becomes experiments of its own."""
    repeats: bool = added(False)
    """Equal rows of a file are repeated judgements; otherwise they are refused as copies."""
    swapped_column: str = added()
    """The column that says whether a pair was shown in the other order."""
    swapped: Annotated[dict[str, bool], Legal("a mapping of values to true and false")] = added(
        _TRUTH_VALUES
    )
    """Value of `swapped_column` → whether the order was the other one."""
    names: dict[str, str] = added({})
    """Judge, person, system or category as the file names them → the name that they count under,
    where one has several such as GPT-4 and gpt-4."""
    people: Only = added({})
    """Column → its value, or its values, in rows that are labels of people in a file that has rows
    of judges, too, such as `people: {kind: human}`. `judge_column` then names the person, and the
    verdict is the label. An audit compares judges with them."""
    redact: tuple[str, ...] = added(())
    """What is replaced by a marker in titles, texts and raw answers before they are stored or
    shown: `email`, `phone`, `{column}` for what that column holds, or a regular expression."""
    families: dict[str, str] = Field(default_factory=dict)
    """Judge or system → family, for those that are of one; others are their own. An audit says
    whether a judge favours systems of its family."""
    window_column: str = ""
    """The column whose values split the items into windows, judged by different judges."""
    item: ItemColumns
    """The columns that describe an item."""
    labels: LabelsFile | None = added(None)
    """A file of people's labels of the items. An audit compares judges with them; labels of one
    person are the known answers, where `item.truth` is not given."""
    truths: Annotated[
        dict[str, int], Legal("a mapping of values to the number of a stage (1 is the lowest)")
    ] = Field(default_factory=dict)
    """Value of `item.truth`, `item.people` and `labels` → the stage it stands for. Case and
    surrounding space are ignored where no other value differs in nothing else."""
    verdicts: tuple[VerdictColumn, ...] = ()
    """Columns of decisions, read through `decisions`."""
    decisions: Annotated[dict[str, Choice], _CHOICES] = Field(default_factory=dict)
    """Value of such a column → stage, stages, or abstained; stages as they were shown. Values are
    matched as those of `truths`. An empty value is an answer that could not be read."""
    unlisted: Literal["refused", "unreadable"] = added("refused")
    """What a decision that is none of these is: an error, or an answer that could not be read; and
    a label of a person that no stage has: an error, or left out."""
    answers: tuple[VerdictColumn, ...] = ()
    """Columns of raw answers. They end in a verdict line and are parsed like a model's, or are a
    score of `scale` and nothing else, unless `answer_forms` says how a verdict is written."""
    answer_forms: Annotated[dict[str, Choice], _CHOICES] = added({})
    """How a raw answer writes its verdict, such as `[[A>>B]]`, `Output (a)` or `Rating: 4` → stage,
    stages, or abstained; stages as they were shown. The last one that the answer asserts counts."""
    answer_patterns: tuple[str, ...] = added(())
    """Forms of `answer_forms` for every verdict of `scale` or `stages` at once, with `{verdict}` in
    its place: such as `Score: {verdict}/5`."""
    scoring_method: ScoringMethod = "single"
    """What the raw answers were asked to end in."""
    counts: Annotated[dict[str, Choice], _CHOICES] = Field(default_factory=dict)
    """Column that counts judgements → the stage or stages they chose."""

    published: PublishedFigures | None = added(None)
    """Published figures of the same judges on pairs, to compare with the computed ones."""

    @model_validator(mode="before")
    @classmethod
    def _columns_of_judges(cls, given: Any) -> Any:
        """Return a mapping that names columns of judges as one with their verdicts."""
        if not isinstance(given, Mapping) or not (judges := rest_of(given.get("judges"))):
            return given
        if clash := [name for name in ("judge", "judge_column", "verdicts", "answers", "counts")
                     if given.get(name)]:  # fmt: skip
            raise ValueError(f"judges is given, and {' and '.join(clash)}: leave one out")
        others = {name: value for name, value in given.items() if name != "judges"}
        return {**others, "judge": "{column}", "verdicts": judges}

    @model_validator(mode="after")
    def _check(self) -> "Recorded":
        if sum(map(bool, (self.verdicts, self.answers, self.counts))) != 1:
            raise ValueError(
                "give exactly one of verdicts, answers and counts, such as verdicts: [score], "
                "where score is a column"
            )
        if bool(self.judge) == bool(self.judge_column):
            raise ValueError(
                "give one of judge_column and judge, such as judge_column: model for the column "
                "that names the judge, or judge: gpt-4.1 for the only judge"
            )
        if self.judges_in_columns and self.counts:
            raise ValueError("judge: '{column}' is of verdicts or answers, not of counts")
        Redaction(self.redact)  # raises for a pattern that is none
        self._check_stages()
        if self.people and not (self.verdicts and self.judge_column):
            raise ValueError("people comes with verdicts and judge_column, which names the person")
        self._check_patterns()
        if self.forms and not (self.answers or any(one.answer for one in self.verdicts)):
            raise ValueError("answer_forms comes with answers, or with the answer of a verdict")
        if any(one.answer or one.own_order or one.preference for one in self.answers):
            raise ValueError("own_order, answer and preference belong to verdicts, not to answers")
        if self.item.second_system and not self.item.system:
            raise ValueError(
                "item.second_system comes with item.system, which names what made the first answer"
            )
        if self.published and not (self.pairwise and self.item.truth):
            raise ValueError("published comes with pairs in both orders whose truth is known")
        self._check_pattern()
        for value, choice in {**self.decisions, **self.counts, **self.answer_forms}.items():
            if isinstance(choice, tuple) and (not choice or sorted(set(choice)) != list(choice)):
                raise ValueError(f"{value!r} lists stages that are not one or more, ascending")
        return self

    def _check_patterns(self) -> None:
        """Raise `ValueError` for a pattern that is the same form for every verdict."""
        for pattern in self.answer_patterns:
            if "{verdict}" not in pattern:
                raise ValueError(f"answer_patterns has {pattern!r}, without {{verdict}} in it")
        if self.answer_patterns and not (self.scale or self.stages):
            raise ValueError("answer_patterns comes with scale or stages, whose verdicts they name")

    @cached_property
    def forms(self) -> dict[str, Choice]:
        """Every form of a raw answer → what it stands for."""
        patterns: dict[str, Choice] = {
            pattern.replace("{verdict}", name): stage
            for pattern in self.answer_patterns
            for stage, name in enumerate(self.verdict_names, 1)
        }
        return patterns | self.answer_forms

    @property
    def verdict_names(self) -> tuple[str, ...]:
        """How verdicts are written, lowest first: the scores of `scale`, or the `stages`."""
        return self.scale.labels if self.scale else self.stages

    def _check_stages(self) -> None:
        """Raise `ValueError` unless it is said once which stages verdicts and labels stand for."""
        if sum(map(bool, (self.rubric, self.scale, self.stages))) != 1:
            raise ValueError(
                "give one of scale, stages and rubric: scale: {lowest: 1, highest: 5} if judges "
                "gave scores, stages: [bad, good] if they gave names, or rubric: rubric.yaml, a "
                "file that describes the stages"
            )
        if self.stages and not (
            2 <= len({name.strip().casefold() for name in self.stages} - {""}) == len(self.stages)
            and len(self.stages) <= 10
            and max(map(len, self.stages)) <= 200
        ):
            raise ValueError("stages has 2 to 10 different names of at most 200 characters")
        if self.decisions and not self.verdicts:
            raise ValueError("decisions is of verdicts, such as verdicts: [score], and has none")
        if self.verdicts and not (self.decisions or self.scale or self.stages):
            raise ValueError(
                'verdicts come with decisions, the stage of each value, such as decisions: {"bad": '
                '1, "good": 2}; for scores give scale in place of rubric and decisions'
            )
        labelled = bool(self.item.truth or self.item.people or self.labels)
        if self.truths and not labelled:
            raise ValueError(
                "truths is of item.truth, item.people or labels, such as item: {key: id, truth: "
                "label}, and has none"
            )
        if labelled and not (self.truths or self.scale or self.stages):
            raise ValueError(
                "item.truth, item.people and labels come with truths, the stage of each label, "
                'such as truths: {"bad": 1, "good": 2}; for scores give scale in place of rubric '
                "and truths"
            )

    def decision(self, written: str) -> Choice | None:
        """Return what a verdict stands for; None for a value that the mapping does not have.

        Case and space count only where two values differ in nothing else.
        """
        return (
            self.decisions.get(written)
            or self._exact_stage(written)
            or self._folded_decisions.get(as_word(written))
            or self._folded_stages.get(as_word(written))
        )

    def label(self, written: str) -> int | None:
        """Return the stage of a label; None for a value that the mapping does not have.

        Matched as in `decision`.
        """
        return (
            self.truths.get(written)
            or self._exact_stage(written)
            or self._folded_truths.get(as_word(written))
            or self._folded_stages.get(as_word(written))
        )

    def label_number(self, written: str) -> float | None:
        """Return a label as a number on the scale: that of its stage where `truths` gives it
        another than its own; None for one that is no number."""
        number, stage, scale = as_score(written), self.label(written), self.scale
        if scale is None or stage is None or scale.stage(written) == stage:
            return number
        return scale.score(stage)

    @cached_property
    def _folded_decisions(self) -> dict[str, Choice]:
        return by_folded(self.decisions, as_word)

    @cached_property
    def _folded_truths(self) -> dict[str, int]:
        return by_folded(self.truths, as_word)

    @cached_property
    def _folded_stages(self) -> dict[str, int]:
        return by_folded({name: stage for stage, name in enumerate(self.stages, 1)}, as_word)

    def _exact_stage(self, written: str) -> int | None:
        if written in self.stages:
            return self.stages.index(written) + 1
        return self.scale.stage(written) if self.scale else None

    def legal(self, name: Literal["decisions", "truths"]) -> str:
        """Return which values verdicts or labels may have, as a sentence."""
        values = ", ".join(map(repr, getattr(self, name)))
        stated = [f"`{name}` has {values}"] if values else []
        if self.stages:
            stated.append(f"`stages` has {', '.join(map(repr, self.stages))}")
        if self.scale:
            stated.append(f"the scale is {self.scale.lowest:g} to {self.scale.highest:g}")
        said = "; ".join(stated)
        return f"{said[0].upper()}{said[1:]}."

    @property
    def has_truth(self) -> bool:
        """Whether items may have known answers."""
        return bool(self.item.known or self.labels or self.people)

    @property
    def layout(self) -> Layout:
        """What its files do not say of themselves."""
        return Layout(self.rows, self.columns, self.header)

    @cached_property
    def reads_names(self) -> bool:
        """Whether a column has a part of the file's name."""
        return "{file" in self.model_dump_json()

    def _check_pattern(self) -> None:
        if self.file_pattern and not self.reads_names:
            raise ValueError(
                "file_pattern is given, and no column has {file}, as in judge: '{file}'"
            )
        try:
            re.compile(self.file_pattern)
        except re.error as error:
            raise ValueError(f"file_pattern is not a regular expression: {error}") from error

    @property
    def column_fields(self) -> Collection[str]:
        """The fields that name columns."""
        return ("judge", "judge_column", "wording_column", "swapped_column", "window_column")

    @property
    def reads(self) -> list[str]:
        """The columns and paths of a row that the mapping names."""
        described = self.item
        columns = [
            self.judge if "{" in self.judge and not self.judges_in_columns else "",
            *(self.judge_column, self.wording_column, self.swapped_column, self.window_column),
            *((described.key, described.system) if described.file else described.reads),
            *(name for one in self.verdicts for name in (one.column, one.answer, one.preference)),
            *(one.column for one in self.answers),
            *self.counts,
            *self.only,
            *self.people,
        ]
        return [name for column in columns for name in names_in(column)]

    @cached_property
    def texts(self) -> frozenset[str]:
        """The columns of a row that hold texts: what was judged, and raw answers."""
        columns = (
            *(self.item.title, self.item.text, *self.item.texts),
            *(one.answer for one in self.verdicts),
            *(one.column for one in self.answers),
        )
        return frozenset(root_of(name) for column in columns for name in names_in(column))

    @property
    def judges_in_columns(self) -> bool:
        """Whether each column of verdicts or answers is of the judge that it names."""
        return self.judge == "{column}"

    @property
    def pairwise(self) -> bool:
        """Whether every item was judged in both orders."""
        if self.swapped_column:
            return True
        orders = {column.reversed for column in (*self.verdicts, *self.answers)}
        return orders == {False, True}

    @property
    def of_pairs(self) -> bool:
        """Whether items are known to be pairs of answers."""
        return self.pairwise or bool(self.item.second_system)

    @property
    def subset(self) -> bool:
        """Whether a verdict may name several stages."""
        if self.scoring_method == "subset":
            return True
        choices = (*self.decisions.values(), *self.counts.values(), *self.forms.values())
        return any(isinstance(choice, tuple) for choice in choices)


def mapping_keys(model: type[BaseModel] = Recorded, above: str = "") -> dict[str, str]:
    """Return each key of a mapping file, below what it stands in, and what it means."""
    found = {}
    for name, field in model.model_fields.items():
        found[f"{above}{name}"] = " ".join((field.description or "").split())
        annotation: Any = field.annotation
        parts = get_args(annotation) if get_origin(annotation) is tuple else (annotation,)
        for inner in models_of(parts[0]):
            # Both verdicts and answers are columns: their keys are listed once.
            if name != "answers":
                found |= mapping_keys(inner, f"{above}{name}.")
    return found


def load_recorded(path: Path, change: Mapping[str, Any] | None = None) -> tuple[Recorded, Rubric]:
    """Read a mapping file and its rubric; raises `ConfigError` naming file, line, key, value.

    `change` has values that stand in the place of those of the file; None leaves a key out.
    """
    tree = read_tree(path)
    if change:
        given = {**tree.plain(), **change}
        tree = given_tree({name: value for name, value in given.items() if value is not None})
    _check_numbered(tree)
    recorded = read_model(Recorded, tree)
    rubric = _rubric(path, tree, recorded)
    for name in ("truths", "decisions", "counts", "answer_forms"):
        _check_stages(tree.items.get(name), getattr(recorded, name), rubric.scale_size)
    texts = tree.items["item"].items.get("texts")
    _check_stages(texts, recorded.item.texts, rubric.scale_size)
    return recorded, rubric


def _rubric(path: Path, tree: Node, recorded: Recorded) -> Rubric:
    if recorded.rubric is None:
        return stages_rubric(recorded)
    try:
        return load_rubric(path.parent / recorded.rubric)
    except ConfigError as error:
        at = tree.items["rubric"].place
        raise at.problem(f"cannot be used: {error.message.rstrip('.')}", error.remedy) from error


@lru_cache(maxsize=4096)  # files of scores have few, and each is read several times
def as_number(written: str) -> float | None:
    """Return a number that is written with a point; None for any other text.

    Digits of any script are digits.
    """
    return _as_number(written) if len(written) <= LONGEST_NUMBER else None


@dataclass(frozen=True)
class WrittenScore:
    """A score as people and models write it: 4, 4/5, 4 out of 5, 4 stars, 80%, ★★★★☆."""

    number: float
    out_of: float | None
    """The end of its scale, where it is written: 100 of percent."""
    is_percent: bool
    is_plain: bool
    """Whether it is a number and nothing else."""


_SCORE = re.compile(
    r"\s*(?P<name>(?:(?:final|overall|total)\s+)?(?:score|rating|grade|mark)\s*[:=]\s*)?"
    r"(?P<number>[^:=/%\uff05\u066a]+?)\s*"
    r"(?:(?P<percent>[%\uff05\u066a])"
    r"|(?:stars?\s*)?(?:(?:/|\bout\s+of\b)\s*(?P<out_of>\S+?)(?:\s+stars?)?)?)\s*\.?\s*",
    re.IGNORECASE,
)
_STARS = re.compile(r"\s*(?P<full>(?:[★⭐🌟]\ufe0f?\s?)+)(?P<empty>(?:☆\s?)*)")


@lru_cache(maxsize=1 << 14)  # files have the same few scores in many rows
def read_score(written: str) -> WrittenScore | None:
    """Return a score that is all of a text; None for any other text."""
    if (plain := as_number(written)) is not None:
        return WrittenScore(plain, None, is_percent=False, is_plain=True)
    if len(written) > LONGEST_NUMBER:
        return None
    if stars := _STARS.fullmatch(written):
        full, empty = (float(len(re.findall("[★⭐🌟☆]", of))) for of in stars.groups())
        return WrittenScore(full, full + empty if empty else None, is_percent=False, is_plain=False)
    found = _SCORE.fullmatch(written)
    if found is None or (number := as_number(found["number"])) is None:
        return None
    out_of = 100.0 if found["percent"] else as_number(found["out_of"] or "")
    if found["out_of"] and out_of is None:
        return None
    return WrittenScore(number, out_of, is_percent=bool(found["percent"]), is_plain=False)


def as_score(written: str) -> float | None:
    """Return the number of a score; None for any other text."""
    found = read_score(written)
    return None if found is None else found.number


DECIMAL_COMMAS = "Write a point in place of a decimal comma, or separate values by semicolons."
"""What to do where commas separate values, and numbers have one, too."""


def has_decimal_comma(written: str) -> bool:
    """Whether a text is a score but for a decimal comma, as 4,5 and 15,5% are."""
    return "," in written and as_score(written.replace(",", ".", 1)) is not None


@lru_cache(maxsize=1 << 14)
def _as_number(written: str) -> float | None:
    plain = plain_number(written)
    plain = plain if plain.isascii() else read_answer(plain).text
    fits = re.fullmatch(r"[+-]?\d+(\.\d*)?(e[+-]?\d+)?", plain, re.ASCII)
    return float(plain) if fits and math.isfinite(float(plain)) else None


def as_word(written: str) -> str:
    """Return a verdict or label as it is compared: without case, and 1.0 as 1."""
    number = as_number(written)
    return folded(written) if number is None else f"{number:g}"


def stages_rubric(recorded: Recorded) -> Rubric:
    """Return the rubric of a mapping that names its scale or its stages."""
    if recorded.scale:
        scale = recorded.scale
        if scale.is_whole:
            return score_rubric(int(scale.lowest), int(scale.highest))
        return verdict_rubric(scale.labels)
    return verdict_rubric(recorded.stages)


def _check_numbered(tree: Node) -> None:
    """Raise `ConfigError` for a value that names its stage, which is given by its number."""
    named = tree.items.get("stages")
    names = named.value if named and isinstance(named.value, tuple) else ()
    numbers = {str(name.value): number for number, name in enumerate(names, start=1)}
    said = ", ".join(f"{number} is {name}" for name, number in numbers.items())
    for key in ("decisions", "truths", "counts", "answer_forms"):
        node = tree.items.get(key)
        for value, stage in node.items.items() if node else ():
            name = stage.value
            if isinstance(name, str) and name != "abstained" and name in numbers:
                raise stage.place.problem(
                    f"is {name!r}, and a stage is given by its number",
                    f"Write `{value}: {numbers[name]}`: {said}.",
                )


def _check_stages(node: Node | None, choices: Mapping[str, Choice], scale_size: int) -> None:
    for value, choice in choices.items():
        stages = choice if isinstance(choice, tuple) else (choice,)
        if any(isinstance(stage, int) and not 1 <= stage <= scale_size for stage in stages):
            assert node is not None
            raise node.items[value].place.problem(
                f"is {', '.join(map(str, stages))}", f"The rubric has the stages 1 to {scale_size}."
            )
