"""Which columns of a table hold verdicts of judges, labels of people and known answers.

A column counts where its values are literally verdicts that other columns have, too, and its name,
or the user, says who gave them. Others are left out, each with what to write to take it in.
"""

import re
import shlex
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from judge_gym.alike import column_name
from judge_gym.errors import ConfigError, did_you_mean
from judge_gym.recorded.derived import NoMappingError, Options
from judge_gym.recorded.derived_stages import MOST, SUMMARIES, no_scores
from judge_gym.recorded.deriving_rows import COLUMNS
from judge_gym.recorded.givers import names_a_judge, names_a_person
from judge_gym.recorded.mapping import as_score
from judge_gym.recorded.tables import RUNS, ProposedTable, words_of
from judge_gym.scale_ends import USUAL_ENDS, scales_apart

_NAMES_JUDGES = {"judge", "judge_model", "judge_name", "grader", "evaluator"}
"""Columns that name the judge of a row."""
KNOWN = {*COLUMNS["truth"], "correct", "reference"}
_SUMMARIES = SUMMARIES | {"majority", "consensus", "ensemble"}
_GRADES = {"qrel", "qrels"}
"""Words in the names of files with grades, which TREC has of people."""
NOT_VERDICTS = {
    *RUNS,
    *("id", "idx", "index", "no", "nr", "number", "batch", "turn", "fold"),
    *("split", "round", "page", "rank", "position", "line", "row", "length", "tokens"),
    *("confidence", "certainty", "probability", "latency", "seconds", "cost"),
}
_RANKS = {"rank", "ranks", "ranking", "rang"}
_ONE_OF_THEM = {"winner_model_a", "winner_model_b", "winner_tie"}
"""Columns of which one in each row says who won, as those of LMSYS."""
_SPARSE = 0.5
"""A column with verdicts in fewer rows than this share is hardly of a judge."""
_INITIALS = re.compile(r"(?:[^\W\d_]\.[ -]?)+ ?[^\W\d_]{2,}|[^\W\d_]{2,} (?:[^\W\d_]\.[ -]?)+")
"""A person's name with initials, such as R. Ahn and Ahn R."""
_EMPTIER = 0.1
"""Share of cells by which people's columns are emptier than each judge's."""
_SHORTEST_CRITERION = 3
"""Letters of the name of a criterion; one that is shorter, or a number, tells judges apart."""
Everyone = Literal["", "files", "rest"]
"""Why columns are of judges, whatever their names: each is of a file of its own, or the user says
so of all that are of nobody else."""
REST = "rest"
"""What stands for all columns of verdicts that are of nobody else."""


@dataclass
class Columns:
    """The columns of verdicts by whose they are, and why others are not read."""

    judges: list[str]
    people: list[str]
    truth: str
    values: set[str]
    """Their verdicts."""
    every: list[str]
    """All columns of such verdicts."""
    left: dict[str, str] = field(default_factory=dict)
    """Column of such verdicts → why it is not read."""
    like: dict[str, str] = field(default_factory=dict)
    """Column of a person, by what it is like → why it is one."""

    @property
    def read(self) -> list[str]:
        """The columns that are read."""
        return [*self.judges, *self.people, *filter(None, [self.truth])]


def columns_of(table: ProposedTable, options: Options, *, of_judges: bool) -> Columns:
    """Return which columns of a table are whose, by what the user says and by their names.

    `of_judges` where each column of verdicts is of a file of its own. Raises `ConfigError` for a
    column that is not there, and `NoMappingError` where no column of verdicts is of a judge.
    """
    named = [one for one in options.judge_columns if one != REST]
    _check_named(table, {"--judges": named, "--people": options.people, "--truth": [options.truth]})
    given = {*named, *options.people, options.truth} - {""}
    _check_kinds(table, given)
    without = {one for one in table.values if words_of(one) & NOT_VERDICTS} - given
    if of_judges:
        without = set()
    every, values = table.verdicts(without)
    if named and not set(named) <= set(every):
        values = table.verdicts_of(named)
        others = [one for one in table.values if one not in without and table.repeats(one)]
        every = table.fitting(values, [*named, *others])
    values -= set(no_scores(values))
    every = [one for one in table.values if one in every or one in given]
    people = list(options.people) or [
        one for one in every if names_a_person(one) and one not in given
    ]
    found = Columns(named, people, options.truth, values, every)
    free = [one for one in every if one not in found.read]
    if not named:
        rest = REST in options.judge_columns
        everyone: Everyone = "rest" if rest else "files" if of_judges else ""
        found.left = {
            one: why for one in free if (why := _not_a_judges(table, one, everyone=everyone))
        }
        found.judges = [one for one in free if one not in found.left]
    else:
        everyone = ""
        found.left = dict.fromkeys(free, "such verdicts, and --judges names others")
    if found.people and not (options.people or everyone):
        _take_raters(table, found)
    _leave_summaries(found, given)
    beside = [
        one
        for one in table.values
        if one not in (*every, *without) and names_a_person(one) and table.repeats(one)
    ]
    _keep_one_scale(table, found, named, () if options.people else beside)
    found.values |= _seldom_given(table, found)
    if not (named or options.people or options.truth):
        _check_one_criterion(found)
    if not found.judges or len(every) < 2:
        raise _nobody(table, found)
    return found


def _leave_summaries(found: Columns, given: Collection[str]) -> None:
    """Leave out columns that by their names sum up others of judges, or of people."""
    for option, columns in (("--judges", found.judges), ("--people", found.people)):
        sums = [one for one in columns if words_of(one) & _SUMMARIES and one not in given]
        if len(sums) == len(columns):
            continue
        for one in sums:
            columns.remove(one)
            found.like.pop(one, None)
            found.left[one] = f"such verdicts, and by its name it sums up others: {option} if not"


def _check_kinds(table: ProposedTable, given: Collection[str]) -> None:
    """Raise an error for columns that the user names and that hold ranks, and for a verdict that
    stands in several columns."""
    if ranks := sorted(one for one in given if words_of(one) & _RANKS):
        raise ConfigError(
            f"{ranks[0]!r} holds ranks, by its name. Of ranks less is better, of scores more.",
            "Give scores; or count the ranks from the last, and name the column otherwise.",
        )
    if {column_name(one) for one in table.columns} >= _ONE_OF_THEM:
        raise unproposed(
            f"one verdict stands in several columns, {', '.join(sorted(_ONE_OF_THEM))}",
            "Write it as one column `winner` with model_a, model_b or tie, and describe it in a "
            "mapping file (--mapping): stages, and item.system with item.second_system.",
        )


def _check_named(table: ProposedTable, named: Mapping[str, Collection[str]]) -> None:
    of: dict[str, str] = {}
    for option, columns in named.items():
        for column in filter(None, columns):
            if column not in table.values:
                raise ConfigError(
                    f"{option} is {column!r}, and there is no such column.",
                    f"{did_you_mean(column, list(table.values))}There are "
                    f"{', '.join(map(repr, table.values))}.",
                )
            if column in of:
                raise ConfigError(
                    f"{column!r} is given for {of[column]} and for {option}.", "Name it once."
                )
            of[column] = option


def _not_a_judges(table: ProposedTable, column: str, *, everyone: Everyone) -> str:
    """Return why a column of verdicts is not read as a judge's; "" where it is."""
    if everyone == "files" and words_of(column) & {*KNOWN, *_GRADES}:
        return "may be grades of people: --people (item.people) if they are, --judges if not"
    if everyone:
        return ""
    if names_a_person(column):
        return "its name is of a person, and --people names others"
    if words_of(column) & KNOWN and not names_a_judge(column):
        return "may be the known answer: --truth (item.truth) if it is, --judges (verdicts) if not"
    if table.filled(column) < _SPARSE:
        empty = f"{1 - table.filled(column):.0%} of its cells are empty"
        return f"{empty}: --people (item.people) if of a person, --judges (verdicts) if of a judge"
    if not names_a_judge(column):
        return (
            "such verdicts, and nothing tells who gave them: --judges (verdicts) if a judge did, "
            "--people (item.people) if a person, --truth (item.truth) if they are known answers"
        )
    return ""


def _check_one_criterion(found: Columns) -> None:
    """Raise `NoMappingError` where names cross who gave verdicts with criteria, such as gpt-4
    helpfulness, gpt-4 accuracy, human helpfulness, human accuracy."""
    names = [one.split() if " " in one.strip() else one.split("_") for one in found.read]
    if not names or any(len(name) < 2 for name in names):
        return
    for parts in (
        [(" ".join(name[:-1]), name[-1]) for name in names],
        [(" ".join(name[1:]), name[0]) for name in names],
    ):
        givers, criteria = (list(dict.fromkeys(side)) for side in zip(*parts, strict=True))
        words = all(len(one) >= _SHORTEST_CRITERION and one.isalpha() for one in criteria)
        whose = any(map(names_a_judge, criteria)) or any(map(names_a_person, criteria))
        crossed = len(givers) > 1 and len(criteria) > 1
        if crossed and words and not whose and len(parts) == len(givers) * len(criteria):
            of_first = [one for one, (_, what) in zip(found.read, parts, strict=True)
                        if what == criteria[0]]  # fmt: skip
            judges = [one for one in of_first if one in found.judges]
            people = [one for one in of_first if one in found.people]
            option = f" --people {shlex.quote(','.join(people))}" if people else ""
            raise unproposed(
                f"the columns are of {len(criteria)} criteria, {', '.join(criteria)}",
                f"Read one at a time: --judges {shlex.quote(','.join(judges))}{option}. If they "
                "are no criteria, name all judges.",
            )


def _take_raters(table: ProposedTable, found: Columns) -> None:
    """Take columns of unknown givers for people, where they are as one that its name says is.

    Labels of one such column alone would become the known answers, and the other be left out.
    """
    [first, *_] = named = list(found.people)
    most = max(map(table.filled, named))
    least = min(map(table.filled, found.judges), default=1.0)
    for one in list(found.left):
        if words_of(one) & KNOWN or names_a_judge(one):
            continue
        if _INITIALS.fullmatch(one.strip()):
            why = "its name is a person's, with initials"
        elif table.filled(one) <= (most + least) / 2 and most < least - _EMPTIER:
            why = f"cells are empty as in {first}, and in no judge's column"
        else:
            continue
        found.like[one] = f"such verdicts, and {why}: --judges (verdicts) if of a judge"
        found.people.append(one)
        del found.left[one]


def _nobody(table: ProposedTable, found: Columns) -> NoMappingError:
    """Return the error of a table in which nothing tells which verdicts are of judges."""
    whose = [
        one
        for one in table.values
        if (names_a_judge(one) or names_a_person(one))
        and table.repeats(one)
        and not words_of(one) & NOT_VERDICTS
    ]
    if ends := _ends(table, whose):
        return _two_scales(table, ends)
    by_row = [one for one in table.columns if column_name(one) in _NAMES_JUDGES]
    by_row += [one for one in table.columns if names_a_judge(one) and _repeats(table, one)]
    if by_row and by_row[0] not in found.every:
        return unproposed(f"each row is of one judge, that in {by_row[0]!r}")
    unknown = [one for one in found.every if one not in found.read]
    if len(found.every) < 2:
        return unproposed("no two columns of judges hold the same few verdicts")
    names = shlex.quote(",".join(unknown))
    return unproposed(
        f"nothing tells that a judge gave the verdicts of {', '.join(map(repr, unknown))}",
        f"Say who did: --judges {names} for those of judges, --people for those of "
        "people, --truth for known answers.",
    )


def _repeats(table: ProposedTable, column: str) -> bool:
    """Whether a column has few values, each in several rows, as the judge of a row has."""
    times = table.distinct(column)
    return len(times) > 1 and min(times.values()) > 1


def unproposed(why: str, remedy: str = "") -> NoMappingError:
    """Return the error of a table for which no mapping is proposed."""
    return NoMappingError(f"None can be proposed: {why}.", remedy)


def scale_text(table: ProposedTable, column: str) -> str:
    """Return the scale of a column of scores in words."""
    if column in table.percent:
        return "percent"
    numbers = table.numbers(column)
    end = written_end(table, column)
    return f"out of {end:g}" if end else f"{min(numbers):g} to {max(numbers):g}"


def other_scale(scale: str, others: str) -> str:
    """Return why a column of another scale is left out, beside that of others."""
    return (
        f"{scale}, and {others}: a mapping of its own can read it, with its scale and labels on it "
        "alone"
    )


def labels_of_another_scale(table: ProposedTable, column: str, others: Sequence[str]) -> str:
    """Return why labels of another scale than that of others are left out, and what reads them."""
    said = f"{scale_text(table, column)}, and {', '.join(others)} {scale_text(table, others[0])}"
    if column in table.ends or not table.ends.keys().isdisjoint(others):
        return f"{said}: bring it to one scale in the file"
    labels = table.numbers(column)
    scores = [number for other in others for number in table.numbers(other)]
    lowest, steps = min(labels), max(labels) - min(labels)
    alike = steps == max(scores) - min(scores) and all(map(float.is_integer, labels + scores))
    stages = range(1, int(steps) + 2) if alike and steps < MOST else ()
    truths = ", ".join(f'"{lowest + stage - 1:g}": {stage}' for stage in stages) or "..."
    return (
        f"{said}: bring it to one scale in the file; or name it in the mapping (item.people), with "
        f"the stage of each label: `truths: {{{truths}}}`"
    )


def written_end(table: ProposedTable, column: str) -> float | None:
    """Return the end of a column's scale where its scores say it, as in 4/5 and 80%."""
    ends = [end for end in table.ends.get(column, ()) if end is not None]
    return ends[0] if len(ends) == 1 else None


def _ends(table: ProposedTable, columns: Sequence[str]) -> dict[str, float]:
    """Return where the scale of each column ends, where these are evidently several; {} of one."""
    given: dict[str, Counter[float]] = {}
    codes = set(no_scores({value for one in columns for value in table.distinct(one)}))
    for one in columns:
        times = table.distinct(one)
        verdicts = table.verdicts_of([one]) - codes
        if verdicts and all(as_score(value) is not None for value in verdicts):
            given[one] = Counter()
            for value, n in times.items():
                if value not in codes and (number := as_score(value)) is not None:
                    given[one][number] += n
    written = {one: end for one in columns if (end := written_end(table, one)) is not None}
    return scales_apart(given, written)


def _keep_one_scale(
    table: ProposedTable, found: Columns, named: Sequence[str], beside: Sequence[str]
) -> None:
    """Leave out columns of another scale than most have; raises `NoMappingError` for a tie, where
    no judge has that of most, and where the user names judges of two scales.

    `beside` are columns of people with other scores, beside which a person of whose scale nothing
    tells would be the only one.
    """
    ends = _ends(table, [*found.read, *beside])
    if not (counts := Counter(ends[one] for one in found.read if one in ends).most_common(2)):
        return
    kept, tied = counts[0][0], len(counts) > 1 and counts[0][1] == counts[1][1]
    judges = {ends[one] for one in found.judges if one in ends}
    several = len({ends[one] for one in named if one in ends}) > 1
    if tied or several or (judges and kept not in judges):
        raise _two_scales(table, ends)
    others = [one for one in found.read if ends.get(one) == kept]
    said = f"{', '.join(others)} {scale_text(table, others[0])}"
    for one in [one for one in ends if ends[one] != kept]:
        is_judges = one in found.judges
        found.left[one] = (
            other_scale(scale_text(table, one), said)
            if is_judges
            else labels_of_another_scale(table, one, others)
        )
    people = [one for one in (*found.people, *beside) if one in found.left]
    if people and not any(ends.get(one) == kept for one in found.people):
        why = (
            f"perhaps of the scale of {people[0]}, {scale_text(table, people[0])}: name it in the "
            "mapping (item.people) if not"
        )
        found.left |= {one: why for one in found.people if one not in people}
    found.judges = [one for one in found.judges if one not in found.left]
    found.people = [one for one in found.people if one not in found.left]
    found.truth = "" if found.truth in found.left else found.truth
    found.values &= {value for one in found.read for value in table.distinct(one)}


def _seldom_given(table: ProposedTable, found: Columns) -> set[str]:
    """Return scores of the columns' scale that are none of the verdicts they share.

    A judge who never gives a 1 leaves the scale of the others as it is. Whole scores from 1 on are
    of it, and of percent and fractions all from 0 to their end. A whole score beyond is no slip
    where it is next to the others or a usual end, and several columns have it or one often.
    """
    scores = {number for value in found.values if (number := as_score(value)) is not None}
    if not scores or len(scores) < len(found.values):
        return set()
    cells = sum(map(table.distinct, found.read), Counter[str]())
    columns = Counter(value for one in found.read for value in table.distinct(one))
    codes, often = no_scores({*columns, *found.values}), table.verdicts_of(found.read)
    written = [end for one in found.read for end in table.ends.get(one, ()) if end is not None]
    low, high = min(scores), max(scores)
    end = min(written, default=next((one for one in USUAL_ENDS if one >= high), high))
    others = {
        number: value
        for value in columns
        if value not in codes
        and (number := as_score(value)) is not None
        and number not in scores
        and not (written and number > end)
    }
    if high > MOST or not all(map(float.is_integer, scores)):
        start = min(low, 1.0 if 1 <= low < high <= MOST else 0.0)
        return {value for number, value in others.items() if start <= number <= end}
    taken = set[str]()
    for number in filter(float.is_integer, sorted(others, key=lambda one: abs(one - high))):
        value = others[number]
        is_meant = (value in often and cells[value] > 1) or columns[value] > 1
        likely = is_meant if low - 1 <= number <= high + 1 else is_meant and number == end
        if min(low, 1.0) <= number <= high or likely or number == end == high + 1:
            taken.add(value)
            low, high = min(low, number), max(high, number)
    return taken


def _two_scales(table: ProposedTable, ends: Mapping[str, float]) -> NoMappingError:
    """Return the error of columns of two scales, of which none is that of most."""
    return unproposed(
        f"{_scales(table, ends)}: they are of two scales",
        "Name the judges of one scale with --judges, and bring labels of people and known "
        "answers to it.",
    )


def _scales(table: ProposedTable, ends: Mapping[str, float]) -> str:
    """Return which columns have which scale."""
    by_end: dict[float, list[str]] = {}
    for column, end in ends.items():
        by_end.setdefault(end, []).append(column)
    return ", and ".join(
        f"{', '.join(of)} {'has' if len(of) == 1 else 'have'} scores {scale_text(table, of[0])}"
        for of in by_end.values()
    )
