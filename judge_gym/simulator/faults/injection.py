"""Which request meets which fault, by a seeded draw, and what it then gets.

For the table at `position` of the plan (from 0) a request meets the fault when
`draw(seed, position, key, attempt)` is below the table's share. `key` is a hash of the request's
content and `attempt` how often the plan has seen that content (1 for the first time), so that a
retry is drawn anew; for a sticky table it is always 0.
"""

import asyncio
import email.utils
import math
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

from aiohttp import web

from judge_gym.seeds import derive_seed, digest
from judge_gym.simulator.answering import Answer
from judge_gym.simulator.chat import Chat, completion, count_tokens
from judge_gym.simulator.faults import plan
from judge_gym.simulator.faults.plan import Fault, FaultPlan, Subject
from judge_gym.simulator.http import Refusal
from judge_gym.simulator.prompts import role_of
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

    def fault_for(self, subject: Subject) -> Fault | None:
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


REFUSAL_TEXT = "This request is declined by the content policy."
_PAGE = (
    "<!DOCTYPE html>\n<html><head><title>Simulated page</title></head>"
    "<body><p>This page stands where an answer should be.</p></body></html>\n"
)
_Handler = Callable[[web.Request], Awaitable[web.Response]]


def subject_of(chat: Chat, route: plan.Route = "chat") -> plan.Subject:
    """Return a request as a fault plan sees it; equal content has an equal key on either route."""
    request = chat.request
    # Without `identity`, in which requests at temperature 0 are equal whatever their seed.
    key = digest(*request.identity, request.seed, chat.stop)
    return plan.Subject(route, key, request.model, role_of(request.messages))


def refusal(fault: plan.Refused) -> Refusal:
    """Return the refusal of this fault, without raising it."""
    match fault:
        case plan.RateLimit(code="insufficient_quota" | "credit_balance_exhausted" as code):
            message = "You exceeded your current quota (simulated)."
            kind = "insufficient_quota"
            return Refusal(message, status=429, kind=kind, code=code, headers=_retry_after(fault))
        case plan.RateLimit():
            message = "Rate limit reached (simulated)."
            return Refusal(
                message, status=429, kind="requests", code=fault.code, headers=_retry_after(fault)
            )
        case plan.ServerError():
            message = f"The server failed with status {fault.status} (simulated)."
            return Refusal(message, status=fault.status, kind="server_error")
        case plan.Unauthorized():
            # OpenAI's own words: litellm tells a wrong key from a bad request by them.
            message = "Incorrect API key provided (simulated)."
            return Refusal(message, status=401, code="invalid_api_key")
        case plan.ContextTooLong():
            message = "This model's maximum context length is 8 tokens (simulated)."
            return Refusal(message, "messages", code="context_length_exceeded")
    raise TypeError(fault)


def _retry_after(fault: plan.RateLimit) -> dict[str, str]:
    if fault.form == "absent":
        return {}
    if fault.form == "seconds":
        return {"Retry-After": f"{fault.retry_after:g}"}
    moment = math.ceil(time.time() + fault.retry_after)
    return {"Retry-After": email.utils.formatdate(moment, usegmt=True)}


def broken(fault: plan.Content, chat: Chat, given: Answer) -> dict[str, Any]:
    """Return the response body with the fault; its usage counts the text returned."""
    body = completion(chat, given)
    choice = body["choices"][0]
    text: str = choice["message"]["content"]
    match fault:
        case plan.Empty():
            _say(body, "")
        case plan.Length():
            _say(body, text[: len(text) // 2].rstrip())
            choice["finish_reason"] = "length"
        case plan.ContentRefusal():
            _say(body, "")
            choice["message"] |= {"content": None, "refusal": REFUSAL_TEXT}
            choice["finish_reason"] = "content_filter"
        case plan.MalformedVerdict():
            _say(body, MALFORMED[len(text) % len(MALFORMED)])
        case plan.WrongModel():
            body["model"] = fault.answered_by
        case plan.MissingUsage():
            del body["usage"]
    return body


def _say(body: dict[str, Any], text: str) -> None:
    body["choices"][0]["message"]["content"] = text
    usage = body["usage"]
    usage["completion_tokens"] = count_tokens(text)
    usage["total_tokens"] = usage["prompt_tokens"] + usage["completion_tokens"]


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
            return web.Response(text=_PAGE, status=fault.status, content_type="text/html")
        case plan.Stall():
            return await _in_two_halves(request, response, fault.seconds)
        case plan.Cut():
            return await _in_two_halves(request, response, None)
    raise TypeError(fault)


async def _in_two_halves(
    request: web.Request, response: web.Response, pause: float | None
) -> web.StreamResponse:
    """Send the headers and half of the body, then the rest after `pause` seconds or never."""
    body = _body(response)
    length = {"Content-Length": str(len(body)), "Content-Type": response.content_type}
    stream = web.StreamResponse(status=response.status, headers=length)
    await stream.prepare(request)
    await stream.write(body[: len(body) // 2])
    if pause is not None:
        await asyncio.sleep(pause)
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
        where = plan.Subject(route, f"{request.method} {request.path}")
        fault = injector.fault_for(where) if injector.active else None
        if isinstance(fault, plan.Refused):
            raise refusal(fault)
        response = await handler(request)
        if isinstance(fault, plan.Delivered):
            return await deliver(fault, request, response)
        return response

    return handle
