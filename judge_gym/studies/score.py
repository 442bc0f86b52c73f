"""Score: a judge judges the items of a file; figures against their labels."""

from collections.abc import Mapping
from pathlib import Path

from judge_gym.judges import load_judge
from judge_gym.judges.calibrating.judging import Asked, newest_answers, results_by_row
from judge_gym.judges.files import JudgeSource, judge_files
from judge_gym.judges.item_files import read_judged_items
from judge_gym.judges.scored_items import ScoredItems, scored_items
from judge_gym.report.judge_study import StudyReport
from judge_gym.report.scores import scores_report
from judge_gym.runtime import Runtime
from judge_gym.studies.study import Study


def score(
    judge: JudgeSource,
    items: Path,
    repeats: int = 1,
    labels: Path | None = None,
    fields: Mapping[str, str] | None = None,
    label_fields: Mapping[str, str] | None = None,
) -> Study[ScoredItems]:
    """Read a judge and what it is to judge; raises as `load_judge` and `read_judged_items`."""
    loaded = load_judge(judge)
    file = read_judged_items([loaded], items, fields, labels, label_fields)

    asked = Asked(loaded, file.items, repeats, newest=True)

    def report(runtime: Runtime) -> StudyReport[ScoredItems]:
        with runtime.session() as session:
            newest = newest_answers(session, asked)
            results = results_by_row(session, loaded, file.items, repeats, newest.review_day)
            scored = scored_items(session, loaded, file, results, newest.said)
        return scores_report(scored, judge_files(judge))

    return Study(
        noun="score",
        called=f"Scores of {loaded.name}",
        read=file.said(loaded),
        asked=[asked],
        report=report,
        reads_reasons=True,
        partial=True,
    )
