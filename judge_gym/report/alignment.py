"""An alignment for people: one HTML page, its tables and sentences, and its figures as JSON."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC
from pathlib import Path
from typing import Any

from judge_gym.calibration.checks import rounded, span
from judge_gym.calibration.verdict import LEAST_LABELS
from judge_gym.counting import counted, first_of
from judge_gym.formats import ABSENT, dollars, percent, plain, short
from judge_gym.judges.aligning.loading import LoadedAlignment, too_few
from judge_gym.judges.aligning.running import AlignmentOutcome, AlignmentReport, SideBySide
from judge_gym.judges.aligning.sealing import SealedTexts
from judge_gym.judges.aligning.splitting import LabelUse
from judge_gym.judges.aligning.writing import yaml_of
from judge_gym.report.criteria import criteria_of
from judge_gym.report.files import figures_of
from judge_gym.report.judge_study import StudyPage, StudyReport, stem_of
from judge_gym.report.table import Row, Table
from judge_gym.report.trust import Tile

_VERDICTS = {
    AlignmentOutcome.SURVIVES: "The gain survives",
    AlignmentOutcome.WORSE: "The gain did not survive",
    AlignmentOutcome.NOT_SHOWN: "Cannot tell",
    AlignmentOutcome.LOOKED_AT: "Cannot tell",
    AlignmentOutcome.UNREADABLE: "Cannot tell",
    AlignmentOutcome.NO_GAIN: "No gain",
    AlignmentOutcome.TOO_FEW: "Too few labels",
    AlignmentOutcome.USED_UP: "The test set is used up",
}
_DAY = "%Y-%m-%d %H:%M UTC"


def sentence(report: AlignmentReport) -> str:
    """Return the verdict in words, with what to do."""
    return _SENTENCES[report.outcome](report)


def _gained(report: AlignmentReport) -> str:
    """Return the figure on development, where the candidate was chosen."""
    assert report.chosen is not None
    assert report.chosen.development is not None
    value = report.chosen.development.gain.estimate or 0.0
    return f"A gain of {rounded(value)} on development ({report.chosen.candidate.name})"


def _tested(report: AlignmentReport) -> str:
    assert report.test is not None
    gain = report.test.gain
    levels = [
        ABSENT if one.estimate is None else rounded(one.estimate)
        for one in (report.test.before, report.test.after)
    ]
    return (
        f"agreement with people's labels {levels[0]} before and {levels[1]} after, "
        f"difference {span(gain)}, on {counted(report.test.texts, 'text')}"
    )


def _survives(report: AlignmentReport) -> str:
    assert report.chosen is not None
    return (
        f"The gain survives the test set: {_tested(report)}. Use {report.loaded.judge.name} with "
        f"{report.chosen.candidate.name}."
    )


def _worse(report: AlignmentReport) -> str:
    return (
        f"{_gained(report)} did not survive the test set, where the candidate is worse: "
        f"{_tested(report)}. Keep {report.loaded.judge.name}."
    )


def _not_shown(report: AlignmentReport) -> str:
    assert report.test is not None
    there = (report.test.gain.estimate or 0.0) > 0
    how = "cannot be told on the test set" if there else "did not survive the test set"
    more = f" {report.more}" if there and report.more else ""
    return f"{_gained(report)} {how}: {_tested(report)}. Keep {report.loaded.judge.name}.{more}"


def _looked_at(report: AlignmentReport) -> str:
    return (
        f"{_gained(report)} shows on the test set ({_tested(report)}), but {again(report)} "
        f"Keep {report.loaded.judge.name}, and label texts that are new."
    )


def _unreadable(report: AlignmentReport) -> str:
    assert report.test is not None
    return (
        f"{_gained(report)}, but on the test set the candidate scores only "
        f"{percent(report.test.covered)} of the texts that {report.loaded.judge.name} scores, and "
        f"{percent(report.loaded.design.readable)} are needed. Keep {report.loaded.judge.name}."
    )


def _no_gain(report: AlignmentReport) -> str:
    judge = report.loaded.judge.name
    gains = [
        (one.development.gain.estimate, one.candidate.name)
        for one in report.tried
        if one.development is not None and one.development.gain.estimate is not None
    ]
    missing = next(
        (one.development.gain.reason for one in report.tried if one.development is not None), ""
    )
    if gains:
        value, name = max(gains)
        why = f"the best, {name}, by {rounded(value)}"
    else:
        why = missing or "; ".join(f"{one.candidate.name}: {one.candidate.failure}"
                                   for one in report.tried)  # fmt: skip
    return (
        f"No candidate agrees with people more than {judge} on development ({why}). Keep {judge}. "
        f"The test set {unopened(report)}."
    )


def _too_few(report: AlignmentReport) -> str:
    parts = report.loaded.parts
    named = ", ".join(f"{part} has {parts.count(part)}" for part in too_few(report.loaded))
    return (
        f"Too few labels: {named}. Development and test need {LEAST_LABELS} each, training 1. "
        "Label more texts, drawn at random. No call was made, and the test set "
        f"{unopened(report)}."
    )


def _used_up(report: AlignmentReport) -> str:
    return used_up(report.sealed) if report.sealed else ""


def used_up(sealed: SealedTexts) -> str:
    """Return that too few texts of a test set are left, and what used the others, and when."""
    return (
        f"The test set is used up: of its {counted(sealed.texts, 'text')}, {sealed.fresh} were "
        f"never looked at, and {LEAST_LABELS} are needed. {_looks(sealed)} Label new texts. "
        "With --look-again it is looked at once more; that is counted, and shows no gain."
    )


def planned_look(sealed: SealedTexts, *, look_again: bool) -> str:
    """Return what a plan says of looks at the test set there have been; empty without any."""
    if not sealed.looks:
        return ""
    if sealed.is_used_up and not look_again:
        return f"{used_up(sealed)} No calls would be made."
    said = f"Of the {counted(sealed.texts, 'text')} of the test, {sealed.fresh} were never looked"
    rest = "Texts that were looked at are left out of the test."
    if look_again:
        rest = "With --look-again all are looked at once more, which shows no gain."
    elif sealed.fresh < LEAST_LABELS:
        rest = "The candidate of that look is shown again; for another the test set is used up."
    return f"{said} at. {_looks(sealed)} {rest}"


def _looks(sealed: SealedTexts) -> str:
    uses = [
        f"{counted(one.texts, 'text')} by {one.by} at {one.at.astimezone(UTC).strftime(_DAY)}"
        for one in sealed.looks
    ]
    return f"Looked at: {first_of(uses)}."


_SENTENCES = {
    AlignmentOutcome.SURVIVES: _survives,
    AlignmentOutcome.WORSE: _worse,
    AlignmentOutcome.NOT_SHOWN: _not_shown,
    AlignmentOutcome.LOOKED_AT: _looked_at,
    AlignmentOutcome.UNREADABLE: _unreadable,
    AlignmentOutcome.NO_GAIN: _no_gain,
    AlignmentOutcome.TOO_FEW: _too_few,
    AlignmentOutcome.USED_UP: _used_up,
}


def again(report: AlignmentReport) -> str:
    """Return how often the test set was looked at; empty where this is the only time."""
    look = report.look
    if look is None or not look.earlier:
        return ""
    return (
        f"texts of it were looked at {len(look.earlier) + 1} times, first at "
        f"{look.earlier[0].astimezone(UTC).strftime(_DAY)}: the interval no longer means what it "
        "says."
    )


def unopened(report: AlignmentReport) -> str:
    """Return what the test set is that an alignment did not look at, as what follows its name."""
    sealed = report.sealed
    if report.outcome is AlignmentOutcome.USED_UP:
        return "is used up"
    if not sealed or not sealed.looks:
        return "stays sealed"
    seen = sealed.texts - sealed.fresh
    return f"is not opened: {seen} of its {counted(sealed.texts, 'text')} were looked at before"


def seal(report: AlignmentReport) -> str:
    """Return when the test set was opened and for whom, or why it was not."""
    parts = report.loaded.parts
    if report.look is None:
        texts = counted(parts.count(LabelUse.TEST), "labelled text")
        return f"The test set of {texts} {unopened(report)}."
    look = report.look
    spared = (
        f" {counted(look.spared, 'text')} of the test part left out, as looked at before."
        if look.spared
        else ""
    )
    when = look.at.astimezone(UTC).strftime(_DAY)
    often = f" Note: {again(report)}" if look.earlier else " Looked at once."
    return f"Test set: {counted(len(look.items), 'text')}, opened at {when}.{often}{spared}"


def left_out(loaded: LoadedAlignment) -> str:
    """Return which texts are in no part or in training for a reason; empty without any."""
    parts = loaded.parts
    said = [
        (parts.unlabelled, "without a label: left out"),
        (parts.repeated, "the same as another but for case or spaces: left out"),
        (parts.shown, "in the judge's examples: training"),
    ]
    return "; ".join(f"{counted(number, 'text')} {how}" for number, how in said if number)


def split_table(loaded: LoadedAlignment) -> Table:
    """Return how many labelled texts each part has, by label."""
    by_part = {part: loaded.parts.labels(part, loaded.judge) for part in LabelUse}
    grades = sorted({grade for of in by_part.values() for grade in of}, key=_by_number)
    rows = tuple(
        Row((part.value, str(loaded.parts.count(part)), *(str(by_part[part][g]) for g in grades)))
        for part in LabelUse
    )
    about = "By the digest of the text alone, so that a new label moves none."
    return Table("Labelled texts", about, ("part", "texts", *grades), rows)


def _by_number(grade: str) -> tuple[float, str]:
    first = grade.partition(" ")[0]
    try:
        return float(first), grade
    except ValueError:
        return 0.0, grade


def tried_table(report: AlignmentReport) -> Table:
    """Return what each candidate gains on development, the judge before first."""
    sides = [one.development for one in report.tried if one.development is not None]
    first = Row((report.loaded.judge.name, _of_before(sides), ABSENT, ABSENT, ABSENT))
    rows = [
        Row((one.candidate.name, f"not tried: {one.candidate.failure}", ABSENT, ABSENT, ABSENT))
        if one.development is None
        else Row(
            (
                f"{one.candidate.name}{' (chosen)' if one is report.chosen else ''}",
                span(one.development.after),
                span(one.development.gain),
                percent(one.development.covered),
                dollars(one.cost_usd),
            )
        )
        for one in report.tried
    ]
    return Table(
        "Development",
        f"The best of {counted(len(sides), 'candidate')} is chosen here, so its gain is too high "
        "on average. A tie goes to the judge before.",
        ("candidate", "agreement", "gain", "scored too", "cost, USD"),
        (first, *rows),
        words=3,
        simulated=report.loaded.simulated,
    )


def _of_before(sides: Sequence[SideBySide]) -> str:
    """Return the agreement of the judge before on the most texts that a candidate scores, too."""
    return span(max(sides, key=lambda side: side.texts).before) if sides else ABSENT


def test_table(report: AlignmentReport) -> Table | None:
    """Return both judges on the test set; None while it is sealed."""
    test, chosen = report.test, report.chosen
    if test is None or chosen is None:
        return None
    names = (report.loaded.judge.name, f"with {chosen.candidate.name}")
    rows = [
        Row((name, span(agreement), short(apart), dollars(_each(cost, report))))
        for name, agreement, apart, cost in zip(
            names, (test.before, test.after), test.apart, report.test_costs, strict=True
        )
    ]
    rows.append(Row(("difference", span(test.gain), short(test.apart[1] - test.apart[0]), "")))
    return Table(
        "Test set",
        "The same texts for both, paired. Agreement beyond chance (Lin's concordance, of verdicts "
        "Cohen's κ); mean distance from the label in points of 100, of verdicts the percentage "
        "that differ.",
        ("judge", "agreement", "distance", "USD a text"),
        tuple(rows),
        words=2,
        simulated=report.loaded.simulated,
    )


def _each(cost_usd: float | None, report: AlignmentReport) -> float | None:
    """Return the US dollars of one text of the test."""
    return None if cost_usd is None or report.look is None else cost_usd / len(report.look.items)


def paid(report: AlignmentReport) -> str:
    """Return what all calls behind the report cost."""
    cost = "unknown (a model has no price)" if report.cost_usd is None else (
        f"{dollars(report.cost_usd)} USD"
    )  # fmt: skip
    return f"Cost of {counted(report.calls, 'call')}, those of earlier runs included: {cost}."


def alignment_report(
    report: AlignmentReport, written_to: str, folder: Path
) -> StudyReport[AlignmentReport]:
    """Return the report of an alignment; `written_to` says where the new judge is, if anywhere.

    Its page is, or will be, in the folder.
    """
    loaded, tested = report.loaded, test_table(report)
    stem, without = stem_of("alignment", loaded.design.name), left_out(loaded)
    said = [
        f"{without}." if without else "",
        seal(report),
        paid(report) if report.tried else "",
        f"Judge file: {written_to}" if written_to else "",
    ]
    page = StudyPage(
        stem=stem,
        title=f"Alignment {loaded.design.name}",
        found=sentence(report),
        tables=[
            *([tested] if tested else []),
            *([tried_table(report)] if report.tried else []),
            split_table(loaded),
        ],
        sentences=[*filter(None, said)],
        simulated=loaded.simulated,
        files=(f"{stem}.json",),
        read=loaded.items.said(loaded.judge),
        template="alignment.html.j2",
        shown=_shown(report),
    )
    made = StudyReport(report, page, {}, results=[report.result])
    return replace(made, value=alignment_json(report, written_to, made.page_in(folder)))


def _shown(report: AlignmentReport) -> dict[str, Any]:
    """Return what the page shows besides."""
    loaded, chosen = report.loaded, report.chosen
    judges = [(loaded.judge.name, loaded.judge)] if report.tried else []
    if chosen is not None and chosen.candidate.judge is not None:
        judges.append((f"{loaded.judge.name} with {chosen.candidate.name}", chosen.candidate.judge))
    plain_judges = [
        (name, judge.model_copy(update={"gate": None, "certify": None, "provenance": None}))
        for name, judge in judges
    ]
    return {
        "tiles": _tiles(report),
        "criteria": [criteria_of(name, judge.record.config) for name, judge in judges],
        "judge_files": [
            (name, yaml_of(judge, loaded.design.judge)) for name, judge in plain_judges
        ],
        "split": loaded.design.split,
        "plain": plain,
    }


def _tiles(report: AlignmentReport) -> list[Tile]:
    tiles = [Tile("Verdict", _VERDICTS[report.outcome], seal(report))]
    for label, side in (
        ("Development", report.chosen.development if report.chosen else None),
        ("Test", report.test),
    ):
        if side is not None and side.gain.estimate is not None:
            says = f"{span(side.gain)}; {counted(side.texts, 'text')}"
            tiles.append(Tile(f"Gain, {label.lower()}", rounded(side.gain.estimate), says))
    return tiles


def alignment_json(report: AlignmentReport, written_to: str, page: Path) -> dict[str, Any]:
    """Return an alignment as JSON; `result` is `passes`, `fails` or `cannot tell`."""
    loaded, look = report.loaded, report.look
    return {
        "alignment": loaded.design.name,
        "result": report.result,
        "outcome": report.outcome.value,
        "sentence": sentence(report),
        "judge": {"name": loaded.judge.name, "key": loaded.judge.key},
        "texts": {part.value: loaded.parts.count(part) for part in LabelUse},
        "candidates": [
            {
                "name": one.candidate.name,
                "key": one.candidate.judge.key if one.candidate.judge else None,
                "failure": one.candidate.failure,
                "chosen": one is report.chosen,
                "development": _side_json(one.development),
                "cost_usd": one.cost_usd,
            }
            for one in report.tried
        ],
        "look": look
        and {
            "at": look.at.isoformat(),
            "texts": len(look.items),
            "looks": len(look.earlier) + 1,
            "earlier": [at.isoformat() for at in look.earlier],
        },
        "test": _side_json(report.test),
        "cost_a_text_usd": {
            name: _each(cost, report)
            for name, cost in zip(("before", "after"), report.test_costs, strict=True)
        },
        "cost_usd": report.cost_usd,
        "calls": report.calls,
        "simulated": loaded.simulated,
        "written": written_to,
        "page": str(page.resolve()),
    }


def _side_json(side: SideBySide | None) -> dict[str, Any] | None:
    if side is None:
        return None
    return {
        "texts": side.texts,
        "gain": figures_of(side.gain),
        "before": figures_of(side.before),
        "after": figures_of(side.after),
        "distance": {"before": side.apart[0], "after": side.apart[1]},
        "covered": side.covered,
    }
