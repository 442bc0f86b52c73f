"""Mappings of CSV, JSONL and JSON files with a row for each judgement, by the names of columns."""

import json
import shlex
from collections import Counter
from collections.abc import Collection, Mapping, Sequence, Set
from dataclasses import dataclass, field
from typing import Any

from judge_gym.alike import column_name
from judge_gym.counting import counted, first_of
from judge_gym.errors import ConfigError, did_you_mean
from judge_gym.evidence.rows import rows_inside
from judge_gym.recorded.derived import (
    Derived,
    NoMappingError,
    NoOrderError,
    Options,
    Rows,
    add_mapping,
    named_by,
    names_of,
    text_of,
)
from judge_gym.recorded.derived_stages import (
    LAST,
    MOST,
    Stages,
    Unfit,
    covering,
    no_scores,
    stages_from,
    sums_up,
)
from judge_gym.recorded.files import RecordedFiles
from judge_gym.recorded.formats import READ
from judge_gym.recorded.givers import people_among
from judge_gym.recorded.joining import SEVERAL
from judge_gym.recorded.mapping import (
    DECIMAL_COMMAS,
    ScoreScale,
    as_score,
    as_word,
    has_decimal_comma,
    read_score,
)
from judge_gym.recorded.noting import MOST_CONDITIONS, WORDINGS
from judge_gym.scale_ends import scales_apart

COLUMNS = {
    "item": ("item", "item_id", "id"),
    "judge": ("judge", "model", "annotator", "rater"),
    "verdict": ("score", "verdict", "rating", "grade"),
    "truth": ("truth", "label", "gold", "target"),
    "text": ("text", "output", "answer"),
    "system": ("system", "generator", "model"),
    "question": ("question_id", "question", "prompt_id", "prompt", "query", "instruction"),
}
"""What a column of a plain file is → the names that it may have."""


_HOW_TO_NAME = (
    "Name the stages in a mapping file (stages), or a scale of numbers (scale), which reads 4/5 "
    "and 'Score: 4', too, and 80% from 0 to 100. Of whole answers give answers and answer_patterns."
)


def of_rows(found: Derived, rows: Rows, options: Options, files: RecordedFiles) -> None:
    there = list(rows[0])
    if {"question_id", "judge"} <= set(there) and _of_mt_bench(found, rows, options, files):
        return
    columns = {role: _column(there, names) for role, names in COLUMNS.items()}
    missing = [role for role in ("item", "judge", "verdict") if not columns[role]]
    if missing:
        inside = rows_inside(rows[0], "--rows {}".format) if len(rows) == 1 else ""
        wanted = "; ".join(f"{role}: {', '.join(COLUMNS[role])}" for role in missing)
        raise NoMappingError(
            f"No mapping is given, and no column is the {' or the '.join(missing)}. "
            f"The columns are {', '.join(map(repr, there[:12]))}.",
            f"{inside}Name them so ({wanted}), or say what they mean in a mapping file "
            f"(--mapping){_beginning(columns)}. {READ}",
        )
    item, judge, verdict = (columns[role] for role in ("item", "judge", "verdict"))
    for file, content in files.contents.items():
        if content.rows and not any(verdict in row.values for row in content.rows):
            raise ConfigError(
                f"{file} has no {verdict!r}, and {files.paths[0].name} has one.", SEVERAL
            )
    _check_plain(files, rows, verdict)
    others = [column for column in there if column not in (item, judge, verdict)]
    if judge in COLUMNS["system"]:
        found.notes.append(
            f"The judges are those of the column {judge}. If it names what was judged, say so in a "
            f"mapping file: item: {{system: {judge}}}, and judge: with the judge's name."
        )
    system = _column(others, COLUMNS["system"])
    several = len({text_of(row, system) for row in rows}) > 1
    question = _question(found, rows, item, others)
    _check_labels(files, there, options.people)
    taken = {columns["truth"], columns["text"], system * several, question, options.truth}
    taken |= {*options.people}
    people = _people(found, rows, item, judge, [one for one in others if one not in taken])
    _check_items(files, rows, item)
    numbers = {verdict, columns["truth"], options.truth, *options.people} & set(there)
    rows = _with_numbers(files, numbers)
    given = {str(text_of(row, verdict)) for row in rows}
    if codes := no_scores(given):
        raise _codes(files, verdict, given, codes)
    by_judge = _scores_by(rows, judge, verdict)
    _check_one_scale(files, by_judge, columns)
    given |= _labels(rows, options.people, by_judge)
    if not (options.people or people or options.truth):
        _note_labels(found, rows, item, [one for one in others if one not in taken], given)
    truth = options.truth or _truth_on_the_scale(found, rows, by_judge, columns["truth"])
    try:
        stages = stages_from(given, options.cuts)
    except Unfit as unfit:
        _check_numbers(files, verdict)
        if unfit.scale is None:
            raise NoOrderError(f"{names_of(files)}: {verdict}: {unfit}.", _HOW_TO_NAME) from unfit
        known = [text_of(row, truth) for row in rows]
        scale = covering(unfit.scale, known)
        stages = Stages((), {}, scale)
        bands = "the nearest whole ones" if scale.is_whole else "ten equal bands"
        found.notes.append(f"{verdict}: {unfit}, and are read as {bands}. {unfit.cut} reads two.")
    add_mapping(
        found, rows, options, stages, layout=files.layout, name=named_by(files), concept=verdict,
        source="recorded judgements", judge_column=judge,
        item={"key": item,
              "text": columns["text"], "system": system if several else "", "question": question,
              "people": options.people},
        verdicts=[{"column": verdict}], default_truth=truth, people=people,
    )  # fmt: skip


def _question(found: Derived, rows: Rows, item: str, others: Sequence[str]) -> str:
    """Return the column, by its name, of the questions that several items answer each, and note it;
    "" without one.

    A prompt of few values may be a wording, and such a column is left to be named.
    """
    column = _column(others, COLUMNS["question"])
    by_item: dict[str, set[str]] = {}
    for row in rows:
        by_item.setdefault(text_of(row, item), set()).add(text_of(row, column))
    questions = set().union(*by_item.values())
    least = MOST_CONDITIONS if column_name(column) in WORDINGS else 1
    one_each = "" not in questions and all(len(of) == 1 for of in by_item.values())
    if not one_each or not least < len(questions) < len(by_item):
        return ""
    found.notes.append(
        f"{len(by_item):,} items answer {len(questions):,} questions, those of the column "
        f"{column}: intervals are over questions. If it is something else, leave item.question out "
        "of a mapping file."
    )
    return column


def _people(
    found: Derived, rows: Rows, item: str, judge: str, others: Sequence[str]
) -> dict[str, tuple[str, ...]]:
    """Return the column that tells people from models and its values for people, and note it; {}
    without one.

    It has one value for each judge, and several for some item: else it may be of what was judged.
    """
    for column in others:
        values = _few_values(rows, column)
        if not (named := people_among(values)):
            continue
        pairs = {(text_of(row, judge), text_of(row, column)) for row in rows}
        of_items = {(text_of(row, item), text_of(row, column)) for row in rows}
        by_judge = len(pairs) == len({name for name, _ in pairs})
        if by_judge and len(of_items) > len({name for name, _ in of_items}):
            people = first_of([name for name, value in sorted(pairs) if value in named])
            found.notes.append(
                f"Rows whose {column} is {' or '.join(named)} are labels of people: {people}. If "
                "they are judges, leave people out of a mapping file."
            )
            return {column: tuple(named)}
    return {}


def _few_values(rows: Rows, column: str) -> set[str]:
    """Return the values of a column; none of one with more than a few."""
    found: set[str] = set()
    for row in rows:
        found.add(text_of(row, column))
        if len(found) > MOST:
            return set()
    return found


def _beginning(columns: Mapping[str, str]) -> str:
    """Return how the mapping of rows begins whose judge and verdict have a name that is known."""
    if not columns["judge"] or not columns["verdict"]:
        return ""
    return (
        f", which begins with judge_column: {columns['judge']}, verdicts: [{columns['verdict']}] "
        "and item: {key: what tells items apart, system: what is compared}"
    )


def _of_mt_bench(found: Derived, rows: Rows, options: Options, files: RecordedFiles) -> bool:
    """Add the mapping of judgements of MT-bench (FastChat); returns whether they are that."""
    there, first = set(rows[0]), rows[0]
    judge = "judge[0]" if isinstance(first["judge"], list) else "judge"
    key = "{question_id}" + ("-{turn}" if "turn" in there else "")
    described: dict[str, Any] = {
        "name": named_by(files), "source": "MT-bench judgements", "judge_column": judge,
        "unlisted": "unreadable", "default_truth": "",
    }  # fmt: skip
    if {"model", "score"} <= there:
        scale = Stages((), {}, ScoreScale(lowest=1, highest=10))
        add_mapping(
            found, rows, options, scale, concept="quality",
            item={"key": f"{key}-{{model}}", "system": "model"},
            verdicts=[
                {"column": "score", "answer": "judgment" if "judgment" in there else ""}
            ],
            **described,
        )  # fmt: skip
        return True
    if {"model_1", "model_2", "g1_winner", "g2_winner"} <= there:
        add_mapping(
            found, rows, options, Stages(("model_1", "tie", "model_2"), {}),
            concept="better answer",
            item={"key": f"{key}-{{model_1}}-{{model_2}}", "system": "model_1",
                  "second_system": "model_2", "question": key},
            verdicts=[
                {"column": "g1_winner", "own_order": True},
                {"column": "g2_winner", "own_order": True, "reversed": True},
            ],
            **described,
        )  # fmt: skip
        return True
    return False


def _with_numbers(files: RecordedFiles, columns: Collection[str]) -> Rows:
    """Return the rows, with numbers of these columns as ones with a point."""
    return [
        {
            **row.values,
            **{
                column: row.number(file, column, value)
                for column in columns
                if isinstance(value := row.values.get(column), str)
            },
        }
        for file, content in files.contents.items()
        for row in content.rows
    ]


def _check_plain(files: RecordedFiles, rows: Rows, column: str) -> None:
    """Raise `ConfigError` where verdicts are objects or lists, naming a path into the first."""
    inside = next((row[column] for row in rows if row.get(column) not in (None, "")), "")
    if isinstance(inside, (dict, list)) and inside:
        is_list = isinstance(inside, list)
        path = f'"{column}[0]"' if is_list else f"{column}.{next(iter(inside))}"
        raise ConfigError(
            f"{names_of(files)}: {column} is {'a list' if is_list else 'an object'}.",
            f"Say in a mapping file what in it is the verdict, such as `verdicts: [{path}]`.",
        )


def _check_items(files: RecordedFiles, rows: Rows, column: str) -> None:
    """Raise `ConfigError` for a last item that sums up the others, such as Average."""
    last: dict[str, None] = {}
    for row in reversed(rows):
        last[str(text_of(row, column))] = None
        if len(last) == LAST:
            break
    if found := next(filter(sums_up, last), ""):
        raise ConfigError(
            f"{names_of(files)}: the item {found!r} may sum up the others.",
            "Take its rows out of the file; or, if it is an item, write a mapping file.",
        )


def _codes(files: RecordedFiles, column: str, given: Set[str], codes: Sequence[str]) -> ConfigError:
    """Return the error of numbers that may say that there is no score, with where they stand."""
    places: dict[str, list[str]] = {code: [] for code in sorted(codes, key=float)}
    for file, content in files.contents.items():
        for row in content.rows:
            value = row.number(file, column, text_of(row.values, column))
            if value in places:
                places[value].append(f"{file.name} {row.where}")
    stands = " and ".join(
        f"{code} in {counted(len(of), 'row')} ({first_of(of, 3)})" for code, of in places.items()
    )
    others = [number for value in given - set(codes) if (number := as_score(value)) is not None]
    scale = f"{{lowest: {min(others):g}, highest: {max(others):g}}}"
    return ConfigError(
        f"{names_of(files)}: {column} is {stands}, and all others are {min(others):g} to "
        f"{max(others):g}: {'it' if len(codes) == 1 else 'these'} may say that there is no score.",
        f"Leave such cells empty, or write a mapping file with `scale: {scale}` and `unlisted: "
        "unreadable`. If it is a score, a scale there that begins or ends with it says so.",
    )


@dataclass(frozen=True)
class _Scores:
    """The scores of some rows."""

    times: Counter[float] = field(default_factory=Counter)
    """Each, with how many rows have it."""
    ends: set[float] = field(default_factory=set)
    """The ends of scales that scores name, as 4/5 does."""


def _scores_by(rows: Rows, judge: str, column: str) -> dict[str, _Scores]:
    """Return the scores that each judge gives in a column; "" gives all where `judge` is ""."""
    found: dict[str, _Scores] = {}
    for row in rows:
        if score := read_score(str(text_of(row, column))):
            of = found.setdefault(text_of(row, judge) if judge else "", _Scores())
            of.times[score.number] += 1
            if score.out_of is not None:
                of.ends.add(score.out_of)
    return found


def _apart(given: Mapping[str, _Scores]) -> dict[str, float]:
    """Return who scores on which scale, as its end; {} where all may have one.

    One that writes several ends itself is another error.
    """
    if any(len(of.ends) > 1 for of in given.values()):
        return {}
    return scales_apart(
        {who: of.times for who, of in given.items()},
        {who: min(of.ends) for who, of in given.items() if of.ends},
    )


def _check_one_scale(
    files: RecordedFiles, given: Mapping[str, _Scores], columns: Mapping[str, str]
) -> None:
    """Raise `ConfigError` where judges evidently score on several scales, with a mapping of one.

    `columns` are those of rows by what they are.
    """
    by_end: dict[float, list[str]] = {}
    for judge, end in sorted(_apart(given).items(), key=lambda one: one[1]):
        by_end.setdefault(end, []).append(judge)
    if not by_end:
        return
    said = []
    for judges in by_end.values():
        scores = [number for judge in judges for number in given[judge].times]
        give = "gives" if len(judges) == 1 else "give"
        said.append(f"{first_of(judges)} {give} {min(scores):g} to {max(scores):g}")
    if others := [one for one in given if not any(one in of for of in by_end.values())]:
        said.append(f"nothing tells of {first_of(others)}")
    end, first = next(iter(by_end.items()))
    of_all = [number for of in given.values() for number in of.times]
    lowest = min(1, *(number for judge in first for number in given[judge].times))
    mapping: dict[str, Any] = {
        "name": named_by(files),
        **files.layout.keys,
        "concept": columns["verdict"],
        "source": "recorded judgements",
        "judge_column": columns["judge"],
        "only": {columns["judge"]: first},
        "scale": {"lowest": _whole(lowest), "highest": _whole(end)},
        "item": {"key": columns["item"]},
        "verdicts": [columns["verdict"]],
    }
    written = "\n".join(f"{key}: {json.dumps(of, ensure_ascii=False)}"
                        for key, of in mapping.items())  # fmt: skip
    raise ConfigError(
        f"{names_of(files)}: judges score on {len(by_end)} scales, it seems: {'; '.join(said)}.",
        "Read each scale by a mapping file of its own, with --mapping, as figures over several are "
        "of none. That of the first begins as below. If all judges have one scale, leave `only` "
        f"out of it and write `scale: {{lowest: {min(of_all):g}, highest: {max(of_all):g}}}`.\n\n"
        f"{written}\n",
    )


def _whole(number: float) -> float:
    """Return a number, as a whole one where it is."""
    return int(number) if number == int(number) else number


def _truth_on_the_scale(
    found: Derived, rows: Rows, given: Mapping[str, _Scores], column: str
) -> str:
    """Return a column of known answers, by its name; "" for one of another scale than verdicts,
    which is noted."""
    labels = _scores_by(rows, "", column).get("") if column else None
    times = sum((of.times for of in given.values()), Counter[float]())
    if labels is None or not _apart({"judges": _Scores(times), column: labels}):
        return column
    found.notes.append(
        f"The column {column} is not read as the known answers: it has {min(labels.times):g} to "
        f"{max(labels.times):g}, and judges {min(times):g} to {max(times):g}. Bring it to their "
        "scale, or say in a mapping file (item.truth and truths) what its values stand for."
    )
    return ""


def _check_labels(files: RecordedFiles, there: Sequence[str], people: Sequence[str]) -> None:
    """Raise `ConfigError` for a column of labels that is not there."""
    if missing := [one for one in people if one not in there]:
        raise ConfigError(
            f"{names_of(files)}: --people is {missing[0]!r}, and there is no such column.",
            f"{did_you_mean(missing[0], there)}There are {', '.join(map(repr, there))}.",
        )


def _labels(rows: Rows, people: Sequence[str], by_judge: Mapping[str, _Scores]) -> set[str]:
    """Return the labels in columns of people that are scores; raises `ConfigError` for those of
    another scale than that of judges."""
    times = sum((of.times for of in by_judge.values()), Counter[float]())
    for column in people:
        labels = _scores_by(rows, "", column).get("")
        if labels and _apart({"judges": _Scores(times), column: labels}):
            raise ConfigError(
                f"The labels of {column} are {min(labels.times):g} to {max(labels.times):g}, and "
                f"judges give {min(times):g} to {max(times):g}.",
                "Bring them to one scale, or say in a mapping file (item.people and truths) what "
                "the labels stand for.",
            )
    written = {str(text_of(row, column)) for row in rows for column in people} - {""}
    return written if all(as_score(value) is not None for value in written) else set()


def _note_labels(
    found: Derived, rows: Rows, item: str, others: Sequence[str], given: Set[str]
) -> None:
    """Note columns that may be labels: verdicts of judges, the same in all rows of an item."""
    verdicts = {as_word(value) for value in given if value}
    maybe = []
    for column in others:
        by_item: dict[str, set[str]] = {}
        for row in rows:
            by_item.setdefault(text_of(row, item), set()).add(as_word(str(text_of(row, column))))
        values = set().union(*by_item.values()) - {""}
        if len(values) > 1 and values <= verdicts and all(len(of) == 1 for of in by_item.values()):
            maybe.append(column)
    if maybe:
        found.notes.append(
            f"Not read: {', '.join(maybe)}, with such verdicts, the same in all rows of an item. "
            f"If they are labels of people, add --people {shlex.quote(','.join(maybe))}."
        )


def _check_numbers(files: RecordedFiles, column: str) -> None:
    """Raise `ConfigError` naming the first values that are no numbers, where most are."""
    given = [
        (file, row, value)
        for file, content in files.contents.items()
        for row in content.rows
        if (value := row.number(file, column, text_of(row.values, column)))
    ]
    stray = [one for one in given if as_score(one[2]) is None]
    words = [one for one in stray if not has_decimal_comma(one[2])]
    if not stray or 2 * len(words) > len(given):
        return
    places: dict[str, str] = {}
    for file, row, value in stray:
        places.setdefault(value, f"{value[:40]!r} ({file.name} {row.where})")
    named, more = list(places.values())[:MOST], len(places) - MOST
    commas = [value for value in places if has_decimal_comma(value)]
    remedies = (
        *([DECIMAL_COMMAS] if commas else []),
        *(
            [
                "Leave a cell empty for an answer that could not be read, or say in a mapping file "
                "what a value stands for; `unlisted: unreadable` there counts others as unreadable."
            ]
            if len(commas) < len(places)
            else []
        ),
    )
    raise ConfigError(
        f"{names_of(files)}: {column} is no number in {counted(len(stray), 'row')} of "
        f"{len(given):,}: {', '.join(named)}{f' and {more:,} more' if more > 0 else ''}.",
        " ".join(remedies),
    )


def _column(there: Sequence[str], names: Sequence[str]) -> str:
    """Return the column of the first of some names that is there, however written; "" without.

    Raises `ConfigError` where two columns have it.
    """
    named: dict[str, list[str]] = {}
    for column in there:
        named.setdefault(column_name(column), []).append(column)
    found = next((named[name] for name in names if name in named), [""])
    if len(found) > 1:
        raise ConfigError(
            f"Columns {' and '.join(map(repr, found))} are both called {column_name(found[0])!r}.",
            "Say in a mapping file which to read: --mapping.",
        )
    return found[0]
