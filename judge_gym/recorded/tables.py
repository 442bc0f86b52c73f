"""A table as a person wrote it: which columns hold the same verdicts, and what tells rows apart."""

import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from itertools import combinations
from typing import Any, TypeVar

from judge_gym.alike import column_name, folded
from judge_gym.counting import counted, first_of
from judge_gym.evidence.columns import fault_of
from judge_gym.recorded.derived import Rows, text_of
from judge_gym.recorded.derived_stages import LAST, MOST, sums_up
from judge_gym.recorded.mapping import WrittenScore, as_score, has_decimal_comma, read_score

T = TypeVar("T")
NO_VERDICT = frozenset(
    {"n/a", "n.a.", "na", "nan", "null", "-", "--", "?", "error", "#n/a", "#value!", "#div/0!",
     "#ref!", "#name?", "#num!", "#null!"}
)  # fmt: skip
"""Words that stand for an answer without a verdict, never for a stage, whatever their case."""
_SHARED = 0.9
"""Share of a column's values that others have, where it is a column of verdicts."""
_REPEATED = 4
"""Times that each value of a column stands there at least, on average; else it is a name."""
_RARE = 0.02
"""A value that fewer cells than this share have is none of the verdicts that columns share."""
_NEARLY = 0.9
"""Share of rows that a column without empty cells tells apart, where it may be the item's name."""
_MOST_SCORES = 101
RUNS = {"run", "runs", "repeat", "repeats", "repetition", "replicate", "trial", "epoch", "seed"}
"""Words in the name of a column that tells repeated judgements apart."""
_FEW = 3
"""Places of rows that an error names."""
_LONGEST = 40
"""Characters of a verdict."""


class ProposedTable:
    """The texts of a table by column. Values that differ only in case or space are one."""

    def __init__(self, rows: Rows, places: Sequence[str]) -> None:
        """Take rows, and where each stands in its file."""
        self._places = places
        self.columns = list(dict.fromkeys(column for row in rows for column in row))
        self.n = len(rows)
        self.values = {
            column: [_text(row, column) for row in rows]
            for column in self.columns
            if column and not fault_of(column) and "{" not in column
        }
        self.ends = {
            column: ends for column, of in self.values.items() if (ends := _ends(_scores(of)))
        }
        """Column of scores that say more than their number → the ends of scales that they name."""
        self.percent = frozenset(
            column
            for column in self.ends
            if all(score.is_percent for score in _scores(self.values[column]))
        )
        """Columns of percent."""
        written = Counter(
            value for of in self.values.values() for value in of if 0 < len(value) <= _LONGEST
        )
        self._spelling: dict[str, str] = {}
        for value, _ in written.most_common():
            self._spelling.setdefault(folded(value), value)
        self.distinct: Callable[[str], Counter[str]] = cache(self._distinct)
        """Column → its values, in their commonest spelling, with how often each stands there."""

    def _distinct(self, column: str) -> Counter[str]:
        given = (value for value in self.values[column] if value)
        if column in self.ends:  # 80%, 80 % and 80 are one, and so are 4/5, Score: 4 and 4
            return Counter(_plain(self._spelling.get(folded(value), value)) for value in given)
        # 4.0 is 4, too, where a spreadsheet wrote both
        return Counter(
            _plain(value) if "." in value else self._spelling.get(folded(value), value)
            for value in given
        )

    def verdicts(self, without: Collection[str]) -> tuple[list[str], set[str]]:
        """Return the largest set of columns with the same verdicts, and these.

        `without` are columns that are something else by their names.
        """
        few = {
            column: found
            for column in self.values
            if column not in without and (found := self.distinct(column)) and self.repeats(column)
        }
        best: tuple[list[str], set[str]] = ([], set())
        for seed in few:
            common = self._common(seed)
            fitting = self.fitting(common, few)
            if len(common) > 1 and len(fitting) > len(best[0]):
                best = fitting, common
        percent = [column for column in few if column in self.percent]
        if len(percent) > len(best[0]):  # of one scale, whichever values they have
            given = {value for column in percent for value in few[column]}
            best = percent, {value for value in given if folded(value) not in NO_VERDICT}
        return best

    def verdicts_of(self, chosen: Sequence[str]) -> set[str]:
        """Return the verdicts of columns that are named, without values that are rare in each."""
        return set().union(*(self._common(column) for column in chosen))

    def fitting(self, values: Collection[str], among: Collection[str]) -> list[str]:
        """Return the columns whose values are these verdicts, but for a few."""
        return [
            column
            for column in self.values
            if column in among
            and (found := self.distinct(column))
            and self._shared(found, values) >= _SHARED * self._judged(found)
        ]

    def numbers(self, column: str) -> list[float]:
        """Return the scores of a column, each once."""
        scores = map(as_score, self.distinct(column))
        return [number for number in scores if number is not None]

    def decimal_comma(self, column: str) -> str:
        """Return a value with a decimal comma of a column whose values are numbers but for it; ""
        without one."""
        given = [value for value in self.distinct(column) if folded(value) not in NO_VERDICT]
        commas = [value for value in given if has_decimal_comma(value)]
        scores = sum(as_score(value) is not None for value in given) + len(commas)
        return commas[0] if commas and scores == len(given) else ""

    def repeats(self, column: str) -> bool:
        """Whether a column holds few values, each several times: verdicts, or names of groups."""
        found = self.distinct(column)
        if column in self.percent:
            return True
        several = sum(found.values()) >= _REPEATED * len(found)
        if len(found) > MOST:
            few = several and len(found) <= _MOST_SCORES
            return few and all(as_score(value) is not None for value in found)
        return several or sum(found.values()) >= self.n

    def _common(self, column: str) -> set[str]:
        found = {
            value: n
            for value, n in self.distinct(column).items()
            if folded(value) not in NO_VERDICT
        }
        if len(found) > MOST:
            return set(found)
        return {value for value, n in found.items() if n >= _RARE * sum(found.values())}

    @staticmethod
    def _shared(found: Counter[str], common: Collection[str]) -> int:
        return sum(n for value, n in found.items() if value in common)

    @staticmethod
    def _judged(found: Counter[str]) -> int:
        return max(1, sum(n for value, n in found.items() if folded(value) not in NO_VERDICT))

    def filled(self, column: str) -> float:
        """Return the share of a column's cells that hold something."""
        return sum(map(bool, self.values[column])) / max(1, self.n)

    def key(self, usual: Collection[str], without: Collection[str]) -> tuple[str, ...]:
        """Return the column, or the two, that tell all rows apart, a `usual` one first."""
        others = [one for one in self.values if one not in without]
        first = [one for one in others if column_name(one) in usual]
        ordered = [*first, *(one for one in others if one not in first)]
        for size in (1, 2):
            for chosen in combinations(ordered, size):
                rows = list(zip(*(self.values[one] for one in chosen), strict=True))
                if len(set(rows)) == self.n and all(map(all, rows)):
                    return chosen
        return ()

    def repeated(self, key: Sequence[str], same: Collection[str]) -> tuple[str, str] | None:
        """Return the item and the run of two columns that tell rows apart, where one is a run by
        its name and every item has the same values in the columns `same`; None for others."""
        runs = [column for column in key if words_of(column) & RUNS]
        if len(key) != 2 or len(runs) != 1:
            return None
        [item] = [column for column in key if column not in runs]
        described: dict[str, tuple[str, ...]] = {}
        columns = [self.values[column] for column in same]
        for name, *given in zip(self.values[item], *columns, strict=True):
            if described.setdefault(name, tuple(given)) != tuple(given):
                return None
        return (item, runs[0]) if len(described) < self.n else None

    def summary(self, key: Sequence[str]) -> str:
        """Return the name of a row that sums up the others, such as Average; "" without one."""
        named = (value for column in key for value in self.values[column][-LAST:])
        return next(filter(sums_up, named), "")

    def doubled(self, usual: Collection[str], without: Collection[str] = ()) -> str:
        """Return what is there twice: a value of a `usual` key column, whole rows, or a value of
        the column that tells most rows apart; else "". `without` are columns of something else."""
        for column in self.values:
            if column_name(column) in usual and (said := self._doubled_in(column)):
                return said
        copies = self._copies()
        if self.without(usual) and not copies:
            return ""
        # Of equal rows the first alone, so that others of its item are named, too.
        rows = zip(*self.values.values(), strict=True)
        single = sorted({row: at for at, row in reversed([*enumerate(rows)])}.values())
        different = {
            column: len(set(of))
            for column, of in self.values.items()
            if column not in without and all(of)
        }
        nearly = [one for one, n in different.items() if n >= _NEARLY * len(single)]
        of_items = max(nearly, key=different.__getitem__, default="")
        again = self._doubled_in(of_items, single) if of_items else ""
        return ", and ".join(filter(None, (copies, again)))

    def _copies(self) -> str:
        """Return how many rows repeat another, with the first; "" without one."""
        copies = self._several(zip(*self.values.values(), strict=True))
        if not copies:
            return ""
        first, places = next(iter(copies.items()))
        beginning = next((value for value in first if value), "")
        count = sum(len(of) - 1 for of in copies.values())
        verb = "repeats" if count == 1 else "repeat"
        said = f"such as that of {beginning!r} ({_said(places)})"
        return f"{counted(count, 'row')} {verb} another, {said}"

    def nearly(self, column: str) -> str:
        """Return where a column that else tells rows apart is empty; "" of another column."""
        given = [value for value in self.values[column] if value]
        empty = [at for value, at in zip(self.values[column], self._places, strict=True)
                 if not value]  # fmt: skip
        tells = len(set(given)) == len(given) and max(map(len, given), default=0) <= _LONGEST
        if not (tells and empty and len(given) > len(empty)):
            return ""
        return f"empty in {counted(len(empty), 'row')} ({_said(empty)})"

    def _doubled_in(self, column: str, rows: Sequence[int] | None = None) -> str:
        """Return which values of a column stand in several rows, or several of these; "" without
        one."""
        at = range(self.n) if rows is None else rows
        found: dict[str, list[str]] = {}
        for row in at:
            found.setdefault(self.values[column][row], []).append(self._places[row])
        said = [
            f"{value!r} in {len(places)} rows ({_said(places)})"
            for value, places in found.items()
            if value and len(places) > 1
        ]
        return f"{column} has {first_of(said)}" if said else ""

    def without(self, usual: Collection[str]) -> str:
        """Return where a `usual` key column is empty; "" where none is."""
        for column, values in self.values.items():
            places = [at for value, at in zip(values, self._places, strict=True) if not value]
            if column_name(column) in usual and 0 < len(places) < self.n:
                return f"{column} is empty in {counted(len(places), 'row')} ({_said(places)})"
        return ""

    def _several(self, values: Iterable[T]) -> dict[T, list[str]]:
        """Return what stands in several rows → where."""
        found: dict[T, list[str]] = {}
        for value, place in zip(values, self._places, strict=True):
            found.setdefault(value, []).append(place)
        return {value: places for value, places in found.items() if len(places) > 1}

    def named(self, names: Sequence[str], without: Collection[str], *, repeated: bool) -> str:
        """Return the column of the first of some names that is there, with values that differ.

        `repeated` values stand in several rows.
        """
        for name in names:
            for column in self.values:
                different = len(self.distinct(column))
                fits = 1 < different < self.n if repeated else different > 1
                if column not in without and column_name(column) == name and fits:
                    return column
        return ""


def _said(places: Sequence[str]) -> str:
    more = len(places) - _FEW
    return f"{' and '.join(places[:_FEW])}{f' and {more:,} more' if more > 0 else ''}"


def _scores(values: Iterable[str]) -> list[WrittenScore]:
    """Return the scores of a column; none of one with other texts, or with plain numbers alone."""
    given = {value for value in values if value and folded(value) not in NO_VERDICT}
    found = [score for value in given if (score := read_score(value))]
    plain = all(score.is_plain for score in found)
    return [] if plain or len(found) < len(given) else found


def _ends(scores: Sequence[WrittenScore]) -> frozenset[float | None]:
    """Return the ends of scales that scores name; none where a score is above, or percent is mixed.

    A percent sign on some numbers of a column leaves open what the others are.
    """
    ends = frozenset(score.out_of for score in scores)
    within = all(score.out_of is None or score.number <= score.out_of for score in scores)
    mixed = any(score.is_percent for score in scores) and len(ends) > 1
    return ends if within and not mixed else frozenset()


def _plain(value: str) -> str:
    """Return the number of a score; any other text as it is."""
    number = as_score(value)
    return value if number is None else f"{number:g}"


def _text(row: Mapping[str, Any], column: str) -> str:
    value = row.get(column)
    return value.strip() if isinstance(value, str) else text_of(row, column)


_PARTS = re.compile(r"(?<=[a-z])(?=[A-Z])|[_\W\d]+")


def words_of(column: str) -> set[str]:
    """Return the words of a column's name, such as human and label of humanLabel_2."""
    return {word.casefold() for word in _PARTS.split(column) if word}


def key_text(key: Sequence[str]) -> str:
    """Return the columns that tell items apart as a mapping's key has them."""
    return key[0] if len(key) == 1 else "-".join(f"{{{one}}}" for one in key)
