"""Review: judges in use judge their texts anew, beside their alternatives; a person decides."""

from collections.abc import Sequence
from datetime import date

from judge_gym.counting import said_once
from judge_gym.judges.reviewing.cases import LoadedReview
from judge_gym.judges.reviewing.findings import store_findings
from judge_gym.report.judge_review import review_report
from judge_gym.report.judge_study import StudyReport
from judge_gym.runtime import Runtime
from judge_gym.store.judges import ReviewRow
from judge_gym.studies.study import Study


def review(loaded: LoadedReview, day: date) -> Study[Sequence[ReviewRow]]:
    """Return the study of a review that `load_review` read. Its report stores what it finds."""
    name = loaded.file.name
    labels = said_once((case.judge.name, case.labels) for case in loaded.cases)

    def report(runtime: Runtime) -> StudyReport[Sequence[ReviewRow]]:
        return review_report(name, day, store_findings(runtime, loaded, day))

    return Study(
        noun="judge-review",
        called=f"Review {name}",
        read="\n".join([f"Review {name} of {day}.", *filter(None, labels)]),
        asked=loaded.asked(day),
        report=report,
        artifact=name,
        partial=True,
    )
