"""Align: bring a judge nearer to people's labels, and test whether it worked."""

from pathlib import Path

from prefect import flow
from prefect.client.schemas.objects import State
from sqlalchemy.orm import Session

from flows.approving import ApproveOver
from flows.endings import resumable
from flows.forms import File, OrLeftOut, file_run_name
from flows.judge_study import JudgeStudy, decided, run_study
from flows.running import Run
from judge_gym.judges.aligning.loading import load
from judge_gym.judges.aligning.planning import spending_on_alignment
from judge_gym.judges.aligning.running import AlignmentReport
from judge_gym.judges.aligning.writing import aligned_path, check_writable, written_judge
from judge_gym.lab.approving import SpendingPlan
from judge_gym.report.alignment import alignment_report, sentence
from judge_gym.report.files import WrittenReport
from judge_gym.runtime import Runtime
from tasks.events import emit_failure
from tasks.judges import align_judge, write_report
from tasks.policy import provider_tag


@flow(name="align", flow_run_name=file_run_name("align"), on_failure=[emit_failure])
@resumable
async def align(
    file: File,
    out: OrLeftOut[Path] = None,
    replace: bool = False,
    look_again: bool = False,
    retry_failed: bool = False,
    approve_over_usd: ApproveOver = None,
) -> State[Path]:
    """Improve a judge by examples and proposed rubrics, and test it on sealed texts.

    The state's data is the page. The run fails if the new judge is worse on the test set, and where
    the data cannot tell.

    Args:
        file: the alignment file, as this process sees it.
        out: write the chosen judge here, whatever the test set says; beside the judge, and only if
            the gain survives, by default.
        replace: replace a judge file that is there.
        look_again: test on texts that were looked at before; counted and shown.
        retry_failed: retry what failed.
        approve_over_usd: wait for a person's approval if what is missing is expected to cost more
            US dollars.
    """
    loaded = load(file)
    target = out or aligned_path(loaded.design.judge)
    check_writable(target, loaded.design.judge, replace=replace)
    reports: list[AlignmentReport] = []

    def spending(session: Session, runtime: Runtime, over_usd: float) -> SpendingPlan:
        return spending_on_alignment(session, runtime, loaded, over_usd)

    async def aligned(run: Run) -> None:
        proposer = loaded.design.proposer
        models = {loaded.judge.model, *([proposer.model] if proposer else [])}
        tags = sorted({provider_tag(run.runtime.providers.of(model).name) for model in models})
        work = align_judge.with_options(tags=tags)
        reports[:] = [await work(file, retry_failed=retry_failed, look_again=look_again)]

    def written(runtime: Runtime) -> WrittenReport:
        judge = written_judge(reports[-1], target, always=out is not None, replace=replace)
        return alignment_report(reports[-1], runtime.settings.reports_dir, judge)

    async def verdict(_: Run) -> State[Path] | None:
        return decided([reports[-1].result], sentence(reports[-1]))

    study = JudgeStudy(
        judges=[loaded.judge],
        spending=spending,
        steps=[aligned],
        report=lambda: write_report("alignment", written),
        finish=verdict,
        reported=(),
    )
    return await run_study(study, approve_over_usd=approve_over_usd)
