"""Whether prompts fit into a model's context, where that is known.

Of the others the provider says so itself, call by call.
"""

from collections.abc import Iterable

from judge_gym.errors import ConfigError
from judge_gym.llm.capabilities import taken_by
from judge_gym.llm.pricing import count_tokens
from judge_gym.llm.providers import Providers
from judge_gym.records.calls import Call

CHARACTERS_A_TOKEN = 2
"""Fewer than any prose has: a prompt that fits by this need not be counted."""


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


def _characters(call: Call) -> int:
    return sum(len(message["content"]) for message in call.prompt.messages)
