"""Figures that others published about the judges of recorded judgements."""

from judge_gym.design.experiment import STANDARD_WORDING
from judge_gym.design.window import Published
from judge_gym.evidence.rows import read_rows
from judge_gym.recorded.files import RecordedFiles, beside
from judge_gym.recorded.judged import Judging, wording_name
from judge_gym.recorded.mapping import Recorded
from judge_gym.recorded.record import Record


def read_published(files: RecordedFiles, recorded: Recorded) -> Published:
    """Read the published figures of a mapping, shares in [0, 1]; empty without any.

    Raises `EvidenceError` naming file, line, column and value.
    """
    if recorded.published is None:
        return {}
    columns, file = recorded.published, beside(files, recorded.published.file)
    published: Published = {}
    for row in read_rows(file):
        record = Record(file, row, {})
        if row.fault:
            raise record.fault(row.fault)
        judge = record.named(columns.judge)
        wording = wording_name(record.text(columns.wording)) or STANDARD_WORDING
        figures = (
            published.setdefault(judge, {})
            .setdefault(wording, {})
            .setdefault(record.text(columns.category), {})
        )
        if figures:
            raise record.fault(f"{Judging(judge, wording)} has two lines of one category")
        figures |= {
            metric: _published_value(record, column, columns.percent and "kappa" not in metric)
            for column, metric in columns.figures.items()
            if record.text(column)
        }
    return published


def _published_value(record: Record, column: str, percent: bool) -> float:
    written = record.verdict(column)
    try:
        value = float(written) / (100 if percent else 1)
    except ValueError:
        value = float("nan")
    if not -1 <= value <= 1:
        unit = "in percent" if percent else "at most 1; set percent: true for percent"
        raise record.fault(f"{column} is {written!r}", f"A figure is a number {unit}.")
    return value
