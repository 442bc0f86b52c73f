"""The logbook: one dated entry per calibration, appended, never rewritten."""

from collections.abc import Iterator
from pathlib import Path

from judge_gym.calibration.checks import Result
from judge_gym.errors import JudgeGymError
from judge_gym.report.calibration import CalibrationReport
from judge_gym.seeds import digest

_HEAD = """# Logbook

What was calibrated, what held, and what counted as enough. Entries are only added.
"""
_SAID = {
    Result.PASSES: "Held",
    Result.FAILS: "Did not hold",
    Result.INCONCLUSIVE: "Open",
    Result.NOT_APPLICABLE: "Not applicable",
}


def append_entry(report: CalibrationReport, file: Path) -> bool:
    """Append an entry, unless the file has one of the very same figures; returns whether it did.

    Raises `JudgeGymError` when the file cannot be written to.
    """
    entry = "\n".join(_lines(report))
    mark = f"<!-- {digest(entry)} -->"
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        with file.open("a+", encoding="utf-8") as book:
            book.seek(0)
            written = book.read()
            if mark in written:
                return False
            date = report.written.strftime("%Y-%m-%d")
            head = "" if written else _HEAD
            book.write(f"{head}\n## {date} {report.design.name}\n\n{entry}\n{mark}\n")
    except OSError as error:
        raise JudgeGymError(
            f"The logbook {file} cannot be written: {error.strerror or error}.",
            "Choose a folder you can write to with JUDGE_GYM_DATA_DIR.",
        ) from error
    return True


def _lines(report: CalibrationReport) -> Iterator[str]:
    design = report.design
    if report.simulated:
        yield "- SIMULATED: this says nothing of any real judge."
    changes = ", ".join(one.name for one in design.chosen)
    severities = ", ".join(f"{one:g}" for one in design.severities)
    yield (
        f"- Tried: {len(report.texts.originals)} texts of {_plain(design.items.name)}, "
        f"{design.repeats} runs, {changes} at severities {severities}, seed {design.seed}."
    )
    if design.perturber:
        types = ", ".join(one.name for one in design.chosen if design.made_by(one))
        yield f"- Changed by {_plain(design.perturber.model)}: {types}; by rules: the others."
    if report.warning:
        yield f"- Note: {_plain(report.warning)}"
    if report.gap:
        yield f"- Incomplete: {report.gap}"
    for one in report.assessments:
        yield f"- {_plain(one.judge.name)} ({_plain(one.judge.answered_by)}, key {one.judge.key}):"
        for result, said in _SAID.items():
            names = ", ".join(c.name for c in one.checks if c.result is result)
            if names:
                yield f"  - {said}: {names}."
    for check in report.together:
        yield f"- {_plain(check.question)}: {check.result} ({check.reason})."
    enough = ", ".join(f"{name} {value:g}" for name, value in design.margins.model_dump().items())
    yield f"- Counted as enough: {enough}."
    if report.asking:
        yield f"- When to ask a second judge: {_plain(report.asking)}"
    yield f"- Decided: {_plain(report.why)}"


def _plain(text: str) -> str:
    """Return a name on one line, so that it cannot look like another entry."""
    return " ".join(text.split())
