"""The tasks of judges for products: a chunk of texts judged or changed, and the pages."""

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from prefect import task
from prefect.artifacts import acreate_markdown_artifact

from judge_gym.calibration.design import Perturber
from judge_gym.gyms.evaluating import ask, read_gym
from judge_gym.judges import Item, Judge
from judge_gym.judges.aligning.loading import load
from judge_gym.judges.aligning.running import align, most_steps
from judge_gym.judges.calibrating import perturbing
from judge_gym.judges.calibrating.texts import Rewriting
from judge_gym.judges.judging import judge_missing
from judge_gym.panel import PanelState, load_document, load_panel
from judge_gym.panel.evaluating.labelled import read_labelled
from judge_gym.panel.evaluating.reviewing import PanelReviews, review_all
from judge_gym.panel.running import run_panel
from judge_gym.report.files import WrittenReport
from judge_gym.report.markdown import panel_markdown
from judge_gym.runtime import Runtime
from judge_gym.store.judges import RECONSIDER, ReviewRow, reviews_of
from tasks.analysis import where_the_report_is
from tasks.artifacts import Bar, artifact_key
from tasks.events import emit_reviewed
from tasks.policy import WRITING
from tasks.runtime import runtime


@task(name="judge-texts", **WRITING)
async def judge_texts(
    units: list[Item], judge: Judge, repeats: int, review_day: str = ""
) -> dict[str, int]:
    """Judge these texts; returns counts of judgements by status."""
    async with runtime() as current:
        judged = await judge_missing(
            current,
            judge,
            units,
            repeats=repeats,
            review_day=review_day,
            workers=current.settings.workers,
            first=current.first_answers,
        )
        return dict(judged.counts)


@task(name="perturb-texts", **WRITING)
async def perturb_texts(units: list[Rewriting], perturber: Perturber) -> dict[str, int]:
    """Have the model change these texts; returns counts by status."""
    async with runtime() as current:
        workers = current.settings.workers
        return dict(await perturbing.perturb(current, perturber, units, workers=workers))


@task(name="align-judge", task_run_name="align {file.name}", **WRITING)
async def align_judge(file: Path, *, retry_failed: bool, look_again: bool) -> None:
    """Make candidates, choose one and test it; what was done before is not repeated."""
    loaded = load(file)
    bar, most = Bar(f"alignment {loaded.design.name}"), most_steps(loaded)

    async def show(ended: int) -> None:
        await bar.show(ended / most, f"{ended} of at most {most} steps")

    async with runtime() as current:
        again = {"retry_failed": retry_failed, "look_again": look_again}
        await align(current, loaded, **again, progress=show)


@task(name="write-report", task_run_name="report of the {kind}", **WRITING)
async def write_report(
    kind: str, write: Callable[[Runtime], WrittenReport], name: str = ""
) -> Path:
    """Write the report of what is judged, and show what it says; returns its path.

    The `name` stands in place of that of the page.
    """
    async with runtime() as current:
        written = await asyncio.to_thread(write, current)
        page = written.page or written.path
        key = artifact_key(kind, name or page.stem.removeprefix(f"{kind}-"))
        where = where_the_report_is(page, current.settings.reports_url)
    await acreate_markdown_artifact(f"{written.markdown}\n\n{where}", key, written.title)
    return written.path


@task(name="make-candidates", **WRITING)
async def make_candidates(
    units: list[str], file: Path, candidate: str, retry_failed: bool
) -> dict[str, int]:
    """Have models do what a candidate needs for these cases; returns counts by status."""
    async with runtime() as current:
        return await ask(current, read_gym(file), candidate, units, retry_failed=retry_failed)


@task(name="announce-judge-review", **WRITING)
async def announce_review(review: str, day: date) -> None:
    """Emit what a review found that others may wait for."""
    emit_reviewed(review, day, await _rows_of(review, day))


async def _rows_of(review: str, day: date) -> list[ReviewRow]:
    async with runtime() as current:
        with current.session() as session:
            return [row for row in reviews_of(session, day) if row.review == review]


@dataclass(frozen=True)
class ReconsideredJudge:
    """A judge in use that a review says to reconsider, and why: itself or an alternative to it."""

    judge: str
    grounds: tuple[str, ...]


@task(name="list-judges-to-reconsider", **WRITING)
async def to_reconsider(review: str, day: date) -> list[ReconsideredJudge]:
    """Return the judges in use of a review that a person should decide about."""
    grounds: dict[str, list[str]] = {}
    judge = ""
    for row in await _rows_of(review, day):
        judge = judge if row.is_alternative else str(row.config["name"])
        if row.recommendation == RECONSIDER:
            grounds.setdefault(judge, []).append(
                f"{row.figures['alternative'] or row.figures['judge']}: {row.reason}"
            )
    return [ReconsideredJudge(name, tuple(reasons)) for name, reasons in grounds.items()]


@task(name="review-document", task_run_name="review {file.name}", **WRITING)
async def review_document(file: Path, config: Path) -> PanelState:
    """Have a panel review a document, with a bar of how far it is; returns the last state."""
    panel, document = load_panel(config), load_document(file)
    bar = Bar(f"panel {panel.name} on {document.id}")

    async def show(state: PanelState) -> None:
        await bar.show(state.share_ended, state.summary)

    async with runtime() as current:
        return await run_panel(current, panel, document, emit=show)


@task(name="review-documents", task_run_name="review {items.name}", **WRITING)
async def review_labelled(
    panel: Path, items: Path, fields: Mapping[str, str] | None = None
) -> PanelReviews:
    """Have a panel review documents with known scores; what is stored is not asked again."""
    loaded = load_panel(panel)
    labelled = read_labelled(items, loaded.rubric.scale, fields)
    bar, documents = Bar(f"panel {loaded.name} on {items.stem}"), len(labelled)

    async def show(ended: int) -> None:
        await bar.show(ended / documents, f"{ended} of {documents} documents reviewed")

    async with runtime() as current:
        return await review_all(current, loaded, labelled, show)


@task(name="show-panel", task_run_name="show the result", **WRITING)
async def show_panel(state: PanelState) -> None:
    """Show the result as a text in Prefect's page."""
    key = artifact_key("panel", f"{state.panel} {state.document}")
    await acreate_markdown_artifact(panel_markdown(state), key, state.summary)
