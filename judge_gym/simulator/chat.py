"""A chat between the formats of the APIs: what is asked, and what is answered within its limits.

Each API reads its own format into a `Chat` and writes a `Completion` out again
(`judge_gym.simulator.vendors`). Pure; knows nothing of HTTP or of judges.
"""

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Literal

from judge_gym.seeds import digest
from judge_gym.simulator.answering import ModelRequest, SimulatedAnswer, letter_chances

FINGERPRINT = "judge-gym-simulator"
"""Marks every response as simulated."""
MARK = {"x-judge-gym-simulator": FINGERPRINT}
"""The same as a header, for bodies that have no place for it."""
THOUGHT = (
    "At first sight VERDICT: A would do. The criteria still have to be compared with the evidence, "
    "one by one."
)
"""The text of thinking, where an API returns it. Its verdict is not the answer's."""
DECLINED = "This request is declined by the content policy."
_TOKEN = re.compile(r"\w+|[^\w\s]")
_WITH_SPACE = re.compile(r"\s*(?:\w+|[^\w\s])|\s+$")
_VERDICT = re.compile(r"(?i:verdict)\W+([A-Z])\b")
_CERTAIN = 0.999
"""The probability of every token but the verdict's."""

Finish = Literal["stop", "stop_sequence", "length", "context", "refusal", "content_filter"]


@dataclass(frozen=True)
class Chat:
    """A request with the limits of its answer."""

    request: ModelRequest
    stop: tuple[str, ...] = ()
    thinking: int = 0
    """Tokens of thinking before the answer, which count toward the limit."""
    shows_thinking: bool = False
    """Whether the text of thinking is returned."""
    logprobs: int | None = None
    """How many alternatives to each token are returned; None: no probabilities at all."""
    room: int | None = None
    """Tokens that the context leaves for the answer, where that may be less than the limit."""

    @cached_property
    def prompt_tokens(self) -> int:
        return sum(count_tokens(content) for _, content in self.request.messages)


@dataclass(frozen=True)
class ChatToken:
    """A token of an answer, its probability, and its alternatives, the likeliest first."""

    text: str
    chance: float
    others: tuple[tuple[str, float], ...] = ()

    @property
    def logprob(self) -> float:
        return log(self.chance)

    def top(self, count: int) -> list[tuple[str, float]]:
        """Return the likeliest tokens in this place with their logarithms, itself among them."""
        ranked = sorted(((self.text, self.chance), *self.others), key=lambda pair: -pair[1])
        return [(text, log(chance)) for text, chance in ranked[:count]]


def log(chance: float) -> float:
    """Return the logarithm of a probability; that of 0 is OpenAI's -9999."""
    return math.log(chance) if chance > 0 else -9999.0


@dataclass(frozen=True)
class Completion:
    """What a model answered, before its API writes it; faults change it."""

    chat: Chat
    text: str
    finish: Finish
    model: str
    """The model that answers, by its own account."""
    identity: str
    """A hash of the request and the whole answer, for ids."""
    thinking: int = 0
    stopped_by: str | None = None
    """The stop sequence met."""
    tokens: tuple[ChatToken, ...] = ()
    """The tokens of the text with probabilities, where they were asked for."""
    reason: str = ""
    """Why it was refused, in the API's own category."""
    prompt_blocked: bool = False
    """Whether the prompt was refused, not the answer."""
    native_finish: str = ""
    """A finish reason to give as it is."""
    cached: int = 0
    """Tokens of the prompt that were read from a cache."""
    cache_written: int = 0
    """Tokens of the prompt that were written to one."""
    counted: bool = True
    """Whether token counts are given."""

    @property
    def prompt_tokens(self) -> int:
        return self.chat.prompt_tokens

    @cached_property
    def text_tokens(self) -> int:
        return count_tokens(self.text)

    @property
    def declined(self) -> bool:
        return self.finish in ("refusal", "content_filter")

    @property
    def thought(self) -> str:
        """The text of thinking, where it is returned."""
        return THOUGHT if self.thinking and self.chat.shows_thinking else ""


def completed(chat: Chat, answer: SimulatedAnswer) -> Completion:
    """Return the answer, cut where asked.

    A token is a run of letters and digits or one other sign; only the contents of messages count,
    and thinking.
    """
    limits = [limit for limit in (chat.request.max_tokens, chat.room) if limit is not None]
    limit = min(limits, default=None)
    thinking = chat.thinking if limit is None else min(chat.thinking, limit)
    text, stopped_by = _until_stop(answer.text, chat.stop)
    finish: Finish = "stop" if stopped_by is None else "stop_sequence"
    cut = None if limit is None else _first_tokens(text, limit - thinking)
    if cut is not None:
        text, stopped_by = cut, None
        finish = "length" if limit == chat.request.max_tokens else "context"
    return Completion(
        chat=chat,
        text=text,
        finish=finish,
        model=chat.request.model,
        identity=digest(*chat.request.identity, text),
        thinking=thinking,
        stopped_by=stopped_by,
        tokens=() if chat.logprobs is None else _tokens(text, letter_chances(chat.request)),
    )


def count_tokens(text: str) -> int:
    """Count runs of letters and digits, and every other sign that is not a space."""
    return len(_TOKEN.findall(text))


def _until_stop(text: str, stops: tuple[str, ...]) -> tuple[str, str | None]:
    """Return the text before the first stop sequence in it, and that sequence."""
    found = [(text.index(stop), stop) for stop in stops if stop in text]
    if not found:
        return text, None
    at, stop = min(found)
    return text[:at], stop


def _first_tokens(text: str, limit: int) -> str | None:
    """Return the first tokens of a text that is longer; None for one that is not."""
    beyond = next(islice(_TOKEN.finditer(text), limit, None), None)
    return None if beyond is None else text[: beyond.start()].rstrip()


def _tokens(text: str, chances: Mapping[str, float]) -> tuple[ChatToken, ...]:
    """Return the tokens of a text; the letter of its verdict has its planted probability."""
    verdicts = [match for match in _VERDICT.finditer(text) if match[1] in chances]
    at = verdicts[-1].start(1) if verdicts else None
    return tuple(
        _verdict_token(match[0], text[at], chances)
        if at is not None and match.start() <= at < match.end()
        else ChatToken(match[0], _CERTAIN)
        for match in _WITH_SPACE.finditer(text)
    )


def _verdict_token(text: str, letter: str, chances: Mapping[str, float]) -> ChatToken:
    others = tuple(
        (text.replace(letter, other), chance)
        for other, chance in chances.items()
        if other != letter
    )
    return ChatToken(text, chances[letter], others)
