"""Whether prompts fit into a model's context, where that is known, and were read to their end.

Of the others the provider says so itself, call by call, or cuts them and says nothing but how many
tokens it read.
"""

import re
from collections.abc import Iterable

from judge_gym.errors import ConfigError
from judge_gym.llm.capabilities import taken_by
from judge_gym.llm.pricing import count_tokens
from judge_gym.llm.providers import Providers
from judge_gym.prompts import Message
from judge_gym.records.calls import Call

CHARACTERS_A_TOKEN = 2
"""Fewer than any prose has: a prompt that fits by this need not be counted."""


_UNSPACED = re.compile("[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
"""Characters of Chinese and Japanese, which write words without spaces."""
_UNSPACED_A_TOKEN = 4
LONGEST_TOKEN = 16
"""Characters, more than tokens have on average in any text."""
FEWEST_WORDS = 200
"""Words of a prompt that is checked: shorter ones fit into any context."""


class ContextError(ConfigError):
    """No prompt for a model fits into its context."""


def check_context(providers: Providers, calls: Iterable[Call]) -> None:
    """Raise `ContextError` when even the shortest prompt for a model is over its context.

    Where some fit, those that do not are refused by the provider and kept as failed.
    """
    by_model: dict[str, list[Call]] = {}
    for call in calls:
        by_model.setdefault(call.model, []).append(call)
    for model, asked in by_model.items():
        _check(providers, model, asked)


def _check(providers: Providers, model: str, calls: list[Call]) -> None:
    window = taken_by(providers, model).context
    shortest = min(calls, key=_characters)
    if window is None or _characters(shortest) <= CHARACTERS_A_TOKEN * window:
        return
    tokens = count_tokens(providers, model, shortest.prompt.messages)
    if tokens > window:
        raise ContextError(
            f"{model} takes prompts of at most {window:,} tokens, and the shortest of the next "
            f"{len(calls)} ({shortest.agent}) has {tokens:,}.",
            "Use a shorter evidence_view, fewer documents in a bundle, a lower "
            "max_document_characters setting, or a model with a longer context.",
        )


def words_unread(messages: Iterable[Message], prompt_tokens: int | None) -> int | None:
    """Return the words of a prompt of which fewer tokens were counted; None if all may be read.

    A tokenizer begins a token at each word, so that a text has at least as many tokens as words.
    What is written without spaces counts as a word for each so many characters.
    """
    if prompt_tokens is None:
        return None
    words = sum(_words(message["content"]) for message in messages)
    return words if words >= FEWEST_WORDS and prompt_tokens < words else None


def _words(text: str) -> int:
    words = text.split()
    unspaced = len(_UNSPACED.findall(text)) // _UNSPACED_A_TOKEN
    return max(len(words) + unspaced, sum(map(len, words)) // LONGEST_TOKEN)


def _characters(call: Call) -> int:
    return sum(len(message["content"]) for message in call.prompt.messages)
