"""A mapping proposed for a table with a row for each item and a column for each judge or person.

Nothing here is taken for certain: each column is named with what it is taken for and why, and a
person confirms it. A column is of a judge or person only where its values are literally verdicts
that other columns have too; which of them are people is told by their names, and said so.
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

from judge_gym.counting import counted
from judge_gym.recorded.columns import fault_of
from judge_gym.recorded.derived import Rows, named_by, text_of
from judge_gym.recorded.derived_stages import MOST, Stages, Unfit, stages_from
from judge_gym.recorded.deriving_rows import COLUMNS
from judge_gym.recorded.files import RecordedFiles
from judge_gym.recorded.joining import common_key, joined
from judge_gym.recorded.mapping import Recorded

_PERSON = re.compile(
    r"(?<![a-z])(?:human|people|person|annotators?|experts?|gold|crowd|workers?|coders?)(?![a-z])",
    re.IGNORECASE,
)
_PARTS = re.compile(r"(?<=[a-z])(?=[A-Z])|[_\W\d]+")
_SYSTEM = (*COLUMNS["system"], "submission")
_QUESTION = ("question_id", "question", "prompt_id", "prompt", "query", "instruction")
_KEYS = (*COLUMNS["item"], "idx", "index", "key", "uid")
_TEXTS = (*COLUMNS["text"], "response", "passage", "document", "completion", "reply")
QRELS = "{query}-{passage}"
"""What tells grades of qrels apart."""
_SHARED = 0.9
"""Share of a column's values that others have, where it is a column of verdicts."""
_REPEATED = 4
"""Times that each verdict of a column stands there at least, on average; else it is a name."""
_FEW = 5


@dataclass(frozen=True)
class ColumnRole:
    """A column, what it is taken for and why; `role` is "left out" for one that is not read."""

    column: str
    role: str
    why: str


@dataclass(frozen=True)
class Proposal:
    """A mapping to confirm, and what each column is taken for."""

    files: RecordedFiles
    """What it reads: several files joined to one."""
    recorded: Recorded
    taken: tuple[ColumnRole, ...]


def propose(files: RecordedFiles, kind: str = "rows") -> Proposal | None:
    """Return a mapping of a table of verdicts; None where no two columns hold the same verdicts.

    Several files are one table where a column tells the rows of each apart.
    """
    join = QRELS if kind == "qrels" else common_key(files)
    if join and len(files.paths) > 1:
        files = joined(files, join)
    else:
        join = ""
    table = _Table([row.values for file in files.paths for row in files.rows(file)])
    verdicts, values = table.verdicts()
    people = [column for column in verdicts if _is_person(column)]
    judges = [column for column in verdicts if column not in people]
    if not judges or len(verdicts) < 2:
        return None
    key = table.key(verdicts)
    if not key:
        return None
    try:
        stages = stages_from(values, (), named=True)
    except Unfit:
        return None
    taken = [
        *(
            ColumnRole(one, "judge", f"its values are {_listed(values)}, as in others")
            for one in judges
        ),
        *(
            ColumnRole(one, "person", "its values are such verdicts, and its name is of a person")
            for one in people
        ),
    ]
    item, described = table.item(key, verdicts)
    strays = sorted({v for one in verdicts for v in table.distinct(one)} - values)
    recorded = Recorded.model_validate(
        {
            "name": named_by(files),
            "join": join,
            "format": kind,
            "concept": "verdicts",
            "source": "recorded judgements",
            "judge": "{column}",
            "item": {**item, "people": people},
            "verdicts": [{"column": one} for one in judges],
            **_stages(stages, bool(people)),
            "unlisted": "unreadable" if strays else "refused",
        }
    )
    taken += described
    if strays:
        taken += table.strays(verdicts, strays)
    named = {one.column for one in taken}
    taken += [
        ColumnRole(one, "left out", "nothing tells what it is")
        for one in table.columns
        if one not in named
    ]
    return Proposal(files, recorded, tuple(taken))


class _Table:
    """The texts of a table by column."""

    def __init__(self, rows: Rows) -> None:
        self.columns = list(dict.fromkeys(column for row in rows for column in row))
        self._n = len(rows)
        self._values = {
            column: [text_of(row, column) for row in rows]
            for column in self.columns
            if column and not fault_of(column) and "{" not in column
        }

    def distinct(self, column: str) -> Counter[str]:
        """Return the values of a column, with how often each stands there."""
        return Counter(value for value in self._values[column] if value)

    def verdicts(self) -> tuple[list[str], set[str]]:
        """Return the largest set of columns with the same few verdicts, and these."""
        few = {
            column: found
            for column in self._values
            if (found := self.distinct(column))
            and len(found) <= MOST
            and sum(found.values()) >= min(_REPEATED * len(found), self._n)
        }
        best: tuple[list[str], set[str]] = ([], set())
        for seed in few:
            common = {value for value, n in few[seed].items() if n * _FEW * MOST >= self._n}
            fitting = [
                column
                for column, found in few.items()
                if sum(n for value, n in found.items() if value in common)
                >= _SHARED * sum(found.values())
            ]
            if len(common) > 1 and len(fitting) > len(best[0]):
                best = fitting, common
        return best

    def strays(self, verdicts: Sequence[str], strays: Sequence[str]) -> list[ColumnRole]:
        """Return the values that stand beside the verdicts, with how often and where."""
        told = []
        for column in verdicts:
            found = {value: n for value, n in self.distinct(column).items() if value in strays}
            if found:
                shown = ", ".join(f"{value!r} ({n:,})" for value, n in list(found.items())[:_FEW])
                why = f"{shown}: no verdict of the others; decisions in the mapping can name it"
                told.append(ColumnRole(column, "unreadable in part", why))
        return told

    def key(self, verdicts: Sequence[str]) -> tuple[str, ...]:
        """Return the column, or the two, that tell all rows apart; () without."""
        others = [one for one in self._values if one not in verdicts]
        usual = [one for one in others if one.strip().casefold() in _KEYS]
        ordered = [*usual, *(one for one in others if one not in usual)]
        for size in (1, 2):
            for chosen in combinations(ordered, size):
                rows = list(zip(*(self._values[one] for one in chosen), strict=True))
                if len(set(rows)) == self._n and all(map(all, rows)):
                    return chosen
        return ()

    def item(
        self, key: Sequence[str], verdicts: Sequence[str]
    ) -> tuple[dict[str, str], list[ColumnRole]]:
        """Return the columns that describe an item, and why each is taken so."""
        written = key[0] if len(key) == 1 else "-".join(f"{{{one}}}" for one in key)
        why = "differs in every row" if len(key) == 1 else "differ in every row together"
        item, taken = {"key": written}, [ColumnRole(one, "item", why) for one in key]
        roles = (("system", _SYSTEM), ("question", _QUESTION), ("text", _TEXTS))
        for role, names in roles:
            found = self._named(names, verdicts, repeated=role != "text")
            if found and (role != "question" or found not in item.values()):
                item[role] = found
                if found not in key:
                    taken.append(ColumnRole(found, role, f"by its name; {self._count(found)}"))
        return item, taken

    def _named(self, names: Sequence[str], verdicts: Sequence[str], *, repeated: bool) -> str:
        for name in names:
            for column in self._values:
                different = len(self.distinct(column))
                fits = 1 < different < self._n if repeated else different > 1
                if column not in verdicts and column.strip().casefold() == name and fits:
                    return column
        return ""

    def _count(self, column: str) -> str:
        return f"{counted(len(self.distinct(column)), 'value')} in {self._n:,} rows"


def _is_person(column: str) -> bool:
    return bool(_PERSON.search(" ".join(_PARTS.split(column))))


def _listed(values: set[str]) -> str:
    return ", ".join(sorted(values)[:MOST])


def _stages(stages: Stages, labelled: bool) -> dict[str, object]:
    """Return the keys that say what verdicts and labels stand for."""
    if stages.scale:
        return {"scale": stages.scale}
    truths = {"truths": dict(stages.decisions)} if labelled else {}
    return {"stages": stages.names, "decisions": dict(stages.decisions), **truths}
