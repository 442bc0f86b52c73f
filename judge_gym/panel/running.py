"""Running a panel: the raters, the arbiter, and a state after every step; no Prefect here."""

from collections.abc import Awaitable, Callable

from judge_gym.panel.document import PanelDocument
from judge_gym.panel.panel import Panel
from judge_gym.panel.state import PanelState
from judge_gym.runtime import Runtime

Emit = Callable[[PanelState], Awaitable[None] | None]
"""Is given each state in order, and awaited before the run goes on."""


async def run_panel(
    runtime: Runtime, panel: Panel, document: PanelDocument, *, emit: Emit
) -> PanelState:
    """Review a document and return the last state, whose phase is `done` or `error`."""
    raise NotImplementedError
