"""Compare: whether a new judge can replace an old one, on the same items."""

from collections.abc import Mapping
from pathlib import Path

from judge_gym.calibration.checks import Margins
from judge_gym.judges.calibrating.comparing import (
    ComparisonFindings,
    comparison_findings,
    read_two,
)
from judge_gym.judges.calibrating.judging import Asked, newest_answers, results_by_row
from judge_gym.report.comparison import comparison_report
from judge_gym.report.judge_study import StudyReport
from judge_gym.runtime import Runtime
from judge_gym.studies.study import Study


def compare(
    old: Path,
    new: Path,
    items: Path,
    repeats: int = 1,
    margins: Margins | None = None,
    labels: Path | None = None,
    fields: Mapping[str, str] | None = None,
    label_fields: Mapping[str, str] | None = None,
    shown: int = 20,
) -> Study[ComparisonFindings]:
    """Read two judges and what both are to judge; raises as `read_two`.

    Of the items on which they differ, so many are `shown`.
    """
    judges, file = read_two(old, new, items, fields, labels, label_fields)

    asked = [Asked(judge, file.texts, repeats, newest=True) for judge in judges]
    labelled = any(item.truth is not None for item in file.answers)
    lacking = "" if labelled else f"The items of {items} have no labels"

    def report(runtime: Runtime) -> StudyReport[ComparisonFindings]:
        with runtime.session() as session:
            first, then = (newest_answers(session, one) for one in asked)
            results = [
                results_by_row(session, one.judge, file.texts, repeats, newest.review_day)
                for one, newest in zip(asked, (first, then), strict=True)
            ]
            given = judges, file, results, margins or Margins(), (first.said, then.said)
            findings = comparison_findings(session, *given)
        return comparison_report(findings, file, (old, new), shown)

    return Study(
        noun="comparison",
        called=f"Comparison of {judges[0].name} and {judges[1].name}",
        read=file.said(judges[0]),
        asked=asked,
        report=report,
        figures={"agreement": lacking, "accuracy": lacking},
    )
