"""A new judge beside the old one on the same items: tables for people, JSON for programs."""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from judge_gym.calibration.checks import span
from judge_gym.calibration.comparisons import FIGURE_NAMES, HALF_WAY
from judge_gym.formats import p_value
from judge_gym.judges.calibrating.comparing import Comparison, ComparisonFindings
from judge_gym.judges.item_files import ItemFile
from judge_gym.judges.namesakes import differs_in
from judge_gym.metrics.estimate import Estimate
from judge_gym.report.files import figures_of
from judge_gym.report.gate import checks_table, told_apart
from judge_gym.report.judge_study import StudyPage, StudyReport, stem_of
from judge_gym.report.scores import agreement_json
from judge_gym.report.table import Table, plain_table
from judge_gym.store.judges import check_values

_LONGEST_CELL = 90
_SIDES = ("old", "new")


def comparison_json(findings: ComparisonFindings) -> dict[str, Any]:
    """Return a comparison as JSON."""
    comparison, sides = findings.comparison, map(agreement_json, findings.agreed)
    replacement = comparison.replacement
    return {
        "result": replacement.result,
        "sentence": replacement.sentence,
        "judges": {
            side: {"name": judge.name, "key": judge.key, "answers": answers}
            for side, judge, answers in zip(_SIDES, findings.judges, findings.answers, strict=True)
        },
        "changed": list(findings.changed),
        "items": len(comparison.items),
        "verdicts": comparison.counts() if any(comparison.verdicts) else None,
        "checks": [check_values(check) for check in replacement.checks],
        "figures": [
            figures_of(figure) | {"because": figure.because} for figure in replacement.figures
        ],
        "labels": dict(zip(_SIDES, sides, strict=True)),
        "thresholds": [],
    }


def comparison_report(
    findings: ComparisonFindings, file: ItemFile, files: tuple[Path, Path], shown: int
) -> StudyReport[ComparisonFindings]:
    """Return the report of a comparison of the judges of two files on the items of another one.

    It shows so many items, the furthest apart first. Its figures are of the new judge.
    """
    comparison, plain_names = findings.comparison, [judge.name for judge in findings.judges]
    names = told_apart(plain_names, files)
    titles = [f"{name}, {by}" for name, by in zip(names, findings.answered, strict=True)]
    stem = stem_of("comparison", *plain_names)
    checks = checks_table(f"{titles[1]}, in place of {titles[0]}", comparison.replacement.checks)
    page = StudyPage(
        stem=stem,
        title=f"{names[1]} in place of {names[0]}: {comparison.replacement.result}",
        found=comparison.replacement.sentence,
        tables=[checks, *_tables(comparison, shown)],
        sentences=[*_sentences(findings, titles, files, len(file.texts))],
        simulated=findings.simulated,
        files=(f"{stem}.json",),
        of=[file.path, *files],
        read=file.said(findings.judges[0]),
    )
    new = findings.agreed[1]
    figures = {"agreement": new.concordance, "accuracy": new.met}
    return StudyReport(
        findings,
        page,
        comparison_json(findings),
        results=[comparison.replacement.result],
        figures={"the new judge": {name: one for name, one in figures.items() if one is not None}},
        answered=findings.answered,
    )


def _sentences(
    findings: ComparisonFindings, titles: Sequence[str], files: tuple[Path, Path], texts: int
) -> Iterator[str]:
    old, new = findings.judges
    if old.name == new.name:
        yield f"{files[1]} differs from {files[0]} {differs_in(findings.changed)}."
    for title, answers in zip(titles, findings.answers, strict=True):
        if answers:
            yield f"{title}: {answers}"
    if without := texts - len(findings.comparison.items):
        yield f"{without} of {texts} items have no score from one of the judges."
    for title, agreed in zip(titles, findings.agreed, strict=True):
        if agreed.labels:
            yield f"{title}: {agreed}"


def _tables(comparison: Comparison, shown: int) -> Iterator[Table]:
    """Yield the figures, how many items have each pair of verdicts, and the furthest apart."""
    yield plain_table(
        "Agreement",
        ("figure", "value"),
        [
            (FIGURE_NAMES[figure.metric], f"{span(figure)}{_p_of(figure, comparison)}")
            for figure in comparison.replacement.figures
        ],
    )
    if any(comparison.verdicts):
        yield from _verdict_tables(comparison)
    if (furthest := _furthest(comparison, shown)) is not None:
        yield furthest


def _p_of(figure: Estimate, comparison: Comparison) -> str:
    """Return the p of a figure with its test; the tests differ by figure."""
    if figure.p is None:
        return ""
    right = "McNemar's exact p"
    if comparison.by_question:
        right = "p by sign flips of questions"
    named = right if figure.metric == "right_difference" else "p"
    return f"; {named} {p_value(figure.p)}"


def _verdict_tables(comparison: Comparison) -> Iterator[Table]:
    """Yield how many items have each two verdicts, of all and of those with each label."""
    labelled = any(not math.isnan(label) for label in comparison.truth)
    for known in (None, False, True) if labelled else (None,):
        among = "" if known is None else f", of texts labelled {comparison.verdicts[known]}"
        counts = comparison.counts(known)
        yield plain_table(
            f"Verdicts of the old judge (rows) and the new one (columns){among}",
            ("old", *comparison.verdicts),
            [(name, *row) for name, row in zip(comparison.verdicts, counts, strict=True)],
        )


def _furthest(comparison: Comparison, shown: int) -> Table | None:
    """Return the items on which the judges are furthest apart; None without any."""
    rows = [
        (
            comparison.items[index].id,
            _at(comparison, comparison.old[index]),
            _at(comparison, comparison.new[index]),
            " ".join(comparison.items[index].text.split())[:_LONGEST_CELL],
        )
        for index in comparison.replacement.furthest[:shown]
    ]
    if not rows:
        return None
    apart = (
        "Verdicts that differ" if any(comparison.verdicts) else "Furthest apart, in points of 100"
    )
    return plain_table(apart, ("item", "old", "new", "text"), rows)


def _at(comparison: Comparison, points: float) -> str:
    if any(comparison.verdicts):
        return comparison.verdicts[int(points > HALF_WAY)]
    return f"{points:.4g}"
