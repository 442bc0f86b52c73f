"""What a mapping leaves of rows, and what in them may be a mistake: noted while they are read."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from judge_gym.alike import LONGEST_NAME, column_name, may_name_systems, two_answers
from judge_gym.counting import counted
from judge_gym.errors import DataFileError
from judge_gym.evidence.columns import as_text, entries_at, list_in, names_in, root_of
from judge_gym.recorded.derived import names_of
from judge_gym.recorded.derived_stages import may_be_codes
from judge_gym.recorded.files import RecordedFiles
from judge_gym.recorded.inspect_logs import FINISHED
from judge_gym.recorded.judged import (
    DoubtedScale,
    Given,
    Judging,
    Unread,
    wording_name,
)
from judge_gym.recorded.mapping import Recorded, as_score, read_score
from judge_gym.recorded.record import Record
from judge_gym.scale_ends import FEWEST, USUAL_ENDS, doubted_end, named_end, scales_apart

CRITERIA = {"criterion", "criteria", "aspect", "dimension", "metric", "attribute", "rubric"}
"""Columns that name what was asked of a judge, where it judged an item by several."""
WORDINGS = {
    *("prompt", "prompt_id", "prompt_version", "wording", "template", "variant", "version"),
    *("condition", "order", "position"),
}
"""Columns that may name how it was asked."""
CONDITIONS = {*CRITERIA, *WORDINGS, "temperature", "language", "config", "setting"}
"""Columns that name how judgements of one item by one judge may differ."""
MOST_CONDITIONS = 20
_LONGEST_CONDITION = 40
"""Values of such a column, and their characters; one with more holds texts, such as prompts: they
may be wordings where they differ between rows of an item and a judge."""
STATUS = re.compile(r"status|state\b|outcome|error", re.IGNORECASE)
"""What in a column's name says that it tells how a judgement ended."""
_FAILED = frozenset({"error", "errored", "failed", "failure", "timeout", "exception", "cancelled"})
_MOST_NAMED = 3
_MOST_MARKS = 10
"""A highest number that is one of marks, and none of percent."""


class Noting:
    """Fills `unread` from rows."""

    def __init__(self, recorded: Recorded, unread: Unread) -> None:
        self._recorded, self._unread = recorded, unread
        unread.judge_column = recorded.judge_column
        self._named = {root for name in recorded.reads for root in (name, root_of(name))}
        self._lists = _lists(recorded)
        self._longest: dict[str, int] = {}
        self._highest: dict[str, tuple[float, int]] = {}
        self._written: dict[str, dict[bool, tuple[float, float, int]]] = {}
        scale = recorded.scale
        self._may_be_percent = bool(scale and (scale.lowest, scale.highest) == (0, 100))
        three = scale is not None and scale.highest - scale.lowest > 1
        self._may_be_codes = three and may_be_codes(scale) and not recorded.item.texts
        self._answers: tuple[str, ...] = ()
        self._mixed_kinds = set[str]()
        self._cells = set[tuple[str, Judging, str]]()
        self._columns: tuple[str, ...] = ()
        self._systems: list[str] = []
        self._criteria: list[str] = []
        self._prompts: dict[str, dict[tuple[str, Judging, str], int]] = {}
        self._statuses: list[str] = []
        self._grouped = {
            name
            for column in (
                *(recorded.item.system, recorded.item.second_system, recorded.item.category),
                recorded.window_column,
                *(recorded.judge, recorded.judge_column, recorded.wording_column, *recorded.only),
            )
            for name in (*names_in(column), root_of(column))
        }

    def note(
        self,
        record: Record,
        window: str,
        item: str,
        by_judge: Mapping[Judging, Sequence[Given]],
        given_by_column: Sequence[Given],
    ) -> None:
        """Note what a row's judgements leave open, of an item of a window.

        `given_by_column` are they in the mapping's order, verdicts first.
        """
        recorded, unread = self._recorded, self._unread
        place = f"{item} ({record.row.where})"
        for judging, given in by_judge.items():
            self._note_given(place, judging, given)
        if recorded.format == "inspect":
            unread.unfinished += record.row.values["status"] != FINISHED
        if recorded.format != "rows":
            return
        self._note_columns(record.row.values)
        for judging, given in by_judge.items():
            self._note_again(window, place, judging, item)
            self._note_prompts(record.row.values, window, judging, item)
            self._note_kinds(record.row.values, judging.judge)
            for one in given:
                if one.choice is not None:
                    self._note_score(judging.judge, one.verdict, place)
                elif one.answer is None and as_score(one.verdict) is not None:
                    off = (one.verdict[:80], place)
                    unread.outside.setdefault(judging.judge, []).append(off)
        for column, one in zip(recorded.verdicts, given_by_column, strict=False):
            if one.choice is not None:
                self._note_highest(column.column, one.verdict)
        known = () if recorded.item.file else (recorded.item.truth, *recorded.item.people)
        for name in filter(None, known if recorded.scale else ()):
            if recorded.label(written := record.verdict(name)):
                unread.note_known(name, recorded.label_number(written))
        if self._may_be_percent:
            for column, one in zip(recorded.verdicts, given_by_column, strict=False):
                self._note_written(column.column, one.verdict)
            for name in filter(None, known):
                self._note_written(name, record.verdict(name))

    def _note_given(self, place: str, judging: Judging, given: Sequence[Given]) -> None:
        """Note verdicts that are empty, none of the mapping's, or between two scores."""
        unread, scale = self._unread, self._recorded.scale
        unread.judges[judging.judge] += len(given)
        for one in given:
            if one.choice is None and one.answer is None and one.verdict:
                places = unread.unlisted.setdefault(one.verdict[:80], [])
                places.append(f"{judging} on {place}")
            if scale and scale.is_whole and one.number is not None and one.number % 1:
                unread.between[one.verdict] = None
        if any(one.choice is None and one.answer is None and not one.verdict for one in given):
            unread.empty.setdefault(judging, []).append(place)

    def _note_again(self, window: str, place: str, judging: Judging, item: str) -> None:
        cell = (window, judging, item)
        if cell in self._cells:
            self._unread.again.append(f"{judging} on {place}")
        self._cells.add(cell)
        self._unread.cells = len(self._cells)

    def _note_prompts(
        self, values: Mapping[str, Any], window: str, judging: Judging, item: str
    ) -> None:
        """Note which columns have whole prompts that differ between rows of an item and a judge."""
        for name, differ in self._unread.prompts.items():
            if differ or not isinstance(values.get(name), str):
                continue
            if len(self._unread.criteria[name]) > MOST_CONDITIONS:  # more than wordings are
                self._prompts.pop(name, None)
                continue
            text, cells = hash(values[name]), self._prompts.setdefault(name, {})
            if cells.setdefault((window, judging, item), text) != text:
                self._unread.prompts[name] = True

    def _note_kinds(self, values: Mapping[str, Any], judge: str) -> None:
        """Note the columns whose value is the same in all rows of a judge, where a column names
        it."""
        for name in self._unread.columns if self._recorded.judge_column else ():
            if name in self._mixed_kinds:
                continue
            value, known = as_text(values.get(name)), self._unread.kinds.setdefault(name, {})
            is_short = 0 < len(value) <= _LONGEST_CONDITION
            if not is_short or known.setdefault(judge, value) != value:
                self._mixed_kinds.add(name)
                del self._unread.kinds[name]

    def _note_score(self, judge: str, written: str, place: str) -> None:
        if (number := as_score(written)) is not None:
            self._unread.scores.setdefault(judge, Counter())[number] += 1
            highest = self._unread.highest_at.get(judge)
            if highest is None or number > highest[0]:
                self._unread.highest_at[judge] = number, place

    def _note_highest(self, column: str, written: str) -> None:
        if self._recorded.scale and (number := as_score(written)) is not None:
            highest, count = self._highest.get(column, (number, 0))
            self._highest[column] = (max(highest, number), count + 1)

    def _note_written(self, column: str, written: str) -> None:
        """Note the ends of a column's scores with a percent sign, and of those without one."""
        if score := read_score(written):
            by_sign = self._written.setdefault(column, {})
            low, high, count = by_sign.get(score.is_percent, (score.number, score.number, 0))
            ends = (min(low, score.number), max(high, score.number))
            by_sign[score.is_percent] = (*ends, count + 1)

    def _check_percent(self, files: RecordedFiles) -> None:
        """Raise `DataFileError` for columns of percent beside one of numbers that end far below.

        Such as marks from 1 to 5, which `scale` of 0 to 100 would read as percent. So for a column
        of percent and fractions, such as 80% and 0.8.
        """
        for column, by_sign in self._written.items():
            least, most, _ = by_sign.get(False, (0.0, 0.0, 0))
            if True in by_sign and least >= 0 and 0 < most <= 1 and (least % 1 or most % 1):
                raise DataFileError(
                    f"{names_of(files)}: {column} has percent, up to {by_sign[True][1]:g}%, and "
                    f"numbers without the sign from {least:g} to {most:g}: fractions, it seems.",
                    "Write all as percent, or all as fractions.",
                )
        of = {
            is_percent: {
                column: by_sign[is_percent]
                for column, by_sign in self._written.items()
                if [*by_sign] == [is_percent]
            }
            for is_percent in (True, False)
        }
        low = {
            column: ends
            for column, ends in of[False].items()
            if ends[2] >= FEWEST and ends[1] <= _MOST_MARKS
        }
        high = {column: ends for column, ends in of[True].items() if ends[1] > _MOST_MARKS}
        if low and high:
            first, other = next(iter(high.items())), next(iter(low.items()))
            raise DataFileError(
                f"{names_of(files)}: {first[0]} is percent, {first[1][0]:g} to {first[1][1]:g}, "
                f"and {other[0]} is {other[1][0]:g} to {other[1][1]:g}: they are of two scales.",
                f"Read {', '.join(high)} and {', '.join(low)} by mappings of their own, each with "
                "its scale, or bring them to one scale in the file.",
            )

    def finish(self, files: RecordedFiles) -> None:
        """Note the columns of verdicts whose scale may end below that of the mapping.

        Their name says so, such as `Score (1-5)`, or no score of 10 or more is above the middle.
        Raises `DataFileError` where columns are evidently of two scales.
        """
        self._check_percent(files)
        scale = self._recorded.scale
        self._unread.scale = (scale.lowest, scale.highest) if scale else None
        for column, (highest, count) in self._highest.items():
            assert scale is not None
            ends = doubted_end((scale.lowest, scale.highest), highest, count, column)
            if ends is not None:
                named = named_end(column) is not None
                above = [one for one, (top, _) in self._highest.items() if top > ends]
                self._unread.doubted.append(
                    DoubtedScale(column, highest, ends, scale.highest, named, above)
                )
        self._doubt_judges()
        self._doubt_labels()
        self._note_mixed()

    def _doubt_judges(self) -> None:
        """Note the judges whose scale may end below that of others, where a column names them."""
        unread, scale = self._unread, self._recorded.scale
        if scale is None or unread.doubted or self._recorded.judges_in_columns:
            return
        tops = {judge: max(of) for judge, of in unread.scores.items()}
        for judge, top in tops.items():
            count = unread.scores[judge].total()
            above = [one for one, other in tops.items() if other > top]
            ends = doubted_end((scale.lowest, scale.highest), top, count)
            if above and ends is not None:
                unread.doubted.append(DoubtedScale(judge, top, ends, scale.highest, False, above))

    def _note_mixed(self) -> None:
        """Note the scales that are evidently several, but for judges and labels that are doubted
        already."""
        unread, names = self._unread, self._recorded.names
        ends = scales_apart({**unread.scores, **unread.known})
        for one in unread.doubted:
            ends.pop(names.get(one.column, one.column), None)
        by_end: dict[float, list[str]] = {}
        for name, end in sorted(ends.items(), key=lambda one: one[1]):
            by_end.setdefault(end, []).append(name)
        if len(by_end) > 1:
            unread.mixed = [tuple(of) for of in by_end.values()]

    def _doubt_labels(self) -> None:
        """Note the columns of labels that may be on a scale that ends below that of verdicts.

        None of ten and more is above the middle of the scale, and some verdicts are above them all.
        """
        if (scale := self._recorded.scale) is None:
            return
        for column, of in self._unread.known.items():
            highest, count = max(of), of.total()
            above = [one for one, (top, _) in self._highest.items() if top > highest]
            ends = doubted_end((scale.lowest, scale.highest), highest, count)
            if above and ends in USUAL_ENDS:
                self._unread.doubted.append(
                    DoubtedScale(
                        column, highest, highest, scale.highest, False, above, of_labels=True
                    )
                )

    def _note_columns(self, values: Mapping[str, Any]) -> None:
        """Note the columns and the entries of lists that the mapping does not name."""
        unread = self._unread
        if (names := tuple(values)) != self._columns:  # those of tables are always the same
            self._columns = names
            unread.columns |= {name: None for name in values if name not in self._named}
            self._systems = [
                name
                for name in values
                if may_name_systems(name)
                and name not in self._grouped
                and not self._recorded.item.system
            ]
            self._criteria = [name for name in unread.columns if column_name(name) in CONDITIONS]
            self._statuses = [name for name in unread.columns if STATUS.search(name)]
            self._answers = two_answers(names) if self._may_be_codes else ()
        if self._answers and not unread.answers:
            texts = [values[name] for name in self._answers]
            if all(isinstance(one, str) and one and as_score(one) is None for one in texts):
                unread.answers = self._answers
        for name in self._systems:
            if isinstance(values[name], str) and len(values[name]) <= LONGEST_NAME:
                unread.pooled.setdefault(name, {})[values[name]] = None
        for name in self._criteria:
            if not isinstance(value := values.get(name), str):
                continue
            if len(value) > _LONGEST_CONDITION:
                if column_name(name) not in WORDINGS:
                    continue
                unread.prompts.setdefault(name, False)
            known = unread.criteria.setdefault(name, {})
            if len(known) <= MOST_CONDITIONS:
                known[wording_name(value)] = None
        for name in self._statuses:
            written = str(values.get(name) or "").strip()
            if written.casefold() in _FAILED:
                unread.failed.setdefault(name, Counter())[written] += 1
        for path, used in self._lists.items():
            if any(name.startswith(f"{path}[") for name in values):
                continue  # a column of that name, and no list
            longest = max(entries_at(path, values), self._longest.get(path, 0))
            self._longest[path] = longest
            if longest > used:
                unread.entries[path] = (used, longest)

    def check_lists(self, files: RecordedFiles) -> None:
        """Raise `EvidenceError` for an entry of a list that no row has."""
        for path, used in self._lists.items():
            longest = self._longest.get(path, used)
            if longest < used:
                raise DataFileError(
                    f"{', '.join(map(str, files.paths[:_MOST_NAMED]))}: {path} has at most "
                    f"{counted(longest, 'entry')}, so no row has {path}[{used - 1}].",
                    "Name entries that are there; the first is [0].",
                )


def _lists(recorded: Recorded) -> dict[str, int]:
    """Return the lists that verdicts, answers and labels are read from, and how many entries."""
    found: dict[str, int] = {}
    judged = [one.column for one in (*recorded.verdicts, *recorded.answers)]
    people = () if recorded.item.file else recorded.item.people
    for column in (*judged, *people):
        for name in names_in(column):
            if entered := list_in(name):
                found[entered[0]] = max(found.get(entered[0], 0), entered[1] + 1)
    return found
