"""People's mean over all texts, from a judge's scores and labels of a part: table, words, JSON."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from judge_gym.counting import counted, first_of
from judge_gym.formats import figure_or_reason, side_of_0
from judge_gym.judges import Judge
from judge_gym.judges.corrected import ALL, Corrected
from judge_gym.judges.correcting import WORTH_GROUPS, Correction
from judge_gym.judges.item_files import ItemFile
from judge_gym.metrics.estimate import Estimate
from judge_gym.report.judge_study import StudyPage, StudyReport, stem_of
from judge_gym.report.reliance import favours
from judge_gym.report.remarks import remark_texts
from judge_gym.report.table import Table, plain_table

_WAYS = ("judge", "labels", "corrected")


def correction_table(judge: Judge, found: Correction) -> Table:
    """Return the mean of all texts, of each system and of their differences, in three ways.

    Of pairs of two systems these are win rates, and the mean of all is how often the first text
    wins. Where every text has a label, the third way is the judge's error.
    """
    first = judge.verdict_of(1.0)
    of = f"Share of {first}" if first and judge.score_range == (0.0, 1.0) else "Mean score"
    of = "Win rate" if found.win_rates else of
    texts = "pairs" if judge.judges_pairs else "texts"
    last = "judge less labels" if found.whole else "corrected"
    return plain_table(
        f"{of} over all {texts}, by people ({judge.name})",
        ("of", "rows", "labelled", "judge alone", "labels alone", last),
        [
            (
                _FIRST_WINS if found.win_rates and row.about == ALL else row.about,
                row.rows,
                row.labelled,
                *(figure_or_reason(getattr(row, way)) for way in _WAYS[:2]),
                _last(found, row),
            )
            for row in found.rows
        ],
    )


def _last(found: Correction, row: Corrected) -> str:
    """Return the third figure of a row: the judge's error where every text has a label."""
    if row.bias is None:
        return figure_or_reason(row.corrected)
    return figure_or_reason(row.bias) if found.whole else "not needed: every text has a label"


_FIRST_WINS = "the first text wins"
_MOST_TOLD = 3
"""Differences of systems of which each is told in a sentence."""


def conclusions(found: Correction) -> Iterator[str]:
    """Yield which of two systems people find better, what the judge alone says, and whether it may
    be relied on; of many differences how many are told from 0. Without systems, the mean."""
    apart = [row for row in found.rows if row.is_difference]
    if not apart:
        of_all = found.rows[0]
        if of_all.people.estimate is not None:
            yield (
                f"People's mean over all texts is {figure_or_reason(of_all.people)}"
                f"{_by_labels(of_all)}; the judge's own is {figure_or_reason(of_all.judge)}."
            )
        return
    if len(apart) > _MOST_TOLD:
        told = [row.about for row in apart if side_of_0(row.people) and not row.few]
        named = f": {', '.join(told)}" if told else ""
        yield f"Labels tell {len(told)} of {counted(len(apart), 'difference')} from 0{named}."
    else:
        yield from (_which_is_better(found, row) for row in apart)
    if found.one_correction:
        yield f"The judge {found.one_correction.errs}."


def _which_is_better(found: Correction, row: Corrected) -> str:
    best, other = row.systems
    sign, one = side_of_0(row.people), row.people
    said, uncorrected = f"{row.about} is {figure_or_reason(one)}{_by_labels(row)}", ""
    if row.corrected.estimate is None and not row.whole and (row.few or one.estimate is None):
        if one.estimate is None:
            said = f"{row.about} is {figure_or_reason(row.corrected)}"
        else:
            said = f"by labels alone, {row.about} is {figure_or_reason(one)}"
            uncorrected = f" By labels and judge it is {row.corrected.reason}."
    shown = f"{best if sign > 0 else other} is better" if sign else _CANNOT_TELL
    shown += ", of few labels" * row.few
    alone = figure_or_reason(row.judge)
    errs = ""
    if found.biases:
        errs = f"; it {favours({one: found.biases.get(one) for one in (best, other)})}"
    if one.estimate is None:
        # A missing figure is no finding that systems are alike.
        return f"People: {said}. The judge alone: {alone}{errs}."
    more = _with_more(found, row)
    return f"People: {said}: {shown}. The judge alone: {alone}{errs}.{uncorrected}{more}"


def _by_labels(row: Corrected) -> str:
    """Return that a figure is of labels alone, where there are texts without one."""
    return " by labels alone" if row.people is row.labels and not row.whole else ""


_CANNOT_TELL = "labels cannot tell which is better"


def _with_more(found: Correction, row: Corrected) -> str:
    """Return what more labels at random are expected to bring to a difference."""
    expected = next((one for one in found.expected if one.about == row.about), None)
    if expected is None or side_of_0(row.corrected) or row.corrected.estimate is None:
        return ""
    return (
        f" With {expected.more} more labels at random a difference of {expected.then:.2g} or more "
        f"is expected to be told from 0, of {expected.now:.2g} now."
    )


def next_table(found: Correction) -> Table | None:
    """Return how many texts to label next, by the judge's score; None where none is left."""
    if found.plan is None:
        return None
    rows = [
        (f"{middle:.4g}", found.groups[middle], min(count, found.groups[middle]))
        for middle, count in found.plan.rows
        if found.groups[middle]
    ]
    columns = ("judge's score near", "texts without a label", "to label")
    return plain_table("Label next", columns, rows)


def sentences(found: Correction) -> Iterator[str]:
    """Yield how the figures are meant."""
    third = (
        "Every text has a label, so no correction is needed: people's figures are those of labels."
        if found.whole
        else "Corrected: the judge's scores of all rows, moved by its errors on the labelled ones."
    )
    yield (
        "95% intervals, over texts, and of a difference of systems that answered the same "
        "questions paired by question. Every row counts, also where texts repeat. Judge alone: the "
        f"judge's own mean, not people's. {third}"
    )
    few = [remark for row in found.rows for remark in row.labels.remarks]
    if few:
        yield f"Labels alone: {', '.join(remark_texts(few))}, so their intervals may miss more."
    if pairs := found.by_order.pairs:
        yield (
            f"Read in both orders: {counted(pairs, 'pair')}. What was shown first won "
            f"{found.by_order.first} of them, what was shown second {found.by_order.second}."
        )
    yield from _of_labels(found)
    if found.with_itself:
        yield f"{counted(found.with_itself, 'pair')} of a system with itself left out of win rates."
    if found.without_score:
        yield (
            f"Without a score of the judge: {found.without_score} of the rows. Its own mean leaves "
            "them out; people's mean does not."
        )


def _of_labels(found: Correction) -> Iterator[str]:
    """Yield which labels are used, and why those of systems may be more than those of all."""
    if aside := found.set_aside:
        by_groups = "no interval" if aside.by_groups is None else f"{aside.by_groups:.2g}"
        yield (
            f"{counted(aside.labels, 'text')} labelled by expected gain set aside: the labels at "
            f"random alone have a half-width of {aside.alone:.2g}, all labels by groups of scores "
            f"{by_groups}."
        )
    of_all = found.rows[0].labelled
    systems = [row.labelled for row in found.rows[1:] if not row.is_difference]
    if found.draw != "random" and sum(systems) > of_all:  # a pair is of two systems anyway
        yield (
            f"Of the {of_all} labelled texts {sum(systems) - of_all} count twice or more below, "
            "as several systems gave them."
        )


def expectations(found: Correction) -> Iterator[str]:
    """Yield what more labels are expected to bring."""
    yield from _of_differences(found)
    if halves := found.half_widths:
        yield (
            f"Expected half-width of the 95% interval of all texts: {halves.now:.2g} now, "
            f"{halves.at_random:.2g} with {counted(halves.more, 'more label')} at random, "
            f"{halves.as_planned:.2g} with {halves.more} more by groups of scores."
        )
    if found.chosen:
        yield f"The next labels are drawn {_draw_and_why(found)}."
    if found.plan is not None and not found.by_gain:
        yield (
            "The labels have to be of a random part of the texts. Labels as planned are random "
            "only within a group of scores: the estimate is then by groups."
        )
    if found.draw and found.plan is not None:
        yield draw_note(found.draw)


def _draw_and_why(found: Correction) -> str:
    """Return how the next labels are drawn, and why so."""
    halves, narrower = found.half_widths, f"at least {1 - WORTH_GROUPS:.0%} narrower"
    if halves is None and found.draw == "random":
        return "at random, as labels by groups of scores say nothing of the systems of pairs"
    if halves is None:
        return "at random, as a plan by groups of scores needs two labels"
    if found.undecided:
        return (
            f"at random, to compare systems ({first_of(found.undecided, _MOST_TOLD)}): labels by "
            "groups narrow the mean of all texts"
        )
    if halves.is_first:
        return "by groups of scores, as labels by gain have no interval yet"
    if halves.is_offered:
        return (
            f"by groups of scores, as the interval of all texts is then {narrower} than now and "
            "than with labels at random"
        )
    return (
        f"at random, as labels by groups of scores would not make the interval of all texts "
        f"{narrower} than it is now, or than labels at random would"
    )


def _of_differences(found: Correction) -> Iterator[str]:
    """Yield what labels bring to the differences, and which of systems need none."""
    waiting = [one for one in found.expected if one.about not in found.decided]
    if waiting:
        narrower = ", ".join(
            f"{one.about} {one.now:.2g} now, {one.then:.2g} with {one.more} more" for one in waiting
        )
        yield f"Expected half-width of a difference, with labels at random: {narrower}."
    if found.decided and not found.whole:
        yield (
            f"Decided, so more labels are not needed to compare: "
            f"{first_of(found.decided, _MOST_TOLD)}."
        )


def draw_note(draw: str) -> str:
    """Return which draw of labels compares systems, beside one by gain."""
    of_gain = (
        "say nothing of the systems of pairs"
        if draw == "random"
        else "narrow the mean of all texts, not differences between systems"
    )
    return (
        f"Labels drawn by gain {of_gain}: to compare systems, draw labels with judge-gym judge "
        f"label --draw {draw}."
    )


def correction_json(
    judge: Judge, file: ItemFile, found: Correction, *, simulated: bool
) -> dict[str, Any]:
    """Return the figures and the labels to buy next as JSON."""
    halves = found.half_widths
    return {
        "judge": judge.name,
        "simulated": simulated,
        "read": _read(judge, file),
        "found": list(conclusions(found)),
        "one_correction": found.one_correction and asdict(found.one_correction),
        "biases": {name: _values(one) for name, one in found.biases.items()},
        "pairs_with_itself": found.with_itself,
        "by_gain": found.by_gain,
        "without_score": found.without_score,
        "decided_by_order": asdict(found.by_order) if found.by_order.pairs else None,
        "figures": [_row(row) for row in found.rows],
        "next": [
            {"item": item.id, "probability": probability} for item, probability in found.chosen
        ],
        "decided": list(found.decided),
        "differences_next": [asdict(one) for one in found.expected],
        "half_width": None
        if halves is None
        else {"now": halves.now, "at_random": halves.at_random, "as_planned": halves.as_planned},
        "next_drawn": "random" if found.plan is None else "gain",
        "set_aside": found.set_aside and asdict(found.set_aside),
    }


def _read(judge: Judge, file: ItemFile) -> dict[str, Any]:
    """Return what was read as JSON: the line of the terminal, and texts without a majority."""
    people = file.people
    return {
        "said": file.said(judge),
        "ties": [] if people is None else list(people.tied),
        "others": [] if people is None else sorted({row.item for row in people.others}),
        "stale": 0 if people is None else people.stale,
        "repeated": len(file.items) - len(file.texts),
    }


def correction_report(
    judge: Judge,
    file: ItemFile,
    found: Correction,
    files: Sequence[Path] = (),
    answers: str = "",
    *,
    simulated: bool,
) -> StudyReport[Correction]:
    """Return the report of the figures, by the judge of `files`, and of the labels to buy next.

    `answers` says whether texts were judged again.
    """
    stem, labels = stem_of("estimate", judge.name, file.name), next_table(found)
    page = StudyPage(
        stem=stem,
        title=f"People's {'win rates' if found.win_rates else 'mean'} by {judge.name}, "
        f"{file.path.name}",
        found=" ".join(conclusions(found)),
        tables=[correction_table(judge, found), *([labels] if labels else [])],
        sentences=[*([answers] if answers else []), *sentences(found), *expectations(found)],
        simulated=simulated,
        files=(f"{stem}.json",),
        of=[file.path, *files],
        read=file.said(judge),
    )
    value = correction_json(judge, file, found, simulated=simulated) | {"answers": answers}
    return StudyReport(found, page, value)


def _row(row: Corrected) -> dict[str, Any]:
    values: dict[str, Any] = {"about": row.about, "rows": row.rows, "labelled": row.labelled}
    bias = {} if row.bias is None else {"bias": _values(row.bias)}
    return values | {way: _values(getattr(row, way)) for way in _WAYS} | bias


def _values(one: Estimate) -> dict[str, Any]:
    return {
        "estimate": one.estimate, "lower": one.lower, "upper": one.upper,
        "because": one.because, "method": one.method,
    }  # fmt: skip
