"""From what is stored to the rows of a review, and the page of its day."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import Any

from sqlalchemy.orm import Session

from judge_gym.judges import Judge, JudgeResult, ModelJudge
from judge_gym.judges.calibrating.judging import results_of
from judge_gym.judges.reviewing.cases import Case, Review
from judge_gym.judges.reviewing.findings import Finding, Said, review_findings
from judge_gym.report.judge_review import save_judge_review
from judge_gym.runtime import Runtime
from judge_gym.store.calibrations import check_values
from judge_gym.store.calls import cost_of
from judge_gym.store.judging import save_judge
from judge_gym.store.reviews import earlier_reviews, replace_reviews, reviews_of


def write_review(runtime: Runtime, review: Review, day: date) -> Path:
    """Store what a review finds of what is judged so far, and write the page of its day.

    What the same review found on that day before is replaced; the page has the reviews of other
    files of the day too. Returns its path.
    """
    with runtime.session() as session:
        said = [_said(session, review.file.name, case, day) for case in review.cases]
        found = review_findings(review.cases, said, review.file.margins)
        replace_reviews(session, review.file.name, day, [_row(session, one) for one in found])
        rows = reviews_of(session, day)
    return save_judge_review(day, rows, runtime.settings.data_dir / "reports")


def _said(session: Session, name: str, case: Case, day: date) -> Said:
    """Return what is stored of a case: of the day, and of reviews of its judge before."""
    items, occasion = case.texts.items, day.isoformat()
    now = [results_of(session, judge, items, case.repeats, occasion) for judge in case.judges]
    judge_id = save_judge(session, case.judge.record)
    earlier = earlier_reviews(session, name, judge_id, case.corpus, day)
    before = {
        since: results_of(session, case.judge, items, case.repeats, since.isoformat())
        for since in earlier
    }
    last: list[dict[str, Any]] = next(iter(earlier.values()), {}).get("checks", [])
    passed = frozenset(one["name"] for one in last if one["result"] == "passes")
    return Said(now, before, passed, _costs(session, case, now))


def _costs(
    session: Session, case: Case, now: Sequence[dict[str, list[JudgeResult]]]
) -> list[float | None]:
    """Return US dollars a judgement, by judge."""
    found: list[float | None] = []
    for judge, results in zip(case.judges, now, strict=True):
        made = [one for some in results.values() for one in some]
        cost, unpriced = cost_of(session, [call for one in made for call in one.call_ids])
        known = isinstance(judge, ModelJudge) and made and not unpriced
        found.append(cost / len(made) if known else None)
    return found


def _row(session: Session, one: Finding) -> dict[str, Any]:
    other = one.alternative
    return {
        "judge_id": save_judge(session, one.case.judge.record),
        "alternative_id": save_judge(session, other.record) if other else None,
        "corpus": one.case.corpus,
        "decision": one.case.decision,
        "figures": {
            "judge": _named(one.case.judge),
            "alternative": _named(other) if other else None,
            "since": one.since.isoformat() if one.since else None,
            "checks": [check_values(check) for check in one.checks],
            "figures": [asdict(figure) for figure in one.figures],
            "judgements": dict(one.statuses),
            "missing": one.missing,
            "usd_a_judgement": one.cost,
        },
        "recommendation": one.recommendation,
        "reason": one.reason,
        "simulated": one.simulated,
    }


def _named(judge: Judge) -> str:
    return f"{judge.name}, {judge.answered_by}"
