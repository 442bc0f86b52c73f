"""One question of a panel, asked in tiers until its answer can be used, and the row of it.

A model that takes JSON schemas is asked with one (`schema`), any other in JSON mode (`json`), and
what its provider refuses is asked the next way down, to plain text (`text`). An answer that cannot
be used is asked for once more, in the same conversation and as plain text. Answers of every tier
are read alike: tolerant of form, and of nothing else.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar

from judge_gym.answers.verdict import ParseFailure
from judge_gym.errors import JudgeGymError
from judge_gym.judges.answer_object import own_object
from judge_gym.llm.client import takes_schema
from judge_gym.model_names import is_simulated_model
from judge_gym.panel.panel import AskedModel
from judge_gym.prompts import Prompt, continued, render
from judge_gym.questions.outcome import LONGEST_REASON, NoAnswer, readable, unreadable
from judge_gym.records.calls import (
    Answer,
    Call,
    Failure,
    Parameters,
    Row,
    is_simulated,
)
from judge_gym.records.judgements import Unfit
from judge_gym.records.panels import Tier
from judge_gym.runtime import Runtime
from judge_gym.seeds import derive_seed
from judge_gym.store import panels as store

WORKFLOW = "panel"
_TIERS: tuple[Tier, ...] = ("schema", "json", "text")
V = TypeVar("V")


@dataclass(frozen=True)
class Question(Generic[V]):
    """What is asked of one model, and how its answer is read."""

    key: str
    """What its calls' keys begin with."""
    agent: str
    asked: AskedModel
    prompt: Prompt
    schema: dict[str, Any]
    form: str
    """The answer's form, as the prompt shows it."""
    read: Callable[[dict[str, Any]], V]
    """The object of an answer → what it says; raises `Unfit`."""
    shown: Sequence[str]
    """Texts in the prompt whose objects are not the model's own."""
    about_simulated: bool = False
    """Whether the simulator made what it is about: then so is what is said of it."""


@dataclass(frozen=True)
class Ended(Generic[V]):
    """How a question ended; `value` and `tier` are set when it is done, else `error`."""

    status: Literal["done", "error", "cancelled"]
    value: V | None
    tier: Tier | None
    error: str | None
    latency_ms: float | None
    call_ids: tuple[int, ...]
    simulated: bool


@dataclass(frozen=True)
class _Attempt:
    tier: Tier
    prompt: Prompt
    again: bool = False


class Asking(Generic[V]):
    """A question on its way; the row of its end is committed with the last answer."""

    def __init__(
        self, runtime: Runtime, question: Question[V], row: Callable[[Ended[V]], Row]
    ) -> None:
        self._runtime, self._question, self._row = runtime, question, row
        self._started = time.perf_counter()
        self._call_ids: list[int] = []
        self._simulated = question.about_simulated or is_simulated_model(question.asked.model)
        self._next: _Attempt | None = _Attempt(self._first_tier(), question.prompt)
        self._ended: Ended[V] | None = None

    async def make(self) -> Ended[V]:
        """Ask until it has ended; what the user would have to mend ends it as an error, too.

        Cancelled, it leaves a row that says so.
        """
        try:
            while self._ended is None:
                assert self._next is not None
                await self._ask(self._next)
        except JudgeGymError as error:
            return self._without_answer("error", error.message.rstrip("."))
        except asyncio.CancelledError:
            if self._ended is None:  # else its row is already on its way
                self._without_answer("cancelled", "cancelled: it was stopped from outside")
            raise
        return self._ended

    def _without_answer(self, status: Literal["error", "cancelled"], why: str) -> Ended[V]:
        """Keep that it ended without a call to commit that with."""
        ended = self._end(status, None, None, why)
        with self._runtime.session() as session:
            store.save(session, self._row(ended))
        return ended

    async def _ask(self, attempt: _Attempt) -> None:
        call, gateway = self._call(attempt), self._runtime.gateway
        with gateway.chunk([call]):
            (opened,) = await gateway.open([call])
            self._call_ids.append(opened.id)
            await gateway.ask(call, lambda _, outcome: self._derive(attempt, call, outcome), opened)

    def _derive(self, attempt: _Attempt, call: Call, outcome: Answer | Failure) -> list[Row]:
        self._simulated |= is_simulated(call, outcome)
        try:
            self._ended = self._end("done", self._read(outcome), attempt.tier, None)
        except _NoUse as reason:
            self._next = self._after(attempt, outcome, str(reason))
            if self._next is not None:
                return []
            self._ended = self._end("error", None, None, str(reason))
        return [self._row(self._ended)]

    def _read(self, outcome: Answer | Failure) -> V:
        answer = readable(outcome)
        if isinstance(answer, NoAnswer):
            raise _NoUse(answer.failure)
        found = own_object(answer.text, self._question.shown)
        if isinstance(found, ParseFailure):
            raise _NoUse(unreadable(answer, found.reason, found.detail))
        try:
            return self._question.read(found)
        except Unfit as unfit:
            raise _NoUse(unreadable(answer, "out_of_form", str(unfit))) from None

    def _after(self, attempt: _Attempt, outcome: Answer | Failure, reason: str) -> _Attempt | None:
        """Return what is tried next; None when that was the last."""
        if isinstance(outcome, Failure):
            if outcome.kind != "bad_request" or attempt.tier == _TIERS[-1]:
                return None
            return _Attempt(_TIERS[_TIERS.index(attempt.tier) + 1], attempt.prompt)
        if attempt.again or isinstance(readable(outcome), NoAnswer):
            return None
        again = render("judge_again", failure=reason, form=self._question.form)
        return _Attempt("text", continued(attempt.prompt.messages, outcome.text, again), again=True)

    def _end(
        self,
        status: Literal["done", "error", "cancelled"],
        value: V | None,
        tier: Tier | None,
        error: str | None,
    ) -> Ended[V]:
        elapsed = (time.perf_counter() - self._started) * 1000
        why = None if error is None else error[:LONGEST_REASON]
        return Ended(status, value, tier, why, elapsed, tuple(self._call_ids), self._simulated)

    def _first_tier(self) -> Tier:
        model = self._question.asked.model
        provider = self._runtime.providers.of(model)
        return "schema" if takes_schema(provider, model.partition("/")[2]) else "json"

    def _call(self, attempt: _Attempt) -> Call:
        question, asked = self._question, self._question.asked
        key = f"{question.key}/{'again' if attempt.again else attempt.tier}"
        parameters = Parameters(
            temperature=asked.temperature,
            top_p=asked.top_p,
            max_tokens=asked.max_tokens,
            seed=derive_seed("call", key),
            json_answer=attempt.tier == "json",
            schema=question.schema if attempt.tier == "schema" else None,
        )
        within_s = self._runtime.settings.panel_call_timeout_s
        return Call(
            key,
            WORKFLOW,
            question.agent,
            asked.model,
            attempt.prompt,
            parameters,
            within_s=within_s,
            may_be_refused=attempt.tier != _TIERS[-1],
        )


class _NoUse(Exception):
    """An outcome has no answer that can be used; the message says why."""
