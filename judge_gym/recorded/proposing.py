"""A mapping proposed for a table with a row for each item and a column for each judge or person.

Nothing here is taken for certain: each column is named with what it is taken for and why, and a
person confirms it. A column is of a judge or person only where its values are literally verdicts
that other columns have too; which of them are people is told by their names, and said so. A known
answer is never told by a name, and an order of words never guessed.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from judge_gym.alike import folded, two_answers
from judge_gym.counting import counted, first_of
from judge_gym.evidence.numbers import plain_number
from judge_gym.evidence.row import DataRow
from judge_gym.recorded.column_roles import (
    NOT_VERDICTS,
    Columns,
    columns_of,
    labels_of_another_scale,
    other_scale,
    scale_text,
    unproposed,
)
from judge_gym.recorded.derived import NoMappingError, Options, named_by
from judge_gym.recorded.derived_stages import (
    MOST,
    Stages,
    Unfit,
    may_be_codes,
    no_scores,
    scale_of,
    stages_from,
)
from judge_gym.recorded.deriving_rows import COLUMNS
from judge_gym.recorded.files import RecordedFiles
from judge_gym.recorded.givers import names_a_judge, names_a_person
from judge_gym.recorded.joining import SEVERAL, common_key, joined
from judge_gym.recorded.mapping import DECIMAL_COMMAS, ScoreScale, as_score, read_score
from judge_gym.recorded.one_pair import Words, in_one_pair, rewritten
from judge_gym.recorded.orders import columns_in_two_orders, stages_of_a_pair
from judge_gym.recorded.tables import ProposedTable, key_text, words_of

_SYSTEM = (*COLUMNS["system"], "submission", "bot", "assistant", "agent")
_KEYS = (*COLUMNS["item"], "idx", "index", "key", "uid")
_TEXTS = (*COLUMNS["text"], "response", "passage", "document", "completion", "reply")
UNSAID = Options()
"""Of a user who says nothing."""
QRELS = "{query}-{passage}"
"""What tells grades of qrels apart."""
_FEW = 5
_FEWEST_WHOLE = 2
"""Columns of whole scores beside which half points are one judge's habit."""
_LEFT = "left out"
_CODES = (
    "one of two answers, perhaps: if {} name these, or a tie, they are no order, and decisions in "
    "the mapping say which stage each is"
)


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
    mapping: Mapping[str, Any]
    """As a mapping file has it."""
    taken: tuple[ColumnRole, ...]
    unordered: tuple[str, ...] = ()
    """Verdicts whose order nothing tells, so that the mapping lacks `stages`."""


def propose(files: RecordedFiles, kind: str = "rows", options: Options = UNSAID) -> Proposal:
    """Return a mapping of a table of verdicts; raises `NoMappingError` where none can be proposed.

    `options` say which columns are of judges and people. Several files are one table where a
    column tells the rows of each apart.
    """
    join = _join_of(files, kind)
    files = joined(files, join) if join else files
    read = [row for file in files.paths for row in files.rows(file)]
    rows, places = [*map(_with_points, read)], [row.where for row in read]
    table = ProposedTable(rows, places)
    if words := in_one_pair(table, options):
        table = ProposedTable(rewritten(rows, table, words), places)
    found = columns_of(table, options, of_judges=kind == "qrels")
    _check_commas(table, found)
    key, repeat = _key_of(table, found)
    halves, whole = _half_points_of_one(table, found)
    scale = whole or _scale_of(table, found.read, found.values)
    pair = _answers_of_pairs(table, key, found)
    if pair:
        found.values &= {*stages_of_a_pair(found.values)}
    stages = Stages((), {}, scale) if scale else _stages(found.values, of_pairs=bool(pair))
    item, described = _item(table, key, found.every, repeat, pair)
    strays = {
        one: sorted(
            value
            for value in set(table.distinct(one)) - found.values
            if not (scale and scale.stage(value))
        )
        for one in (*found.judges, *found.people)
    }
    labels = {"truth": found.truth, "people": found.people}
    # A score in a column that is called reversed is of a scale that was turned.
    are_scores = any(as_score(one) is not None for one in found.values)
    orders = {} if are_scores else columns_in_two_orders(found.judges)
    mapping = {
        "name": named_by(files),
        **({"join": join} if join else {}),
        **({"format": kind} if kind != "rows" else {}),
        **files.layout.keys,
        "concept": "verdicts",
        "source": "recorded judgements",
        "judge": "{column}",
        "item": {**item, **{name: of for name, of in labels.items() if of}},
        **_verdicts(table, found.judges, orders),
        **({"repeats": True} if repeat else {}),
        **(_written(stages, found, words) if stages else {}),
        **({"unlisted": "unreadable"} if any(strays.values()) else {}),
    }
    order = _order(stages, found.values)
    taken = [
        *_roles(table, found, options, order, orders),
        *described,
        *_in_other_words(found, words),
        *_strays(table, strays, found.values, found.people),
    ]
    if halves:
        why = (
            f"it alone has half points: where an answer is right or wrong they count as the "
            f"nearest of {order}, a half as the higher; means and biases are as written"
        )
        taken.append(ColumnRole(halves, "half points", why))
    named = {one.column for one in taken}
    answers = _two_answers(table, named) if stages and may_be_codes(stages.scale) else ()
    taken += [ColumnRole(one, _LEFT, _CODES.format(order)) for one in answers]
    taken += _left_out(table, found, order, named.union(answers))
    return Proposal(files, mapping, tuple(taken), () if stages else tuple(sorted(found.values)))


def _check_commas(table: ProposedTable, found: Columns) -> None:
    """Raise `NoMappingError` where scores have decimal commas, and commas separate values."""
    columns = [one for one in found.read if table.decimal_comma(one)]
    if columns:
        raise unproposed(
            f"the scores of {', '.join(columns)} have decimal commas, such as "
            f"{table.decimal_comma(columns[0])!r}, and commas separate the values",
            DECIMAL_COMMAS,
        )


def _join_of(files: RecordedFiles, kind: str) -> str:
    """Return the column that tells the rows of each of several files apart; "" of one file."""
    if len(files.paths) <= 1:
        return ""
    join = QRELS if kind == "qrels" else common_key(files)
    if not join:
        why = f"no column tells the rows of each file apart{_doubled(files)}"
        raise NoMappingError(f"None can be proposed: {why}.", SEVERAL)
    return join


def _key_of(table: ProposedTable, found: Columns) -> tuple[Sequence[str], str]:
    """Return the columns that tell items apart, and the one that numbers their repeats, or ""."""
    key = table.key(_KEYS, found.every)
    if not key:
        raise _no_key(table, found.every)
    if summary := table.summary(key):
        raise unproposed(
            f"the row {summary!r} may sum up the others",
            "Take it out of the file; or, if it is an item, write a mapping file.",
        )
    texts = [one for one in (table.named(_TEXTS, found.every, repeated=False),) if one]
    repeated = table.repeated(key, [*found.people, *filter(None, [found.truth]), *texts])
    return (repeated[:1], repeated[1]) if repeated else (key, "")


def _no_key(table: ProposedTable, verdicts: Collection[str]) -> NoMappingError:
    """Return the error of a table whose rows no column tells apart, with what stands in the way."""
    if why := table.doubled(_KEYS, verdicts):
        remedy = (
            "Take the repeated rows out of the file, or correct them; if they are judgements "
            "repeated on purpose, number them in a column `run`."
        )
    elif why := table.without(_KEYS):
        remedy = "Write the item into each row; take a row out that sums up the others."
    else:
        remedy = ""
    return unproposed(f"no column, and no two, tell all rows apart{why and f': {why}'}", remedy)


def _verdicts(
    table: ProposedTable, judges: Sequence[str], orders: Mapping[str, tuple[str, str]]
) -> dict[str, Any]:
    """Return the columns of verdicts, and the judge that two columns of two `orders` are of."""
    written: dict[str, Any] = {one: one for one in judges}
    for plain, turned in orders.values():
        own = {"own_order": True} if _alike(table, plain, turned)[1] else {}
        written[turned] = {"column": turned, "reversed": True, **own}
    names = {column: judge for judge, of in orders.items() for column in of}
    return {"verdicts": list(written.values()), **({"names": names} if names else {})}


def _alike(table: ProposedTable, one: str, other: str) -> tuple[int, bool]:
    """Return in how many rows two columns say the same, and whether in most."""
    pairs = zip(table.values[one], table.values[other], strict=True)
    alike = sum(first == second for first, second in pairs)
    return alike, 2 * alike > table.n


def _roles(
    table: ProposedTable,
    found: Columns,
    options: Options,
    order: str,
    orders: Mapping[str, tuple[str, str]],
) -> Iterator[ColumnRole]:
    """Yield whose the columns of verdicts are, and why."""
    reasons = {
        one: f"verdicts that others have, too{_alone(table, found, one)}: {order}"
        for one in found.every
    }
    for one in table.ends:
        reasons[one] = f"scores such as {_example(table, one)}, read as {order}"
    for judge, (plain, turned) in orders.items():
        alike, in_most = _alike(table, plain, turned)
        said = "the answer" if in_most else "its place"
        reasons[turned] = (
            f"by its name {judge} again, of pairs in the other order. It says what {plain} says in "
            f"{alike} of {table.n:,} rows, so verdicts seem to name {said}: `own_order` says which"
        )
    for one in found.judges:
        yield ColumnRole(one, "judge", reasons[one])
    for one in found.people:
        by = "as --people says" if options.people else "its name is of a person"
        yield ColumnRole(one, "person", found.like.get(one, f"such verdicts, and {by}"))
    if found.truth:
        yield ColumnRole(found.truth, "known answer", "as --truth says")


def _alone(table: ProposedTable, found: Columns, column: str) -> str:
    """Return the verdicts of a column that no other has, as ", but 0"; "" without one."""
    own = found.values.intersection(table.distinct(column))
    others = (set(table.distinct(one)) for one in found.every if one != column)
    alone = sorted(own.difference(*others), key=lambda one: (as_score(one) or 0.0, one))
    return f", but {first_of(alone, _FEW)}" if alone else ""


def _doubled(files: RecordedFiles) -> str:
    for file in files.paths:
        rows = list(files.rows(file))
        table = ProposedTable([row.values for row in rows], [row.where for row in rows])
        if doubled := table.doubled(_KEYS):
            return f": in {file.name} {doubled}"
    return ""


def _item(
    table: ProposedTable,
    key: Sequence[str],
    verdicts: Collection[str],
    repeat: str,
    pair: Sequence[str],
) -> tuple[dict[str, str], list[ColumnRole]]:
    """Return the columns that describe an item, and why each is taken so.

    `pair` are those of what made the two answers of a pair.
    """
    why = "differs in every row" if len(key) == 1 else "differ in every row together"
    if repeat:
        why = f"differ in every row together with {repeat}, whose rows are repeats"
    item, taken = {"key": key_text(key)}, [ColumnRole(one, "item", why) for one in key]
    for role, names in (("system", _SYSTEM), ("question", COLUMNS["question"]), ("text", _TEXTS)):
        found = table.named(names, verdicts, repeated=role != "text")
        if found and role not in item and (role != "question" or found not in item.values()):
            item[role] = found
            if found not in key:
                count = counted(len(table.distinct(found)), "value")
                taken.append(ColumnRole(found, role, f"by its name; {count} in {table.n:,} rows"))
    for role, column in zip(("system", "second_system"), pair, strict=False):
        item[role] = column
        why = "by its name; verdicts name the answers of a pair"
        taken.append(ColumnRole(column, role.replace("_", " "), why))
    if repeat:
        taken.append(ColumnRole(repeat, "repeat", "by its name; the same items in each"))
    return item, taken


def _left_out(
    table: ProposedTable, found: Columns, order: str, named: Collection[str]
) -> Iterator[ColumnRole]:
    """Yield the columns that are not read, and why; `named` are said already."""
    for one, why in found.left.items():
        yield ColumnRole(one, _LEFT, why)
    for one in table.columns:
        if one not in named and one not in found.left:
            yield ColumnRole(one, _LEFT, _hint(table, one, order, found.read))


def _two_answers(table: ProposedTable, named: Collection[str]) -> tuple[str, ...]:
    """Return the columns of texts that are named as the two answers of a pair; () without."""
    return two_answers(
        one
        for one in table.columns
        if one not in named and 2 * len(table.numbers(one)) < len(table.distinct(one))
    )


def _strays(
    table: ProposedTable,
    strays: Mapping[str, Sequence[str]],
    known: Collection[str],
    people: Collection[str],
) -> Iterator[ColumnRole]:
    """Yield the values that stand beside the verdicts, with how often and where."""
    for column, values in strays.items():
        if values:
            counts, codes = table.distinct(column), no_scores([*known, *values])
            shown = ", ".join(f"{value!r} ({counts[value]:,})" for value in values[:_FEW])
            more = f" and {len(values) - _FEW} more" if len(values) > _FEW else ""
            key = "truths" if column in people else "decisions"
            why = (
                f"{shown}{more}: none of these verdicts; may say that there is no score"
                if set(values) <= set(codes)
                else f"{shown}{more}: none of these verdicts; {key} in the mapping can name it"
            )
            yield ColumnRole(column, "unreadable in part", why)


def _hint(table: ProposedTable, column: str, order: str, read: Sequence[str]) -> str:
    """Return why a column is left out; `order` are the verdicts of those that are read."""
    if column in table.values and not any(table.values[column]):
        return "empty in every row"
    if column in table.percent:
        return other_scale("percent, 0 to 100", f"{', '.join(read)} are {order}")
    if column in table.values and (comma := table.decimal_comma(column)):
        return (
            f"decimal commas, such as {comma!r}: write a point in place of each, or separate "
            "values by semicolons"
        )
    numbers = table.numbers(column) if column in table.values else ()
    are_scores = bool(numbers) and len(numbers) == len(table.distinct(column))
    if are_scores and names_a_judge(column):
        if words_of(column) & NOT_VERDICTS:
            return "by its name no verdict: --judges (verdicts) if it is one"
        return other_scale(scale_text(table, column), f"{', '.join(read)} {order}")
    beside = [one for one in read if table.numbers(one)]
    is_labels = names_a_person(column) and not words_of(column) & NOT_VERDICTS
    if are_scores and beside and is_labels and table.repeats(column):
        return labels_of_another_scale(table, column, beside)
    if column in table.values and table.repeats(column) and len(table.distinct(column)) > 1:
        count = counted(len(table.distinct(column)), "value")
        return f"{count}: write item.system if they are what is compared"
    if column in table.values and (empty := table.nearly(column)):
        return f"{empty}, and tells the other rows apart: fill these to read it as the item"
    return "nothing tells what it is"


def _with_points(row: DataRow) -> dict[str, Any]:
    """Return a row's values, with a point in numbers of columns that have decimal commas alone."""
    return {
        column: plain_number(value, comma=True)
        if isinstance(value, str) and row.numbers.are_in(column)
        else value
        for column, value in row.values.items()
    }


def _stages(values: Collection[str], *, of_pairs: bool) -> Stages | None:
    """Return the stages of verdicts; None for words whose order nothing tells."""
    if of_pairs:
        return Stages(stages_of_a_pair(values), {})
    try:
        return stages_from(values, ())
    except Unfit as unfit:
        return Stages((), {}, unfit.scale) if unfit.scale else None


def _scale_of(
    table: ProposedTable, columns: Sequence[str], values: Collection[str]
) -> ScoreScale | None:
    """Return the scale whose end columns write, as in 4/5 or 80%; None where none does.

    Raises `NoMappingError` for scores of two scales.
    """
    by_end: dict[float, str] = {}
    for column in columns:
        for end in table.ends.get(column, ()):
            if end is not None:
                by_end.setdefault(end, column)
    if not by_end:
        return None
    numbers = [number for value in values if (number := as_score(value)) is not None]
    (end, one), *others = by_end.items()
    if others or max(numbers) > end:
        other = others[0][1] if others else "others"
        raise unproposed(f"{one} has scores out of {end:g}, and {other} of another scale")
    return scale_of(0.0 if table.percent.intersection(columns) else min(numbers), end)


def _half_points_of_one(table: ProposedTable, found: Columns) -> tuple[str, ScoreScale | None]:
    """Return the judge that alone writes half points, and the whole scale of all others.

    Two other columns at least: of two columns neither is the habit of most.
    """
    given = {
        one: [
            number
            for value in table.distinct(one)
            if value in found.values and (number := as_score(value)) is not None
        ]
        for one in found.read
    }
    if any(as_score(value) is None for value in found.values) or any(map(table.ends.get, given)):
        return "", None
    broken = [one for one, of in given.items() if not all(map(float.is_integer, of))]
    if len(broken) != 1 or broken[0] not in found.judges or len(given) <= _FEWEST_WHOLE:
        return "", None
    [one] = broken
    whole = [number for other, of in given.items() if other != one for number in of]
    scale = scale_of(min(whole), max(whole))
    if not 1 < len(scale.labels) <= MOST or not scale.is_whole:
        return "", None
    halves = all((2 * number).is_integer() for number in given[one])
    within = all(scale.lowest <= number <= scale.highest for number in given[one])
    return (one, scale) if halves and within else ("", None)


def _example(table: ProposedTable, column: str) -> str:
    """Return a score of a column that says more than its number."""
    found = ((value, read_score(value)) for value in table.values[column])
    return repr(next(value for value, score in found if score and not score.is_plain))


def _order(stages: Stages | None, values: Collection[str]) -> str:
    """Return the verdicts, from the lowest to the highest where that is known."""
    if stages is None:
        return ", ".join(sorted(values)[:MOST])
    if stages.scale:
        return f"{stages.scale.lowest:g} to {stages.scale.highest:g}"
    by_stage = {stage: value for value, stage in stages.decisions.items()}
    return " < ".join(by_stage.get(at, name) for at, name in enumerate(stages.names, start=1))


def _answers_of_pairs(table: ProposedTable, key: Sequence[str], found: Columns) -> tuple[str, ...]:
    """Return the columns that name what made the two answers of a pair, where verdicts name these;
    () of other tables."""
    are_scores = all(as_score(one) is not None for one in found.values)
    if are_scores or not stages_of_a_pair(found.values):
        return ()
    others = [one for one in table.values if one not in (*key, *found.every)]
    return two_answers(one for one in others if table.repeats(one) and all(table.values[one]))


def _in_other_words(found: Columns, words: Words) -> Iterator[ColumnRole]:
    """Yield the columns whose two verdicts are in other words, and which is taken for which."""
    for column in found.read:
        if of := words.get(column):
            said = " and ".join(f"{value} for {word}" for value, word in of.items())
            key = "decisions" if column in found.judges else "truths"
            yield ColumnRole(column, "in other words", f"it has {said}: `{key}` says so")


def _written(stages: Stages, found: Columns, words: Words) -> dict[str, Any]:
    """Return the keys that say what verdicts and labels stand for; `words` are other words."""
    if words and not stages.scale:
        labels = [*found.people, *filter(None, [found.truth])]
        at = {folded(name): stage for stage, name in enumerate(stages.names, 1)}
        choices = {
            key: {
                value: at[folded(word)]
                for column in columns
                for value, word in words.get(column, {}).items()
            }
            for key, columns in (("decisions", found.judges), ("truths", labels))
        }
        return {"stages": list(stages.names), **{key: of for key, of in choices.items() if of}}
    labelled = bool(found.people or found.truth)
    if stages.scale:
        return {"scale": stages.scale.model_dump()}
    named = all(folded(value) in map(folded, stages.names) for value in stages.decisions)
    if named:
        return {"stages": list(stages.names)}
    truths = {"truths": dict(stages.decisions)} if labelled else {}
    return {"stages": list(stages.names), "decisions": dict(stages.decisions), **truths}
