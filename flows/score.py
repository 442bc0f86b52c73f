"""Score: a judge judges the items of a file; figures against their labels."""

from pathlib import Path

from prefect import flow
from prefect.client.schemas.objects import State

from flows.approving import ApproveOver
from flows.endings import resumable
from flows.forms import AtLeastOne, Columns, Definition, File, OrLeftOut, Rows, file_run_name
from flows.judge_study import of_study, run_study
from judge_gym.errors import ConfigError
from judge_gym.evidence.given_rows import file_or_rows
from judge_gym.settings import settings
from judge_gym.studies import score as studies
from tasks.events import emit_failure


@flow(name="score", flow_run_name=file_run_name("score", "items"), on_failure=[emit_failure])
@resumable
async def score(
    judge: OrLeftOut[File] = None,
    definition: Definition = None,
    items: OrLeftOut[File] = None,
    rows: Rows = None,
    repeats: AtLeastOne = 1,
    labels: OrLeftOut[File] = None,
    fields: Columns = None,
    label_fields: Columns = None,
    retry_failed: bool = False,
    approve_over_usd: ApproveOver = None,
) -> State[Path]:
    """Judge what is still missing, then write a page, CSV and JSON; the state's data is the page.

    The judge's budget stops new work once it is used up; the files then have what was judged, and
    the flow fails.

    Args:
        judge: the judge file, as this process sees it.
        definition: the judge as JSON, with the keys of a judge file, in place of judge; relative
            paths in it start from the folder JUDGE_GYM_HOME of the worker.
        items: the items to judge.
        rows: the items as JSON objects, with the columns of a file, in place of items.
        repeats: judgements per item.
        labels: people's labels of the items.
        fields: fields of items that stand in other columns, as {"truth": "human_score"}.
        label_fields: fields of labels that stand in other columns, as {"annotator": "rater"}.
        retry_failed: retry what failed.
        approve_over_usd: wait for a person's approval if what is missing is expected to cost more
            US dollars.
    """
    if (judge is None) == (definition is None):
        raise ConfigError("Give judge or definition, and not both.", "One of them is the judge.")
    given = file_or_rows("items", items, rows, settings().data_dir / "given")
    study = studies.score(judge or definition or {}, given, repeats, labels, fields, label_fields)
    return await run_study(
        of_study(study, retry_failed=retry_failed), approve_over_usd=approve_over_usd
    )
