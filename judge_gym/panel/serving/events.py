"""A run of a panel as AG-UI events."""

import asyncio
import logging
import traceback
from collections.abc import Awaitable, Callable

from ag_ui.core import (
    BaseEvent,
    RunAgentInput,
    RunErrorEvent,
    RunFinishedEvent,
    RunFinishedSuccessOutcome,
    RunStartedEvent,
    StateSnapshotEvent,
)
from pydantic import ValidationError

from judge_gym.design.config import fault_reason
from judge_gym.errors import JudgeGymError
from judge_gym.http_guards import RequestRefused
from judge_gym.panel.document import LEGAL_ID, MOST_ITEMS, ReviewedDocument
from judge_gym.panel.panel import Panel
from judge_gym.panel.running import run_panel
from judge_gym.panel.state import PanelState, no_consensus
from judge_gym.runtime import Runtime

Send = Callable[[BaseEvent], Awaitable[None]]
_log = logging.getLogger(__name__)


def read_input(body: bytes) -> tuple[RunAgentInput, ReviewedDocument]:
    """Read a request and the document in it; raises `RequestRefused` naming what does not fit.

    The error says nothing of the values: they may be the document's text.
    """
    try:
        request = RunAgentInput.model_validate_json(body)
    except ValidationError as error:
        raise _unfit("input", error, "Send an AG-UI RunAgentInput.") from None
    properties = request.forwarded_props
    document = properties.get("document") if isinstance(properties, dict) else None
    if document is None:
        raise RequestRefused(400, "There is no document.", "Put it into forwardedProps.document.")
    try:
        return request, ReviewedDocument.model_validate(document)
    except ValidationError as error:
        has = f"an id, a title and 1 to {MOST_ITEMS} items, each with an id and a text"
        raise _unfit("document", error, f"A document has {has}.") from None


def _unfit(part: str, error: ValidationError, remedy: str) -> RequestRefused:
    fault = error.errors()[0]
    place = ".".join(map(str, (part, *fault["loc"])))
    reason = fault_reason(fault)
    if fault["type"] == "string_pattern_mismatch":  # of pydantic's reasons the one for machines
        reason = f"an id is {LEGAL_ID}"
    return RequestRefused(400, f"{place}: {reason}.", remedy)


async def tell_run(
    runtime: Runtime, panel: Panel, document: ReviewedDocument, request: RunAgentInput, send: Send
) -> None:
    """Run a panel and send its events, the last one of them how it ended.

    Models that an earlier run was refused are asked again. Cancelled, it says so to whoever still
    listens.
    """
    runtime.gateway.forget_refusals()

    async def emit(state: PanelState) -> None:
        await send(StateSnapshotEvent(snapshot=state.model_dump(mode="json")))

    await send(RunStartedEvent(thread_id=request.thread_id, run_id=request.run_id))
    try:
        state = await run_panel(runtime, panel, document, emit=emit)
        if error := no_consensus(state):
            raise error
    except JudgeGymError as error:
        await send(RunErrorEvent(message=str(error), code=type(error).__name__))
    except asyncio.CancelledError:
        stopped = "The run was stopped. What was reviewed is kept."
        await send(RunErrorEvent(message=stopped, code="Cancelled"))
        raise
    except Exception as error:
        # Places only: its message may quote the document.
        frames = traceback.extract_tb(error.__traceback__)
        places = ", ".join(f"{frame.filename}:{frame.lineno}" for frame in frames)
        _log.error("Unexpected %s at %s.", type(error).__name__, places)
        message = f"Unexpected {type(error).__name__}; the server's log says where."
        await send(RunErrorEvent(message=message, code="Unexpected"))
    else:
        ids = {"thread_id": request.thread_id, "run_id": request.run_id}
        await send(RunFinishedEvent(**ids, outcome=RunFinishedSuccessOutcome()))
