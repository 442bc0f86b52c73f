"""The checks of calibrations in the database: of each judge and corpus those made last."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.calibration.checks import Check
from judge_gym.records.judgements import JudgeRecord
from judge_gym.store import tables as t
from judge_gym.store.judging import save_judge


def replace_checks(
    session: Session,
    judge: JudgeRecord,
    corpus: str,
    calibration: str,
    checks: Sequence[Check],
    *,
    simulated: bool,
) -> None:
    """Store the checks of a judge on a corpus in place of those that were there.

    `corpus` is the digest of the file of the texts, `calibration` the name of the calibration.
    """
    judge_id = save_judge(session, judge)
    # Two calibrations of one judge and corpus, under different names, may end at once.
    session.execute(sa.select(t.Judge.id).where(t.Judge.id == judge_id).with_for_update())
    session.execute(
        sa.delete(t.CalibrationCheck).where(
            t.CalibrationCheck.judge_id == judge_id, t.CalibrationCheck.corpus == corpus
        )
    )
    common = {"judge_id": judge_id, "corpus": corpus, "calibration": calibration}
    rows = [common | check_values(check) | {"simulated": simulated} for check in checks]
    session.execute(sa.insert(t.CalibrationCheck), rows)


def check_values(check: Check) -> dict[str, Any]:
    """Return a check as columns, or as JSON."""
    found = check.estimate
    return {
        "name": check.name,
        "perturbation": check.perturbation,
        "question": check.question,
        "result": check.result.value,
        "reason": check.reason,
        "action": check.action,
        "metric": found.metric,
        "estimate": found.estimate,
        "lower": found.lower,
        "upper": found.upper,
        "n": found.n,
        "n_items": found.n_items,
        "unit": found.unit,
        "method": found.method,
        "p": found.p,
        "p_adjusted": check.p_adjusted,
        "beside": [asdict(one) for one in check.beside],
    }
