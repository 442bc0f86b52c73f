"""What models cost and how they count: the providers file first, then litellm's list."""

import re
from collections.abc import Sequence
from dataclasses import replace

from judge_gym.llm import listed
from judge_gym.llm.providers import Price, Provider, Providers
from judge_gym.model_names import is_simulated_model
from judge_gym.prompts import Message
from judge_gym.records.calls import Answer, Call

FREE = Price(prompt=0, completion=0)
_ANTHROPICS_SHARE = 0.5
"""Anthropic charges half of every price in a batch, also for cached tokens; litellm's list does
not have that."""


def price_of(providers: Providers, model: str) -> Price | None:
    """Return a model's price, None when it is in no list; the simulator's models are free."""
    if is_simulated_model(model):
        return FREE
    provider = providers.of(model)
    name = model.partition("/")[2]
    if name in provider.prices:
        return provider.prices[name]
    return listed_price(provider, name)


def listed_price(provider: Provider, name: str, suffix: str = "") -> Price | None:
    """Return what litellm's own list says a model costs.

    `suffix` is that of the list's keys: "_batches" for the prices of batches.
    """
    entry = listed.entry(provider.litellm or provider.name, name)
    keys = [f"{side}_cost_per_token{suffix}" for side in ("input", "output")]
    if not set(keys) <= entry.keys():
        return None
    prompt, completion = (entry[key] * 1e6 for key in keys)
    return Price(
        prompt=prompt,
        completion=completion,
        **{
            name: entry[f"{key}{suffix}"] * 1e6
            for name, key in _SPECIAL_PRICES.items()
            if entry.get(f"{key}{suffix}") is not None
        },
    )


_SPECIAL_PRICES = {
    "cached": "cache_read_input_token_cost",
    "cache_written": "cache_creation_input_token_cost",
    "reasoning": "output_cost_per_reasoning_token",
}


def highest_cost(providers: Providers, call: Call, limit: int) -> float | None:
    """Return the most that a request of a call at an output limit in tokens costs, in US dollars.

    Four characters a token of the prompt. None for a model without a price.
    """
    price = price_of(providers, call.model)
    return None if price is None else price.cost_usd(call.tokens_at_most(limit) - limit, limit)


BYTES_A_TOKEN = 2
"""Fewer than texts have in any language: what their tokens are at most."""


def with_bound(providers: Providers, call: Call, limit: int, answer: Answer) -> Answer:
    """Return an answer of unknown cost with the most that it may have cost.

    By the tokens that were counted, else by the bytes sent and received; at a limit with room for
    thinking, which may not be shown, by the limit.
    """
    price = price_of(providers, call.model)
    if answer.cost_usd is not None or price is None:
        return answer
    sent = sum(len(message["content"].encode()) for message in call.prompt.messages)
    prompt = answer.prompt_tokens or sent // BYTES_A_TOKEN + 1
    completion = answer.completion_tokens
    if completion is None:
        received = len((answer.text + answer.reasoning).encode()) // BYTES_A_TOKEN + 1
        thinks = limit > call.parameters.max_tokens
        completion = limit if thinks else min(limit, received)
    return replace(answer, at_most_usd=price.cost_usd(prompt, completion))


def batch_price_of(providers: Providers, model: str) -> Price | None:
    """Return a model's price in a batch, None when it is in no list."""
    if is_simulated_model(model):
        return FREE
    return price_in_batch(providers.of(model), model.partition("/")[2])


def price_in_batch(provider: Provider, name: str) -> Price | None:
    """Return what a model costs in a batch: by the providers file, else by litellm's list.

    The list's price of a batch, or of a direct call where it has none; None without either.
    """
    if own := provider.prices.get(name):
        return own
    if in_batch := listed_price(provider, name, "_batches"):
        return in_batch
    direct = listed_price(provider, name)
    if direct is None or provider.batch != "anthropic":
        return direct
    prices = direct.model_dump(exclude_none=True)
    return Price(**{part: price * _ANTHROPICS_SHARE for part, price in prices.items()})


def priced_names(provider: Provider) -> list[str]:
    """Return the names of a provider's models in the lists of prices."""
    return [*provider.prices, *listed.names(provider.litellm or provider.name)]


def count_tokens(providers: Providers, model: str, messages: Sequence[Message]) -> int:
    """Return the tokens of a prompt: counted for OpenAI and Anthropic, else 4 characters a token.

    Other vendors' tokenizers would have to be fetched from a hub.
    """
    provider, name = providers.of(model), model.partition("/")[2]
    # A name that litellm does not know may be of any family.
    if provider.name in ("openai", "anthropic") and listed_price(provider, name) is not None:
        # It imports litellm, which takes a second.
        from judge_gym.llm.sendable import counted_tokens

        return counted_tokens(name, messages)
    return -(-sum(len(message["content"]) for message in messages) // 4)


_PIECE = re.compile(r"[A-Za-z]{1,3}|[\x00-\x1f!-@\[-`{-\x7f]|(?<= ) ")
_LONG_RUN = re.compile(r"[A-Za-z]{21,}")
_PER_MESSAGE = 16
"""Tokens that a provider puts around a message: its role, and marks of its begin and end."""


def most_tokens(text: str) -> int:
    """Return at least as many tokens as tokenizers make of a text.

    One for every three letters of a word, for every digit, sign, line end and further space, and
    for every byte that is not ASCII. Runs of over 20 letters, which are no words, count a token a
    letter. Prose in English comes to about one and a half times what tokenizers of today make.
    """
    pieces = len(_PIECE.findall(text))
    long_runs = sum(len(run) - len(run) // 3 for run in _LONG_RUN.findall(text))
    if text.isascii():
        return pieces + long_runs
    others = len(text.encode(errors="replace")) - len(text.encode("ascii", "ignore"))
    return pieces + long_runs + others


def most_prompt_tokens(messages: Sequence[Message]) -> int:
    """Return at least as many tokens as a prompt has, with what its provider puts around it."""
    return sum(_PER_MESSAGE + most_tokens(message["content"]) for message in messages)
