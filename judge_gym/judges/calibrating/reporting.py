"""From what is stored to the page, the tables and the logbook entry of a calibration."""

from datetime import UTC, datetime
from pathlib import Path

from judge_gym.calibration.design import CalibrationDesign
from judge_gym.errors import StoreError
from judge_gym.judges.calibrating.assessing import assess, assess_together, recommended
from judge_gym.judges.calibrating.escalation import escalation
from judge_gym.judges.calibrating.judging import (
    load_judges,
    load_originals,
    load_texts,
    results_of,
)
from judge_gym.report.calibration import CalibrationReport, save_calibration
from judge_gym.report.logbook import append_entry
from judge_gym.runtime import Runtime
from judge_gym.store.calibrations import replace_checks
from judge_gym.store.judging import item_costs

LOGBOOK = "LOGBOOK.md"


def read_report(runtime: Runtime, design: CalibrationDesign) -> CalibrationReport:
    """Return what is to be said of a calibration, of what is judged so far.

    Raises `StoreError` when nothing is.
    """
    judges = load_judges(design)
    load_originals(design, judges)
    with runtime.session() as session:
        texts = load_texts(session, design)
        results = [results_of(session, judge, texts.items, design.repeats) for judge in judges]
        assessments = [
            assess(judge, texts, said, design) for judge, said in zip(judges, results, strict=True)
        ]
        costs = [
            item_costs(session, judge.record, said)
            for judge, said in zip(judges, results, strict=True)
        ]
    if not any(one.statuses for one in assessments):
        raise StoreError(f"Nothing is judged of calibration {design.name}.", "Run it first.")
    totals = [sum(one.values()) for one in costs]
    chosen, why = recommended(assessments, totals)
    return CalibrationReport(
        design=design,
        texts=texts,
        assessments=assessments,
        together=assess_together(judges, texts, results, design),
        policies=escalation(judges, texts, results, costs, design),
        costs=totals,
        chosen=chosen,
        why=why,
        written=datetime.now(UTC),
    )


def reports_folder(runtime: Runtime) -> Path:
    """Return where pages, tables and the logbook are."""
    return runtime.settings.data_dir / "reports"


def write_calibration(runtime: Runtime, design: CalibrationDesign) -> Path:
    """Write the page and the tables, append to the logbook; returns the page's path.

    The checks are rows of `calibration_checks` too, in place of those of the same judges and texts.
    """
    report = read_report(runtime, design)
    corpus = report.texts.originals[0].corpus
    with runtime.session() as session:
        for one in report.assessments:
            replace_checks(
                session, one.judge.record, corpus, design.name, one.checks, simulated=one.simulated
            )
    folder = reports_folder(runtime)
    page = save_calibration(report, folder)
    append_entry(report, folder / LOGBOOK)
    return page
