"""The page of a calibration, the tables behind it as CSV, and its entry in the logbook."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from judge_gym.calibration.checks import Check, Result, span
from judge_gym.calibration.design import CalibrationDesign
from judge_gym.calibration.distribution import score_counts
from judge_gym.calibration.escalating import PolicyFigures, sufficient, undecided
from judge_gym.counting import counted
from judge_gym.formats import dollars, percent, plain, short
from judge_gym.judges.calibrating.assessing import Assessment, SurprisingScore
from judge_gym.judges.calibrating.estimating import CalibrationFindings
from judge_gym.judges.calibrating.texts import Texts
from judge_gym.records.items import Item
from judge_gym.report.criteria import criteria_of
from judge_gym.report.files import LONGEST_SHOWN, csv_of, figures_of, unwritable
from judge_gym.report.judge_study import StudyPage, StudyReport, stem_of, verdicts_value
from judge_gym.report.plots.plot import Kind
from judge_gym.report.plots.svg import draw
from judge_gym.report.table import Row, Table, marks_of, plain_table
from judge_gym.report.trust import MOST_TILES, Tile
from judge_gym.seeds import digest

LOGBOOK = "LOGBOOK.md"
_HEAD = """# Logbook

What was calibrated, what held, and what counted as enough. Entries are only added.
"""
_CHECKED = (
    "Runs are averaged first, so that a text counts once. Tests are one-sided at 2.5%, after Holm "
    "over all perturbations; points are of 100."
)
_BETWEEN = (
    "Whether they measure one thing, and whether a second one sees what the first does not. On the "
    "originals, runs averaged."
)
_RESULT_PHRASES = {
    Result.PASSES: "Held",
    Result.FAILS: "Did not hold",
    Result.CANNOT_TELL: "Open",
    Result.NOT_APPLICABLE: "Not applicable",
}


def asking(findings: CalibrationFindings) -> str:
    """Return which way to ask is cheap beside the best of these judges; empty without one to name.

    And which cheaper one may be, with what would decide it.
    """
    margin = findings.design.margins.accuracy_loss
    enough, maybe = sufficient(findings.policies, margin), undecided(findings.policies, margin)
    best = next((policy for policy in findings.policies if policy.is_best), None)
    refused = findings.refused
    kept = [one.judge.name for one in findings.assessments if one.judge.name not in refused]
    if refused and len(kept) < 2 <= len(findings.assessments):
        only = f"Only {kept[0]} is not refused" if kept else "None of these judges is recommended"
        return f"{only}, so ways to ask two judges are not compared."
    if findings.missing and len(kept) > 1 and not findings.policies:
        return "Ways to ask two judges are not compared: judgements are missing."
    if enough is None or best is None:
        return ""
    little = f"less than {plain(100 * margin)} in 100 right scores"
    text = f"{_most_right(findings, best)} {_cheapest(findings, best, enough, little)}"
    if maybe and enough.cost.estimate is not None:
        other, decides = maybe
        text += (
            f" {other.name} costs {dollars(other.cost.estimate)} USD a text in place of "
            f"{dollars(enough.cost.estimate)} and loses {short(other.loss.estimate or 0.0)} here, "
            f"but it is not shown to lose {little}. {decides}"
        )
    if not any(policy.cost.estimate for policy in findings.policies):
        why = "Simulated judges cost nothing" if findings.simulated else "No cost is known here"
        text += f" {why}: the first judge of the file stands for the cheap one."
    if refused:
        text += f" Left out, since not to be used: {', '.join(refused)}."
    return text


def _most_right(findings: CalibrationFindings, best: PolicyFigures) -> str:
    """Return which of the judges asked alone meets the most labels, or which do equally."""
    labels = best.accuracy.n_items
    met = f"{round((best.accuracy.estimate or 0.0) * labels)} of {labels}"
    equals = [
        policy.first
        for policy in findings.policies
        if policy.is_alone and policy.accuracy.estimate == best.accuracy.estimate
    ]
    first = f"{best.first} meets the most labels"
    if len(equals) > 1:
        first = f"{' and '.join(equals)} meet equally many labels, the most"
    near = plain(findings.design.margins.near)
    return f"Of the judges asked alone, {first}: {met} within {near} points."


def _cheapest(
    findings: CalibrationFindings, best: PolicyFigures, enough: PolicyFigures, little: str
) -> str:
    """Return which way to ask costs least of those shown to lose little beside the best judge."""
    unpriced = any(policy.cost.estimate is None for policy in findings.policies)
    if enough.cost.estimate is None:
        if enough.is_best:
            return f"Whether another way to ask is cheaper than {enough.name} is not known."
        return f"{enough.name} is shown to lose {little}, and its cost is not known."
    known = " whose cost is known" if unpriced else ""
    if enough.is_best:
        return (
            f"No cheaper way to ask{known} is shown to lose {little} compared with {best.first}, "
            "the labels aside."
        )
    return (
        f"Compared with {best.first}, not with the labels, {enough.name} is the cheapest way to "
        f"ask{known} that is shown to lose {little}."
    )


def gap(findings: CalibrationFindings) -> str:
    """Return how many judgements are missing, and which budget stopped them; empty without any."""
    if not findings.missing:
        return ""
    how = " ".join(findings.stopped) or "Rerun the command to resume."
    return (
        f"{findings.missing} of {findings.expected} judgements are missing: what is said here "
        f"rests on the others. {how}"
    )


def warning(findings: CalibrationFindings) -> str:
    """Return what speaks against the texts that a judge's own family changed; empty without any."""
    if not findings.related or findings.design.perturber is None:
        return ""
    return (
        f"{findings.design.perturber.model}, which changed some of the texts, is of the same "
        f"family as {', '.join(findings.related)}: a judge may know the hand of its own family, "
        "or prefer it. Have a model of another family change them."
    )


@dataclass(frozen=True)
class Piece:
    """A stretch of a shown text; `changed` marks what the other side has not."""

    text: str
    changed: bool


def calibration_report(
    findings: CalibrationFindings, read: str = ""
) -> StudyReport[CalibrationFindings]:
    """Return the report of a calibration, with its tables as CSV.

    `-checks.csv` has a row per check, `-cases.csv` one per surprising case.
    """
    stem, assessments = stem_of("calibration", findings.design.name), findings.assessments
    shown = _shown(findings)
    checks = [one.checks for one in assessments]
    judges, decisions = [one.judge for one in assessments], [one.decision for one in assessments]
    page = StudyPage(
        stem=stem,
        title=f"Calibration {findings.design.name}",
        found=findings.why,
        tables=[verdict_table(findings), judgement_table(findings)],
        sentences=list(_sentences(findings)),
        simulated=findings.simulated,
        files=(f"{stem}-checks.csv", f"{stem}-cases.csv", f"{stem}.json"),
        read=read,
        more=[
            table
            for table in (*shown["checks"], *shown["contradictions"], *shown["between"])
            if table.rows
        ],
        template="calibration.html.j2",
        shown=shown,
    )
    value = {
        "why": findings.why,
        "judges": verdicts_value(judges, decisions, checks),
        "thresholds": [],
    }
    tables = {
        "-checks.csv": csv_of(_check_rows(findings)),
        "-cases.csv": csv_of(_case_rows(findings)),
    }
    results = [decision.result for decision in decisions]
    figures = {
        one.judge.name: {check.name: check.estimate for check in one.checks} for one in assessments
    }
    return StudyReport(findings, page, value, tables, results, figures)


def _sentences(findings: CalibrationFindings) -> Iterator[str]:
    """Yield what there is to say besides why which judge is recommended."""
    if findings.missing:
        yield gap(findings)
    for one in findings.assessments:
        if one.decision.why not in findings.why:
            yield one.decision.why
    if findings.related:
        yield f"Note: {warning(findings)}"
    for one in findings.assessments:
        if one.contradictions or one.criticism:
            found = contradictions_in_words(one)
            yield f"Reasons of {one.judge.name} that contradict their score: {found}"
    if asking(findings):
        yield asking(findings)


def _shown(findings: CalibrationFindings) -> dict[str, Any]:
    """Return what the page shows besides."""
    whole = all(assessment.simulated for assessment in findings.assessments)
    return {
        "report": findings, "whole": whole, "tiles": verdict_tiles(findings),
        "marks_beside": lambda simulated: () if whole else marks_of(simulated, imported=False),
        "checks": [
            check_table(
                one.checks, f"Checks of {one.judge.name}, {one.answered}", _CHECKED,
                simulated=one.simulated,
            )
            for one in findings.assessments
        ],
        "contradictions": list(map(contradiction_table, findings.assessments)),
        "between": [
            check_table(
                findings.together, "Between the judges", _BETWEEN, simulated=findings.simulated
            ),
            policy_table(findings),
        ],
        "asking": asking(findings), "gap": gap(findings), "warning": warning(findings),
        "changes": change_table(findings), "curve_table": curve_table,
        "criteria": [
            criteria_of(one.judge.name, one.judge.record.config) for one in findings.assessments
        ],
        "histogram": _histogram, "forest": _forest, "curves": _curves, "case_id": _case_id,
        "before": before, "after": after, "span": span, "short": short, "plain": plain,
    }  # fmt: skip


def verdict_tiles(findings: CalibrationFindings) -> list[Tile]:
    """Return the verdict on each of the first judges, with what it rests on."""
    tiles = []
    for place, assessment in enumerate(findings.assessments[:MOST_TILES]):
        counts = ", ".join(
            f"{assessment.count(result)} {word}"
            for result, word in (
                (Result.PASSES, "checks passed"),
                (Result.FAILS, "failed"),
                (Result.CANNOT_TELL, "open"),
            )
        )
        total = assessment.statuses.total()
        readable = percent(assessment.statuses["scored"] / total) if total else "none"
        cost = f"cost in USD: {dollars(findings.costs[place])}"
        says = f"{counts}; {readable} of {total} judgements scored; {cost}"
        verdict = assessment.decision.verdict.words
        tiles.append(Tile(assessment.judge.name, f"{verdict[0].upper()}{verdict[1:]}", says))
    return tiles


def check_table(checks: Sequence[Check], title: str, about: str, *, simulated: bool) -> Table:
    """Return checks as a table, with the standardised effects beside the figures."""
    return Table(
        title,
        about,
        ("check", "result", "figure", "what to do", "items"),
        tuple(
            Row(
                (
                    check.question,
                    check.result,
                    "; ".join(
                        (check.reason, *(e for e in _effects(check) if e not in check.reason))
                    ),
                    check.action,
                    str(check.estimate.n_items),
                )
            )
            for check in checks
        ),
        words=4,
        simulated=simulated,
        outcome=1,
    )


def _effects(check: Check) -> Iterator[str]:
    names = {"effect_dz": "d_z", "effect_dav": "d_av"}
    for effect in check.beside:
        if effect.metric in names and effect.estimate is not None:
            yield f"{names[effect.metric]} {span(effect)}"


def verdict_table(findings: CalibrationFindings) -> Table:
    """Return each judge with its verdict, and its checks by result."""
    return Table(
        "Which judge to use",
        "Checks by result.",
        ("judge", "answered by", "verdict", "pass", "fail", "open", "not applicable"),
        tuple(
            Row(
                (
                    f"{one.judge.name}{' (SIMULATED)' if one.simulated else ''}",
                    str(one.answered),
                    one.decision.verdict.words,
                    *(str(one.count(result)) for result in Result),
                ),
                link=f"#judge-{number}",
            )
            for number, one in enumerate(findings.assessments, start=1)
        ),
        words=3,
        simulated=findings.simulated,
    )


def judgement_table(findings: CalibrationFindings) -> Table:
    """Return the judgements of each judge, and what they have cost."""
    return Table(
        "Judgements",
        "With what their calls have cost.",
        ("judge", "scored", "without a score", "reason against score", "cost, USD"),
        tuple(
            Row(
                (
                    one.judge.name,
                    f"{one.statuses['scored']} of {one.statuses.total()}",
                    str(one.statuses.total() - one.statuses["scored"]),
                    _contradicting(one),
                    dollars(cost),
                )
            )
            for one, cost in zip(findings.assessments, findings.costs, strict=True)
        ),
        simulated=findings.simulated,
    )


MOST_CONTRADICTIONS = 20
"""Most judgements that a page shows whose reason contradicts the score."""


def _contradicting(assessment: Assessment) -> str:
    """Return how many reasons contradict their score by the rule and, where asked, by a model."""
    critic = assessment.criticism
    by_model = f"; {len(critic.contradictions)} by a model" if critic else ""
    return f"{assessment.by_rule}{by_model}"


def contradictions_in_words(assessment: Assessment) -> str:
    """Return what the rule and, where its file names one, a model found in a judge's reasons."""
    total = counted(assessment.statuses.total(), "judgement")
    critic = assessment.criticism
    by_model = f" And {critic}." if critic else ""
    return f"A rule, which misses others, found {assessment.by_rule} of {total}.{by_model}"


def contradiction_table(assessment: Assessment) -> Table:
    """Return the first judgements whose reason says another score or verdict than was given."""
    found = assessment.contradictions
    first = f" The first {MOST_CONTRADICTIONS}." if len(found) > MOST_CONTRADICTIONS else ""
    return Table(
        f"Reasons of {assessment.judge.name} that contradict the score",
        f"{contradictions_in_words(assessment)} Read them: the score counts as it was given."
        f"{first}",
        ("text", "change", "found by", "contradiction", "reason"),
        tuple(
            Row(
                (
                    one.result.item,
                    one.result.variant.perturbation if one.result.variant else "none",
                    one.found_by,
                    one.why,
                    one.result.reason,
                )
            )
            for one in found[:MOST_CONTRADICTIONS]
        ),
        words=5,
        simulated=assessment.simulated,
    )


def policy_table(findings: CalibrationFindings) -> Table:
    """Return what each way to ask gets right and costs."""
    margin = plain(findings.design.margins.near)
    return Table(
        "Ways to ask",
        f"A judge is right within {margin} points of a label. Asking it costs what all its "
        f"{findings.design.repeats} runs on a text did, by the ledger; it is in doubt where they "
        "differ most.",
        (
            *("who is asked", "right", "less right than the best of these judges"),
            *("second judge asked", "cost a text, USD", "texts"),
        ),
        tuple(
            Row(
                (
                    policy.name,
                    span(policy.accuracy),
                    "it is the best of these judges" if policy.is_best else span(policy.loss),
                    percent(policy.asked_twice.estimate),
                    dollars(policy.cost.estimate),
                    str(policy.accuracy.n_items),
                )
            )
            for policy in findings.policies
        ),
        words=3,
        simulated=findings.simulated,
    )


def curve_table(assessment: Assessment) -> Table:
    """Return the label to be expected for a score of this judge; empty without labels."""
    curve = assessment.calibrated
    pairs = zip(curve.at, curve.truth, strict=True) if curve else ()
    return Table(
        "Scores and labels",
        "What a score of this judge stands for, in points: the label to be expected by isotonic "
        "calibration. For reading only: it has no interval.",
        ("score of the judge", "label to be expected"),
        tuple(Row((short(float(at)), span(truth))) for at, truth in pairs),
        words=2,
        simulated=assessment.simulated,
    )


def change_table(findings: CalibrationFindings) -> Table:
    """Return how many texts each change made at each severity, and why others are left out."""
    design, texts = findings.design, findings.texts
    rows = [
        Row(
            (
                change.name,
                design.made_by(change) or "rules",
                "; ".join(
                    f"{count}: {why}"
                    for why, count in sorted(texts.left_out[change.name, severity].items())
                ),
                plain(severity),
                str(len(texts.changed[change.name, severity])),
            )
        )
        for change in design.chosen
        for severity in design.severities_of(change)
    ]
    return Table(
        "Changes",
        "A text that could not be changed is left out of its row: it never counts as one whose "
        "score did not move.",
        ("change", "made by", "left out", "severity", "texts"),
        tuple(rows),
        words=3,
    )


def planned_changes(design: CalibrationDesign, texts: Texts) -> Table:
    """Return the changes of a design, with how many texts each is expected to make.

    A text that another row above makes, too, is judged once and counts there.
    """
    all_texts = counted(len(texts.items), "text")
    title = (
        f"Calibration {design.name}: {counted(len(texts.originals), 'text')}; with their changes "
        f"{all_texts}, {counted(design.repeats, 'time')} each"
    )
    seen: set[str] = set()

    def counts(items: Sequence[Item]) -> tuple[int, int]:
        new = {item.key for item in items} - seen
        seen.update(new)
        return len(new), len(items) - len(new)

    originals = counts(texts.originals)
    rows: list[tuple[object, ...]] = [("none", "", "", "", *originals, "")]
    parts = [originals]
    for change in design.chosen:
        severities = design.severities_of(change)
        made = [text.item for one in severities for text in texts.changed[change.name, one]]
        parts.append(counts(made))
        by, expected = design.made_by(change) or "rules", design.expectation(change)
        levels = ", ".join(map(plain, severities))
        rows.append(
            (change.name, by, expected, levels, *parts[-1], texts.not_applicable[change.name])
        )
    rows.append(("all", "", "", "", *map(sum, zip(*parts, strict=True)), ""))
    columns = ("change", "made by", "expected", "severities")
    return plain_table(
        title, (*columns, "texts to judge", "same as another", "not applicable"), rows
    )


def before(case: SurprisingScore) -> list[Piece]:
    """Return the original with what was changed in it."""
    pieces, at, original = [], 0, case.original.text
    for edit in case.changed.edits:
        pieces += [
            Piece(original[at : edit.start], False),
            Piece(original[edit.start : edit.end], True),
        ]
        at = edit.end
    return _cut([*pieces, Piece(original[at:], False)])


def after(case: SurprisingScore) -> list[Piece]:
    """Return the variant with what is new in it."""
    pieces, at, original = [], 0, case.original.text
    for edit in case.changed.edits:
        pieces += [Piece(original[at : edit.start], False), Piece(edit.text, True)]
        at = edit.end
    return _cut([*pieces, Piece(original[at:], False)])


def _cut(pieces: Sequence[Piece]) -> list[Piece]:
    remaining = LONGEST_SHOWN
    kept: list[Piece] = []
    for piece in filter(lambda piece: piece.text, pieces):
        if remaining <= 0:
            return [*kept, Piece(" …", False)]
        kept.append(Piece(piece.text[:remaining], piece.changed))
        remaining -= len(piece.text)
    return kept


def _histogram(assessment: Assessment) -> str:
    rows = [
        {"points": points, "scores": count} for points, count in score_counts(assessment.scores)
    ]
    return _drawn(
        "histogram", assessment, rows, f"How often {assessment.judge.name} gave each score"
    )


def _forest(assessment: Assessment) -> str:
    read = {case.perturbation for case in assessment.cases}
    rows = [
        {"change": _effect_of(check), "effect": estimate.estimate, "lower": estimate.lower,
         "upper": estimate.upper, "unit": "points",
         "link": f"#{_case_id(assessment, check.perturbation)}" if check.perturbation in read
         else ""}
        for check in assessment.checks
        if check.expectation is not None and (estimate := check.estimate).estimate is not None
    ]  # fmt: skip
    if not rows:
        return ""
    return _drawn(
        "forest",
        assessment,
        rows,
        f"What each perturbation does to scores of {assessment.judge.name}",
    )


def _case_id(assessment: Assessment, perturbation: str | None) -> str:
    """Return the id on the page of the first case of a perturbation."""
    return f"case-{assessment.judge.key}-{perturbation}"


def _effect_of(check: Check) -> str:
    return f"{check.perturbation} ({check.expectation})"


def _curves(assessment: Assessment) -> Iterator[tuple[str, str]]:
    """Yield perturbation and drawing of those judged at two severities or more."""
    for name, points in assessment.curves.items():
        estimated = [
            (severity, estimate) for severity, estimate in points if estimate.estimate is not None
        ]
        if len(estimated) > 2:
            rows = [
                {"severity": severity, "points": estimate.estimate, "lower": estimate.lower,
                 "upper": estimate.upper}
                for severity, estimate in estimated
            ]  # fmt: skip
            yield (
                name,
                _drawn(
                    "severity_curve", assessment, rows, f"{assessment.judge.name}: {name}", name
                ),
            )


def _drawn(
    kind: Kind,
    assessment: Assessment,
    rows: Sequence[Mapping[str, Any]],
    label: str,
    part: str = "",
) -> str:
    name = "-".join(filter(None, (kind, part, assessment.judge.key))).replace("_", "-")
    mark = "SIMULATED. " if assessment.simulated else ""
    return draw(kind, rows, name, mark + label)


def _check_rows(findings: CalibrationFindings) -> Iterator[dict[str, Any]]:
    checks = [
        (assessment.judge.name, assessment.simulated, check)
        for assessment in findings.assessments
        for check in assessment.checks
    ]
    checks += [("", findings.simulated, check) for check in findings.together]
    for judge, simulated, check in checks:
        yield {
            "judge": judge, "check": check.name, "result": check.result,
            **figures_of(check.estimate), "p_adjusted": check.p_adjusted, "reason": check.reason,
            "action": check.action, "simulated": simulated,
        }  # fmt: skip


def _case_rows(findings: CalibrationFindings) -> Iterator[dict[str, Any]]:
    for assessment in findings.assessments:
        for case in assessment.cases:
            yield {
                "judge": assessment.judge.name, "item": case.original.id,
                "perturbation": case.perturbation, "expected": case.expectation,
                "severity": case.severity, "perturber": case.changed.perturber,
                "before": case.before, "after": case.after, "simulated": assessment.simulated,
            }  # fmt: skip


def append_entry(findings: CalibrationFindings, file: Path) -> bool:
    """Append an entry, unless the file has one of the very same figures; returns whether it did.

    Raises `ReportError` when the file cannot be written to.
    """
    entry = "\n".join(_lines(findings))
    mark = f"<!-- {digest(entry)} -->"
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a+", encoding="utf-8") as book:
            book.seek(0)
            written = book.read()
            if mark in written:
                return False
            date = findings.written.strftime("%Y-%m-%d")
            head = "" if written else _HEAD
            book.write(f"{head}\n## {date} {findings.design.name}\n\n{entry}\n{mark}\n")
    except OSError as error:
        raise unwritable(f"The logbook {file}", file.parent, error) from error
    return True


def _lines(findings: CalibrationFindings) -> Iterator[str]:
    design = findings.design
    if findings.simulated:
        yield "- SIMULATED: this says nothing of any real judge."
    changes = ", ".join(perturbation.name for perturbation in design.chosen)
    severities = ", ".join(plain(severity) for severity in design.severities)
    texts, runs = len(findings.texts.originals), counted(design.repeats, "run")
    yield (
        f"- Tried: {counted(texts, 'text')} of {_plain(design.items.name)}, {runs}, {changes} at "
        f"severities {severities}, seed {design.seed}."
    )
    if design.perturber:
        types = ", ".join(
            perturbation.name for perturbation in design.chosen if design.made_by(perturbation)
        )
        yield f"- Changed by {_plain(design.perturber.model)}: {types}; by rules: the others."
    if warning(findings):
        yield f"- Note: {_plain(warning(findings))}"
    if gap(findings):
        yield f"- Incomplete: {gap(findings)}"
    for assessment in findings.assessments:
        judge = assessment.judge
        yield f"- {_plain(judge.name)} ({_plain(str(assessment.answered))}, key {judge.key}):"
        for result, phrase in _RESULT_PHRASES.items():
            names = ", ".join(c.name for c in assessment.checks if c.result is result)
            if names:
                yield f"  - {phrase}: {names}."
    for check in findings.together:
        yield f"- {_plain(check.question)}: {check.result} ({check.reason})."
    enough = ", ".join(
        f"{name} {plain(value)}" for name, value in design.margins.model_dump().items()
    )
    yield f"- Counted as enough: {enough}."
    if asking(findings):
        yield f"- When to ask a second judge: {_plain(asking(findings))}"
    yield f"- Decided: {_plain(findings.why)}"


def _plain(text: str) -> str:
    """Return a name on one line, so that it cannot look like another entry."""
    return " ".join(text.split())
