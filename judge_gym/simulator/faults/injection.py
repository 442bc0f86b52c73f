"""Which request meets which fault, by a seeded draw, and what it then gets.

For the table at `position` of the plan (from 0) a request meets the fault when
`draw(seed, position, key, attempt)` is below the table's share. `key` is a hash of the request's
content and `attempt` how often the plan has seen that content (1 for the first time), so that a
retry is drawn anew; for a sticky table it is always 0.
"""

import asyncio
import socket
import struct
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from aiohttp import web

from judge_gym.seeds import derive_seed, digest
from judge_gym.simulator.answering import answer
from judge_gym.simulator.chat import Chat, Completion, completed
from judge_gym.simulator.faults import plan
from judge_gym.simulator.faults.plan import FaultPlan, InjectedFault, Subject
from judge_gym.simulator.http import Stats
from judge_gym.simulator.text_features import NOTHING, Known
from judge_gym.simulator.vendors import Vendor
from judge_gym.simulator.vendors.registry import vendor_at
from judge_gym.simulator.verdicts import MALFORMED


def draw(seed: int, position: int, key: str, attempt: int) -> float:
    """Return the draw in [0, 1) that is compared with a table's share."""
    return derive_seed("fault", seed, position, key, attempt) / 2**63


class Injector:
    """The plan in force and its counts; `given` counts faults by kind.

    `given` counts since the start of the simulator, everything else since `use`. Only the event
    loop may touch it.
    """

    def __init__(self, plan: FaultPlan, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self.given: Counter[str] = Counter()
        self.use(plan)

    def use(self, plan: FaultPlan) -> None:
        """Use `plan` from now on, with all counts but `given` reset."""
        self.plan = plan
        self._since = self._clock()
        self._attempts: Counter[str] = Counter()
        self._concerned = [0] * len(plan.faults)
        self._times = [0] * len(plan.faults)

    @property
    def active(self) -> bool:
        """Whether the plan has any fault."""
        return bool(self.plan.faults)

    def fault_for(self, subject: Subject) -> InjectedFault | None:
        """Return the fault that `subject` meets, and count it."""
        self._attempts[subject.key] += 1
        attempt, seconds = self._attempts[subject.key], self._clock() - self._since
        for position, fault in enumerate(self.plan.faults):
            if not fault.concerns(subject):
                continue
            self._concerned[position] += 1
            used_up = fault.max_count is not None and self._times[position] >= fault.max_count
            if used_up or not fault.in_window(self._concerned[position], seconds):
                continue
            number = draw(self.plan.seed, position, subject.key, 0 if fault.sticky else attempt)
            if number < fault.share:
                self._times[position] += 1
                self.given[fault.kind] += 1
                return fault
        return None


INJECTOR = web.AppKey("injector", Injector)


_PAGE = (
    "<!DOCTYPE html>\n<html><head><title>Simulated page</title></head>"
    "<body><p>This page stands where an answer should be.</p></body></html>\n"
)
_THOUGHT_TOKENS = 600
"""Thinking that takes all the room of a request without a limit."""
_Handler = Callable[[web.Request], Awaitable[web.Response]]


def subject_of(chat: Chat, route: plan.Route = "chat") -> plan.Subject:
    """Return a request as a fault plan sees it; equal content has an equal key on either route."""
    request = chat.request
    # Without `identity`, in which requests at temperature 0 are equal whatever their seed.
    key = digest(*request.identity, request.seed, chat.stop)
    return plan.Subject(route, key, request.model, request.role)


def reply(
    vendor: Vendor, chat: Chat, fault: InjectedFault | None, stats: Stats, known: Known = NOTHING
) -> dict[str, Any]:
    """Return the body of an answer, with the fault that is in its content, and count it."""
    answered = answer(chat.request, known)
    stats.calls[chat.request.model][answered.role] += 1
    if isinstance(fault, plan.ErrorIn200):
        return vendor.error_in_200(fault.where)
    done = completed(chat, answered)
    return vendor.written(broken(fault, done) if isinstance(fault, plan.WrongContent) else done)


def broken(fault: plan.WrongContent, done: Completion) -> Completion:
    """Return the answer with the fault; its usage counts the text that is left."""
    match fault:
        case plan.EmptyAnswer():
            return replace(done, text="", tokens=())
        case plan.Length():
            return replace(done, text=done.text[: len(done.text) // 2].rstrip(), finish="length")
        case plan.ContentRefusal():
            return replace(done, text="", tokens=(), finish="content_filter")
        case plan.Safety():
            blocked = fault.at == "prompt"
            changed = replace(done, text="", tokens=(), finish="refusal", reason=fault.reason)
            return replace(changed, prompt_blocked=blocked)
        case plan.ThoughtOnly():
            thinking = done.chat.request.max_tokens or _THOUGHT_TOKENS
            return replace(done, text="", tokens=(), finish="length", thinking=thinking)
        case plan.NativeFinish():
            return replace(done, native_finish=fault.value)
        case plan.Cached():
            read, written = int(done.prompt_tokens * fault.read), done.prompt_tokens * fault.written
            return replace(done, cached=read, cache_written=int(written))
        case plan.MalformedVerdict():
            text = MALFORMED[len(done.text) % len(MALFORMED)]
            return replace(done, text=text, tokens=())
        case plan.WrongModel():
            return replace(done, model=fault.answered_by)
        case plan.MissingUsage():
            return replace(done, counted=False)
    raise TypeError(fault)


async def deliver(
    fault: plan.Delivered, request: web.Request, response: web.Response
) -> web.StreamResponse:
    """Return or send `response` with the fault of its delivery."""
    match fault:
        case plan.SlowFirstByte():
            await asyncio.sleep(fault.seconds)
            return response
        case plan.InvalidJson():
            body = _body(response)
            return web.Response(
                body=body[: len(body) // 2], status=response.status, content_type="application/json"
            )
        case plan.Html():
            page = _PAGE.ljust(fault.characters)
            return web.Response(text=page, status=fault.status, content_type="text/html")
        case plan.Stall():
            return await _in_two_halves(request, response, fault.seconds)
        case plan.Cut():
            return await _in_two_halves(request, response, fault.seconds, whole=False)
        case plan.Reset():
            _reset(request)
            return response
    raise TypeError(fault)


def _reset(request: web.Request) -> None:
    """Close the connection with RST: it lingers for no time."""
    if request.transport is not None:
        linger = struct.pack("ii", 1, 0)
        connection = request.transport.get_extra_info("socket")
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        request.transport.abort()


async def _in_two_halves(
    request: web.Request, response: web.Response, pause: float, *, whole: bool = True
) -> web.StreamResponse:
    """Send headers and half of the body; after `pause` seconds the rest, or close."""
    body = _body(response)
    length = {"Content-Length": str(len(body)), "Content-Type": response.content_type}
    headers = {**response.headers, **length}
    stream = web.StreamResponse(status=response.status, headers=headers)
    await stream.prepare(request)
    await stream.write(body[: len(body) // 2])
    await asyncio.sleep(pause)
    if whole:
        await stream.write(body[len(body) // 2 :])
    elif request.transport is not None:
        request.transport.close()
    return stream


def _body(response: web.Response) -> bytes:
    assert isinstance(response.body, bytes)
    return response.body


def with_faults(route: plan.Route, handler: _Handler) -> Callable[[web.Request], Awaitable[Any]]:
    """Return the handler of `route` with faults injected, drawn by method and path."""

    async def handle(request: web.Request) -> web.StreamResponse:
        injector = request.app[INJECTOR]
        subject = plan.Subject(route, f"{request.method} {request.path}")
        fault = injector.fault_for(subject) if injector.active else None
        if isinstance(fault, plan.Refused):
            raise vendor_at(request.path).fault(fault)
        response = await handler(request)
        if isinstance(fault, plan.Delivered):
            return await deliver(fault, request, response)
        return response

    return handle
