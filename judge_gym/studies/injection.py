"""Injection: how far texts that try to steer judges do so, over the same texts without."""

from collections.abc import Sequence
from pathlib import Path

from judge_gym.counting import counted
from judge_gym.judges.calibrating.judging import Asked
from judge_gym.judges.files import load_apart
from judge_gym.judges.injection import Lift, product_lifts, read_attempts
from judge_gym.report.injection import PRODUCT_SCALE, injection_report
from judge_gym.report.judge_study import StudyReport
from judge_gym.runtime import Runtime
from judge_gym.studies.study import Study


def injection(judges: Sequence[Path], items: Path) -> Study[Sequence[Lift]]:
    """Read judges and pairs of texts; raises as `load_apart` and `read_attempts`."""
    loaded = load_apart(judges, f"Injections of {items.name}")
    clean, attacked = read_attempts(items)
    texts = [*clean, *attacked]
    for judge in loaded:
        for text in texts:
            judge.check(text)

    def report(runtime: Runtime) -> StudyReport[Sequence[Lift]]:
        with runtime.session() as session:
            lifts = [
                lift for judge in loaded for lift in product_lifts(session, judge, clean, attacked)
            ]
        return injection_report(lifts, items.stem, PRODUCT_SCALE)

    return Study(
        noun="injection",
        called=f"Injections of {items.name}",
        read=f"{counted(len(clean), 'pair')} of {items.name}.",
        asked=[Asked(judge, texts) for judge in loaded],
        report=report,
        partial=True,
    )
