"""W1's tasks."""

from prefect import task

from judge_gym.design.experiment import EvidenceView
from judge_gym.lab import evidence
from judge_gym.store.windows import load_window
from tasks.events import tell_empty
from tasks.policy import WRITING
from tasks.runtime import runtime


@task(name="collect-window", task_run_name="collect window {window_id}", **WRITING)
async def collect_window(window_id: int) -> dict[str, int]:
    """Collect one window; returns how many documents were kept and dropped, by reason."""
    async with runtime() as current:
        counts = await evidence.collect_window(current, window_id)
        if counts.get("kept") == 0:
            with current.session() as session:
                name = load_window(session, window_id).name
            kept_out = {reason: count for reason, count in counts.items() if reason != "kept"}
            tell_empty(window_id, name, kept_out)
        return counts


@task(name="make-views", **WRITING)
async def make_views(units: list[int], view: EvidenceView, model: str) -> dict[str, int]:
    """Make one view of these documents; returns counts by status."""
    async with runtime() as current:
        return dict(await evidence.make_views(current, view, units, model))
