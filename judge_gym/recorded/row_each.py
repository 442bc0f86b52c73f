"""A mapping to fill in, for a table or nested records that seem to have a row for each judgement,
or a list of judgements in each row.

Unlike a proposal it is not read: the names and the order of values tell too little. It names the
file's own columns, or the paths of nested keys, where a mapping's keys want them.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from judge_gym.alike import column_name, two_answers
from judge_gym.evidence.columns import as_text
from judge_gym.recorded.column_roles import NOT_VERDICTS
from judge_gym.recorded.derived import NoMappingError, Rows, named_by
from judge_gym.recorded.derived_stages import MOST, no_scores, scale_of
from judge_gym.recorded.deriving_rows import COLUMNS
from judge_gym.recorded.files import RecordedFiles
from judge_gym.recorded.givers import names_a_judge, names_a_person
from judge_gym.recorded.mapping import as_score
from judge_gym.recorded.noting import MOST_CONDITIONS, WORDINGS
from judge_gym.recorded.orders import tie_between, two_orders
from judge_gym.recorded.tables import ProposedTable, key_text, words_of

_JUDGES = {
    *COLUMNS["judge"], "judge_model", "judge_name", "grader", "evaluator", "richter", "bewerter",
    "juge", "juez", "giudice",
} - {"model"}  # fmt: skip
"""Names of columns that name the judge of a row; of `model` the values tell whether it does."""
_SYSTEMS = {*COLUMNS["system"], "submission", "bot", "assistant"}
_QUESTIONS = {*COLUMNS["question"], "frage"} - {"prompt"}
_DEEPEST = 6
_MOST_ENTRIES = 10
"""Entries of a list that have a path of their own."""
_ENTRY = re.compile(r"(?P<of>.+)\[\d+\]\.(?P<key>[^\[\]]+)")
"""A path into an entry of a list, the innermost."""


@dataclass(frozen=True)
class _Told:
    """The columns that, with the judge, tell rows apart."""

    key: str
    system: str = ""
    wording: str = ""
    swap: str = ""

    @property
    def item(self) -> tuple[str, ...]:
        """Those that tell items apart."""
        return tuple(filter(None, (self.key, self.system)))


def mapping_to_fill_in(files: RecordedFiles) -> dict[str, Any] | None:
    """Return the mapping that rows of one judgement, or of one list of them, seem to need; None of
    other rows. Raises `NoMappingError` for lists that no mapping reads."""
    read = [(row.values, row.where) for file in files.paths for row in files.rows(file)]
    table = ProposedTable([dict(paths_in(row)) for row, _ in read], [where for _, where in read])
    repeated = [
        one
        for one, of in table.values.items()
        if all(of) and len(found := table.distinct(one)) > 1 and min(found.values()) > 1
    ]
    if entries := _entries_of_judges(table):
        return _of_a_list(files, table, entries, repeated)
    # A file may be of one judge, whose name is then in all rows.
    named = (one for one in table.values if len(table.distinct(one)) == 1 and _last(one) in _JUDGES)
    judge = next((one for one in repeated if _names_judges(table, one)), next(named, ""))
    if not judge or (told := _told(table, judge, repeated)) is None:
        return None
    read_as = {judge, told.wording, told.swap, *told.item}
    system, question = (
        next((one for one in repeated if _last(one) in names and one not in read_as), "")
        for names in (_SYSTEMS, _QUESTIONS)
    )
    system, second = told.system or system, ""
    if told.swap and not system:
        system, second = two_answers(one for one in repeated if one not in read_as) or ("", "")
    verdicts, people = _verdicts(table, told.item, {*read_as, system, second, question})
    item = {"key": told.key, "question": question, "system": system, "second_system": second,
            "people": people}  # fmt: skip
    return {
        **_described(files),
        "judge_column": judge,
        **({"wording_column": told.wording} if told.wording else {}),
        **_order_of_pairs(table, told.swap),
        "item": {name: column for name, column in item.items() if column},
        "verdicts": verdicts or ["the column of the verdicts"],
        **_scale(table, verdicts),
    }


def _described(files: RecordedFiles) -> dict[str, str]:
    return {
        "name": named_by(files),
        "concept": "what the judges were asked",
        "source": "where the file is from",
    }


def _entries_of_judges(table: ProposedTable) -> dict[str, dict[str, str]]:
    """Return each entry of the list whose entries name a judge → its keys and their paths; {} where
    there is none of several entries."""
    lists: dict[str, dict[str, dict[str, str]]] = {}
    for path in table.values:
        if found := _ENTRY.fullmatch(path):
            entry = path[: found.start("key") - 1]
            lists.setdefault(found["of"], {}).setdefault(entry, {})[found["key"]] = path
    for of, entries in lists.items():
        names = {column_name(key) for keys in entries.values() for key in keys}
        if len(entries) > 1 and names & _JUDGES and not names_a_person(of):
            return entries
    return {}


def _namers(keys: Mapping[str, str]) -> list[str]:
    """Return the path of what names the judge of an entry of a list; [] without."""
    return [path for key, path in keys.items() if column_name(key) in _JUDGES][:1]


def _of_a_list(
    files: RecordedFiles,
    table: ProposedTable,
    entries: Mapping[str, Mapping[str, str]],
    repeated: Sequence[str],
) -> dict[str, Any] | None:
    """Return the mapping of rows of an item each with a list of judgements: all are of judges.

    None where no column tells rows apart, or no key of an entry holds verdicts.
    """
    own = {path for keys in entries.values() for path in keys.values()}
    judges = {
        entry: name
        for entry, keys in entries.items()
        if len(found := {name for path in _namers(keys) for name in table.distinct(path)}) == 1
        for name in found
    }
    if len({*judges.values()}) < len(entries):
        raise NoMappingError(
            "None can be proposed: each row has a list of judgements, and a place in it is not "
            f"always of the same judge: {', '.join(entries)}.",
            "Write a row for each judgement, with the columns item, judge and score.",
        )
    verdicts: dict[str, list[str]] = {}
    for path, name in ((path, name) for of in entries.values() for name, path in of.items()):
        if column_name(name) not in _JUDGES and not words_of(name) & NOT_VERDICTS:
            verdicts.setdefault(name, []).append(path)
    verdicts = {
        name: paths
        for name, paths in verdicts.items()
        if all(map(table.repeats, paths)) and len(set().union(*map(table.distinct, paths))) > 1
    }
    named = min(
        verdicts,
        key=lambda one: (
            column_name(one) not in COLUMNS["verdict"],
            not _ends(table, *verdicts[one]),
        ),
        default="",
    )
    key = table.key({*COLUMNS["item"], "key", "uid", "idx"}, own)
    if not named or not key:
        return None
    columns = verdicts[named]
    system, question = (
        next((one for one in repeated if _last(one) in names and one not in {*own, *key}), "")
        for names in (_SYSTEMS, _QUESTIONS)
    )
    people = [
        one
        for one in table.values
        if one not in {*own, *key, system, question}
        and names_a_person(one)
        and not words_of(one) & NOT_VERDICTS
        and table.repeats(one)
        and bool(_ends(table, one)) == bool(_ends(table, *columns))
    ]
    item = {"key": key_text(key), "question": question, "system": system, "people": people}
    return {
        **_described(files),
        "judge": "{column}",
        "names": {of[named]: judges[entry] for entry, of in entries.items() if named in of},
        "item": {name: column for name, column in item.items() if column},
        "verdicts": columns,
        **_scale(table, columns),
    }


def nested_paths(rows: Rows) -> list[str]:
    """Return the paths of values below the keys of nested rows; none of plain rows."""
    paths = dict.fromkeys(path for row in rows for path, _ in paths_in(row))
    return [path for path in paths if any(path not in row for row in rows[:1])]


def paths_in(value: Any, path: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """Yield each path to a text, a number or a truth value, as a mapping names it, and its text."""
    if isinstance(value, Mapping) and depth < _DEEPEST:
        for key, inside in value.items():
            yield from paths_in(inside, f"{path}.{key}" if path else str(key), depth + 1)
    elif isinstance(value, list) and depth < _DEEPEST:
        for place, inside in enumerate(value[:_MOST_ENTRIES]):
            yield from paths_in(inside, f"{path}[{place}]", depth + 1)
    else:
        yield path, as_text(value)


def _last(column: str) -> str:
    """Return the name at the end of a path, as names of columns are compared."""
    return column_name(column.rpartition(".")[2])


def _names_judges(table: ProposedTable, column: str) -> bool:
    """Whether a column names the judge of a row: by its name, or by the names of models in it."""
    values = table.distinct(column)
    if len(values) > MOST_CONDITIONS or all(as_score(value) is not None for value in values):
        return False
    named = sum(map(names_a_judge, values))
    return _last(column) in _JUDGES or (2 * named > len(values) and _last(column) not in _SYSTEMS)


def _told(table: ProposedTable, judge: str, repeated: Sequence[str]) -> _Told | None:
    """Return the columns that with the judge tell rows apart: the item, or the item with its
    system, where needed with a wording, and the order that a pair was shown in; None without.

    An item has at least as many values as what stands beside it.
    """
    usual = {*COLUMNS["item"], "key", "uid", "idx"}
    others = [one for one in repeated if one != judge]
    swaps = [one for one in others if _orders(table, one)]
    wordings = [one for one in others if _last(one) in WORDINGS and one not in swaps]
    systems = [one for one in others if _last(one) in _SYSTEMS]
    keys = [
        one
        for one, of in table.values.items()
        if all(of)
        and one not in (judge, *swaps)
        and (one not in wordings or _last(one) in COLUMNS["question"])
        and len(table.distinct(one)) < table.n
    ]
    keys.sort(key=lambda one: (_last(one) not in usual, -len(table.distinct(one))))
    for system, swap, wording in product(("", *systems), ("", *swaps), ("", *wordings)):
        beside = [one for one in (system, swap, wording) if one]
        for key in keys:
            if key in beside or any(
                len(table.distinct(one)) > len(table.distinct(key)) for one in beside
            ):
                continue
            of = (table.values[name] for name in (key, judge, *beside))
            if len(set(zip(*of, strict=True))) == table.n:
                return _Told(key, system, wording, next(iter(swaps), ""))
    return None


def _orders(table: ProposedTable, column: str) -> tuple[str, ...]:
    """Return the two values of a column that say in which order a pair was shown, such as AB and
    BA, the plain one first; () of other columns."""
    values = table.distinct(column)
    return (two_orders(*values) or ()) if len(values) == 2 else ()


def _order_of_pairs(table: ProposedTable, swap: str) -> dict[str, Any]:
    """Return the keys that say in which order a pair was shown."""
    if not swap:
        return {}
    plain, other = _orders(table, swap)
    return {"swapped_column": swap, "swapped": {plain: False, other: True}}


def _verdicts(
    table: ProposedTable, item: Sequence[str], taken: set[str]
) -> tuple[list[str], list[str]]:
    """Return the column of verdicts, which differ between rows of an item, and those of people.

    Labels of people are scores of the same range that all rows of an item have alike.
    """
    differing: list[str] = []
    same: list[str] = []
    for one in table.values:
        if one in taken or words_of(one) & NOT_VERDICTS or not table.repeats(one):
            continue
        by_item: dict[tuple[str, ...], set[str]] = {}
        for *names, value in zip(*map(table.values.get, (*item, one)), strict=True):
            by_item.setdefault(tuple(names), set()).add(value)
        (differing if any(len(of) > 1 for of in by_item.values()) else same).append(one)
    differing.sort(key=lambda one: (not table.numbers(one), _last(one) not in COLUMNS["verdict"]))
    # Of one judge, they need not differ between rows of an item.
    named = (one for one in same if _last(one) in COLUMNS["verdict"])
    verdict = next((one for one in differing if len(table.distinct(one)) > 1), next(named, ""))
    same = [one for one in same if one != verdict]
    if not (ends := _ends(table, verdict) if verdict else ()):
        return [verdict] * bool(verdict), [one for one in same if names_a_person(one)]
    low, high = ends
    people = [one for one in same if (of := _ends(table, one)) and low <= of[0] < of[1] <= high]
    return [verdict], people


def _ends(table: ProposedTable, *columns: str) -> tuple[float, float] | tuple[()]:
    """Return the lowest and the highest score of columns; none of any with other values."""
    written = set().union(*map(table.distinct, columns))
    values = written - set(no_scores(written))
    numbers = [number for value in values if (number := as_score(value)) is not None]
    return (min(numbers), max(numbers)) if numbers and len(numbers) == len(values) else ()


def _scale(table: ProposedTable, verdicts: Sequence[str]) -> dict[str, Any]:
    """Return the scale of scores, or the verdicts as stages, whose order is still to be given."""
    if not verdicts:
        return {"scale": {"lowest": 1, "highest": 5}}
    if (ends := _ends(table, *verdicts)) and ends[0] < ends[1]:
        low = 1.0 if 1 < ends[0] <= MOST and ends[0].is_integer() else ends[0]
        return {"scale": scale_of(low, ends[1]).model_dump()}
    stages = sorted(set().union(*map(table.distinct, verdicts)))[:MOST]
    return {"stages": tie_between(stages)}
