"""A panel as a server: a page to watch it from, and an AG-UI endpoint for programs.

    async with runtime() as current, serving(current, panel, page=render) as url:
        ...

`POST /agui` takes an AG-UI `RunAgentInput` whose `forwardedProps.document` is a document (id,
title, items) and answers with server-sent events: RUN_STARTED, a STATE_SNAPSHOT with the whole
`PanelState` for each that the run emits, and RUN_FINISHED or RUN_ERROR. A client that leaves
cancels its run. `GET /` is the page, which does the same from a browser.

What cannot be served is refused with a JSON error that says what to do. A document's text is in no
log and no error.
"""

from judge_gym.panel.serving.server import serving
from judge_gym.panel.serving.settings import ServerLimits

__all__ = ["ServerLimits", "serving"]
