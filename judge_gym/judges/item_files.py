"""Files of items: the texts, the labels beside them, and what is said of both."""

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from functools import cached_property
from itertools import compress
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from judge_gym.alike import LONGEST_NAME, MISSPELT, may_name_systems, said_alike
from judge_gym.counting import counted, first_of
from judge_gym.design.config import corpus_digest, shown, what_exists
from judge_gym.errors import ConfigError, DataFileError, NoRowError, did_you_mean
from judge_gym.evidence.choosing import BY_OPTION, NamedBy
from judge_gym.evidence.typed_rows import NO_ANSWER, TypedRows, read_typed_rows
from judge_gym.judges.base import Judge
from judge_gym.judges.certify_rule import CertifyRule
from judge_gym.judges.conversation_items import ConversationItems
from judge_gym.judges.gate_rule import GateRule
from judge_gym.judges.label_files import LabelFile, read_labels
from judge_gym.judges.labels import check_on, doubted_scale, numbers_in, wider_scale
from judge_gym.records.items import (
    COLUMNS,
    Item,
    Label,
    distinct,
    known_fields,
    label_in,
    with_questions,
)
from judge_gym.seeds import digest

if TYPE_CHECKING:
    from judge_gym.judges.people import People

LABEL_WORDS = {
    "annotation", "annotator", "expected", "expert", "gold", "grade", "groundtruth", "human",
    "label", "labels", "mark", "rating", "reference", "score", "target", "truth", "verdict",
}  # fmt: skip
"""Words in the name of a column that may hold labels; none is read by its name but `truth`."""
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")


@dataclass(frozen=True, eq=False)
class ItemFile:
    """The items of a file or folder, in order.

    Rows with the same texts are one text: judged once, and with one label.
    """

    path: Path
    items: tuple[Item, ...]
    places: tuple[str, ...]
    """By item, its file and line."""
    columns: tuple[str, ...]
    """Every column of the file."""
    label_column: str
    """The column that labels were read from; empty without any label."""
    labels: LabelFile | None = None
    """The file of people's labels beside it, where one was added."""
    people: "People | None" = None
    """The labels of that file and of the column `truth`, by annotator."""
    own: tuple[Label | None, ...] = ()
    """By item, the label in its own row; rows with the same texts may have several."""
    conversations: ConversationItems = field(default_factory=ConversationItems)
    """How sessions of messages were made items."""
    cells: tuple[Mapping[str, object], ...] = ()
    """By item, every column of its row, as it stands there."""
    fields: Mapping[str, str] = field(default_factory=dict)
    """How it was read: the columns that were named, and what was said of conversations."""
    numbered: bool = False
    """Whether ids are the numbers of rows, as no column gives them."""
    used: Mapping[str, str] = field(default_factory=dict)
    """Field → the column that it was read from."""
    label_scale: tuple[float, float] | None = None
    """The scale that a file says labels have; None of those on the judges' scale."""
    unanswered: tuple[str, ...] = ()
    """The items with an empty answer, which is judged as `NO_ANSWER`."""
    named_by: NamedBy | None = BY_OPTION
    """Where a user gives `fields`; None where that is nowhere."""

    @property
    def name(self) -> str:
        """The name of the file, with what tells apart how it was read, for names of reports."""
        unit = self.conversations.unit
        others = sorted((name, value) for name, value in self.fields.items() if name != "unit")
        parts = (
            self.path.stem,
            unit * (unit != "session"),
            others and digest("fields", others)[:6],
        )
        return "-".join(part for part in parts if part)

    @cached_property
    def _apart(self) -> list[list[str]]:
        """The labels that differ and are of one text, each with its place, by text."""
        by_text: dict[str, list[tuple[Label, str]]] = defaultdict(list)
        for item, label, place in zip(self.items, self.own, self.places, strict=bool(self.own)):
            if label is not None:
                by_text[item.key].append((label, place))
        return [
            [f"{shown(label)} ({place.rpartition(' ')[2]})" for label, place in given]
            for given in by_text.values()
            if len({_read(label) for label, _ in given}) > 1
        ]

    @cached_property
    def labelled(self) -> tuple[bool, ...]:
        """By item, whether a label was given to itself, and not to another row with its text.

        Also where people's labels of it are tied, so that no answer is known.
        """
        rows = self.labels.rows if self.labels else ()
        named = {(row.item, row.item_key) for row in rows}
        of_texts = {row.item for row in rows}
        seen: set[str] = set()
        found = []
        own = self.own or (None,) * len(self.items)
        for item, label in zip(self.items, own, strict=True):
            by_key = item.key in of_texts and item.key not in seen
            seen.add(item.key)
            by_name = not named.isdisjoint({(item.id, ""), (item.id, item.key)})
            found.append(label is not None or by_name or by_key)
        return tuple(found)

    @property
    def drawn(self) -> bool:
        """Whether labels are of texts that `judge label` drew, each once, and not of rows."""
        return self.labels is not None and any(row.draw for row in self.labels.rows)

    @cached_property
    def counts(self) -> tuple[bool, ...]:
        """By item, whether its label is known of itself.

        An answer that is given often counts as often: of labels of rows, those rows; of labels of
        texts that were drawn, all rows with the text.
        """
        return tuple(
            item.truth is not None and (own or self.drawn)
            for item, own in zip(self.items, self.labelled, strict=True)
        )

    @cached_property
    def answers(self) -> tuple[Item, ...]:
        """The items that count beside their labels (`counts`), in the order of the file."""
        return tuple(compress(self.items, self.counts))

    @cached_property
    def texts(self) -> tuple[Item, ...]:
        """The items, without those whose texts an earlier one has."""
        return tuple(distinct(self.items))

    @cached_property
    def texts_by_system(self) -> tuple[Item, ...]:
        """The items, each text once for each system that gave it."""
        found: dict[tuple[str, str], Item] = {}
        for item in self.items:
            found.setdefault((item.part, item.key), item)
        return tuple(found.values())

    def column(self, name: str) -> list[str]:
        """Return a column by item, without space around; "" where it is empty.

        Raises `DataFileError` where no row has it.
        """
        if name not in self.columns:
            raise DataFileError(
                f"{self.path}: there is no column {name!r}.",
                f"{did_you_mean(name, self.columns)}The columns are "
                f"{', '.join(map(repr, self.columns))}.",
            )
        values = (row.get(name) for row in self.cells)
        return ["" if value is None else " ".join(str(value).split()) for value in values]

    def check(self, judges: Iterable[Judge], scale: tuple[float, float] | None = None) -> None:
        """Raise when a judge cannot judge an item, or its label is none of the judge's scores.

        Numbers may be on a `scale` of their own. `ConfigError` for the item, `EvidenceError` with
        file, line, column and value for the label.
        """
        for judge in judges:
            own = self.own or tuple(item.truth for item in self.items)
            for item, place, label in zip(self.items, self.places, own, strict=True):
                judge.check(item)
                try:
                    if scale is not None and isinstance(label, float | int):
                        check_on(scale, label)
                    elif label is not None:
                        judge.score_of(label)
                except ConfigError as error:
                    where = f"{place}, item {item.id!r}: {self.label_column} is {shown(label)}"
                    own_scale = getattr(judge, "scale", None) if scale is None else None
                    wide = wider_scale(own_scale, own) if own_scale else ""
                    raise DataFileError(
                        f"{where}. {error.message}", f"{wide}{error.remedy}"
                    ) from None

    def keys(self) -> dict[str, str]:
        """Return the name that a label may give an item → the item's key."""
        by_id = {item.key: item.key for item in self.items}
        by_id |= {item.id: item.key for item in self.items}
        named = self.conversations.named
        return {name: by_id[item] for name, item in named.items() if item in by_id} | by_id

    def with_labels(
        self,
        labels: LabelFile | None,
        judges: Sequence[Judge] | Judge,
        scale: tuple[float, float] | None = None,
    ) -> "ItemFile":
        """Return it with people's labels: `truth` of an item is then their reference.

        Unchanged without labels. Messages that are labelled are turns (`read_item_file`). Numbers
        are on `scale`, or on that of the judges. Raises as `people.bind`, and `ConfigError` when
        the labels mean different scores for two judges.
        """
        if labels is None:
            return self if scale is None else replace(self, label_scale=scale)
        if not isinstance(labels, LabelFile):
            raise ConfigError(
                f"with_labels takes a file of labels that was read, and no {labels!r}.",
                "Read it: read_labels(path).",
            )
        calls = {*self.conversations.calls, *self.conversations.unled}
        if labelled := calls & {row.item for row in labels.rows}:
            read = read_item_file(self.path, self.fields, labelled, named_by=self.named_by)
            return read.with_labels(labels, judges, scale)
        if named := self.conversations.named:
            labels = labels.renamed(named)
        judges = [judges] if isinstance(judges, Judge) else judges
        # Figures of agreement need numpy, which reading items does not.
        from judge_gym.judges.people import bind

        people, *others = (
            bind(judge, self.items, labels, self.label_column, scale, self.ids_said().strip())
            for judge in judges
        )
        for other in others:
            if (other.bounds, other.reference) != (people.bounds, people.reference):
                raise ConfigError(
                    f"The labels of {labels.path} mean different scores for judge "
                    f"{people.judge.name!r} and judge {other.judge.name!r}.",
                    "Use judges of one scale, or numbers and a label_scale in a calibration file.",
                )
        items = tuple(
            item.model_copy(update={"truth": people.reference.get(item.key)}) for item in self.items
        )
        return replace(
            self, items=items, label_column=labels.column, labels=labels, people=people,
            label_scale=scale,
        )  # fmt: skip

    def doubted_scale(self, judge: Judge) -> str:
        """Return that labels may be on a scale that ends below the judge's; "" if they are not."""
        if judge.verdict_scores:
            return ""
        given: dict[str, list[float]] = defaultdict(list)
        for row in self.labels.rows if self.labels else ():
            given[row.annotator] += numbers_in(map(label_in, row.labels))
        if self.labels is None:
            given[""] = numbers_in(self.own)
        return doubted_scale(
            self.label_scale or judge.score_range,
            self.label_column,
            {person: numbers for person, numbers in given.items() if numbers},
            of_labels=self.label_scale is not None,
        )

    def said(self, judge: Judge) -> str:
        """Return how many labels were read and from which column, for a person.

        Of a judge of verdicts, how many of each.
        """
        count = len(self.answers)
        if self.labels is not None and self.people is not None:
            sentence = f"{self.labels.said()} {self.people.said()} {self.people.floor()}"
        elif not count:
            sentence = "Labels: none. "
            sentence += (
                "Column 'truth' is empty." if "truth" in self.columns else "No column 'truth'."
            )
            beside = labels_beside(self.path)
            if beside and self.named_by:
                place = self.named_by.place
                how = f"name it as `labels` in {place}" if place else f"add --labels {beside}"
                sentence += f" {beside} has labels: to use it, {how}."
            for column in likely_labels(self.columns):
                sentence += f" Column {column!r} may hold labels{self._to_use('truth', column)}."
        else:
            sentence = (
                f"Labels: {count} of {len(self.items)} items, from column {self.label_column!r}"
            )
            sentence += f" ({counts})." if (counts := _verdicts(judge, self.answers)) else "."
        repeated = len(self.items) - len(self.texts)
        if repeated:
            rows = "1 row repeats" if repeated == 1 else f"{repeated} rows repeat"
            sentence += (
                f" {rows} the texts of another; each text is judged once, and where judge and "
                "people are compared it counts as often as it was labelled."
            )
        if self._apart and self.labels is None:
            texts = [" and ".join(given) for given in self._apart]
            sentence += (
                f" {counted(len(texts), 'text')} with labels that differ, where the mean of numbers"
                f" or the most frequent name counts, and none of a tie: lines {first_of(texts)}."
            )
        sentence += self.ids_said()
        if self.unanswered:
            sentence += (
                f" {counted(len(self.unanswered), 'item')} with an empty answer, judged as "
                f"{NO_ANSWER}: {first_of(self.unanswered)}."
            )
        sentence += self._systems_said() + self.conversations.said()
        return f"{sentence} {self.doubted_scale(judge)}".rstrip()

    def ids_said(self) -> str:
        """Return that ids are numbers of rows, and which columns may be ids; "" where they are."""
        if not self.numbered:
            return ""
        return " Ids are row numbers: no column is mapped to id." + "".join(
            f" Column {column!r} has another value in each row{self._to_use('id', column)}."
            for column in self.columns
            if column not in self.used.values() and self._are_ids(column)
        )

    def _are_ids(self, column: str) -> bool:
        """Return whether a column has a short value of its own, without spaces, in each row."""
        values = self.column(column)
        short = all(0 < len(one) <= LONGEST_NAME and " " not in one for one in values)
        return 1 < len(values) == len(set(values)) and short

    def _systems_said(self) -> str:
        """Return which systems the texts are of, or which column may say so; a sentence or none."""
        if names := sorted({name for one in self.items for name in _made_by(one)} - {""}):
            without = sum(not item.system for item in self.items)
            rest = f", and {counted(without, 'item')} of none" if without else ""
            alike = said_alike(Counter(one for item in self.items for one in _made_by(item)))
            apart = f" Names that differ only in case count as different: {alike}." if alike else ""
            return f" Systems: {first_of(names)}{rest}.{apart}"
        return "".join(
            f" Column {column!r} may name systems and is not read as one"
            f"{self._to_use('system', column)}."
            for column in self.columns
            if may_name_systems(column) and self._tells_apart(column)
        )

    def _to_use(self, field: str, column: str) -> str:
        """Return how to have a field read from a column, to follow what may stand in it."""
        return f": to use it, {self.named_by.adding(field, column)}" if self.named_by else ""

    def _tells_apart(self, column: str) -> bool:
        """Whether a column that no field is read from has several values, all of them short."""
        values = self.column(column)
        is_short = all(len(one) <= LONGEST_NAME for one in values)
        return column not in self.used.values() and is_short and len({*values}) > 1


def read_judged_items(
    judges: Sequence[Judge],
    items: Path,
    fields: Mapping[str, str] | None = None,
    labels: Path | None = None,
    label_fields: Mapping[str, str] | None = None,
) -> ItemFile:
    """Read what judges are to judge, with people's labels where there is a file of them.

    Raises as `read_item_file`, `read_labels`, `with_labels` and `check` do.
    """
    if label_fields and labels is None:
        raise ConfigError(
            "label_fields are given, and no labels.", "Name the file that has these columns."
        )
    read = read_item_file(items, fields)
    read = read.with_labels(
        read_labels(labels, dict(label_fields or {})) if labels else None, judges
    )
    read.check(judges)
    return read


def read_item_file(
    path: str | Path,
    fields: Mapping[str, str] | None = None,
    turns: Collection[str] = (),
    *,
    named_by: NamedBy | None = BY_OPTION,
) -> ItemFile:
    """Read the items of a JSONL or CSV file, or of a folder of them, in file and row order.

    A row has `text`, and optionally `id` (without one its number), `second`, `context`, `truth`,
    `category` and `system`; a text may be a list of messages, and stands in `messages`, too.
    `fields` maps those that stand in other columns, and may have the keys of `conversations.KEYS`.
    An empty text in a column that it names is an answer that was not given, `NO_ANSWER`. `turns`
    are messages that are turns although they only call tools. `named_by` is where a user gives
    `fields`.
    Raises `EvidenceError` as `read_typed_rows` does, and for a column that misspells `truth`.
    """
    path = Path(path)
    try:
        conversations, chosen = ConversationItems.of(known_fields(dict(fields or {})))
        conversations.alone = turns
    except ValueError as error:
        raise ConfigError(f"{error}.") from None
    rows = _typed_rows(path, conversations, chosen, named_by)
    names = (item.id for item in rows.rows)
    conversations.note_ids(path, zip(names, rows.cells, strict=True))
    _check_truth(path, rows, named_by)
    _check_second_systems(rows)
    by_text: dict[str, list[Label]] = defaultdict(list)
    for item in rows.rows:
        if item.truth is not None:
            by_text[item.key].append(item.truth)
    # A label stands for its text, in whichever of the rows with it.
    items = tuple(
        item.model_copy(update={"truth": _of_several(by_text[item.key])})
        if item.key in by_text
        else item
        for item in with_questions(rows.rows)
    )
    own = tuple(item.truth for item in rows.rows)
    return ItemFile(
        path,
        items,
        rows.places,
        rows.columns,
        rows.used.get("truth", ""),
        own=own,
        conversations=conversations,
        cells=rows.cells,
        fields=dict(fields or {}),
        numbered="id" not in rows.used,
        used=rows.used,
        unanswered=rows.unanswered,
        named_by=named_by,
    )


def _typed_rows(
    path: Path,
    conversations: ConversationItems,
    fields: Mapping[str, str],
    named_by: NamedBy | None,
) -> TypedRows[Item]:
    """Return the rows of a file of items; raises as `read_item_file`."""
    try:
        return read_typed_rows(
            path,
            Item,
            COLUMNS,
            fields,
            numbers=["truth"],
            unfold=conversations.rows,
            answers=("text", "second"),
            named_by=named_by,
            corpus=corpus_digest(path),
        )
    except NoRowError as error:
        conversations.check(path)  # where no session is left, the reason comes first
        if not conversations.left:
            raise
        raise DataFileError(
            f"{path} has no item to judge. {conversations.left_said()}",
            "To judge messages as they are, name their column as text: text=messages.",
        ) from error
    finally:
        conversations.check(path)


def _check_truth(path: Path, rows: TypedRows[Item], named_by: NamedBy | None) -> None:
    """Raise `DataFileError` for a column that misspells `truth`, where none was read."""
    misspelt = get_close_matches("truth", rows.columns, n=1, cutoff=MISSPELT)
    if misspelt and "truth" not in rows.used and "truth" not in rows.columns:
        how = f"To use it, {named_by.adding('truth', misspelt[0])}." if named_by else ""
        raise DataFileError(
            f"{path}: there is no column 'truth'. Did you mean column {misspelt[0]!r}?",
            how or "Rename it to truth.",
        )


def _made_by(item: Item) -> tuple[str, str]:
    """Return what made the texts of an item, "" where it is not named."""
    return item.system, item.second_system


def _check_second_systems(rows: TypedRows[Item]) -> None:
    """Raise `DataFileError` for a pair without its second system, where others have theirs."""
    column = rows.used.get("second_system")
    if column is None:
        return
    for item, place in zip(rows.rows, rows.places, strict=True):
        if item.system and item.second is not None and not item.second_system:
            raise DataFileError(
                f"{place}, item {item.id!r}: {column} is empty: "
                f"{rows.used['system']} is {item.system!r}, which made the first.",
                "Name what made the second text, or leave both empty.",
            )


def read_labelled(judge: Judge, rule: GateRule | CertifyRule, key: str) -> ItemFile:
    """Read the texts that a rule names, with the reference of people's labels where it has a file.

    `key` is what the rule is in the judge's file. Raises `ConfigError` for a file that does not
    exist, and as `read_item_file`, `read_labels` and `ItemFile.check` do.
    """
    assert rule.items is not None
    for name, path in (("items", rule.items), ("labels", rule.labels)):
        if path and not path.exists():
            raise ConfigError(
                f"{judge.called}: {key}.{name} is {path}, which does not exist.", what_exists(path)
            )
    labels = read_labels(rule.labels, rule.label_fields, in_file=True) if rule.labels else None
    place = f"{'the gate' if key == 'gate' else key} in the judge's file"
    read = read_item_file(rule.items, rule.fields, named_by=NamedBy(place))
    read = read.with_labels(labels, [judge])
    read.check([judge])
    return read


def _of_several(labels: Sequence[Label]) -> Label | None:
    """Return the label of a text by those of the rows with it: the most frequent name, without one
    where names tie, and the mean of numbers; 0, 0.5 and 1 are the numbers of verdicts, thus names.
    """
    first: dict[Label, Label] = {}
    for label in labels:
        first.setdefault(_read(label), label)
    if len(first) == 1:
        return labels[0]
    numbers = [label for label in labels if not isinstance(label, str)]
    if len(numbers) == len(labels) and not set(numbers) <= {0, 0.5, 1}:
        return fmean(numbers)
    (most, times), (_, others), *_ = Counter(map(_read, labels)).most_common()
    return first[most] if times > others else None


def _read(label: Label) -> Label:
    """Return a label as every judge reads it: a name without case."""
    return label.casefold() if isinstance(label, str) else label


def read_items(path: str | Path, fields: Mapping[str, str] | None = None) -> tuple[Item, ...]:
    """Return the items of a file; see `read_item_file`."""
    return read_item_file(path, fields).items


def labels_beside(items: Path) -> Path | None:
    """Return the file of labels that stands beside a file of items by name; None without one."""
    beside = label_path(items)
    return beside if beside.exists() else None


def label_path(items: Path) -> Path:
    """Return where labels of a file of items are written: tickets.labels.jsonl for tickets.csv."""
    return items.with_name(f"{items.name.partition('.')[0]}.labels.jsonl")


def likely_labels(columns: Iterable[str]) -> list[str]:
    """Return the columns whose names say that they may hold labels."""
    return [
        column
        for column in columns
        if column.strip().lower() != "truth"
        and LABEL_WORDS & {word.lower() for word in _WORDS.findall(column)}
    ]


def _verdicts(judge: Judge, items: Sequence[Item]) -> str:
    """Return "18 pass, 12 fail" for a judge of verdicts, else nothing."""
    if not judge.verdict_scores:
        return ""
    names = {score: name for name, score in judge.verdict_scores.items()}
    try:
        labels = [label for item in items if (label := judge.label(item)) is not None]
    except ConfigError:  # they are on a scale of their own
        return ""
    return ", ".join(f"{count} {names[label]}" for label, count in Counter(labels).most_common())
