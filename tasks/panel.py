"""The tasks of the panel flow: the run itself, shown as it goes on, and its result."""

from pathlib import Path

from prefect import task
from prefect.artifacts import acreate_markdown_artifact

from judge_gym.panel import PanelState, load_document, load_panel
from judge_gym.panel.running import run_panel
from judge_gym.report.panel import panel_markdown
from tasks.artifacts import artifact_key
from tasks.policy import WRITING
from tasks.progress import Bar
from tasks.runtime import runtime


@task(name="review-document", task_run_name="review {file.name}", **WRITING)
async def review_document(file: Path, config: Path) -> PanelState:
    """Have a panel review a document, with a bar of how far it is; returns the last state."""
    panel, document = load_panel(config), load_document(file)
    bar = Bar(f"panel {panel.name} on {document.id}")

    async def show(state: PanelState) -> None:
        await bar.show(state.share_ended, state.in_short)

    async with runtime() as current:
        return await run_panel(current, panel, document, emit=show)


@task(name="show-panel", task_run_name="show the result", **WRITING)
async def show_panel(state: PanelState) -> None:
    """Show the result as a text in Prefect's page."""
    key = artifact_key("panel", f"{state.panel} {state.document}")
    await acreate_markdown_artifact(panel_markdown(state), key, state.in_short)
