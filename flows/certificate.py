"""Certificate: what people's labels show of a judge, for which use and until when."""

from dataclasses import replace
from pathlib import Path

from prefect import flow
from prefect.client.schemas.objects import State

from flows.approving import ApproveOver
from flows.endings import resumable
from flows.forms import File, OrLeftOut, file_run_name
from flows.judge_study import JudgeStudy, judging, run_study, spending_on
from flows.running import Run
from judge_gym.judges import load_judge
from judge_gym.judges.calibrating.judging import Asked
from judge_gym.judges.certifying.loading import load_certification
from judge_gym.judges.certifying.making import certification, places, seal, write
from judge_gym.judges.certifying.signing import private_key
from judge_gym.report.certificate import save_certificate
from judge_gym.report.files import WrittenReport
from judge_gym.runtime import Runtime
from tasks.events import emit_failure
from tasks.judges import write_report


@flow(name="certificate", flow_run_name=file_run_name("certify"), on_failure=[emit_failure])
@resumable
async def certificate(
    file: File,
    retry_failed: bool = False,
    out: OrLeftOut[Path] = None,
    data: OrLeftOut[Path] = None,
    sign: OrLeftOut[File] = None,
    approve_over_usd: ApproveOver = None,
) -> State[Path]:
    """Judge what is still missing, then write the certificate; the state's data is its path.

    The use of the texts as a sealed set is stored before they are judged. A run that is stopped, as
    by the judge's budget, writes no certificate. One that shows no use is a success of the run.

    Args:
        file: the judge file with `certify`, as this process sees it.
        retry_failed: retry what failed.
        out: write the certificate to this file; beside the judge file by default.
        data: write the evidence to this folder; beside the certificate by default.
        sign: sign with the private Ed25519 key in this file (PEM) of the worker.
        approve_over_usd: wait for a person's approval if what is missing is expected to cost more
            US dollars.
    """
    judge = load_judge(file)
    loaded = load_certification(judge)
    target, folder = places(file, judge, out, data)
    key = private_key(sign) if sign else None
    asked = [Asked(judge, loaded.labelled, loaded.rule.repeats)]

    def written(runtime: Runtime) -> WrittenReport:
        made = write(certification(runtime, loaded), target, folder, key)
        page = save_certificate(made, target, runtime.settings.reports_dir)
        return replace(page, path=target.resolve(), page=page.path)

    async def sealed(run: Run) -> None:
        seal(run.runtime, loaded)

    study = JudgeStudy(
        kind="judges under certification",
        names=[judge.key],
        spending=spending_on(f"Certificate of {judge.name}", asked),
        steps=[sealed, judging(asked, retry_failed=retry_failed)],
        report=lambda: write_report("certificate", written),
        reported=(),
    )
    return await run_study(study, approve_over_usd=approve_over_usd)
