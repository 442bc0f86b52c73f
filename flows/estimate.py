"""Estimate: people's mean over all texts, from a judge's scores and labels of a random part."""

from pathlib import Path

from prefect import flow
from prefect.client.schemas.objects import State

from flows.approving import ApproveOver
from flows.endings import resumable
from flows.forms import AtLeastOne, Columns, File, OrLeftOut, Rows, file_run_name
from flows.judge_study import JudgeStudy, judging, run_study, spending_on
from judge_gym.evidence.given_rows import file_or_rows
from judge_gym.judges import load_judge
from judge_gym.judges.calibrating.judging import Asked, results_of
from judge_gym.judges.correcting import correct
from judge_gym.judges.item_files import read_judged_items
from judge_gym.judges.judging import complete
from judge_gym.report.correction import save_correction
from judge_gym.report.files import WrittenReport
from judge_gym.runtime import Runtime
from judge_gym.settings import settings
from tasks.events import emit_failure
from tasks.judges import write_report


@flow(name="estimate", flow_run_name=file_run_name("estimate", "items"), on_failure=[emit_failure])
@resumable
async def estimate(
    judge: File,
    items: OrLeftOut[File] = None,
    rows: Rows = None,
    labels: OrLeftOut[File] = None,
    more: AtLeastOne = 50,
    fields: Columns = None,
    label_fields: Columns = None,
    retry_failed: bool = False,
    approve_over_usd: ApproveOver = None,
) -> State[Path]:
    """Judge what is still missing, then write the page, the state's data, and JSON beside it.

    A run that is stopped, as by the judge's budget, estimates nothing.

    Args:
        judge: the judge file, as this process sees it.
        items: all texts, labelled or not.
        rows: the items as JSON objects, with the columns of a file, in place of items.
        labels: people's labels of a random part of them, where they are in a file of their own.
        more: labels to plan next.
        fields: fields of items that stand in other columns, as {"truth": "human_score"}.
        label_fields: fields of labels that stand in other columns, as {"annotator": "rater"}.
        retry_failed: retry what failed.
        approve_over_usd: wait for a person's approval if what is missing is expected to cost more
            US dollars.
    """
    loaded = load_judge(judge)
    given = file_or_rows("items", items, rows, settings().data_dir / "given")
    file = read_judged_items([loaded], given, fields, labels, label_fields)
    asked = [Asked(loaded, file.texts)]

    def written(runtime: Runtime) -> WrittenReport:
        with runtime.session() as session:
            results = results_of(session, loaded, file.texts, 1)
        complete(loaded, results, 1)
        found = correct(loaded, file, results, more=more)
        simulated = any(one.simulated for some in results.values() for one in some)
        folder = runtime.settings.reports_dir
        return save_correction(loaded, file, found, folder, simulated=simulated)

    study = JudgeStudy(
        kind="estimates",
        names=[loaded.key],
        spending=spending_on(f"Estimate by {loaded.name}", asked),
        steps=[judging(asked, retry_failed=retry_failed)],
        report=lambda: write_report("estimate", written),
        reported=(),
    )
    return await run_study(study, approve_over_usd=approve_over_usd)
