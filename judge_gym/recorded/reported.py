"""Means that a tool's own file reports, beside those of its judgements as they are read."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

from judge_gym.evidence.choosing import values_of
from judge_gym.evidence.columns import ColumnSource, text_at
from judge_gym.recorded.content import Content
from judge_gym.recorded.mapping import Choice, Recorded, as_number, as_score

_NEAR = 0.005
"""A difference that rounding explains."""
Row = Mapping[str, Any]


@dataclass(frozen=True)
class Apart:
    """A mean that a file reports, and another one of its judgements as read."""

    file: str
    name: str
    """The scorer or metric."""
    reported: float
    read: float
    judgements: int
    """How many have a verdict here."""
    without: int = 0
    """How many have none here, where counting each as 0 gives what is reported."""
    of_scores: bool = False
    """Whether the file reports the mean of scores, and pass and fail are read."""


def means_apart(content: Content, file: str, recorded: Recorded) -> Iterator[Apart]:
    """Yield the reported means of a file from which those of its judgements differ by over 0.005.

    A mean is that of verdicts in the file's own numbers: an Inspect grade is 0, 0.5 or 1, and a
    model that is the judge has 1 for an answer that is the target. Verdicts by cuts have none.
    """
    rows: dict[str, list[Row]] = defaultdict(list)
    key = "name" if recorded.format == "inspect" else "criterion"
    for row in content.rows:
        values = row.values
        name = str(values.get(key, ""))
        if not name and key == "name":
            name = values["scorer"] + (values["criterion"] and f".{values['criterion']}")
        if name in content.reported and _is_read(values, name, recorded):
            rows[name].append(values)
    for name, of_name in rows.items():
        reported = content.reported[name]
        numbers = [_number(row, recorded) for row in of_name]
        if all(number is None for number in numbers) or _by_cuts(recorded):
            continue
        read = _mean(of_name, numbers)
        if any(abs(read - one) <= _NEAR for one in reported):
            continue
        filled = _mean(of_name, [number or 0.0 for number in numbers])
        scores = [as_number(str(row.get("score", ""))) or 0.0 for row in of_name]
        missing = sum(number is None for number in numbers)
        yield Apart(
            file,
            name,
            reported[0],
            read,
            len(numbers) - missing,
            without=missing * any(abs(filled - one) <= _NEAR for one in reported),
            of_scores=recorded.verdicts[0].column == "pass"
            and any(abs(_mean(of_name, scores) - one) <= _NEAR for one in reported),
        )


def _is_read(row: Row, name: str, recorded: Recorded) -> bool:
    known = {**row, "name": name}
    return bool(recorded.verdicts) and all(
        str(known.get(column, "")) in values_of(value) for column, value in recorded.only.items()
    )


def _by_cuts(recorded: Recorded) -> bool:
    return bool(recorded.stages) and recorded.stages[0].startswith("below ")


def _mean(rows: Sequence[Row], numbers: Sequence[float | None]) -> float:
    """Return the mean by sample, then over samples, of rows with a number."""
    samples: dict[Any, list[float]] = defaultdict(list)
    for place, (row, number) in enumerate(zip(rows, numbers, strict=True)):
        if number is not None:
            samples[row.get("sample", place)].append(number)
    return fmean(map(fmean, samples.values())) if samples else 0.0


def _number(row: Row, recorded: Recorded) -> float | None:
    """Return a verdict in the numbers of its file; None without a verdict."""
    column = recorded.verdicts[0].column
    source = ColumnSource(row, {"": ""})
    written = text_at(column, source)
    choice = recorded.decision(written)
    if column == "answer" and recorded.item.truth == "target":
        truth = recorded.label(text_at("target", source))
        return None if truth is None else float(choice == truth)
    if recorded.scale and choice != "abstained":
        return as_score(written) if choice else None
    return _value(choice, recorded)


def _value(choice: Choice | None, recorded: Recorded) -> float | None:
    if not isinstance(choice, int):
        return None
    numbers = [as_number(name) for name in recorded.stages]
    number = numbers[choice - 1] if None not in numbers else None
    return (choice - 1) / (len(recorded.stages) - 1) if number is None else number
