"""Certificate: what people's labels show of a judge, for which use and until when."""

from pathlib import Path

from prefect import flow
from prefect.client.schemas.objects import State

from flows.approving import ApproveOver
from flows.endings import resumable
from flows.forms import File, OrLeftOut, file_run_name
from flows.judge_study import of_study, run_study
from judge_gym.studies.certify import certify
from tasks.events import emit_failure


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
    work = of_study(certify(file, out, data, sign), retry_failed=retry_failed)
    return await run_study(work, approve_over_usd=approve_over_usd)
