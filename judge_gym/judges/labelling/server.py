"""The page of a labelling, served on loopback under a secret path."""

import hmac
import secrets
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from time import monotonic
from typing import Annotated, Any

from aiohttp import web
from pydantic import Field, ValidationError
from yarl import URL

from judge_gym.annotations import Draw
from judge_gym.design.fields import Frozen
from judge_gym.errors import JudgeGymError
from judge_gym.formats import figure
from judge_gym.http_guards import (
    LOOPBACK,
    RequestRefused,
    check_host,
    check_origin,
    page_response,
    refused_by_aiohttp,
    with_headers,
)
from judge_gym.judges.label_files import LONGEST_NOTE
from judge_gym.judges.labelling.drawing import Labelling, Next, Progress
from judge_gym.records.conversations import conversation_in

_BODY = 64 * 1024
_AWAY_S = 15 * 60.0
"""Seconds after which an item that was shown and not labelled is offered to others."""
_REMEDIES = {404: "Open the address that the command printed, with its token."}
_Name = Annotated[
    str, Field(min_length=1, max_length=100, pattern=r"^[^\x00-\x1f]*\S[^\x00-\x1f]*$")
]


class _Asked(Frozen):
    """What a page asks or gives; `on` says to go on although there are enough labels."""

    annotator: _Name
    skipped: tuple[str, ...] = Field(default=(), max_length=100_000)
    on: bool = False
    item: str = ""
    """The key of the item that is labelled."""
    labels: dict[str, Annotated[str, Field(max_length=200)]] = Field(default_factory=dict)
    """Criterion → label; the empty criterion is the whole."""
    note: str = Field(default="", max_length=LONGEST_NOTE)


@asynccontextmanager
async def serving(
    labelling: Labelling, *, page: Callable[[str], str], port: int = 0
) -> AsyncIterator[str]:
    """Serve a labelling on loopback; yields the address, which ends in a random token.

    `page` renders the page; it takes the nonce that its style and script must have. Port 0 takes a
    free one. Raises `OSError` when it cannot listen there.
    """
    served = _Served(labelling, page, secrets.token_urlsafe(24), {})
    app = web.Application(client_max_size=_BODY, middlewares=[served.guarded])
    app.router.add_get("/{token}/", served.page)
    for path, handler in (
        ("next", served.next), ("label", served.label), ("undo", served.undo),
    ):  # fmt: skip
        app.router.add_post(f"/{{token}}/{path}", handler)
    app.on_response_prepare.append(with_headers)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    try:
        await web.TCPSite(runner, LOOPBACK, port).start()
        address = URL.build(scheme="http", host=LOOPBACK, port=runner.addresses[0][1])
        yield f"{address}/{served.token}/"
    finally:
        await runner.cleanup()


@dataclass(frozen=True, eq=False)
class _Served:
    labelling: Labelling
    render: Callable[[str], str]
    token: str
    at: dict[str, tuple[str, float]]
    """Annotator → the item that they were shown last, and when."""

    @property
    def held(self) -> dict[str, str]:
        """Annotator → the item at which they are, until they were away for long."""
        since = monotonic() - _AWAY_S
        return {name: item for name, (item, shown) in self.at.items() if shown > since}

    @web.middleware
    async def guarded(self, request: web.Request, handler: Any) -> web.StreamResponse:
        """What every request passes; whatever refuses one answers as JSON."""
        try:
            check_host(request, LOOPBACK)
            given = request.match_info.get("token", "").encode("utf-8", "surrogateescape")
            if not hmac.compare_digest(given, self.token.encode()):
                raise web.HTTPNotFound
            if request.method == "POST":
                check_origin(request)
            response: web.StreamResponse = await handler(request)
            return response
        except RequestRefused as refused:
            return refused.response
        except web.HTTPException as error:
            return refused_by_aiohttp(error, _REMEDIES).response
        except JudgeGymError as error:
            return RequestRefused(422, error.message, error.remedy).response

    async def page(self, _: web.Request) -> web.Response:
        nonce = secrets.token_urlsafe(16)
        return page_response(self.render(nonce), nonce)

    async def next(self, request: web.Request) -> web.Response:
        """Answer with what comes next."""
        asked = await _read(request)
        return self._state(asked)

    async def label(self, request: web.Request) -> web.Response:
        """Store the labels of the item that the annotator was shown."""
        asked = await _read(request)
        drawn = self.labelling.next(asked.annotator, asked.skipped, self.held)
        if drawn is None or drawn.item.key != asked.item:
            raise RequestRefused(
                409, "Another item is next, since this one was labelled elsewhere.",
                "Reload the page.",
            )  # fmt: skip
        self.labelling.add(asked.annotator, drawn, asked.labels, asked.note.strip())
        return self._state(asked)

    async def undo(self, request: web.Request) -> web.Response:
        """Remove the last labels; their item is shown again."""
        asked = await _read(request)
        undone = self.labelling.undo(asked.annotator)
        said = "Undone." if undone else "There is nothing to undo."
        return self._state(asked.model_copy(update={"on": True}), said=said)

    def _state(self, asked: _Asked, said: str = "") -> web.Response:
        progress = self.labelling.progress(asked.annotator)
        stops = progress.enough and not asked.on
        drawn = None
        if not stops:
            drawn = self.labelling.next(asked.annotator, asked.skipped, self.held)
        self.at.pop(asked.annotator, None)
        if drawn is not None:
            self.at[asked.annotator] = drawn.item.id, monotonic()
        return web.json_response(
            {
                "item": None if drawn is None else self._shown(drawn),
                "done": progress.done,
                "items": progress.items,
                "abstained": progress.abstained,
                "enough": stops,
                "end": "" if drawn else self._end(asked.annotator, progress),
                "said": said,
            }
        )

    def _others(self, drawn: Next) -> list[str]:
        """Return what each annotator said of an item that is to be decided; nothing otherwise."""
        if drawn.draw is not Draw.ADJUDICATION:
            return []
        return [
            f"{name}: "
            + "; ".join(
                " ".join(
                    filter(
                        None,
                        (
                            row.criterion and f"{row.criterion}",
                            ", ".join(row.labels) or "abstain",
                            row.note and f"({row.note})",
                        ),
                    )
                )
                for row in rows
            )
            for name, rows in self.labelling.others(drawn.item).items()
        ]

    def _shown(self, drawn: Next) -> dict[str, Any]:
        item, score = drawn.item, self.labelling.judged.get(drawn.item.key)
        return {
            "id": item.id,
            "key": item.key,
            "text": _readable(item.text),
            "second": item.second and _readable(item.second),
            "context": _readable(item.context),
            "others": self._others(drawn),
            "judged": f"{score:g}" if self.labelling.shows_score and score is not None else None,
        }

    def _end(self, annotator: str, progress: Progress) -> str:
        if self.labelling.decides(annotator):
            return "Every item on which people differ is decided, so far."
        all_done = progress.done == progress.items
        why = "All items are labelled." if all_done else "There are enough labels."
        if all_done and self.labelling.overlap:
            why = "No item is left for you: the others have as many labels as are wanted."
        if progress.met.estimate is None:
            return why
        return (
            f"{why} The judge meets {figure(progress.met)} of your labels; labelling stops at "
            f"±{self.labelling.until:g}."
        )


def _readable(text: str) -> str | list[tuple[str, str]]:
    """Return a text as the page shows it: a conversation as the headings and texts of its parts."""
    return conversation_in(text) or text


async def _read(request: web.Request) -> _Asked:
    try:
        return _Asked.model_validate_json(await request.read())
    except ValidationError as error:
        fault = error.errors()[0]
        where = ".".join(map(str, fault["loc"])) or "body"
        raise RequestRefused(422, f"{where}: {fault['msg']}.", "Reload the page.") from None
