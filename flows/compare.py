"""Compare: whether a new judge can replace an old one, on the same items."""

from pathlib import Path

from prefect import flow
from prefect.client.schemas.objects import State

from flows.approving import ApproveOver
from flows.endings import resumable
from flows.forms import AtLeastOne, Columns, File, OrLeftOut, Rows, Thresholds, file_run_name
from flows.judge_study import of_study, run_study
from judge_gym.calibration.checks import Margins
from judge_gym.evidence.given_rows import file_or_rows
from judge_gym.settings import settings
from judge_gym.studies import compare as studies
from tasks.events import emit_failure


@flow(name="compare", flow_run_name=file_run_name("compare", "new"), on_failure=[emit_failure])
@resumable
async def compare(
    old: File,
    new: File,
    items: OrLeftOut[File] = None,
    rows: Rows = None,
    repeats: AtLeastOne = 1,
    bias: float = 5.0,
    limits: float = 20.0,
    labels: OrLeftOut[File] = None,
    fields: Columns = None,
    label_fields: Columns = None,
    fail_under: Thresholds = None,
    by_verdict: bool = False,
    retry_failed: bool = False,
    approve_over_usd: ApproveOver = None,
) -> State[Path]:
    """Judge what is still missing with both; write the page, the state's data, and JSON beside it.

    A run that is stopped, as by a judge's budget, compares nothing.

    Args:
        old: the judge file in use, as this process sees it.
        new: the judge file to replace it.
        items: the items for both to judge.
        rows: the items as JSON objects, with the columns of a file, in place of items.
        repeats: judgements per item.
        bias: points of 100 by which the mean may move.
        limits: points within which 95% of items must lie.
        labels: people's labels of the items.
        fields: fields of items that stand in other columns, as {"truth": "human_score"}.
        label_fields: fields of labels that stand in other columns, as {"annotator": "rater"}.
        fail_under: fail if a figure's interval is below, as {"agreement": 0.6}.
        by_verdict: fail if the new judge cannot replace the old one, or the data cannot tell.
        retry_failed: retry what failed.
        approve_over_usd: wait for a person's approval if what is missing is expected to cost more
            US dollars.
    """
    given = file_or_rows("items", items, rows, settings().data_dir / "given")
    margins = Margins(replacement_bias=bias, replacement_limits=limits)
    study = studies.compare(old, new, given, repeats, margins, labels, fields, label_fields)
    work = of_study(study, retry_failed=retry_failed, by_verdict=by_verdict, fail_under=fail_under)
    return await run_study(work, approve_over_usd=approve_over_usd)
