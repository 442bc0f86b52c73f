"""What models cost: the providers file first, then litellm's list, which is imported only then."""

from judge_gym.llm.calls import SIMULATED
from judge_gym.llm.providers import Price, Providers

FREE = Price(prompt=0, completion=0)


def price_of(providers: Providers, model: str) -> Price | None:
    """Return a model's price, None when it is in no list; the simulator's models are free."""
    if model.startswith(SIMULATED):
        return FREE
    provider = providers.of(model)
    name = model.partition("/")[2]
    if name in provider.prices:
        return provider.prices[name]
    # litellm takes seconds to import, which plans of simulated sweeps must not pay.
    from judge_gym.llm.client import listed_price

    return listed_price(provider, name)
