"""Reads the ledger: answers, failures, costs, tokens, and means over past answers."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from decimal import Decimal
from typing import Any

import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.counting import cost_in_words, counted
from judge_gym.model_names import is_simulated_model
from judge_gym.records.attempts import AT_MOST, UNKNOWN_OUTCOME
from judge_gym.records.calls import SHARED, Answer, Call, Failure, LedgerEntry, TokenChance
from judge_gym.store import tables as t
from judge_gym.store.bulk import among, inserting, packed


def outcomes_of(session: Session, keys: Iterable[str]) -> dict[str, Answer | Failure]:
    """Return key → outcome of the calls that have ended.

    A call that its provider refused like every other, for want of a key or of credit, is not among
    them: it was never really asked.
    """
    condition = among(t.Call.key, keys)
    rows = session.scalars(sa.select(t.Call).where(condition))
    outcomes = {row.key: _outcome(row) for row in rows}
    return {key: outcome for key, outcome in outcomes.items() if outcome is not None}


def _outcome(row: t.Call) -> Answer | Failure | None:
    if row.status != "failed":
        return stored_answer(row)
    last = row.errors[-1]
    return None if last["kind"] in SHARED else Failure(last["kind"], last["message"])


def other_requests(session: Session, calls: Iterable[Call]) -> set[str]:
    """Return the keys of these calls under which another request was answered or waits."""
    by_key = {call.key: call for call in calls}
    rows = session.execute(
        sa.select(t.Call.key, t.Call.model, t.Call.messages)
        .outerjoin(t.Batch, t.Batch.id == t.Call.batch_id)
        .where(t.Call.key.in_(by_key))
        .where((t.Call.status == "succeeded") | t.Batch.status.in_(t.OPEN_BATCHES))
    )
    return {
        key
        for key, model, messages in rows
        if (model, messages) != (by_key[key].model, list(by_key[key].prompt.messages))
    }


def opened_as(row: Any) -> LedgerEntry:
    """Return the record of a ledger row with `waiting`."""
    return LedgerEntry(
        row.id,
        stored_answer(row),
        waiting=bool(row.waiting),
        batched=row.batch_id is not None,
        discarded=any("answer" in error for error in row.errors),
        output_limit=max(
            (error["limit"] for error in row.errors if error["kind"] == "output_limit"),
            default=None,
        ),
    )


_COLUMNS = {"text": "answer", "body": "sent_body", "chances": "logprobs"}
"""Field of an answer → its column, where that has another name."""
_COLUMN_OF = {field.name: _COLUMNS.get(field.name, field.name) for field in fields(Answer)}
ANSWER_COLUMNS = tuple(_COLUMN_OF.values())


def answer_columns(answer: Answer) -> dict[str, Any]:
    """Return the columns of a call that was answered."""
    row = {column: getattr(answer, name) for name, column in _COLUMN_OF.items()}
    chances = [[one.token, one.logprob, one.others] for one in answer.chances]
    return row | {
        "status": "succeeded",
        "reasoning": answer.reasoning or None,
        "logprobs": chances or None,
    }


def stored_answer(row: Any) -> Answer | None:
    """Return the answer that a ledger row has, if it has one."""
    if row.status != "succeeded":
        return None
    given = {name: getattr(row, column) for name, column in _COLUMN_OF.items()}
    for name in ("cost_usd", "at_most_usd"):
        given[name] = None if given[name] is None else float(given[name])
    given["reasoning"] = row.reasoning or ""
    given["chances"] = tuple(
        TokenChance(token, logprob, tuple((other, chance) for other, chance in others))
        for token, logprob, others in row.logprobs or ()
    )
    return Answer(**given)


@dataclass(frozen=True)
class RequestSent:
    """The parameters of a call as sent last, and what its model refused before."""

    parameters: Mapping[str, Any]
    not_applied: Sequence[str]
    refusals: Sequence[str]
    """The provider's messages about requests that were then sent otherwise."""


def request_sent(session: Session, call_id: int) -> RequestSent:
    """Return what the ledger has of a call's request."""
    row = session.get_one(t.Call, call_id)
    errors = row.errors if row.status == "succeeded" else row.errors[:-1]
    refusals = [error["message"] for error in errors if error["kind"] == "bad_request"]
    return RequestSent(row.sent_parameters or {}, row.not_applied or (), refusals)


def discarded_usd() -> sa.ColumnElement[Decimal]:
    """Return what answers cost that a call got and did not keep, in US dollars.

    They are among its errors. The cost of one that a kept answer followed is in that one's.
    """
    return _sum_of_errors(lambda error: sa.cast(error.op("->>")("cost_usd"), sa.Numeric))


def _sum_of_errors(
    value: Callable[[sa.ColumnElement[Any]], sa.ColumnElement[Any]],
) -> sa.ColumnElement[Any]:
    error = sa.func.jsonb_array_elements(t.Call.errors).table_valued("value")
    summed = sa.select(sa.func.coalesce(sa.func.sum(value(error.c.value)), 0)).select_from(error)
    return sa.case((t.Call.errors == sa.text("'[]'"), 0), else_=summed.scalar_subquery())


def paid_usd() -> sa.ColumnElement[Decimal | None]:
    """Return what a call cost with the answers it did not keep, in US dollars; NULL if unknown."""
    discarded = discarded_usd()
    return sa.case(
        (t.Call.cost_usd.is_not(None), t.Call.cost_usd + discarded),
        (discarded > 0, discarded),
    )


UNPRICED = sa.and_(
    t.Call.status == "succeeded", t.Call.cost_usd.is_(None), t.Call.at_most_usd.is_distinct_from(0)
)
"""The condition that an answer is of unknown cost: it has no price, and may have cost something."""


def unknown_costs() -> sa.ColumnElement[int]:
    """Return how many requests of a call are of unknown cost: its answer, and attempts before.

    One that has cost at most 0, as of the simulator's or a free model, is not.
    """
    attempts = _sum_of_errors(lambda error: sa.cast(_is_unpriced(error), sa.Integer))
    return attempts + sa.cast(UNPRICED, sa.Integer)


def _is_unpriced(error: sa.ColumnElement[Any]) -> sa.ColumnElement[bool]:
    """Return whether the attempt of an error may have been billed, more than 0 or without bound."""
    bound = sa.cast(error.op("->>")(AT_MOST), sa.Numeric)
    return sa.and_(error.op("?")(AT_MOST), bound.is_distinct_from(0))


def lost_requests() -> sa.ColumnElement[int]:
    """Return how many of `unknown_costs` are sendings whose run ended before the answer."""

    def is_lost(error: sa.ColumnElement[Any]) -> sa.ColumnElement[int]:
        of_run = error.op("->>")("kind") == UNKNOWN_OUTCOME
        return sa.cast(sa.and_(_is_unpriced(error), of_run), sa.Integer)

    return _sum_of_errors(is_lost)


def discarded_answers() -> sa.ColumnElement[int]:
    """Return how many answers a call got and did not keep."""
    return _sum_of_errors(lambda error: sa.cast(error.op("?")("answer"), sa.Integer))


def sendings_without_outcome() -> sa.ColumnElement[int]:
    """Return how many sendings of a call ended with their run, and another has followed."""

    def is_of_run(error: sa.ColumnElement[Any]) -> sa.ColumnElement[int]:
        return sa.cast(error.op("->>")("kind") == UNKNOWN_OUTCOME, sa.Integer)

    return _sum_of_errors(is_of_run)


def at_most_usd() -> sa.ColumnElement[Decimal]:
    """Return the most that the requests of unknown cost of a call may have cost, in US dollars.

    0 for those of a model without a price, and while the call is in flight.
    """
    attempts = _sum_of_errors(lambda error: sa.cast(error.op("->>")(AT_MOST), sa.Numeric))
    answer = sa.case((UNPRICED, sa.func.coalesce(t.Call.at_most_usd, 0)), else_=0)
    return attempts + answer


@dataclass(frozen=True)
class Paid:
    """What calls cost in US dollars, and of how many requests that is not known."""

    usd: float
    unknown: int
    at_most_usd: float
    """The bound on the cost of those."""
    simulated: bool = False
    """Whether all of them are of simulated models."""

    def __str__(self) -> str:
        return cost_in_words(self.usd, self.unknown, self.at_most_usd, simulated=self.simulated)


def cost_of(session: Session, call_ids: Iterable[int]) -> Paid:
    """Return the cost of these calls."""
    sums = (sa.func.sum(one) for one in (paid_usd(), unknown_costs(), at_most_usd()))
    models = sa.func.array_agg(t.Call.model.distinct())
    row = session.execute(sa.select(models, *sums).where(among(t.Call.id, call_ids))).one()
    names, (usd, unknown, at_most) = row[0] or (), (value or 0 for value in row[1:])
    simulated = bool(names) and all(map(is_simulated_model, names))
    return Paid(float(usd), int(unknown), float(at_most), simulated)


def paid_in_words(session: Session, call_ids: Sequence[int]) -> list[str]:
    """Return the number and cost of these calls, and which prompts were cut, in sentences."""
    paid = f"{counted(len(call_ids), 'call')} cost {cost_of(session, call_ids)}."
    return [paid, *map(str, unread_of(session, call_ids))]


def call_costs(session: Session, call_ids: Iterable[int]) -> dict[int, float]:
    """Return call → US dollars; NaN for one of unknown cost.

    A failed call costs what it got and did not keep.
    """
    rows = session.execute(
        sa.select(t.Call.id, unknown_costs(), paid_usd()).where(among(t.Call.id, call_ids))
    )
    return {call: float("nan" if unknown else cost or 0) for call, unknown, cost in rows}


@dataclass(frozen=True)
class TruncatedPrompts:
    """Prompts to a model that its provider did not read to the end, by its count of tokens."""

    model: str
    prompts: int
    tokens: int
    """The most that it counted of one of them."""
    words: int
    """Those of the longest of them."""

    def __str__(self) -> str:
        return (
            f"{self.model} did not read {counted(self.prompts, 'prompt')} to the end: it counted "
            f"{self.tokens:,} tokens of {self.words:,} words. Set a longer context at the server "
            "(Ollama: `context` of the model in the providers file, or OLLAMA_CONTEXT_LENGTH), or "
            "send shorter texts."
        )


def unread_prompts(session: Session, condition: sa.ColumnElement[bool]) -> list[TruncatedPrompts]:
    """Return the prompts among these calls that were cut, by model."""
    rows = session.execute(
        sa.select(
            t.Call.model,
            sa.func.count(),
            sa.func.max(t.Call.prompt_tokens),
            sa.func.max(t.Call.prompt_words),
        )
        .where(condition, t.Call.prompt_words.is_not(None))
        .group_by(t.Call.model)
        .order_by(t.Call.model)
    )
    return [TruncatedPrompts(*row) for row in rows]


def unread_of(session: Session, call_ids: Iterable[int]) -> list[TruncatedPrompts]:
    """Return the prompts of these calls that were cut, by model."""
    return unread_prompts(session, among(t.Call.id, call_ids))


@dataclass(frozen=True)
class TokenUse:
    """The tokens one call used; None where its provider gave no counts."""

    call_id: int
    model: str
    prompt_tokens: int | None
    completion_tokens: int | None


def token_use(session: Session, call_ids: Iterable[int]) -> list[TokenUse]:
    """Return the tokens that these calls used."""
    columns = (t.Call.id, t.Call.model, t.Call.prompt_tokens, t.Call.completion_tokens)
    rows = session.execute(sa.select(*columns).where(among(t.Call.id, call_ids)))
    return [TokenUse(*row) for row in rows]


def blank(call: Any) -> sa.ColumnElement[bool]:
    """Return the condition that a call was answered without a visible character."""
    condition: sa.ColumnElement[bool] = ~call.answer.regexp_match(r"\S")
    return condition


def plan_again(session: Session, condition: sa.ColumnElement[bool]) -> None:
    """Plan the failed calls of a condition again, under their own rows."""
    session.execute(
        sa.update(t.Call).where(condition, t.Call.status == "failed").values(status="planned")
    )


def set_aside(session: Session, condition: sa.ColumnElement[bool]) -> None:
    """Plan these calls again; rows of answered calls stay under another key, with their cost."""
    plan_again(session, condition)
    session.execute(
        sa.update(t.Call)
        .where(condition, t.Call.status == "succeeded")
        .values(
            key=sa.func.concat(t.Call.key, "/set-aside/", t.Call.id),
            request_digest=None,  # no other call shall be given it either
        )
    )


def save_imported_calls(session: Session, calls: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """Store answers that were made elsewhere; returns call key → id, of those stored before too.

    All calls name the same columns.
    """
    if not calls:
        return {}
    added = inserting(t.Call, tuple(calls[0])).on_conflict_do_nothing()
    session.connection().execute(added, packed(calls))
    chosen = among(t.Call.key, (call["key"] for call in calls))
    return dict(session.execute(sa.select(t.Call.key, t.Call.id).where(chosen)).tuples().all())


@dataclass(frozen=True)
class Past:
    """Means over a model's answers to one agent at one effort."""

    answer_tokens: float | None
    """None when the provider gave no token counts."""
    latency_s: float | None
    """None when every answer came in a batch: the latency is unknown."""


PastKey = tuple[str, str, str | None]
"""(model, agent, reasoning effort that was asked for)"""


def past_answers(session: Session, models: Collection[str]) -> dict[PastKey, Past]:
    """Return how the answers of these models were so far, over the whole ledger."""
    effort = t.Call.parameters["reasoning_effort"].astext
    rows = session.execute(
        sa.select(
            t.Call.model,
            t.Call.agent,
            effort,
            sa.func.avg(t.Call.completion_tokens),
            sa.func.avg(t.Call.latency_ms),
        )
        .where(t.Call.model.in_(models), t.Call.status == "succeeded", t.Call.route != "cache")
        .group_by(t.Call.model, t.Call.agent, effort)
    )
    return {
        (model, agent, effort): Past(
            None if tokens is None else float(tokens),
            None if latency is None else float(latency) / 1000,
        )
        for model, agent, effort, tokens, latency in rows
    }
