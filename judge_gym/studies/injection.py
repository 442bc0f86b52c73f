"""Injection: how far texts that try to steer judges do so, over the same texts without."""

from collections.abc import Sequence
from pathlib import Path

from judge_gym.judges.calibrating.judging import Asked
from judge_gym.judges.files import check_single, load_apart
from judge_gym.judges.injection import Lift, product_lifts, read_attempts
from judge_gym.judges.judging import NotJudgedError, judgements_made
from judge_gym.report.injection import PRODUCT_SCALE, injection_report
from judge_gym.report.judge_study import StudyReport
from judge_gym.runtime import Runtime
from judge_gym.studies.study import Study


def injection(judges: Sequence[Path], items: Path) -> Study[Sequence[Lift]]:
    """Read judges and pairs of texts; raises as `load_apart` and `read_attempts`."""
    loaded = load_apart(judges, f"Injections of {items.name}")
    pairs = read_attempts(items)
    for source, judge in zip(judges, loaded, strict=True):
        check_single(source, judge, "an injection")
    names = [*(judge.name for judge in loaded), items.stem]

    def report(runtime: Runtime) -> StudyReport[Sequence[Lift]]:
        with runtime.session() as session:
            if not any(judgements_made(session, one, pairs.texts, 1)[0] for one in loaded):
                raise NotJudgedError(f"No text of {items} is judged.", "Run it again.")
            lifts = [lift for judge in loaded for lift in product_lifts(session, judge, pairs)]
        return injection_report(lifts, names, PRODUCT_SCALE, of=[items], read=pairs.said())

    return Study(
        noun="injection",
        called=f"Injections of {items.name}",
        read=pairs.said(),
        asked=[Asked(judge, pairs.texts) for judge in loaded],
        report=report,
        partial=True,
    )
