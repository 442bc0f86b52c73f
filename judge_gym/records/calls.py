"""The values the gateway takes and gives: a call, its answer, its failure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from judge_gym.design.experiment import Effort
from judge_gym.model_names import is_simulated_model
from judge_gym.prompts import Prompt
from judge_gym.seeds import sha256

FailureKind = Literal[
    "rate_limit",
    "quota",
    "timeout",
    "connection",
    "server",
    "bad_request",
    "authentication",
    "no_access",
    "not_found",
    "retired",
    "unreachable",
    "context_too_long",
    "content_policy",
    "output_limit",
    "unreadable",
]
PASSING: frozenset[FailureKind] = frozenset(
    {"rate_limit", "timeout", "connection", "server", "unreadable"}
)
"""Failures that the same request may survive a little later."""
NO_ANSWER: frozenset[FailureKind] = frozenset({"timeout", "connection", "unreadable"})
"""Failures that do not show that a provider is there at all."""
SHARED: frozenset[FailureKind] = frozenset(
    {"authentication", "quota", "no_access", "not_found", "retired", "unreachable"}
)
"""Failures that every other call to the model would meet too."""
CostSource = Literal["provider", "file", "litellm", "simulated"]
"""Where the cost of an answer comes from: the provider itself, the providers file, litellm's list
of prices, or the simulator, whose answers cost nothing."""
LIMITS = ("max_tokens", "max_completion_tokens")
"""Parameters that limit the length of an answer; a request has one of them."""
IMPORTED = "imported"
"""The route of a ledger row whose answer was imported."""
RECOVERED = "recovered"
"""The reason of the gate change that ends a lowered bound."""


@dataclass(frozen=True)
class Parameters:
    """The parameters of a call as planned; stored with it."""

    temperature: float
    top_p: float
    max_tokens: int
    seed: int
    json_answer: bool = False
    schema: Mapping[str, Any] | None = None
    """The JSON schema of the answer, where the model takes one."""
    reasoning_effort: Effort | None = None
    """How much the model is to think; the model's default when left out."""
    logprobs: bool = False
    """Whether the answer's tokens come with their probabilities."""
    embeds: bool = False
    """Whether the prompt is a text to embed, whose vector is the answer."""

    def asked(self) -> dict[str, Any]:
        """Return the fields of a request as planned; `llm.capabilities` fits them to a model.

        A field of a later version is left out at its default: older requests keep their digest.
        None of them is a field of a request for an embedding.
        """
        if self.embeds:
            return {}
        fields: dict[str, Any] = {
            "temperature": self.temperature,
            "top_p": self.top_p,
            "max_tokens": self.max_tokens,
            # Providers differ in how wide a seed they take; 31 bits are common to all.
            "seed": self.seed & 0x7FFFFFFF,
        }
        if self.schema is not None:
            answer = {"name": "answer", "strict": True, "schema": self.schema}
            fields["response_format"] = {"type": "json_schema", "json_schema": answer}
        elif self.json_answer:
            fields["response_format"] = {"type": "json_object"}
        if self.reasoning_effort is not None:
            fields["reasoning_effort"] = self.reasoning_effort
        if self.logprobs:
            fields["logprobs"] = True
        return fields


EMBEDDER = "embedder"
"""The agent of calls for embeddings."""
EMBEDDING = Parameters(temperature=0, top_p=1, max_tokens=0, seed=0, embeds=True)
"""The parameters of a request for an embedding, which nothing is drawn for."""


@dataclass(frozen=True)
class Call:
    """One question to one model. `key` identifies question, model and replicate."""

    key: str
    workflow: str
    agent: str
    model: str
    prompt: Prompt
    parameters: Parameters
    experiment_id: int | None = None
    replicate: str = ""
    """Which of the repetitions of a question it is; without one its answer is never reused."""
    within_s: float | None = None
    """Longest time in seconds until its end, with all attempts and the wait for its turn; without
    one only each attempt is bounded."""
    may_be_refused: bool = False
    """Whether another form of the question follows when the provider refuses this one."""
    must_apply: frozenset[str] = frozenset()
    """Names of parameters that may not be left out: the call fails where its model refuses one."""

    @property
    def request_digest(self) -> str | None:
        """64 hex digits, equal for byte-identical requests of equal replicates alone."""
        if not self.replicate:
            return None
        return sha256(self.model, self.prompt.messages, self.parameters.asked(), self.replicate)

    def tokens_at_most(self, limit: int) -> int:
        """Tokens it may use, as rate limits count them: the prompt and the output limit.

        Four characters a token, the rule of thumb for English; providers correct it by a 429.
        """
        characters = sum(len(message["content"]) for message in self.prompt.messages)
        return characters // 4 + limit


@dataclass(frozen=True)
class Request:
    """The parameters of a call as they are sent, and the names of those that are not applied."""

    parameters: dict[str, Any]
    not_applied: tuple[str, ...] = ()

    @property
    def limit(self) -> int:
        """The output limit in tokens, answer and thinking together; 0 for an embedding."""
        return int(next((self.parameters[name] for name in LIMITS if name in self.parameters), 0))


@dataclass(frozen=True)
class TokenChance:
    """A token of an answer, its log probability, and the likeliest tokens at its place."""

    token: str
    logprob: float
    others: tuple[tuple[str, float], ...] = ()
    """(token, log probability), with the token itself where the provider lists it."""


@dataclass(frozen=True)
class Answer:
    """What came back. `cost_usd` is None when the model is in no price list or nobody counted the
    tokens, never 0 for that.

    `finish_reason` is stop, length, content_filter, context (the model's window is full), tool_call
    (instead of text) or unknown; an answer that broke off by an error is a failure. `prompt_tokens`
    include those read from and written to the provider's cache, `completion_tokens` those of the
    reasoning.
    `latency_ms` is None for an answer from a batch and for a reused answer.
    """

    text: str
    finish_reason: str
    prompt_tokens: int | None
    completion_tokens: int | None
    cost_usd: float | None
    latency_ms: float | None
    simulated: bool
    body: Mapping[str, Any] | None = None
    """The body of the request as it was sent, without the messages, which the call has."""
    served_model: str | None = None
    """The model that answered, by the provider; None when it does not say."""
    response_id: str | None = None
    fingerprint: str | None = None
    """The provider's name of the configuration that answered."""
    finish_given: str | None = None
    """The finish reason in the provider's own words."""
    cached_tokens: int | None = None
    """Tokens of the prompt that the provider read from its cache."""
    cache_written_tokens: int | None = None
    """Tokens of the prompt that the provider wrote to its cache."""
    reasoning_tokens: int | None = None
    cost_source: CostSource | None = None
    reasoning: str = ""
    """The model's reasoning where the provider gives it; no verdict is read from it."""
    chances: tuple[TokenChance, ...] = ()
    """The tokens of `text` with their probabilities, where they were asked for and given."""
    at_most_usd: float | None = None
    """The most that an answer of unknown cost may have cost; None where `cost_usd` is known, and
    for a model without a price."""
    prompt_words: int | None = None
    """Words of the prompt, where the provider counted fewer tokens: it did not read all of it."""

    @property
    def is_cut(self) -> bool:
        """Whether the answer may lack its end."""
        return self.finish_reason in ("length", "context")


@dataclass(frozen=True)
class Failure:
    """Why there is no answer, after all attempts."""

    kind: FailureKind
    message: str
    body: Mapping[str, Any] | None = field(default=None, compare=False)
    """The body of the last request as it was sent, without the messages."""


@dataclass(frozen=True)
class LedgerEntry:
    """A call's row before it is sent, with the answer when the ledger already has one."""

    id: int
    answer: Answer | None
    waiting: bool = False
    """Whether it is in a batch that has not ended; it must not be sent meanwhile."""
    batched: bool = False
    """Whether it has been in a batch; a call is batched once at most."""
    discarded: bool = False
    """Whether an answer was discarded; the next one is used as it is."""
    output_limit: int | None = None
    """The highest output limit, in tokens, that was used up before an answer began."""


def is_simulated(call: Call, outcome: Answer | Failure) -> bool:
    """Whether the simulator made an outcome; without an answer the model's name decides."""
    return outcome.simulated if isinstance(outcome, Answer) else is_simulated_model(call.model)


DerivedTable = Literal[
    "samples",
    "probes",
    "score_marks",
    "rubrics",
    "views",
    "judge_results",
    "perturbed_texts",
    "panel_reviews",
    "panel_consensus",
    "gate_changes",
]
"""Tables whose rows are committed together with an answer."""


@dataclass(frozen=True)
class DerivedRow:
    """A row derived from an answer, to be committed together with it."""

    table: DerivedTable
    values: dict[str, Any]


class ProviderError(Exception):
    """One attempt failed; raised by the client, turned into a `Failure` by the gateway."""

    def __init__(
        self,
        kind: FailureKind,
        message: str,
        retry_after: float | None = None,
        parameter: str | None = None,
        *,
        status: int | None = None,
        body: Mapping[str, Any] | None = None,
        page: bool = False,
        passes: bool = True,
        reached: bool = True,
        may_be_billed: bool = False,
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.retry_after = retry_after
        """Seconds to wait, by the provider."""
        self.parameter = parameter
        """The parameter at fault, where the error names one beside its message."""
        self.status = status
        """The HTTP status, where there was a response."""
        self.page = page
        """Whether a web page stood where an answer was expected."""
        self.passes = passes
        """Whether the same request may have another end; only of kinds that are `PASSING`."""
        self.reached = reached
        """Whether a server took the request."""
        self.may_be_billed = may_be_billed
        """Whether the request went out, and neither an answer nor a refusal came back."""
        self.body = body
        """The body of the request as it was sent, without the messages."""
