"""What models cost and how they count: the providers file first, then litellm.

litellm takes seconds to import, so it is imported only for models that need it.
"""

from collections.abc import Sequence

from judge_gym.llm.providers import Price, Provider, Providers
from judge_gym.model_names import is_simulated_model
from judge_gym.prompts import Message

FREE = Price(prompt=0, completion=0)


def price_of(providers: Providers, model: str) -> Price | None:
    """Return a model's price, None when it is in no list; the simulator's models are free."""
    if is_simulated_model(model):
        return FREE
    provider = providers.of(model)
    name = model.partition("/")[2]
    if name in provider.prices:
        return provider.prices[name]
    from judge_gym.llm.client import listed_price

    return listed_price(provider, name)


def batch_price_of(providers: Providers, model: str) -> Price | None:
    """Return a model's price in a batch, None when it is in no list."""
    if is_simulated_model(model):
        return FREE
    from judge_gym.llm.batches.clients import price_in_batch

    return price_in_batch(providers.of(model), model.partition("/")[2])


def priced_names(provider: Provider) -> list[str]:
    """Return the names of a provider's models in the lists of prices."""
    from judge_gym.llm.client import listed_names

    return [*provider.prices, *listed_names(provider)]


def count_tokens(providers: Providers, model: str, messages: Sequence[Message]) -> int:
    """Return the tokens of a prompt: counted for OpenAI and Anthropic, else 4 characters a token.

    Other vendors' tokenizers would have to be fetched from a hub.
    """
    provider, name = providers.of(model), model.partition("/")[2]
    if provider.name in ("openai", "anthropic"):
        from judge_gym.llm.client import counted_tokens, listed_price

        # A name that litellm does not know may be of any family.
        if listed_price(provider, name) is not None:
            return counted_tokens(name, messages)
    return -(-sum(len(message["content"]) for message in messages) // 4)
