"""What a row says of its item: its texts, its known answer and the labels of people."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

from judge_gym.errors import did_you_mean_id
from judge_gym.evidence.choosing import values_of
from judge_gym.evidence.columns import as_text
from judge_gym.evidence.label_exports import WITHDRAWN
from judge_gym.evidence.normal_text import normal_line, normal_text
from judge_gym.evidence.rows import read_rows
from judge_gym.recorded.files import RecordedFiles, items_file
from judge_gym.recorded.judged import LeftLabel, RecordedItem, Unread
from judge_gym.recorded.mapping import Recorded
from judge_gym.recorded.record import Record, Refusals
from judge_gym.records.conversations import are_messages, conversation_of

NO_LABEL = "Leave a cell empty for no label."


@dataclass(frozen=True)
class Described:
    """The items of a file that describes them; several of one key differ in their system."""

    file: Path
    items: Mapping[str, Mapping[str, RecordedItem]]
    """Key → system → item."""

    def find(self, record: Record, recorded: Recorded) -> RecordedItem:
        """Return the item of a row of judgements; raises `EvidenceError` without one."""
        key = record.named(recorded.item.key)
        if key not in self.items:
            known = list(self.items)
            raise record.fault(
                f"item {key!r} is not in {self.file}",
                f"{did_you_mean_id(key, known)}It has {', '.join(map(repr, known[:3]))}.",
            )
        of_key = self.items[key]
        if len(of_key) == 1:
            return next(iter(of_key.values()))
        system = normal_line(record.text(recorded.item.system), 500)
        if system not in of_key:
            raise record.fault(
                f"{recorded.item.system} is {system!r}, and {self.file} has no item {key!r} of it",
                f"It has {', '.join(map(repr, of_key))}.",
            )
        return of_key[system]


def described_items(files: RecordedFiles, recorded: Recorded, unread: Unread) -> Described:
    """Read the file that describes the items; raises `EvidenceError`."""
    file = items_file(files, recorded)
    assert file is not None
    items: dict[str, dict[str, RecordedItem]] = {}
    unknown = Refusals(recorded.scale)
    for row in read_rows(file):
        if recorded.redact and not row.fault:
            row = replace(row, values=unread.redaction.values(row.values, recorded.texts))
        record = Record(file, row, {})
        with unknown:
            item = item_of(record, recorded, unread)
            of_key = items.setdefault(item.key, {})
            if item.system in of_key or (of_key and recorded.of_pairs):
                raise record.refused(f"item {item.key!r} is there twice", "Give each item one row.")
            of_key[item.system] = item
    unknown.fail()
    return Described(file, items)


def item_of(record: Record, recorded: Recorded, unread: Unread) -> RecordedItem:
    if record.row.fault:
        raise record.fault(record.row.fault)
    columns = recorded.item
    key = record.named(columns.key)
    for column in dict.fromkeys((columns.known, *columns.people)):
        if (why := left_label(record, recorded, column)) and record.text(column):
            unread.not_counted.setdefault(why, {})[f"{key} ({column})"] = None
    return RecordedItem(
        key=key,
        title=normal_line(record.text(columns.title), 500),
        text=normal_text(_text(record, columns.text)),
        category=counted_name(record, recorded, columns.category),
        truth=_known(record, recorded, columns.known),
        people=tuple(_known(record, recorded, column) for column in columns.people),
        system=counted_name(record, recorded, columns.system),
        second_system=counted_name(record, recorded, columns.second_system),
        question=normal_line(record.text(columns.question), 500) or key,
        longest=_longest(record, columns.texts),
        number=_known_number(record, recorded),
    )


def counted_name(record: Record, recorded: Recorded, column: str) -> str:
    """Return the name that a system or a category counts under; "" without one."""
    written = normal_line(record.text(column), 500)
    return recorded.names.get(written, written)


def _text(record: Record, column: str) -> str:
    """Return what was judged; of a column of messages, the conversation."""
    value = record.row.values.get(column)
    if not isinstance(value, list) or not are_messages(value):
        return record.text(column)
    try:
        return conversation_of(value).written()
    except ValueError as error:
        raise record.fault(f"{column}{error}") from None


def _known(record: Record, recorded: Recorded, column: str) -> int | None:
    """Return the stage that a column's value stands for; None where it is empty or left."""
    value = record.verdict(column)
    if not value or left_label(record, recorded, column):
        return None
    stage = recorded.label(value)
    if stage is None:
        raise record.unknown(column, recorded.legal("truths"), NO_LABEL, of_label=True)
    return stage


def _known_number(record: Record, recorded: Recorded) -> float | None:
    """Return the known answer as a number, or without one the mean of people's labels."""
    columns = recorded.item
    written = [
        record.verdict(column)
        for column in ((columns.known,) if columns.known else columns.people)
        if not left_label(record, recorded, column)
    ]
    numbers = [
        number for text in written if text and (number := recorded.label_number(text)) is not None
    ]
    return fmean(numbers) if numbers and len(numbers) == len(list(filter(None, written))) else None


def left_label(record: Record, recorded: Recorded, column: str) -> LeftLabel | None:
    """Return why a label of a person does not count; None where it does.

    By the entry of a list it stands in; or since no stage has it and the mapping leaves such out,
    which it never does with the column of known answers.
    """
    entries = record.entries(column)
    for key, chosen in recorded.item.only.items() if entries else ():
        written = [as_text(entry.get(key)) for entry in entries if key in entry]
        if not any(value in values_of(chosen) for value in written):
            is_other = f"{key} is {written[0] or 'empty'}" if written else f"there is no {key}"
            return LeftLabel(is_other)
    for entry in entries:
        for key, left in WITHDRAWN.items():
            if key not in recorded.item.only and as_text(entry.get(key)).casefold() in left:
                return LeftLabel(f"{key} is {as_text(entry[key])}")
    if column in ("", recorded.item.truth) or recorded.unlisted != "unreadable":
        return None
    value = record.verdict(column)
    if not value or recorded.label(value) is not None:
        return None
    return LeftLabel(f"value is {value[:40]!r}", value[:40])


def _longest(record: Record, texts: Mapping[str, int]) -> int | None:
    lengths = {stage: len(record.text(column)) for column, stage in texts.items()}
    longest = [stage for stage, length in lengths.items() if length == max(lengths.values())]
    return longest[0] if len(longest) == 1 and len(lengths) > 1 else None
