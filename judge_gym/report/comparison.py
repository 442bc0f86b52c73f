"""A new judge beside the old one on the same items: tables for people, JSON for programs."""

import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from judge_gym.calibration.checks import Check, span
from judge_gym.calibration.comparisons import FIGURE_NAMES, HALF_WAY
from judge_gym.formats import p_value
from judge_gym.judges.calibrating.comparing import Comparison, ComparisonFindings
from judge_gym.metrics.estimate import Estimate
from judge_gym.report.files import WrittenReport, figures_of
from judge_gym.report.gate import checks_table
from judge_gym.report.judge_study import StudyPage, save_study, stem_of
from judge_gym.report.scores import agreement_json
from judge_gym.report.table import Table, plain_table
from judge_gym.store.judges import check_values

_LONGEST_CELL = 90
_FURTHEST = 20
"""Items that the page shows."""


def comparison_json(findings: ComparisonFindings, thresholds: Sequence[Check]) -> dict[str, Any]:
    """Return a comparison as JSON."""
    comparison, sides = findings.comparison, map(agreement_json, findings.agreed)
    replacement = comparison.replacement
    return {
        "result": str(replacement.result),
        "sentence": replacement.sentence,
        "items": len(comparison.items),
        "verdicts": comparison.counts() if any(comparison.verdicts) else None,
        "checks": [check_values(check) for check in replacement.checks],
        "figures": [
            figures_of(figure) | {"because": figure.because} for figure in replacement.figures
        ],
        "labels": dict(zip(("old", "new"), sides, strict=True)),
        "thresholds": [check_values(check) for check in thresholds],
    }


def save_comparison(findings: ComparisonFindings, folder: Path) -> WrittenReport:
    """Write the page of a comparison, and all of it as JSON."""
    names, titles, comparison = findings.names, findings.titles, findings.comparison
    stem, furthest = stem_of("comparison", *names), furthest_table(comparison, _FURTHEST)
    checks = checks_table(f"{titles[1]}, in place of {titles[0]}", comparison.replacement.checks)
    page = StudyPage(
        stem=stem,
        title=f"{names[1]} in place of {names[0]}: {comparison.replacement.result.words}",
        found=comparison.replacement.sentence,
        tables=[checks, *comparison_tables(comparison), *([furthest] if furthest else [])],
        sentences=[
            f"{title}: {one}"
            for title, one in zip(titles, findings.agreed, strict=True)
            if one.labels
        ],
        simulated=findings.simulated,
        files=(f"{stem}.json",),
    )
    return save_study(page, folder, comparison_json(findings, ()))


def comparison_tables(comparison: Comparison) -> Iterator[Table]:
    """Yield the figures, and of two verdicts how many items have each pair of them."""
    yield plain_table(
        "Agreement",
        ("figure", "value"),
        [
            (FIGURE_NAMES[figure.metric], f"{span(figure)}{_p_of(figure)}")
            for figure in comparison.replacement.figures
        ],
    )
    if any(comparison.verdicts):
        yield from _verdict_tables(comparison)


def _p_of(figure: Estimate) -> str:
    """Return the p of a figure with its test; the tests differ by figure."""
    if figure.p is None:
        return ""
    named = "McNemar's exact p" if figure.metric == "right_difference" else "p"
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


def furthest_table(comparison: Comparison, most: int) -> Table | None:
    """Return the items on which the judges are furthest apart; None without any."""
    rows = [
        (
            comparison.items[index].id,
            _at(comparison, comparison.old[index]),
            _at(comparison, comparison.new[index]),
            " ".join(comparison.items[index].text.split())[:_LONGEST_CELL],
        )
        for index in comparison.replacement.furthest[:most]
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
