"""Certify: what people's labels show of a judge, for which use and until when."""

from collections.abc import Mapping
from pathlib import Path

from judge_gym.judges import load_judge
from judge_gym.judges.calibrating.judging import Asked
from judge_gym.judges.certifying.certificate import Certificate
from judge_gym.judges.certifying.loading import load_certification
from judge_gym.judges.certifying.making import certification, places, seal, write
from judge_gym.judges.certifying.signing import private_key
from judge_gym.report.certificate import certificate_report
from judge_gym.report.judge_study import StudyReport
from judge_gym.runtime import Runtime
from judge_gym.studies.study import Study


def certify(
    file: Path,
    out: Path | None = None,
    data: Path | None = None,
    sign: Path | None = None,
    changes: Mapping[str, object] | None = None,
) -> Study[Certificate]:
    """Read a judge with its texts and labels; raises as `load_certification` and `places`.

    Its report writes the certificate, its evidence and the signature. `changes` stand in place of
    keys of its `certify`.
    """
    judge = load_judge(file)
    rule = judge.certify
    changed = rule.model_copy(update=dict(changes)) if rule and changes else rule
    loaded = load_certification(judge, changed)
    target, folder = places(file, judge, out, data)
    key = private_key(sign) if sign else None

    def report(runtime: Runtime) -> StudyReport[Certificate]:
        written = write(certification(runtime, loaded), target, folder, key)
        return certificate_report(written, target, folder)

    return Study(
        noun="certificate",
        called=f"Certificate of {judge.name}",
        read=loaded.said(),
        asked=[Asked(judge, loaded.labelled, loaded.rule.repeats)],
        report=report,
        begin=lambda runtime: seal(runtime, loaded),
        needs_readable=False,
    )
