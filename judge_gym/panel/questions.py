"""The questions of a panel: to a rater about the document, to the arbiter about the reviews.

A model that takes JSON schemas is asked with one (`schema`), any other in JSON mode (`json`), and
what its provider refuses is asked the next way down, to plain text (`text`). An answer that cannot
be used is retried once, in the same conversation and as plain text. Answers of every tier are read
alike: tolerant of form, and of nothing else.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, Literal, TypeVar

from judge_gym.asking.questions import (
    End,
    Interruption,
    Outcome,
    Question,
    Turns,
    any_simulated,
    seed_source,
    total_seconds,
)
from judge_gym.judges.answer_object import read_own
from judge_gym.llm.capabilities import taken_by
from judge_gym.model_names import is_simulated_model
from judge_gym.panel import prompting as prompts
from judge_gym.panel.document import ReviewedDocument
from judge_gym.panel.panel import AskedModel, Panel, Rater
from judge_gym.panel.state import ArbiterVerdict, ItemReview, RaterState, Review, ScoreAgreement
from judge_gym.prompts import Prompt, continued, render
from judge_gym.questions.outcome import LONGEST_REASON, NoAnswer, readable
from judge_gym.records.calls import Answer, Call, DerivedRow, Failure, Parameters
from judge_gym.records.judgements import MalformedAnswer
from judge_gym.records.panels import StoredConsensus, StoredReview, Tier
from judge_gym.runtime import Runtime
from judge_gym.settings import Settings
from judge_gym.store.panels import PanelPlace

WORKFLOW = "panel"
_TIERS: tuple[Tier, ...] = ("schema", "json", "text")
V = TypeVar("V")


@dataclass(frozen=True)
class Ended(Generic[V]):
    """How a question ended; `value` and `tier` are set when it is done, else `error`."""

    status: Literal["done", "error", "cancelled"]
    value: V | None
    tier: Tier | None
    error: str | None
    latency_ms: float | None
    """None where it is not known, as of an answer from a batch."""
    call_ids: tuple[int, ...]
    simulated: bool

    @property
    def changes(self) -> dict[str, Any]:
        """What a state says of a question that has ended."""
        names = ("status", "tier", "error", "latency_ms", "call_ids", "simulated")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True)
class _Form(Generic[V]):
    """What one model is asked, and how its answer is read."""

    agent: str
    model: AskedModel
    schema: dict[str, Any]
    shape: str
    """The answer's form, as the prompt shows it."""
    read: Callable[[dict[str, Any]], V]
    """The object of an answer → its value; raises `MalformedAnswer`."""
    shown: Sequence[str]
    """Texts in the prompt whose objects are not the model's own."""

    def value(self, outcome: Outcome) -> V:
        """Return what an outcome says.

        Raises `MalformedAnswer` with the reason when it cannot be used.
        """
        found = read_own(outcome, self.shown, self.read)
        if isinstance(found, NoAnswer):
            raise MalformedAnswer(found.failure)
        return found


@dataclass(frozen=True)
class Attempt(Generic[V]):
    """One attempt at a question: the key of its calls, its replicate, and the row of its end."""

    key: str
    replicate: str
    row: Callable[[Ended[V]], DerivedRow]


def rater_question(
    runtime: Runtime, panel: Panel, index: int, document: ReviewedDocument, attempt: Attempt[Review]
) -> Question[Ended[Review]]:
    """Return the question to the rater with this index."""
    rater, scale = panel.raters[index], panel.rubric.scale
    assert isinstance(rater, Rater), "a judge is asked by `panel.judge`"
    ids = [item.id for item in document.shown]
    form = _Form(
        agent="rater",
        model=rater,
        schema=prompts.review_schema(scale, ids),
        shape=prompts.REVIEW_FORM,
        read=partial(prompts.read_review, scale=scale, ids=ids),
        shown=prompts.shown_texts(document),
    )
    mark_from = seed_source(runtime.settings, attempt.key, attempt.replicate).key
    prompt = prompts.review_prompt(panel, rater, document, mark_from)
    return _question(runtime, form, prompt, attempt)


def arbiter_question(
    runtime: Runtime, panel: Panel, raters: Sequence[RaterState], attempt: Attempt[ArbiterVerdict]
) -> Question[Ended[ArbiterVerdict]]:
    """Return the question to the arbiter."""
    scores = [rater.review.overall_score for rater in raters if rater.review]
    form = _Form(
        agent="arbiter",
        model=panel.arbiter,
        schema=prompts.verdict_schema(),
        shape=prompts.VERDICT_FORM,
        read=partial(prompts.read_verdict, scores=scores),
        shown=prompts.comments_of(raters),
    )
    mark_from = seed_source(runtime.settings, attempt.key, attempt.replicate).key
    prompt = prompts.verdict_prompt(panel, raters, mark_from)
    about_simulated = any(rater.simulated for rater in raters)
    return _question(runtime, form, prompt, attempt, about_simulated=about_simulated)


def _question(
    runtime: Runtime,
    form: _Form[V],
    prompt: Prompt,
    attempt: Attempt[V],
    *,
    about_simulated: bool = False,
) -> Question[Ended[V]]:
    model = form.model.model
    about_simulated |= is_simulated_model(model)
    conversation = _PanelConversation(runtime.settings, form, attempt, about_simulated)
    tier: Tier = "schema" if taken_by(runtime.providers, model).json_schema else "json"
    call = conversation.call(tier, prompt, tier)
    return Question((call,), conversation.then, conversation.interrupted)


@dataclass(frozen=True)
class _PanelConversation(Generic[V]):
    """How one question is asked: its calls, what follows each outcome, and its end."""

    settings: Settings
    form: _Form[V]
    attempt: Attempt[V]
    about_simulated: bool
    """Whether a simulated model is asked, or wrote what the prompt shows."""

    def call(self, tier: Tier, prompt: Prompt, part: str) -> Call:
        """Return the call in this tier; `part` sets it apart from the question's other calls."""
        model = self.form.model
        key, replicate = f"{self.attempt.key}/{part}", f"{self.attempt.replicate}/{part}"
        parameters = Parameters(
            temperature=model.temperature,
            top_p=model.top_p,
            max_tokens=model.max_tokens,
            seed=seed_source(self.settings, key, replicate).seed(model.model, prompt),
            json_answer=tier == "json",
            schema=self.form.schema if tier == "schema" else None,
        )
        return Call(
            key,
            WORKFLOW,
            self.form.agent,
            model.model,
            prompt,
            parameters,
            replicate=replicate,
            within_s=self.settings.panel_call_timeout_s,
            may_be_refused=tier != _TIERS[-1],
        )

    def then(self, turns: Turns) -> Call | End[Ended[V]]:
        """Return the next call or the end: a lower tier, one retry, or the value."""
        last = turns[-1]
        try:
            value = self.form.value(last.outcome)
        except MalformedAnswer as unfit:
            reason = str(unfit)
        else:
            return self._end(turns, "done", value=value, tier=_tier(last.call))
        if isinstance(last.outcome, Failure):
            tier = _tier(last.call)
            if last.outcome.kind == "bad_request" and tier != _TIERS[-1]:
                lower = _TIERS[_TIERS.index(tier) + 1]
                return self.call(lower, last.call.prompt, lower)
            return self._end(turns, "error", error=reason)
        retried = any(isinstance(turn.outcome, Answer) for turn in turns[:-1])
        if retried or isinstance(readable(last.outcome), NoAnswer):
            return self._end(turns, "error", error=reason)
        again = render("judge_again", failure=reason, form=self.form.shape)
        messages = last.call.prompt.messages
        return self.call("text", continued(messages, last.outcome.text, again), "again")

    def interrupted(self, by: Interruption) -> End[Ended[V]]:
        """Return the end of a question that was cancelled or could not be asked."""
        if by.error is None:
            why = "cancelled: it was stopped from outside"
            return self._end(by.turns, "cancelled", error=why, interruption=by)
        return self._end(by.turns, "error", error=by.error, interruption=by)

    def _end(
        self,
        turns: Turns,
        status: Literal["done", "error", "cancelled"],
        *,
        value: V | None = None,
        tier: Tier | None = None,
        error: str | None = None,
        interruption: Interruption | None = None,
    ) -> End[Ended[V]]:
        seconds = interruption.seconds if interruption else total_seconds(turns)
        ended = Ended(
            status,
            value,
            tier,
            None if error is None else error[:LONGEST_REASON],
            None if seconds is None else 1000 * seconds,
            interruption.call_ids if interruption else tuple(turn.call_id for turn in turns),
            self.about_simulated or any_simulated(turns),
        )
        return End(status, (self.attempt.row(ended),), ended)


def _tier(call: Call) -> Tier:
    if call.parameters.schema is not None:
        return "schema"
    return "json" if call.parameters.json_answer else "text"


def review_row(
    place: PanelPlace, rater: RaterState, attempt: int, ended: Ended[Review]
) -> DerivedRow:
    """Return the row of a rater's attempt."""
    review = ended.value
    return DerivedRow(
        "panel_reviews",
        {
            **_common(place, attempt, ended),
            "rater": rater.name,
            "label": rater.label,
            "model": rater.model,
            "overall_score": review.overall_score if review else None,
            "overall_comment": review.overall_comment if review else None,
            "items": [item.model_dump() for item in review.items] if review else None,
        },
    )


def consensus_row(
    place: PanelPlace,
    attempt: int,
    ended: Ended[ArbiterVerdict],
    *,
    model: str,
    review_ids: Sequence[int],
    agreement: ScoreAgreement | None,
) -> DerivedRow:
    """Return the row of an attempt at a consensus."""
    verdict = (
        ended.value.model_dump() if ended.value else dict.fromkeys(ArbiterVerdict.model_fields)
    )
    figures = ("mean", "median", "spread", "level")
    return DerivedRow(
        "panel_consensus",
        {
            **_common(place, attempt, ended),
            "model": model,
            "review_ids": list(review_ids),
            **{name: getattr(agreement, name, None) for name in figures},
            **verdict,
        },
    )


def kept(row: StoredReview | StoredConsensus) -> dict[str, Any]:
    """Return what a state says of a question that an earlier run has had answered."""
    return {
        "status": "done",
        "tier": row.tier,
        "latency_ms": row.latency_ms,
        "call_ids": row.call_ids,
        "simulated": row.simulated,
        "kept": True,
    }


def kept_review(row: StoredReview) -> Review:
    """Return the review of a row that is done."""
    return Review(
        items=tuple(ItemReview(**item) for item in row.items),
        overall_score=row.overall_score,
        overall_comment=row.overall_comment,
    )


def kept_verdict(row: StoredConsensus) -> ArbiterVerdict:
    """Return the arbiter's answer in a row that is done."""
    return ArbiterVerdict(
        final_score=row.final_score, raw_score=row.raw_score, rationale=row.rationale
    )


def _common(place: PanelPlace, attempt: int, ended: Ended[Any]) -> dict[str, Any]:
    return {
        "panel_id": place.panel_id,
        "document_id": place.document_id,
        "attempt": attempt,
        "status": ended.status,
        "failure": ended.error,
        "tier": ended.tier,
        "latency_ms": ended.latency_ms,
        "call_ids": list(ended.call_ids),
        "simulated": ended.simulated,
    }
