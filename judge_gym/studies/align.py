"""Align: a judge that is brought nearer to people's labels, and tested on sealed texts."""

from pathlib import Path

from judge_gym.judges.aligning.loading import LoadedAlignment
from judge_gym.judges.aligning.running import AlignmentReport, read_alignment
from judge_gym.judges.aligning.writing import aligned_path, check_writable, written_judge
from judge_gym.judges.calibrating.judging import Asked
from judge_gym.report.alignment import alignment_report
from judge_gym.report.judge_study import StudyReport
from judge_gym.runtime import Runtime
from judge_gym.studies.study import Study


def align(
    loaded: LoadedAlignment,
    out: Path | None = None,
    *,
    replace: bool = False,
    look_again: bool = False,
) -> Study[AlignmentReport]:
    """Return the study of an alignment that `load` read; raises as `check_writable`.

    Its report writes the chosen judge: to `out`, whatever the test set says, else beside the judge
    if the gain survives.
    """
    target, proposer = out or aligned_path(loaded.design.judge), loaded.design.proposer
    check_writable(target, loaded.design.judge, replace=replace)

    def report(runtime: Runtime) -> StudyReport[AlignmentReport]:
        found = read_alignment(runtime, loaded, look_again=look_again)
        written = written_judge(found, target, always=out is not None, replace=replace)
        return alignment_report(found, written, runtime.settings.reports_dir)

    return Study(
        noun="alignment",
        called=f"Alignment {loaded.design.name}",
        read=loaded.items.said(loaded.judge),
        asked=[Asked(loaded.judge, [])],
        report=report,
        also_asked=[proposer.model] if proposer else [],
    )
