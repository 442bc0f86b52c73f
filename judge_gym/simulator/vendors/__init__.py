"""The APIs of providers, which refuse what the real ones refuse; every family answers through each.

`openai`, `anthropic`, `gemini` and `mistral` are APIs of their own, `compatible` has those that
resemble OpenAI's. What is refused, and in which words, comes from the providers' documentation and
client libraries, and from errors that people reported. It shares nothing with what judge-gym takes
models to refuse.
"""

import email.utils
import math
import re
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, ClassVar

from judge_gym.planted.families import family_named, served_models
from judge_gym.seeds import derive_seed
from judge_gym.simulator.answering import ModelRequest
from judge_gym.simulator.chat import Chat, Completion
from judge_gym.simulator.faults import plan
from judge_gym.simulator.http import Refusal, Stats

SHORTEST, LONGEST = 600, 1800
EFFORTS = {"minimal": 0.1, "low": 0.4, "medium": 1.0, "high": 2.0, "xhigh": 3.0, "max": 4.0}
"""Each reasoning effort, and how much a model thinks at it relative to the default."""
WRONG_KEY = "wrong"
PLANTED_CONTEXT = 1_000_000
"""The context of a planted model, whatever the API, in tokens."""
_KEYS = {"sk-ant-": "anthropic", "sk-or-": "openrouter", "AIza": "gemini", "xai-": "xai",
         "gsk_": "groq"}  # fmt: skip
"""How keys of a provider begin; the other providers refuse them."""
REQUESTS_A_MINUTE, TOKENS_A_MINUTE = 10_000, 2_000_000
"""The limits that responses announce; the simulator enforces none."""


@dataclass(frozen=True)
class ApiRequest:
    """A request to an API, beside its body."""

    headers: Mapping[str, str]
    query: Mapping[str, str]
    path: Mapping[str, str]
    """The parts of the path with a name, such as the model."""


NOTHING_ASKED = ApiRequest({}, {}, {})
_NAMES = {"key": "wr***ng", "tokens": 9000, "context": 8000, "model": "this-model"}


@dataclass(frozen=True)
class Notice:
    """How a provider words one kind of trouble."""

    status: int
    message: str
    code: Any = None
    kind: str = "invalid_request_error"
    parameter: str | None = None
    details: Any = None
    headers: Mapping[str, str] | None = None

    def refusal(self, **names: Any) -> Refusal:
        """Return the refusal, its message filled with `names`, or with those of any request."""
        return Refusal(
            self.message.format(**_NAMES | {"status": self.status} | names),
            self.parameter,
            status=self.status,
            kind=self.kind,
            code=self.code,
            details=self.details,
            headers=self.headers,
        )


class Vendor(ABC):
    """One provider's API: bodies in, bodies, refusals and headers out."""

    name: ClassVar[str]
    prefixes: ClassVar[tuple[str, ...]]
    """How its paths begin."""
    paths: ClassVar[tuple[str, ...]]
    words: ClassVar[dict[str, Notice]]
    """How it words each kind of trouble: a fault's kind, or the code of a rate limit."""

    @abstractmethod
    def key(self, asked: ApiRequest) -> str:
        """Return the key of a request, or an empty text."""

    @abstractmethod
    def read(self, data: Any, asked: ApiRequest) -> Chat:
        """Read a request; raises `Refusal`, in the provider's words, for what it refuses."""

    @abstractmethod
    def written(self, done: Completion) -> dict[str, Any]:
        """Return an answer in the provider's format."""

    @abstractmethod
    def refused(self, refusal: Refusal) -> dict[str, Any]:
        """Return a refusal in the provider's error format."""

    def headers(self, stats: Stats) -> dict[str, str]:
        """Return the headers of an answer: what the provider says of its rate limits."""
        return {}

    def reset_headers(self, seconds: float) -> dict[str, str]:
        """Return the headers of a 429 that say when the limit is reset."""
        return {}

    def retry_info(self, seconds: float) -> Any:
        """Return the details of a 429 that say when to retry."""
        return None

    def error_in_200(self, where: str) -> dict[str, Any]:
        """Return the body of a failure that is answered with status 200."""
        return self.refused(self.words["overloaded"].refusal())

    def check_key(self, asked: ApiRequest) -> None:
        """Raise `Refusal` for the key `wrong` and for one that looks like another provider's."""
        key = self.key(asked)
        of = next((name for start, name in _KEYS.items() if key.startswith(start)), self.name)
        if key == WRONG_KEY or of != self.name:
            raise self.words["unauthorized"].refusal(key=f"{key[:2]}***{key[-2:]}")

    def fault(self, fault: plan.Refused, **names: str) -> Refusal:
        """Return the refusal of this fault, without raising it; `names` as in `Words.refusal`."""
        return self._words_of(fault).refusal(**names)

    def _words_of(self, fault: plan.Refused) -> Notice:
        if isinstance(fault, plan.RateLimit):
            of_quota = fault.code != "rate_limit_exceeded"
            words = self.words["quota" if of_quota else "rate_limit"]
            words = self.words.get(fault.code, words)
            if fault.form == "retry_info":
                return replace(words, details=self.retry_info(fault.retry_after))
            return replace(words, headers=self._waiting(fault))
        if isinstance(fault, plan.SpendLimit) and fault.own:
            return self.words.get("own_limit", self.words["spend_limit"])
        words = self.words[fault.kind]
        return replace(words, status=getattr(fault, "status", None) or words.status)

    def _waiting(self, fault: plan.RateLimit) -> dict[str, str]:
        if fault.form == "seconds":
            return {"Retry-After": f"{fault.retry_after:g}"}
        if fault.form == "date":
            moment = math.ceil(time.time() + fault.retry_after)
            return {"Retry-After": email.utils.formatdate(moment, usegmt=True)}
        return self.reset_headers(fault.retry_after) if fault.form == "reset_header" else {}

    def check_context(self, chat: Chat, context: int) -> None:
        """Raise `Refusal` for a prompt of more tokens than the context has."""
        if chat.prompt_tokens > context:
            raise self.words["context_too_long"].refusal(tokens=chat.prompt_tokens, context=context)


def thinking_tokens(
    request: ModelRequest, budget: int | None = None, effort: str | None = None
) -> int:
    """Return tokens of thinking before the answer: 600 to 1,800, and at most the budget.

    `effort` scales them; at "none" there are none. A pure function of the request.
    """
    if effort == "none":
        return 0
    drawn = SHORTEST + derive_seed("thinking", *request.identity) % (LONGEST - SHORTEST + 1)
    drawn = round(drawn * EFFORTS.get(effort or "medium", 1.0))
    return drawn if budget is None else min(drawn, budget)


def is_planted(model: str) -> bool:
    """Whether a model is one of the simulator's own, which takes whatever its API has."""
    return f"sim/{model.rpartition('/')[2]}" in served_models()


def exists(model: str) -> bool:
    """Whether a family answers for a model."""
    return family_named(model) is not None


def version_in(model: str, pattern: re.Pattern[str]) -> tuple[int, int]:
    """Return major and minor version, the groups of `pattern`; 0, 0 for a name without any."""
    match = pattern.search(model)
    return (int(match[1]), int(match[2] or 0)) if match else (0, 0)


def bearer(asked: ApiRequest) -> str:
    """Return the key of an Authorization header."""
    return asked.headers.get("Authorization", "").removeprefix("Bearer ").strip()
