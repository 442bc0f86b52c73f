"""Calibrate: which changes of texts judges notice, and which judge to use."""

from collections.abc import Sequence
from pathlib import Path

from sqlalchemy.orm import Session

from judge_gym.calibration.design import load_calibration
from judge_gym.judges import Item
from judge_gym.judges.calibrating.estimating import CalibrationFindings, read_findings, store_checks
from judge_gym.judges.calibrating.judging import Asked, load_judges, load_originals, load_texts
from judge_gym.judges.calibrating.perturbing import expected
from judge_gym.judges.calibrating.texts import Texts, changed_texts, rewritings
from judge_gym.judges.files import JudgeSource
from judge_gym.report.calibration import (
    LOGBOOK,
    append_entry,
    calibration_report,
    planned_changes,
)
from judge_gym.report.judge_study import StudyReport
from judge_gym.runtime import Runtime
from judge_gym.studies.study import Study


def calibrate(
    file: Path, judges: Sequence[JudgeSource] | None = None
) -> Study[CalibrationFindings]:
    """Read a calibration, its texts and judges, or `judges` in their place.

    Raises as `load_calibration`, `load_judges` and `load_originals`.
    """
    design = load_calibration(file)
    loaded = load_judges(design, judges)
    originals = load_originals(design, loaded)
    read = originals.said(loaded[0])
    to_rewrite = rewritings(originals.texts, design)
    critics = [judge.reason_critic.model for judge in loaded if judge.reason_critic]

    labelled = any(item.truth is not None for item in originals.answers)
    lacking = "" if labelled else f"The texts of {design.items} have no labels"

    def all_texts(session: Session) -> Texts:
        return changed_texts(originals.texts, design, expected(session, to_rewrite))

    def changed(session: Session, all_expected: bool) -> Sequence[Item]:
        made = all_texts(session) if all_expected else load_texts(session, design, originals)
        return made.items

    def report(runtime: Runtime) -> StudyReport[CalibrationFindings]:
        return calibration_report(read_findings(runtime, design, judges), read)

    def keep(runtime: Runtime, findings: CalibrationFindings) -> None:
        store_checks(runtime, findings)
        append_entry(findings, runtime.settings.reports_dir / LOGBOOK)

    return Study(
        noun="calibration",
        called=f"Calibration {design.name}",
        read=read,
        asked=[Asked(judge, originals.texts, design.repeats) for judge in loaded],
        report=report,
        keep=keep,
        perturbing=(design.perturber, to_rewrite) if design.perturber else None,
        changed=changed,
        previewed=lambda session: [planned_changes(design, all_texts(session))],
        reads_reasons=True,
        partial=True,
        figures={"readable": "", "agreement": lacking},
        also_asked=[*critics, *([design.perturber.model] if design.perturber else [])],
        also_locks={"calibrations": [design.name]},
    )
