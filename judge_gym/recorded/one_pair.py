"""Two verdicts in several words, such as yes and no beside true and false, as one pair of words.

A proposal says which words it takes for which, and a person confirms it.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from judge_gym.recorded.column_roles import KNOWN, NOT_VERDICTS
from judge_gym.recorded.derived import Options
from judge_gym.recorded.derived_stages import OPPOSITES
from judge_gym.recorded.givers import names_a_judge, names_a_person
from judge_gym.recorded.mapping import as_score, as_word
from judge_gym.recorded.tables import ProposedTable, words_of

Words = Mapping[str, Mapping[str, str]]
"""Column → each of its two verdicts, as written, and that of the pair which it is taken for."""


def in_one_pair(table: ProposedTable, options: Options) -> Words:
    """Return what verdicts of columns are in the pair of words that most have; {} of one pair.

    Of columns that by their names, or as the user says, are of judges, people or known answers.
    0 and 1 beside other scores are scores.
    """
    said = {*options.judge_columns, *options.people, options.truth}
    whose = [one for one in table.values if one in said or _may_be_verdicts(one)]
    whose = [one for one in whose if table.distinct(one) and table.repeats(one)]
    whose.sort(key=lambda one: not (one in options.judge_columns or names_a_judge(one)))
    words = {one: {as_word(value) for value in table.verdicts_of([one])} for one in whose}
    pairs = {
        one: pair
        for one, of in words.items()
        for pair in [next((pair for pair in OPPOSITES if of and of <= {*pair}), None)]
        if pair
    }
    scores = {value for of in words.values() for value in of if as_score(value) is not None}
    if len({*pairs.values()}) < 2 or not scores <= {"0", "1"}:
        return {}
    [(most, _)] = Counter(pairs.values()).most_common(1)
    return {
        one: {
            value: most[pair.index(word)]
            for value in table.distinct(one)
            if (word := as_word(value)) in pair
        }
        for one, pair in pairs.items()
        if pair != most
    }


def rewritten(rows: Sequence[Mapping[str, Any]], table: ProposedTable, words: Words) -> list[Any]:
    """Return the rows with these verdicts in the one pair of words."""
    folded = {
        column: {as_word(value): word for value, word in of.items()} for column, of in words.items()
    }
    return [
        {
            **row,
            **{
                column: of.get(as_word(table.values[column][place]), row.get(column))
                for column, of in folded.items()
            },
        }
        for place, row in enumerate(rows)
    ]


def _may_be_verdicts(column: str) -> bool:
    words = words_of(column)
    named = names_a_judge(column) or names_a_person(column) or bool(words & KNOWN)
    return named and not words & NOT_VERDICTS
