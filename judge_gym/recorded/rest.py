"""Mappings that say `rest`: the columns of a table that they name for nothing else."""

from collections.abc import Collection, Iterable

from judge_gym.errors import ConfigError
from judge_gym.evidence.columns import names_in, root_of
from judge_gym.evidence.label_exports import LabelRows
from judge_gym.evidence.row import DataRow
from judge_gym.recorded.files import RecordedFiles, labels_file
from judge_gym.recorded.mapped_columns import REST
from judge_gym.recorded.mapping import Recorded


def with_rest(files: RecordedFiles, recorded: Recorded) -> Recorded:
    """Return a mapping with the columns that `rest` stands for, in the files' order.

    Raises `ConfigError` where judges and people are both the rest of one file, and where there is
    none.
    """
    of_judges = [one.column for one in recorded.verdicts] == [REST]
    of_people = recorded.item.people == (REST,)
    of_labels = recorded.labels is not None and recorded.labels.people == (REST,)
    if of_judges and of_people:
        raise ConfigError(
            "judges and item.people are both `rest`.", "Name the columns of one of them."
        )
    if not (of_judges or of_people or of_labels):
        return recorded
    given = recorded.model_dump()
    if of_judges or of_people:
        rows = (row for file in files.paths for row in files.rows(file))
        key = "judges" if of_judges else "item.people"
        found = _rest(rows, recorded.reads, f"{files.paths[0]}: {key}")
        if of_judges:
            given["verdicts"] = found
        else:
            given["item"]["people"] = found
    if of_labels:
        given["labels"]["people"] = _rest_of_labels(files, recorded)
    return Recorded.model_validate(given)


def _rest_of_labels(files: RecordedFiles, recorded: Recorded) -> list[str]:
    """Return the columns of the file of labels that name neither items nor which rows count."""
    file, labels = labels_file(files, recorded), recorded.labels
    assert file is not None
    assert labels is not None
    given = (labels.item or recorded.item.key, recorded.item.system, *labels.only)
    named = {name for one in given for name in (*names_in(one), root_of(one))}
    rows = LabelRows(labels.chosen, []).rows(file)
    return _rest(rows, named, f"{file}: labels.people")


def _rest(rows: Iterable[DataRow], named: Collection[str], where: str) -> list[str]:
    found = dict.fromkeys(
        column for row in rows for column in row.values if column.strip() and column not in named
    )
    if not found:
        raise ConfigError(
            f"{where} is `rest`, and the mapping names every column.", "Name the columns."
        )
    return list(found)
