"""Mappings that say `rest`: the columns of a table that they name for nothing else."""

from judge_gym.errors import ConfigError
from judge_gym.recorded.files import RecordedFiles
from judge_gym.recorded.mapped_columns import REST
from judge_gym.recorded.mapping import Recorded


def with_rest(files: RecordedFiles, recorded: Recorded) -> Recorded:
    """Return a mapping with the columns that `rest` stands for, in the files' order.

    Raises `ConfigError` where judges and people are both the rest, and where there is none.
    """
    of_judges = [one.column for one in recorded.verdicts] == [REST]
    of_people = recorded.item.people == (REST,)
    if not (of_judges or of_people):
        return recorded
    if of_judges and of_people:
        raise ConfigError(
            "judges and item.people are both `rest`.", "Name the columns of one of them."
        )
    named = set(recorded.reads)
    found = dict.fromkeys(
        column
        for file in files.paths
        for row in files.rows(file)
        for column in row.values
        if column.strip() and column not in named
    )
    if not found:
        key = "judges" if of_judges else "item.people"
        raise ConfigError(
            f"{files.paths[0]}: {key} is `rest`, and the mapping names every column.",
            "Name the columns.",
        )
    given = recorded.model_dump()
    if of_judges:
        given["verdicts"] = list(found)
    else:
        given["item"]["people"] = list(found)
    return Recorded.model_validate(given)
