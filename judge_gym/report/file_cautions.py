"""What to be careful about in recorded files: likely mistakes in them, and what was not read."""

import json
import re
import shlex
from collections import Counter
from collections.abc import Iterator, Sequence

from judge_gym.alike import alike, column_name, said_alike
from judge_gym.answers.conclusion import CONTRADICTED
from judge_gym.answers.readability import detail_of, shortened
from judge_gym.counting import counted, first_of
from judge_gym.formats import number
from judge_gym.lab.recorded_answers import Compared, Repeats, UnreadAnswer
from judge_gym.recorded.content import Left
from judge_gym.recorded.derived_stages import no_scores, wider_scale
from judge_gym.recorded.givers import names_a_person, people_among
from judge_gym.recorded.judged import DoubtedScale, Unread
from judge_gym.recorded.noting import MOST_CONDITIONS, WORDINGS
from judge_gym.recorded.reported import Apart
from judge_gym.scale_ends import lone_zero, slip_above

LONGEST_ANSWER = 98
"""Characters shown of an answer that could not be read."""
_CONTRADICTED = "with verdicts that differ and no final one, unreadable"
_MOST_COLUMNS = 12
_MOST_PLACES, _FEW_PLACES = 10, 3
"""Judgements without an answer that a caution names; of more it names the first."""
_OFTEN = 10
"""Parts of a judge's scores of which more than one off the scale is no slip."""
_LEFT = {
    Left.ERROR: ("sample", "ended with an error and without a judgement"),
    Left.NOT_RUN: ("sample", "of an unfinished run, without a judgement"),
    Left.INVALID: ("sample", "marked as invalid and left out"),
    Left.NO_SAMPLES: ("log", "without samples: a header only, or log_samples was off"),
    Left.NO_SCORE: ("score", "missing"),
    Left.NOT_READ: ("score", "neither text nor a number, so not read"),
    Left.OTHER_FILE: ("file", "of the folder not read"),
    Left.NO_PARTNER: ("row", "left out, since another of the files has no such item"),
    Left.COPY: ("judgement", "left out as copies of those in another file"),
    Left.SUPERSEDED: (
        "judgement",
        "of unfinished runs left out, as a finished or a later run has the sample",
    ),
}
"""Why a record is no judgement → what it is, and the sentence."""
_BY_FILE = (Left.COPY, Left.SUPERSEDED, Left.NO_PARTNER)
"""What is said by file with its count; of all else the first places are named."""


def file_cautions(
    repeats: Repeats, unread: Unread, *, mapped: bool, stored: bool = False
) -> Iterator[str]:
    """Yield what to be careful about in recorded files: likely swaps, and what was not read.

    `mapped` where a mapping file says what columns mean, so that options do not. `stored` of an
    import, which keeps stages alone.
    """
    if said := unread.redaction.said():
        yield said
    yield from _names_alike(unread)
    yield from _mixed_scales(unread)
    yield from _slips(unread)
    yield from _off_the_scale(unread)
    yield from _lone_zeros(unread)
    yield from _codes_of_answers(unread)
    yield from _other_scale(unread)
    yield from _opposite(repeats, unread)
    yield from _entries_left_out(unread)
    yield from _labels_that_differ(unread)
    yield from _answers_read_otherwise(unread, stored=stored)
    yield from _unread_answers(repeats, unread)
    yield from _rows_in_doubt(unread)
    yield from _left(unread)
    for one in unread.apart:
        yield _apart(one)
    yield from _systems_together(unread)
    yield from _criteria_together(unread)
    yield from _people_among_judges(unread)
    yield from _people_by_kind(unread)
    if unread.others:
        yield f"{counted(unread.others, 'row')} not of this audit, by `only` of the mapping."
    yield from _statuses_not_read(unread)
    yield from _columns_not_read(unread, mapped=mapped)


def _opposite(repeats: Repeats, unread: Unread) -> Iterator[str]:
    """Yield who gives items opposite verdicts: of scores, the same on a scale that is turned."""
    for judging, (opposite, cells) in repeats.opposite.items():
        more = f"by {judging}, more than repeats can have."
        if unread.scale:
            low, high = (f"{end:g}" for end in unread.scale)
            yield (
                f"{opposite} of {cells} items have mirrored scores, such as {low} and {high}, "
                f"{more} In some rows {low} may be the best: turn the scores of these in the file. "
                "If the rows are copies with an error, take one of each out."
            )
        else:
            yield (
                f"{opposite} of {cells} items have opposite verdicts {more} If they are pairs, was "
                "the order changed between them? Declare it: `reversed` of a column, or "
                "`swapped_column`. If not, correct the rows that are wrong."
            )


def dropped(unread: Unread) -> str:
    """Return how many values that are there are not counted, as a part of a sentence; "" of none.

    Only those that are no verdict of the mapping: what a file or a mapping leaves out is said in
    the cautions.
    """
    counts = {
        "judgement": sum(map(len, unread.unlisted.values())),
        "label": sum(len(labels) for why, labels in unread.not_counted.items() if why.value),
    }
    said = [counted(count, what) for what, count in counts.items() if count]
    return f"; values of {' and '.join(said)} are not read" if said else ""


def _systems_together(unread: Unread) -> Iterator[str]:
    """Yield which columns may name systems that figures are over."""
    for column, systems in unread.pooled.items():
        if len(systems) > 1:
            yield (
                f"Figures are over all {len(systems)} values of {column} together. If it names "
                f"what was judged, give item.system: {column} for the figures of each."
            )


def _statuses_not_read(unread: Unread) -> Iterator[str]:
    """Yield which columns may say that a judgement or a label does not count."""
    for column, values in unread.failed.items():
        rows = first_of([f"{value!r} in {counted(n, 'row')}" for value, n in values.items()])
        yield (
            f"{column} is not read, and has {rows}: their verdicts count as any other. If they "
            f"failed, leave the verdict's cell empty, or read the others alone: only: {{{column}: "
            "ok}, with your word for it."
        )
    for column, values in unread.not_given.items():
        rows = first_of([f"{value!r} in {counted(n, 'row')}" for value, n in values.items()], 3)
        yield (
            f"{column} of the labels is not read, and has {rows}: these labels count as any other. "
            f"`labels: {{only: {{{column}: ...}}}}` says which count."
        )


def _columns_not_read(unread: Unread, *, mapped: bool) -> Iterator[str]:
    """Yield which columns a mapping leaves, and which of them may hold labels of a person."""
    if unread.columns:
        named = [name or "one without a name" for name in unread.columns]
        names = first_of(named, _MOST_COLUMNS)
        yield f"Columns that the mapping does not read: {names}."
        if people := [column for column in unread.columns if names_a_person(column)]:
            key = f"`item: {{people: [{json.dumps(people[0], ensure_ascii=False)}]}}`"
            said = f"{key} in the mapping"
            if not mapped:
                said = f"--truth {shlex.quote(people[0])}, or {key} in a mapping file"
            yield f"If {people[0]} holds labels of a person, give them with {said}."


def may_be_wordings(unread: Unread) -> tuple[str, ...]:
    """Return the columns that may name wordings and that are not read, as keys of a mapping.

    Only where a judge has several rows on an item, which then count as its repeats.
    """
    return tuple(_key(column) for column in _pooled(unread) if column_name(column) in WORDINGS)


def _pooled(unread: Unread) -> dict[str, dict[str, None]]:
    """Return the columns whose several values are read as repeats, with these."""
    return {
        column: values
        for column, values in unread.criteria.items()
        if 1 < len(values) <= MOST_CONDITIONS and unread.again and unread.prompts.get(column, True)
    }


def _criteria_together(unread: Unread) -> Iterator[str]:
    """Yield which columns may name criteria or wordings that are pooled: one judge, one item."""
    wordings = may_be_wordings(unread)
    for column, criteria in _pooled(unread).items():
        first = next(iter(criteria))
        compare = f"ompare them: `wording_column: {_key(column)}`"
        if column in unread.prompts:  # whole prompts, as which no mapping names one
            how = f"C{compare}"
        else:
            how = f"Read each alone: `only: {{{_key(column)}: {_key(first)}}}`"
            how += f", or c{compare}" if _key(column) in wordings else ""
        yield (
            f"Figures are over all {len(criteria)} values of {column} together, as repeats of "
            f"a judge on an item. {how}."
        )


def _people_among_judges(unread: Unread) -> Iterator[str]:
    """Yield which judges may be people, by their names, where others are not."""
    people = [name for name in unread.judges if names_a_person(name)]
    if unread.judge_column and people and len(people) < len(unread.judges):
        rows = f"{_key(unread.judge_column)}: [{', '.join(map(_key, people))}]"
        may = (
            "may be people, and count as judges"
            if people[1:]
            else "may be a person, and counts as a judge"
        )
        yield (
            f"{first_of(people, _FEW_PLACES)} {may}. If so, write `people: {{{rows}}}` into a "
            "mapping: judges are compared with people."
        )


def _people_by_kind(unread: Unread) -> Iterator[str]:
    """Yield which columns that are not read tell people from models, and so count as judges."""
    for column, of in unread.kinds.items():
        if named := people_among({*of.values()}):
            people = [judge for judge, kind in of.items() if kind in named]
            rows = f"{_key(column)}: [{', '.join(map(_key, named))}]"
            yield (
                f"{column} is {' or '.join(named)} for {first_of(people, _FEW_PLACES)}, and is not "
                f"read: they count as judges. `people: {{{rows}}}` in the mapping says that they "
                "are people, with whom judges are compared."
            )


def _entries_left_out(unread: Unread) -> Iterator[str]:
    for path, (used, longest) in unread.entries.items():
        yield (
            f"{path} has up to {longest} entries, and the mapping reads {used} of them: the others "
            "are not read. Name them all, or write a row for each if several judges gave them."
        )
    codes = _no_scores(unread)
    for why, labels in unread.not_counted.items():
        if why.value in codes:
            said, remedy = f" ({_NO_SCORE})", _LEAVE_EMPTY
        elif why.value:
            said, remedy = "", f"{_wider(unread, [why.value])}{_GIVE_STAGE}"
        else:
            said, remedy = "", "`item: {only: ...}` of the mapping says which count."
        yield (
            f"{counted(len(labels), 'label')} of people left out, whose {why.why}{said}: "
            f"{first_of(list(labels), _FEW_PLACES)}. {remedy}"
        )


_NO_SCORE = "it may say that there is no score"
_LEAVE_EMPTY = "Leave such cells empty."
_GIVE_STAGE = "`truths` of the mapping may give it a stage."


def _wider(unread: Unread, written: Sequence[str]) -> str:
    """Return what to write if scores off the scale are on it, and a space; "" of none such."""
    said = wider_scale(unread.scale, written) if unread.scale else ""
    return f"{said} " if said else ""


def _no_scores(unread: Unread) -> set[str]:
    """Return the values off the scale that may say that there is no score."""
    labels = {why.value for why in unread.not_counted if why.value}
    ends = {end for of in unread.scores.values() for end in of} | {*(unread.scale or ())}
    return {*no_scores([*unread.unlisted, *labels, *(f"{end:g}" for end in ends)])}


def _labels_that_differ(unread: Unread) -> Iterator[str]:
    if items := list(unread.differing):
        one = len(items) == 1
        yield (
            f"{counted(len(items), 'item')} {'has' if one else 'have'} labels of one person that "
            f"differ: {first_of(items, _FEW_PLACES)}. They count as a set, each as a part of the "
            "person's vote; remove the wrong ones."
        )


def _answers_read_otherwise(unread: Unread, *, stored: bool) -> Iterator[str]:
    if places := [f"{judging} on {place}" for judging, of in unread.empty.items() for place in of]:
        count = counted(len(places), "empty answer")
        if len(places) <= _MOST_PLACES:
            yield f"{count}, unreadable for the judge and no other: {', '.join(places)}."
        else:
            of = Counter({str(judging): len(of) for judging, of in unread.empty.items()})
            yield f"{count} count as unreadable ({_shares(of, unread)}). The first: {places[0]}."
    if unread.unlisted:
        count = counted(sum(map(len, unread.unlisted.values())), "answer")
        # The rarest first: a slip of one cell is what is mended, a word for no answer is not.
        rarest = sorted(unread.unlisted.items(), key=lambda one: len(one[1]))
        named = [
            f"{value!r}{_as_often(of)}{f', {of[0]}' if place < _FEW_PLACES else ''}"
            for place, (value, of) in enumerate(rarest)
        ]
        shown = "; ".join(named[:_MOST_PLACES])
        more = len(named) - _MOST_PLACES
        yield (
            f"{count} of no verdict, unreadable here: {shown}"
            f"{f'; and {more:,} other values' if more > 0 else ''}."
        )
    if unread.between:
        between = f"Scores between whole ones ({first_of(list(unread.between), _MOST_PLACES)})"
        nearest = "the nearest, a half as the higher"
        if stored:
            yield (
                f"{between} are stored as {nearest}, so means and biases of `analyse` are of "
                "these: `audit` has them as written."
            )
        else:
            yield (
                f"{between} count as {nearest}, where an answer is right or wrong; means, biases, "
                "distance and correlation are of the scores as written."
            )


def no_known_answer(items: int, which: str = "") -> str:
    """Return how many items have no known answer, and `which`."""
    return f"No known answer for {counted(items, 'item')}{which}. No accuracy is of them."


def _rows_in_doubt(unread: Unread) -> Iterator[str]:
    if 0 < 2 * len(unread.again) < unread.cells:
        yield (
            f"{counted(len(unread.again), 'row')} of an item and a judge that an earlier row has, "
            f"read as repeats: {first_of(unread.again, _MOST_PLACES)}. If they are none, take one "
            "of each out."
        )
    if unread.unlabelled:
        yield no_known_answer(
            len(unread.unlabelled), f": {first_of(unread.unlabelled, _MOST_PLACES)}"
        )
    if unread.unfinished:
        yield (
            f"{counted(unread.unfinished, 'judgement')} of runs that were not finished, of samples "
            "that no finished run has."
        )


def _left(unread: Unread) -> Iterator[str]:
    """Yield how many judgements were left out, by the reason, and where they stand."""
    for why, left in unread.left.items():
        by_file = Counter(one.file for one in left)
        if why in _BY_FILE:
            places = [f"{file} ({count:,})" for file, count in by_file.items()]
        else:
            places = list(map(str, left))
        shown = "; ".join(places[:_FEW_PLACES])
        more = f"; and {len(places) - _FEW_PLACES:,} more" if len(places) > _FEW_PLACES else ""
        yield f"{counted(len(left), _LEFT[why][0])} {_LEFT[why][1]}: {shown}{more}."


def _unread_answers(repeats: Repeats, unread: Unread) -> Iterator[str]:
    """Yield why raw answers could not be read: how many for each reason, by whom, and two."""
    for kind, count in repeats.reasons.most_common():
        examples = repeats.unread[kind]
        why = _CONTRADICTED if kind == CONTRADICTED else f"unreadable: {_detail(examples)}"
        by = _shares(repeats.of_kind(kind), unread)
        shown = "; ".join(f"{one.place} has {_excerpt(one)}" for one in examples)
        yield f"{counted(count, 'answer')} {why} ({by}). Such as: {shown}."


def _detail(examples: Sequence[UnreadAnswer]) -> str:
    return shortened(detail_of(examples[0].failure))


def _excerpt(one: UnreadAnswer) -> str:
    """Return at most `LONGEST_ANSWER` characters of an answer, escaped: around what was refused."""
    start = max(0, min(one.at, len(one.answer)) - LONGEST_ANSWER // 2)
    start = min(start, max(0, len(one.answer) - LONGEST_ANSWER))
    cut_out = one.answer[start : start + LONGEST_ANSWER]
    before, after = "…" * bool(start), "…" * (start + LONGEST_ANSWER < len(one.answer))
    return f"{before}{cut_out!r}{after}"


def _shares(by_judge: Counter[str], unread: Unread) -> str:
    """Return judges with how many of their judgements; of one with wordings, how many."""
    named = [
        f"{name}: {count:,}" + (f" of {unread.judges[name]:,}" if name in unread.judges else "")
        for name, count in by_judge.most_common()
    ]
    return first_of(named, _FEW_PLACES)


def _names_alike(unread: Unread) -> Iterator[str]:
    """Yield which names of judges, people, systems and categories differ only in case."""
    for who, of, counts in (
        ("judges", "judgements", unread.judges),
        ("people", "items", unread.people),
        ("systems", "items", unread.systems),
        ("categories", "items", unread.categories),
    ):
        merged = {
            name: most
            for group in alike(counts)
            for most in [max(group, key=counts.__getitem__)]
            for name in group
            if name != most
        }
        if merged:
            key = ", ".join(f"{_key(name)}: {_key(most)}" for name, most in merged.items())
            yield (
                f"Names that differ only in case are different {who}: {said_alike(counts)} {of}. "
                f"If they are one, say so in the mapping: `names: {{{key}}}`."
            )


def _key(name: str) -> str:
    """Return a name as YAML reads it, with quotation marks where it needs them."""
    plain = re.fullmatch(r"[A-Za-z][\w./ -]*\w", name, re.ASCII)
    return name if plain else json.dumps(name, ensure_ascii=False)


def _other_scale(unread: Unread) -> Iterator[str]:
    """Yield which columns have far lower numbers than the scale that the mapping gives."""
    alike: dict[tuple[object, ...], list[DoubtedScale]] = {}
    for one in unread.doubted:
        alike.setdefault((one.highest, one.is_named, one.of_labels, *one.above), []).append(one)
    for [one, *others] in alike.values():
        names = [one.column, *(other.column for other in others)]
        have = "have" if others else "has"
        named = ", as its name says" if one.is_named else ""
        if one.above:
            yield (
                f"{first_of(names)} {have} no value above {one.highest:g}{named}, and "
                f"{', '.join(one.above)} {'has' if len(one.above) == 1 else 'have'}. If they are "
                f"of two scales, {_how_to_read(unread, names)}."
            )
            continue
        for column in names:
            yield (
                f"{column} has no value above {one.highest:g}{named}, and `scale` has "
                f"`highest: {one.of_scale:g}`. If its scale ends at {one.ends:g}, write "
                f"`highest: {one.ends:g}`: distances and means depend on it."
            )


def against_decisions(compared: Compared | None) -> Iterator[str]:
    """Yield how many raw answers contradict their decisions, where some do."""
    if not compared or not (apart := compared.contradicting.total()):
        return
    most, times = compared.contradicting.most_common(1)[0]
    by = f"; most by {most}: {times:,}" if len(compared.readable) > 1 else ""
    yield (
        f"{apart:,} of {compared.readable.total():,} raw answers contradict their decision, which "
        f"counts{by}."
    )


def agreement(compared: Compared) -> str:
    """Return how far the raw answers behind the decisions say the same."""
    readable, apart = compared.readable.total(), compared.contradicting.total()
    line = (
        f"Raw answers behind {compared.answers:,} decisions: {readable / compared.answers:.1%} "
        f"readable, and {(readable - apart) / max(readable, 1):.2%} of these assert the recorded "
        f"decision."
    )
    return " ".join([line, *(against_decisions(compared) if apart else ["The decisions count."])])


def _apart(one: Apart) -> str:
    """Return how far a mean that a file reports is from that of its judgements, and why."""
    said = (
        f"{one.file} reports a mean of {number(one.reported)} for {one.name}, and its "
        f"{counted(one.judgements, 'verdict')} read here have {number(one.read)}"
    )
    if one.of_scores:
        return f"{said}: the file's is of scores, and pass and fail are read (--cut reads scores)."
    if one.without:
        answers = counted(one.without, "answer")
        return f"{said}: {answers} without a verdict count 0 there and are left out here."
    return f"{said}. Compare the file with the mapping (--show-mapping) before you use the figures."


def _as_often(places: Sequence[str]) -> str:
    return "" if len(places) == 1 else f" ({len(places):,} times)"


def _off_the_scale(unread: Unread) -> Iterator[str]:
    """Yield the numbers that are no verdict; many of one judge are of another scale."""
    low, high = unread.scale or (0.0, 0.0)
    off = f"outside {low:g} to {high:g}" if unread.scale else "none of the verdicts"
    codes = _no_scores(unread)
    for judge, written in unread.outside.items():
        missing = [f"{value} in {place}" for value, place in written if value in codes]
        values = [f"{value} in {place}" for value, place in written if value not in codes]
        if missing:
            are = "is" if len(missing) == 1 else "are"
            yield (
                f"{counted(len(missing), 'score')} of {judge} {are} {off}, and may say that there "
                f"is no score: {first_of(missing, _FEW_PLACES)}. Unreadable here. {_LEAVE_EMPTY}"
            )
        if not values:
            continue
        wide = _wider(unread, [value for value, _ in written])
        if len(values) > 1 and _OFTEN * len(values) > unread.judges[judge]:
            yield (
                f"Scales may be mixed: {len(values):,} of {unread.judges[judge]:,} scores of "
                f"{judge} are {off}, unreadable here: {first_of(values, _FEW_PLACES)}. "
                f"{wide}If it is of another, read it by a mapping of its own."
            )
        else:
            are = "is" if len(values) == 1 else "are"
            yield (
                f"{judge}: {first_of(values, _FEW_PLACES)} {are} {off}, and unreadable here. "
                f"{wide}Correct a mistake in the file, or leave the cell empty."
            )


def _lone_zeros(unread: Unread) -> Iterator[str]:
    """Yield who alone gives a 0 beside scores from 1 on, which may say that there is no score."""
    given = {**unread.known, **unread.scores}
    if unread.scale is None or (found := lone_zero(given)) is None:
        return
    name, lowest, highest = found
    zeros, n = given[name][0], given[name].total()
    yield (
        f"{zeros} of {n:,} scores of {name} {'is' if zeros == 1 else 'are'} 0, and all others are "
        f"{lowest:g} to {highest:g}. Here the scale of all begins at 0. If a 0 says that there is "
        f"no score, leave the cell empty, or write `scale: {{lowest: {lowest:g}, highest: "
        f"{highest:g}}}` and `unlisted: unreadable` into a mapping."
    )


def _codes_of_answers(unread: Unread) -> Iterator[str]:
    """Yield that scores may name one of two answers, or a tie, and so be no order."""
    if unread.answers and unread.scale:
        low, high = unread.scale
        yield (
            f"{' and '.join(unread.answers)} may be the two answers of a pair. Verdicts from "
            f"{low:g} to {high:g} are read as an order: if they name these answers or a tie, they "
            "are none, and figures by distance are wrong. In the mapping, `stages: [first, tie, "
            "second]` in place of `scale`, with `decisions` and, of labels, `truths`, says which "
            "stage each number is."
        )


def _slips(unread: Unread) -> Iterator[str]:
    """Yield the highest score of all, where it may be a slip that makes the scale wider."""
    found = slip_above(sum(unread.scores.values(), Counter[float]()))
    if found is None or (unread.scale and unread.scale[1] > found[0]):
        return
    highest, following = found
    places = [f"{who} on {place}" for who, (top, place) in unread.highest_at.items()
              if top == highest]  # fmt: skip
    yield (
        f"One score may be a slip: {highest:g} by {first_of(places, _FEW_PLACES)}. The next is "
        f"{following:g}, and the scale is read as ending at {highest:g}, which lowers every score "
        "on it. Correct it in the file, or leave the cell empty."
    )


def _mixed_scales(unread: Unread) -> Iterator[str]:
    """Yield who has verdicts on another scale than the others: evidently, or apart from theirs."""
    given = {**unread.known, **unread.scores}
    for one in unread.mixed[:1]:
        said = [
            f"{first_of(of)} from {min(map(min, map(given.__getitem__, of))):g} to "
            f"{max(map(max, map(given.__getitem__, of))):g}"
            for of in unread.mixed
        ]
        yield (
            f"Scales may be mixed: {'; '.join(said)}. They are read as one scale. If they are of "
            f"several, {_how_to_read(unread, one)}."
        )
    for name, of in unread.scores.items():
        most = max((max(other) for who, other in unread.scores.items() if who != name), default=0)
        others = [of for who, of in unread.scores.items() if who != name]
        if others and min(of) > most and not unread.mixed:
            least = min(map(min, others))
            yield (
                f"Scales may be mixed: {name} from {min(of):g} to {max(of):g}, the others from "
                f"{least:g} to {most:g}. They are read as one scale: bring them to one first."
            )


def _how_to_read(unread: Unread, names: Sequence[str]) -> str:
    """Return how judges, or labels, of another scale than others are read."""
    judges = [name for name in names if name in unread.scores]
    if not judges:
        return (
            "judges are held against labels that mean something else: bring both to one scale, or "
            "say in `truths` of the mapping which stage each label is"
        )
    of = f" with `only: {{{_key(unread.judge_column)}: [{', '.join(map(_key, judges))}]}}`"
    return (
        "their figures are not comparable here: read each by a mapping of its own"
        f"{of if unread.judge_column else ''}, with its `scale` and labels on it"
    )
