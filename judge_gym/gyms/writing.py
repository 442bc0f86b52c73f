"""Candidates that a model writes: asked once through the gateway, read from the ledger after."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import ClassVar, Generic, Self, TypeVar

from pydantic import Field, model_validator

from judge_gym.asking.budgeting import plan_warnings, spender_of
from judge_gym.asking.engine import ask_all
from judge_gym.asking.estimating import estimate, per_call
from judge_gym.asking.questions import End, Question, Turns, seed_source
from judge_gym.design.plans import Budget
from judge_gym.gyms.base import Candidate, Case, Gym, Name, Output, Text
from judge_gym.judges.own_judges import load_function
from judge_gym.judges.use import Use
from judge_gym.planted.families import served
from judge_gym.prompts import render, template_hash
from judge_gym.questions.outcome import LONGEST_REASON, NoAnswer, readable
from judge_gym.records.calls import Answer, Call, Failure, Parameters, is_simulated
from judge_gym.records.shown import ShownDocument, fence_mark
from judge_gym.runtime import Runtime
from judge_gym.seeds import digest
from judge_gym.store.calls import outcomes_of, past_answers

WORKFLOW, AGENT = "gym", "writer"
_TEMPLATE = "gym_write"
_ONLY = "0"  # a text is written once, so it has one replicate


class WritingCase(Case):
    """A text to write about; `given` has what candidates without a model made of it, by name."""

    text: Text
    given: dict[Name, Text] = Field(default_factory=dict)


S = TypeVar("S", bound=WritingCase)


class Writer(Candidate):
    """What a model writes at a prompt, or without both what the corpus gives."""

    model: str = Field(default="", max_length=200)
    """The model that writes, as provider/model; without one the corpus has the texts."""
    function: str = Field(default="", pattern=r"^([A-Za-z_][\w.]*:[A-Za-z_]\w*)?$", max_length=200)
    """In place of a model, a Python function, as module:function, that takes a text and returns
    one. It is called whenever the gym is read, so it must return the same each time."""
    prompt: str = Field(default="", max_length=10_000)
    """What it is to write, in the user's words."""
    temperature: float = Field(default=0.0, ge=0, le=2)
    """0 to 2; 0 takes the likeliest answer."""
    max_tokens: int = Field(default=1024, ge=16, le=32_000)
    """Longest answer in tokens."""
    budget: Budget | None = None
    """What this candidate may use in all; no part of its identity."""

    @property
    def asks(self) -> tuple[str, ...] | None:
        return (self.model,) if self.model else None

    @model_validator(mode="after")
    def _can_write(self) -> Self:
        if bool(self.model) != bool(self.prompt):
            raise ValueError("a candidate has a model and a prompt, or neither")
        if self.model and self.function:
            raise ValueError("a candidate has a model or a function, not both")
        served(self.model)
        return self

    @cached_property
    def key(self) -> str:
        """16-digit identity: all that can change what it writes, so neither name nor budget."""
        config = self.model_dump(mode="json", exclude={"name", "budget", "function"})
        return digest("gym writer", config, template_hash(_TEMPLATE))

    @property
    def called(self) -> str:
        """What messages call it."""
        return f"Candidate {self.name!r}"

    def call(self, runtime: Runtime, text: str, form: str) -> Call:
        """Return the question about a text; `form` says what the answer is to be."""
        key = f"gym/{self.key}/{digest(text, form)}"
        source = seed_source(runtime.settings, key, _ONLY)
        shown = [ShownDocument("", text)]
        mark = fence_mark(source.key, shown)
        prompt = render(_TEMPLATE, task=self.prompt, documents=shown, form=form, mark=mark)
        parameters = Parameters(
            temperature=self.temperature,
            top_p=1,
            max_tokens=self.max_tokens,
            seed=source.seed(self.model, prompt),
        )
        return Call(key, WORKFLOW, AGENT, self.model, prompt, parameters, replicate=_ONLY)


async def write(
    runtime: Runtime, writer: Writer, texts: Sequence[str], form: str, *, retry_failed: bool
) -> Counter[str]:
    """Have written what is missing, with `retry_failed` what failed, too.

    Returns counts by how it ended, `waiting` among them. Raises `ConfigError` when the cost cannot
    be bounded, `BudgetExceededError` once the budget is used up, `ProviderRefusedError` when every
    call would fail the same way.
    """
    if not writer.model:
        return Counter()
    calls = {call.key: call for call in (writer.call(runtime, text, form) for text in texts)}
    with runtime.session() as session:
        done = outcomes_of(session, calls)
    missing = (
        Question((call,), _written)
        for key, call in calls.items()
        if key not in done or (retry_failed and isinstance(done[key], Failure))
    )
    return (await ask_all(runtime, missing, budget=spender_of(writer))).counts


def _written(turns: Turns) -> End[None]:
    # What was written is read from the ledger: there is no row to derive.
    return End("failed" if isinstance(turns[-1].outcome, Failure) else "written")


class WritingGym(Gym[S, Writer], Generic[S]):
    """A gym whose candidates are writers; a subclass says in which `FORM`."""

    FORM: ClassVar[str]

    async def ask(
        self, runtime: Runtime, candidate: Writer, cases: Sequence[S], *, retry_failed: bool = False
    ) -> Counter[str]:
        texts = [case.text for case in cases]
        return await write(runtime, candidate, texts, self.FORM, retry_failed=retry_failed)

    def plan(self, runtime: Runtime, candidate: Writer, cases: Sequence[S]) -> Use:
        if not candidate.model:
            return Use(candidate.name, None)
        calls = {c.key: c for c in (candidate.call(runtime, x.text, self.FORM) for x in cases)}
        model, providers = candidate.model, runtime.providers
        with runtime.session() as session:
            left = len(calls.keys() - outcomes_of(session, calls).keys())
            past = past_answers(session, [model])
        prompts = [call.prompt for call in calls.values()]
        each = per_call(providers, model, AGENT, prompts, candidate.max_tokens, past)
        used = estimate(runtime.settings, providers.of(model), [(left, each)])
        with runtime.session() as session:
            warnings = plan_warnings(session, providers, spender_of(candidate), left, used.cost_usd)
            return Use(candidate.name, model, left, used, tuple(warnings))

    def made(self, runtime: Runtime, candidate: Writer, cases: Sequence[S]) -> list[Output]:
        if candidate.function:
            return [_by_function(candidate, case.text) for case in cases]
        if not candidate.model:
            return [_given(candidate, case) for case in cases]
        calls = [candidate.call(runtime, case.text, self.FORM) for case in cases]
        with runtime.session() as session:
            done = outcomes_of(session, [call.key for call in calls])
        return [
            replace(_output(call, outcome), cost=_cost(outcome))
            for call, outcome in ((call, done.get(call.key)) for call in calls)
        ]

    def context(self, case: S) -> str:
        return case.text


def _by_function(writer: Writer, text: str) -> Output:
    function = load_function(writer.called, writer.function)
    try:
        made = function(text)
    except Exception as error:  # it is the user's code
        return Output(failure=f"failed: {type(error).__name__}: {error}"[:LONGEST_REASON])
    if not isinstance(made, str) or not made.strip():
        return Output(failure="empty: the function returned no text")
    return Output(made.strip(), cost=math.nan)


def _given(writer: Writer, case: WritingCase) -> Output:
    if writer.name in case.given:
        return Output(case.given[writer.name])
    return Output(failure=f"missing: the corpus gives nothing by {writer.name!r}")


def _output(call: Call, outcome: Answer | Failure | None) -> Output:
    if outcome is None:
        return Output(failure="missing: not written yet")
    simulated = is_simulated(call, outcome)
    answer = readable(outcome)
    if isinstance(answer, NoAnswer):
        return Output(failure=f"{answer.status}: {answer.failure}", simulated=simulated)
    if answer.is_cut:
        return Output(failure="truncated: the token limit cut it off", simulated=simulated)
    if not answer.text.strip():
        return Output(failure="empty: the model answered nothing", simulated=simulated)
    return Output(answer.text.strip(), simulated=simulated)


def _cost(outcome: Answer | Failure | None) -> float:
    if not isinstance(outcome, Answer):
        return 0.0
    return math.nan if outcome.cost_usd is None else outcome.cost_usd
