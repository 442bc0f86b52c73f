"""A question to a model as a value: its calls, and a pure function from answers to rows."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from judge_gym.prompts import Prompt
from judge_gym.records.calls import Answer, Call, DerivedRow, DerivedTable, Failure, is_simulated
from judge_gym.seeds import derive_seed
from judge_gym.settings import Settings

V = TypeVar("V")
Outcome = Answer | Failure


@dataclass(frozen=True)
class Turn:
    """A call of a question that has ended."""

    call: Call
    call_id: int
    """Its row in the ledger."""
    outcome: Outcome
    opening: int = 0
    """The index of the opening call whose conversation it belongs to."""
    seconds: float | None = None
    """How long the answer took, or a failure from start to end; None for a batch or a cache."""

    @property
    def is_simulated(self) -> bool:
        """Whether the simulator answered, or would have."""
        return is_simulated(self.call, self.outcome)


Turns = tuple[Turn, ...]


@dataclass(frozen=True)
class End(Generic[V]):
    """How a question ended; its rows are committed together with the last answer."""

    status: str
    rows: tuple[DerivedRow, ...] = ()
    value: V | None = None


@dataclass(frozen=True)
class Interruption:
    """A question that cannot go on: an error of its model or provider, or a cancellation."""

    turns: Turns
    call_ids: tuple[int, ...]
    """Every call that was begun, the interrupted one among them."""
    seconds: float
    """Seconds since the question was begun."""
    error: str | None
    """The error's message; None for a cancellation."""


@dataclass(frozen=True)
class Question(Generic[V]):
    """What is to be learned from one model.

    `then` is given the turns so far and returns what follows: another call (a retry in the same
    conversation, another form, a critic), the end, or None for the next opening call. It is pure,
    so that a question that was interrupted is replayed from the ledger without a call.
    """

    calls: tuple[Call, ...]
    """The opening calls, at least one, in order; they do not depend on each other's answers."""
    then: "Callable[[Turns], Call | End[V] | None]"
    interrupted: "Callable[[Interruption], End[V]] | None" = None
    """How it ends when it cannot go on; without one the error ends all questions."""


def one_call(
    call: Call,
    table: DerivedTable,
    read: Callable[[Outcome], dict[str, Any]],
    *,
    about_simulated: bool = False,
) -> Question[None]:
    """Return a question of one call whose outcome is one row of `table`.

    `read` returns the row's columns, `status` among them; `call_id` and `simulated` are added. A
    question `about_simulated` texts has a simulated row, whoever answers.
    """

    def then(turns: Turns) -> End[None]:
        (turn,) = turns
        values = read(turn.outcome)
        values |= {"simulated": about_simulated or turn.is_simulated, "call_id": turn.call_id}
        return End(values["status"], (DerivedRow(table, values),))

    return Question((call,), then)


def may_retry(turns: Turns, retries: int = 1) -> bool:
    """Whether an unreadable last answer is retried in its conversation, at most so often.

    Failures are not: the gateway has retried those that may pass.
    """
    last = turns[-1]
    before = sum(turn.opening == last.opening for turn in turns) - 1
    return isinstance(last.outcome, Answer) and before < retries


def last_turns(turns: Turns) -> list[Turn]:
    """Return the last turn of each opening call, in order."""
    return list({turn.opening: turn for turn in turns}.values())


def any_simulated(turns: Iterable[Turn]) -> bool:
    """Whether the simulator answered any of these."""
    return any(turn.is_simulated for turn in turns)


def total_seconds(turns: Turns) -> float | None:
    """Return the sum of the turns' seconds, None where one of them is unknown."""
    timed = [turn.seconds for turn in turns if turn.seconds is not None]
    return sum(timed) if len(timed) == len(turns) else None


@dataclass(frozen=True)
class SeedSource:
    """What a call's seed and the fence marks of its prompt are drawn from.

    See docs/decisions/0009-answer-cache.md.
    """

    key: str
    """The call's own key or, when answers are reused, what equal questions have in common."""
    replicate: str
    """The replicate of the call, which is part of it where answers are reused."""
    shared: bool

    def seed(self, model: str, prompt: Prompt) -> int:
        """Return the seed to send, in [0, 2**63); replicates of a question differ."""
        common = (model, prompt.messages) if self.shared else ()
        return derive_seed("call", self.key, *common)


def seed_source(settings: Settings, call_key: str, replicate: str) -> SeedSource:
    """Return the seed source of the call with this key and replicate."""
    if settings.reuse_answers:
        return SeedSource(f"replicate/{replicate}", replicate, shared=True)
    return SeedSource(call_key, replicate, shared=False)
