"""The gateway: asks a model once per call, and keeps what happened.

`Gateway.ask` writes the call to the ledger before it is sent, holds the provider's limits,
retries what may pass, asks once more for an empty or cut answer, and commits the answer together
with the rows derived from it.
"""

import asyncio
import itertools
import logging
import os
import random
import socket
from collections import Counter
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import replace
from typing import Any, TypeVar

from sqlalchemy import Engine

from judge_gym.counting import counted
from judge_gym.errors import ConfigError, JudgeGymError
from judge_gym.llm.breaker import (
    ENOUGH_ALIKE,
    OF_AN_OUTAGE,
    Breaker,
    ModelStoppedError,
    log_outage,
    log_outage_over,
)
from judge_gym.llm.call_log import log_end
from judge_gym.llm.capabilities import Capability, as_text, request_of, taken_by, taught
from judge_gym.llm.client import Client
from judge_gym.llm.context import check_context, words_unread
from judge_gym.llm.gate import Gate, LimitChange
from judge_gym.llm.hourly import Hourly, HourlyBoundError
from judge_gym.llm.keys import Keys
from judge_gym.llm.pricing import highest_cost, with_bound
from judge_gym.llm.providers import Provider, Providers
from judge_gym.llm.waits import LONGEST_STOP_S, LONGEST_WAIT_S
from judge_gym.records.attempts import (
    AT_MOST,
    AttemptError,
    attempt_error,
    cost_of_discarded,
    discarded,
    in_place_of_text,
    nothing_but_thought,
    over_limit,
)
from judge_gym.records.calls import (
    PASSING,
    SHARED,
    Answer,
    Call,
    DerivedRow,
    Failure,
    FailureKind,
    LedgerEntry,
    ProviderError,
    Request,
)
from judge_gym.store.ledger import Closed, Ledger, LedgerRows, Noted, Sent, now

Number = TypeVar("Number", int, float)

FIRST_WAIT_S, LONGEST_UNASKED_S = 1.0, 60.0
"""Seconds between attempts where the provider asks for none: the first and the longest."""
_LONG_S = 30.0
"""Seconds of waiting that are logged."""
MOST_SLOW = 2
"""Answers that a call waits for in vain, each of which may be billed."""
_log = logging.getLogger(__name__)
# The loggers of this package are silent in commands without --verbose.
_stops = logging.getLogger("judge_gym.stopping")

Derive = Callable[[int, Answer | Failure], Sequence[DerivedRow]]
"""(call id, outcome) → the rows that follow from it."""


class ProviderRefusedError(JudgeGymError):
    """Every call to this model would fail the same way: the run stops before it makes them."""


class _TaughtError(Exception):
    """The model refused a parameter that is left out from now on: the call is sent again."""


class Gateway:
    """Asks models; belongs to one event loop."""

    def __init__(
        self,
        engine: Engine,
        providers: Providers,
        *,
        attempts: int,
        timeout_s: float,
        outage_patience_s: float = 90.0,
        reuse_answers: bool = False,
        keys: Keys | None = None,
    ) -> None:
        self._providers = providers
        self._keys = keys or Keys()
        self._attempts = attempts
        self._timeout_s = timeout_s
        self._client = Client(self._keys)
        self._ledger = Ledger(engine, reuse_answers=reuse_answers)
        self._gates: dict[str, Gate] = {}
        self._telling: set[asyncio.Task[None]] = set()
        self._refused: dict[str, tuple[str, str]] = {}
        self._taken: dict[str, Capability] = {}
        """What models take; their refusals teach it for the rest of the run."""
        self._patience_s = outage_patience_s
        self._breaker = Breaker(outage_patience_s)
        self.hourly = Hourly(engine, providers)
        self._in_flight: dict[int, float | None] = {}
        """Requests that are out, by call, with the most that each costs."""
        self._stopping: set[int] = set()
        """Calls that send nothing more."""
        self._unread: set[str] = set()
        """Models that did not read a prompt to the end."""
        self._heard: set[str] = set()
        """Providers that have answered in this process, if only with an error."""
        self._pages: Counter[str] = Counter()
        """Web pages that came instead, by provider."""

    @asynccontextmanager
    async def chunk(self, calls: Sequence[Call]) -> AsyncIterator[None]:
        """Hold one task slot's share of the limits of the calls' providers while they are asked."""
        providers = {provider.name: provider for provider in map(self._provider, calls)}
        async with AsyncExitStack() as held:
            for provider in providers.values():
                await held.enter_async_context(self._gate(provider).chunk())
            yield

    async def open(self, calls: Sequence[Call]) -> list[LedgerEntry]:
        """Write the ledger rows of calls to one provider in one go, ahead of `ask`.

        Raises `ContextError` when no prompt for a model can be answered, `ModelStoppedError` when
        no call to any of the models may begin.
        """
        if not calls:
            return []
        self._breaker.check_all({call.model for call in calls})
        check_context(self._providers, calls)
        provider = self._providers.of(calls[0].model).name
        return await self._ledger.open(calls, provider, self._fitted)

    async def ask(
        self, call: Call, derive: Derive, opened: LedgerEntry | None = None
    ) -> tuple[int, Answer | Failure]:
        """Ask, and commit the outcome with the rows `derive` makes of it.

        An answer that the ledger already holds is used again and nothing is sent. Returns the
        call's id and its outcome. Raises `ProviderRefusedError` when every call to the model
        would fail the same way, `ModelStoppedError` when no call to it begins any more, and
        `HourlyBoundError`; such a call derives no rows, so it is simply asked again later.

        Where it is cancelled with a request out, whose answer may be billed, it waits up to
        `LONGEST_STOP_S` for that, stores it, and then raises `asyncio.CancelledError`; cancelled
        again, it raises at once.
        """
        # A missing key is an error of the user's, found before anything is written.
        await self._keys.of(self._provider(call))
        row = opened or (await self.open([call]))[0]
        if row.answer is not None:
            await self.store(derive(row.id, row.answer))
            return row.id, row.answer
        asking = asyncio.create_task(self._asked(call, row, derive))
        try:
            await asyncio.wait({asking})
        except asyncio.CancelledError:
            if row.id in self._in_flight:
                self._say_it_waits()
                self._stopping.add(row.id)
                with suppress(asyncio.CancelledError):  # cancelled again
                    await asyncio.wait({asking}, timeout=LONGEST_STOP_S)
            asking.cancel()
            await asyncio.gather(asking, return_exceptions=True)
            self._stopping.discard(row.id)  # it may be asked again
            raise
        return asking.result()

    async def _asked(
        self, call: Call, row: LedgerEntry, derive: Derive
    ) -> tuple[int, Answer | Failure]:
        """Ask, and commit the outcome before another call may be sent in this one's place."""
        errors: list[AttemptError] = []
        try:
            answer = await self._in_time(call, row, errors)
        except ProviderError as error:
            outcome = Failure(error.kind, f"{error}{_perhaps_billed(errors)}", error.body)
            if error.kind in SHARED:
                await self._close(call, row.id, outcome, errors, lambda *_: ())
                refused = refusal(call.model, self._provider(call), error)
                raise ProviderRefusedError(*refused) from None
            await self._close(call, row.id, outcome, errors, derive)
            return row.id, outcome
        except (ModelStoppedError, ProviderRefusedError, HourlyBoundError):
            if errors:  # its last attempt has ended, so it is no longer in flight
                await self._ledger.write(Closed(row.id, None, errors, (), now()))
            raise
        except asyncio.CancelledError:
            self._in_flight.pop(row.id, None)
            if errors:  # an answer among them was paid for
                await self._ledger.write(Noted(row.id, errors))
            raise
        await self._close(call, row.id, answer, errors, derive)
        return row.id, answer

    def _say_it_waits(self) -> None:
        if not self._stopping:
            _stops.warning(
                "Waiting up to %g s for %s that may be billed; stop again to leave at once.",
                LONGEST_STOP_S,
                counted(len(self._in_flight), "answer"),
            )

    async def store(self, rows: Sequence[DerivedRow]) -> None:
        """Commit rows that follow from answers the ledger has, or from none."""
        await self._ledger.write(LedgerRows(rows))

    def batch_ended(self, model: str, outcomes: Mapping[str, Answer | Failure]) -> None:
        """Count the outcomes of a batch that was taken in, by call key, for the early stop."""
        self._breaker.batch_ended(model, outcomes)

    def refuse(self, model: str, message: str, remedy: str) -> None:
        """Begin no more calls to a model, directly or in batches: they raise this error."""
        self._refused[model] = message, remedy

    def check_refused(self, model: str) -> None:
        """Raise `ProviderRefusedError` for a model that gets no more calls."""
        if model in self._refused:
            raise ProviderRefusedError(*self._refused[model])

    def forget_refusals(self) -> None:
        """Ask refused models again: a process that stays outlives what was wrong with them."""
        self._refused.clear()
        self._breaker = Breaker(self._patience_s)

    async def close(self) -> None:
        """Close the sockets, once all that is to be written is."""
        try:
            await asyncio.gather(*self._telling)
        finally:
            try:
                await self._ledger.flush()
            finally:
                await self._client.close()

    async def _close(
        self,
        call: Call,
        call_id: int,
        outcome: Answer | Failure,
        errors: Sequence[AttemptError],
        derive: Derive,
    ) -> None:
        rows = derive(call_id, outcome)
        # Before anything is awaited: the next in turn is to find it.
        self._breaker.ended(call, outcome, rows)
        await self._ledger.write(Closed(call_id, outcome, errors, rows, now()))
        log_end(call, call_id, outcome, len(errors))

    async def _in_time(self, call: Call, row: LedgerEntry, errors: list[AttemptError]) -> Answer:
        try:
            async with asyncio.timeout(call.within_s):
                return await self._attempt(call, row, errors)
        except TimeoutError:
            late = f"no answer within {call.within_s:g} s"
            sent = row.id in self._in_flight
            bound = {AT_MOST: self._in_flight.pop(row.id)} if sent else {}
            errors.append(attempt_error("timeout", late) | bound)
            raise ProviderError("timeout", late) from None

    async def _attempt(self, call: Call, row: LedgerEntry, errors: list[AttemptError]) -> Answer:
        """Return an answer; one that is empty or cut is asked for once more, and paid for.

        Not so where the output limit left no word of it: the same limit would again.
        """
        limit = self._fitted(call).limit
        if row.output_limit is not None and limit <= row.output_limit:
            raise ProviderError("output_limit", self._too_low(call, limit))
        first = await self._retried(call, row.id, errors)
        unusable = None if row.discarded else discarded(first)
        # What stands elsewhere than in the text would do so again, and be paid for again.
        in_vain = in_place_of_text(first) and not self._breaker.has_succeeded(call.model)
        if unusable is None or in_vain:
            return first
        self._breaker.discarded(call, first)
        errors.append(unusable)
        try:
            return _with_cost_of(first, await self._retried(call, row.id, errors))
        except ModelStoppedError:
            errors.remove(unusable)
            return first  # it was paid for
        except BaseException:
            # Without a second answer, no other place of the row says what the first one cost.
            unusable |= cost_of_discarded(first)
            raise

    async def _retried(self, call: Call, call_id: int, errors: list[AttemptError]) -> Answer:
        slow = 0
        for attempt in itertools.count(1):
            try:
                last = attempt >= self._attempts
                return await self._once(call, call_id, errors, last=last)
            except _TaughtError:
                continue
            except ProviderError as error:
                slow += error.kind == "timeout" and error.may_be_billed
                in_vain = not error.passes or slow >= MOST_SLOW
                if error.kind not in PASSING or last or in_vain:
                    raise
                if call_id in self._stopping:
                    raise asyncio.CancelledError from None
                await asyncio.sleep(_pause_before_next(attempt, error))
        raise AssertionError("the last attempt raises")

    async def _once(
        self, call: Call, call_id: int, errors: list[AttemptError], *, last: bool
    ) -> Answer:
        provider = self._provider(call)
        gate = self._gate(provider)
        request = self._fitted(call)

        def check() -> None:
            if call_id in self._stopping:
                raise asyncio.CancelledError
            self.check_refused(call.model)
            self._breaker.check(call.model)

        async with gate.slot(call.tokens_at_most(request.limit), check):
            check()
            request = self._fitted(call)  # another call may have taught it meanwhile
            self._check_applied(call, request)
            await self.hourly.count(call.model)
            at_most = highest_cost(self._providers, call, request.limit)
            await self._ledger.write(Sent(call_id, now(), request, at_most))
            self._in_flight[call_id] = at_most
            try:
                answer = await self._send(call, provider, request)
            except ProviderError as error:
                del self._in_flight[call_id]
                if error.kind == "output_limit":
                    raise self._cut(call, request, None, errors, error.body) from None
                error.kind = self._seen(provider, error, last=last)
                bound = {AT_MOST: at_most} if error.may_be_billed else {}
                errors.append(attempt_error(error.kind, str(error)) | bound)
                self._learn(call, provider, gate, error)
                if self._taught(call, request, error):
                    raise _TaughtError from None
                raise
            del self._in_flight[call_id]
            unread = words_unread(call.prompt.messages, answer.prompt_tokens)
            answer = replace(answer, prompt_words=unread)
            if unread is not None and call.model not in self._unread:
                self._unread.add(call.model)
                _log.warning(
                    "%s counted %d tokens of a prompt of %d words: it did not read it to the end.",
                    call.model, answer.prompt_tokens, unread,
                )  # fmt: skip
            answer = with_bound(self._providers, call, request.limit, answer)
            self._heard.add(provider.name)
            if gate.is_down:
                log_outage_over(provider.name)
            gate.succeeded()
            if nothing_but_thought(answer):
                raise self._cut(call, request, answer, errors, answer.body)
            return answer

    def _seen(self, provider: Provider, error: ProviderError, *, last: bool) -> FailureKind:
        """Return the kind, "unreachable" when no API seems to be there.

        That takes a call whose every attempt was in vain, or some web pages, before any other call
        was answered: a server that restarts in the middle of a run has answered before.
        """
        if error.kind == "timeout":  # who is slow is there
            return error.kind
        if error.reached:
            self._heard.add(provider.name)
        self._pages[provider.name] += error.page
        lost = last or self._pages[provider.name] >= ENOUGH_ALIKE
        return "unreachable" if lost and provider.name not in self._heard else error.kind

    def _learn(self, call: Call, provider: Provider, gate: Gate, error: ProviderError) -> None:
        """Let the next calls know; still in the slot, so that whoever waits for it finds this."""
        if error.kind in SHARED:
            self._refused[call.model] = refusal(call.model, provider, error)
        elif error.kind == "rate_limit":
            if (pause := _pause(error)) >= _LONG_S:
                _log.warning("%s asks to wait %.0f s before more calls.", provider.name, pause)
            gate.rate_limited(pause)
        elif error.kind in OF_AN_OUTAGE:
            was_down = gate.is_down
            gate.server_failed(FIRST_WAIT_S)
            if gate.is_down and not was_down:
                log_outage(provider.name, f"{error.kind}: {error}", self._patience_s)
            self._breaker.attempt_failed(call, error.kind, str(error))

    def _fitted(self, call: Call) -> Request:
        if call.model not in self._taken:
            self._taken[call.model] = taken_by(self._providers, call.model)
        return request_of(call, self._taken[call.model])

    def _taught(self, call: Call, sent: Request, error: ProviderError) -> bool:
        """Learn what a model does not take; whether the call is now another request."""
        if error.kind != "bad_request" or call.parameters.embeds:
            return False
        before = self._taken[call.model]
        learned = taught(str(error), error.parameter, sent.parameters, before)
        try:
            again = request_of(call, learned)
        except ConfigError:  # no value can be left out: it is this call's failure
            return False
        self._taken[call.model] = learned
        return again.parameters != sent.parameters

    def _check_applied(self, call: Call, request: Request) -> None:
        """Raise `ProviderError` when the request lacks a parameter that must be applied."""
        if lost := sorted(call.must_apply & set(request.not_applied)):
            asked = call.parameters.asked()
            values = " and ".join(f"{name} {as_text(asked[name])}" for name in lost)
            raise ProviderError(
                "bad_request",
                f"{call.model} does not apply {values}, which the experiment sets. Set values that "
                "it applies, or `on_unsupported: mark` in the sweep.",
            )

    def _cut(
        self,
        call: Call,
        request: Request,
        answer: Answer | None,
        errors: list[AttemptError],
        body: Mapping[str, Any] | None,
    ) -> ProviderError:
        """Record that no answer fitted into the output limit, and return that as an error."""
        message = self._too_low(call, request.limit)
        errors.append(over_limit(message, request.limit, answer))
        return ProviderError("output_limit", message, body=body)

    def _too_low(self, call: Call, limit: int) -> str:
        provider, _, name = call.model.partition("/")
        asked = call.parameters.max_tokens
        return (
            f"The output limit of {limit} tokens (max_tokens {asked}, thinking {limit - asked}) "
            "was used up before the answer began. Raise thinking_tokens in table "
            f'[{provider}.models."{name}"] of {self._providers.file}, or max_tokens; the call is '
            "not sent again at this limit."
        )

    def _gate(self, provider: Provider) -> Gate:
        if provider.name not in self._gates:
            self._gates[provider.name] = Gate(provider, self._tell)
        return self._gates[provider.name]

    def _tell(self, change: LimitChange) -> None:
        """Write what a gate did, without making the call that caused it wait."""
        row = DerivedRow(
            "gate_changes",
            {
                "provider": change.provider,
                "process": f"{socket.gethostname()}:{os.getpid()}",
                "in_flight": change.in_flight,
                "reason": change.reason,
            },
        )
        task = asyncio.create_task(self._ledger.write(LedgerRows([row])))
        self._telling.add(task)
        task.add_done_callback(self._telling.discard)

    def _provider(self, call: Call) -> Provider:
        return self._providers.of(call.model)

    async def _send(self, call: Call, provider: Provider, request: Request) -> Answer:
        return await self._client.complete(
            provider,
            call.model,
            call.prompt.messages,
            request.parameters,
            self._timeout_s,
            embeds=call.parameters.embeds,
        )


def _with_cost_of(first: Answer, second: Answer) -> Answer:
    """Return the second answer with what both used."""
    used: dict[str, Any] = {
        name: _total(getattr(first, name), getattr(second, name)) for name in _USED
    }
    if used["cost_usd"] is None:
        bounds = [one.cost_usd or one.at_most_usd for one in (first, second)]
        used["at_most_usd"] = sum(bound for bound in bounds if bound is not None) or None
    return replace(second, **used)


_USED = (
    "prompt_tokens",
    "completion_tokens",
    "cached_tokens",
    "cache_written_tokens",
    "reasoning_tokens",
    "cost_usd",
)


def _total(one: Number | None, other: Number | None) -> Number | None:
    return None if one is None or other is None else one + other


def refusal(model: str, provider: Provider, error: ProviderError) -> tuple[str, str]:
    """Return what is wrong for every call to the model, and the remedy."""
    remedy = {
        "authentication": f"Check the key in {provider.key_env or 'the provider settings'}.",
        "quota": "Add credit to the account, or wait for the quota to renew.",
        "no_access": "Have the provider grant the account access to this model, or use another "
        f"model or the key of another account{_in_variable(provider)}.",
        "retired": "The provider has retired this model: use another one.",
        "not_found": "Check the model's name, whether its provider has retired it, the account's "
        f"access to it, and {_address_key(provider)}{_address_given(provider)}.",
        "unreachable": f"Check that the server runs, and {_address_key(provider)}.",
    }[error.kind]
    message = f"{provider.name} refuses {model}: {error}"
    if error.page:
        address = provider.address() or provider.name
        message = f"{model}: {address} answers with a web page, not an API: {error!s:.200}"
        remedy = f"Check {_address_key(provider)}."
    elif error.kind == "unreachable":
        at = f" at {provider.address()}" if provider.address() else ""
        message = f"{model}: {provider.name}{at} has given no usable answer yet: {error!s:.200}"
    return message, f"{remedy} Then rerun the command."


def _in_variable(provider: Provider) -> str:
    return f" ({provider.key_env})" if provider.key_env else ""


def _address_given(provider: Provider) -> str:
    """Return the address in force, in words; empty for litellm's own."""
    return f", now {provider.address()}" if provider.address() else ""


def _address_key(provider: Provider) -> str:
    variable = f" or {provider.base_url_env}" if provider.base_url_env else ""
    return f"base_url{variable} of [{provider.name}]"


def _pause(error: ProviderError) -> float:
    """Seconds that a rate limit keeps every call to the provider back."""
    asked = FIRST_WAIT_S if error.retry_after is None else error.retry_after
    return min(asked, LONGEST_WAIT_S)


def _pause_before_next(attempt: int, error: ProviderError) -> float:
    """Seconds until the next attempt: what the provider asks for, else exponential with jitter."""
    if error.retry_after is not None:
        return min(error.retry_after, LONGEST_WAIT_S)
    return random.uniform(0, min(FIRST_WAIT_S * 2 ** (attempt - 1), LONGEST_UNASKED_S))


def _perhaps_billed(errors: Sequence[AttemptError]) -> str:
    """Return what to say of attempts that neither an answer nor a refusal ended."""
    billed = sum(AT_MOST in error for error in errors)
    return f" ({counted(billed, 'request')} may have been billed)" if billed else ""
