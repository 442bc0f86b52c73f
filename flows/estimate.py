"""Estimate: people's mean over all texts, from a judge's scores and labels of a random part."""

from pathlib import Path

from prefect import flow
from prefect.client.schemas.objects import State

from flows.approving import ApproveOver
from flows.endings import resumable
from flows.forms import AtLeastOne, Columns, File, OrLeftOut, Rows, file_run_name
from flows.judge_study import of_study, run_study
from judge_gym.evidence.given_rows import file_or_rows
from judge_gym.settings import settings
from judge_gym.studies import estimate as studies
from tasks.events import emit_failure


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
    given = file_or_rows("items", items, rows, settings().data_dir / "given")
    study = studies.estimate(judge, given, labels, more, fields, label_fields)
    return await run_study(
        of_study(study, retry_failed=retry_failed), approve_over_usd=approve_over_usd
    )
