"""Which of several labels counts that one person gave one item, and which contradict each other."""

from collections.abc import Callable, Hashable, Iterable, Sequence
from pathlib import Path

from judge_gym.annotations import Annotation
from judge_gym.errors import DataFileError
from judge_gym.records.items import label_in

SEPARATOR = "|"
"""What stands between the labels of a set in one value."""
ABSTAIN = "abstain"
"""The label of an annotator who looked at an item and gives it none."""
_MOST = 10
"""Most contradictions that an error names."""


def as_read(row: Annotation) -> tuple[float | str, ...]:
    """Return labels as every judge reads them: names without case, 4.0 as 4."""
    read = (label_in(label) for label in row.labels)
    return tuple(sorted((one.casefold() if isinstance(one, str) else one or 0.0 for one in read),
                        key=str))  # fmt: skip


def newest_of(
    rows: Sequence[Annotation], read: Callable[[Annotation], Hashable] = as_read
) -> Annotation | None:
    """Return the label that counts of those that one annotator gave one item.

    None where they differ, as `read`, and times do not tell which is the newest.
    """
    if len({read(row) for row in rows}) == 1:
        return rows[-1]
    times = [row.time for row in rows]
    if None in times:
        return None
    last = max(time for time in times if time is not None)
    newest = [row for row in rows if row.time == last]
    return newest[-1] if len({read(row) for row in newest}) == 1 else None


def may_agree(rows: Iterable[Annotation]) -> bool:
    """Whether labels that differ may be the same for a judge: a step's name and its number."""
    kinds = {isinstance(label, str) for row in rows for label in as_read(row)}
    return len(kinds) > 1


def contradiction_error(path: Path, groups: Sequence[Sequence[Annotation]]) -> DataFileError:
    """Return the error of labels that contradict each other, all of them at once."""
    said = [_said(path, rows) for rows in groups[:_MOST]]
    if more := len(groups) - len(said):
        said.append(f"and {more:,} more such labels.")
    return DataFileError(
        "\n".join(said),
        "Remove all but one of the rows of each, or give them times: then the newest label counts.",
    )


def _said(path: Path, rows: Sequence[Annotation]) -> str:
    first, *_ = rows
    other = next(row for row in rows if as_read(row) != as_read(first))
    criterion = f", criterion {first.criterion!r}" if first.criterion else ""
    return (
        f"{path} line {other.line}: label is {text_of(other)!r}, and line {first.line} has "
        f"{text_of(first)!r} by {first.annotator!r} of item {first.item!r}{criterion}."
    )


def text_of(row: Annotation) -> str:
    """Return what a row's label is in a file."""
    return SEPARATOR.join(row.labels) or ABSTAIN
