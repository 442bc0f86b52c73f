"""Estimate: people's mean over all texts, from a judge's scores and labels of a random part."""

from collections.abc import Mapping
from pathlib import Path

from judge_gym.judges import load_judge
from judge_gym.judges.calibrating.judging import Asked, newest_answers, results_of
from judge_gym.judges.correcting import Correction, correct
from judge_gym.judges.files import judge_files
from judge_gym.judges.item_files import read_judged_items
from judge_gym.judges.judging import complete
from judge_gym.report.correction import correction_report
from judge_gym.report.judge_study import StudyReport
from judge_gym.runtime import Runtime
from judge_gym.studies.study import Study


def estimate(
    judge: Path,
    items: Path,
    labels: Path | None = None,
    more: int = 50,
    fields: Mapping[str, str] | None = None,
    label_fields: Mapping[str, str] | None = None,
) -> Study[Correction]:
    """Read a judge, all texts and labels of a part; raises as `read_judged_items`.

    `more` labels are planned next.
    """
    loaded = load_judge(judge)
    file = read_judged_items([loaded], items, fields, labels, label_fields)

    asked = Asked(loaded, file.texts, newest=True)

    def report(runtime: Runtime) -> StudyReport[Correction]:
        with runtime.session() as session:
            newest = newest_answers(session, asked)
            results = results_of(session, loaded, file.texts, 1, newest.review_day)
        complete(loaded, results, 1)
        simulated = any(one.simulated for some in results.values() for one in some)
        found = correct(loaded, file, results, more=more)
        return correction_report(
            loaded, file, found, judge_files(judge), newest.said, simulated=simulated
        )

    return Study(
        noun="estimate",
        called=f"Estimate by {loaded.name}",
        read=file.said(loaded),
        asked=[asked],
        report=report,
    )
