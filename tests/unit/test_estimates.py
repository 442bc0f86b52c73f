"""What calls will use: tokens times prices, and the time that the tightest limit asks."""

from pathlib import Path
from typing import Any

import pytest

from judge_gym.asking.estimating import (
    USUAL_ANSWER_TOKENS,
    USUAL_LATENCY_S,
    PerCall,
    assumptions,
    estimate,
    per_call,
)
from judge_gym.llm.pricing import count_tokens, price_of
from judge_gym.llm.providers import Price, Provider, Providers
from judge_gym.prompts import Prompt
from judge_gym.settings import Settings
from judge_gym.store.calls import Past

OWN = Price(prompt=1, completion=2)
PROVIDERS = Providers(
    {
        "sim": Provider(name="sim", litellm="openai"),
        "openai": Provider(name="openai", prices={"gpt-4.1": OWN}),
        "gemini": Provider(name="gemini"),
        "local": Provider(name="local", litellm="openai", prices={"mine": OWN}),
    },
    Path("providers.toml"),
)
CALL = PerCall(prompt_tokens=1000, answer_tokens=100, reserved_tokens=2000, latency_s=4, price=OWN)


def used(calls: int = 120, provider: Any = None, **settings: Any) -> Any:
    given = Provider(name="p", **({"concurrency": 8} | (provider or {})))
    return estimate(Settings(**({"workers": 4} | settings)), given, [(calls, CALL)])


def test_cost_is_tokens_times_prices() -> None:
    """120 x (1000 x 1 + 100 x 2) / 1e6 = 0.144."""
    of = used()
    assert (of.prompt_tokens, of.answer_tokens) == (120_000, 12_000)
    assert of.cost_usd == pytest.approx(0.144)


def test_a_cost_with_an_unknown_part_is_unknown() -> None:
    provider = Provider(name="p")
    unpriced = PerCall(1000, 100, 2000, 4, None)
    assert estimate(Settings(), provider, [(1, CALL), (1, unpriced)]).cost_usd is None
    # What is not asked at all costs nothing, whatever its price.
    assert estimate(Settings(), provider, [(0, unpriced)]).cost_usd == 0
    assert estimate(Settings(), provider, [(0, unpriced)]).seconds == 0


@pytest.mark.parametrize(
    ("provider", "settings", "seconds"),
    [
        # 120 calls of 4 s, 8 at a time.
        ({}, {}, 60),
        # 60 a minute: two minutes; 600 a minute: 12 s, so the concurrency rules.
        ({"requests_per_minute": 60}, {}, 120),
        ({"requests_per_minute": 600}, {}, 60),
        # 240,000 tokens reserved, 40,000 a minute.
        ({"tokens_per_minute": 40_000}, {}, 360),
        # One worker holds one of four slots: a quarter of 8 in flight, of 60 a minute.
        ({}, {"workers": 1}, 240),
        ({"requests_per_minute": 60}, {"workers": 1}, 480),
        # Two workers with a call each have two in flight.
        ({"task_slots": 2}, {"workers": 2, "chunk_size": 1}, 240),
        # More in flight than there are calls helps nobody.
        ({"concurrency": 500}, {"workers": 4}, 4),
    ],
)
def test_the_tightest_limit_sets_the_time(
    provider: dict[str, int], settings: dict[str, int], seconds: float
) -> None:
    assert used(provider=provider, **settings).seconds == pytest.approx(seconds)


def test_a_call_is_foreseen_from_its_prompt_and_from_the_past() -> None:
    """40 and 80 characters are 10 and 20 tokens; the longest answer is 50."""
    prompts = [Prompt(({"role": "user", "content": "x" * n},), "score", "0") for n in (40, 80)]
    past = {("local/mine", "scorer"): Past(answer_tokens=33, latency_s=2.5)}
    known = per_call(PROVIDERS, "local/mine", "scorer", prompts, 50, past)
    assert known == PerCall(15, 33, 65, 2.5, OWN)
    # Without a past: the usual, but no more than the longest answer.
    new = per_call(PROVIDERS, "local/other", "scorer", prompts, 50, past)
    assert new == PerCall(15, 50, 65, USUAL_LATENCY_S, None)
    # Answers of batches have tokens, and no time of their own.
    batches = {("local/mine", "scorer"): Past(answer_tokens=33, latency_s=None)}
    assert per_call(PROVIDERS, "local/mine", "scorer", prompts, 50, batches) == PerCall(
        15, 33, 65, USUAL_LATENCY_S, OWN
    )
    longer = per_call(PROVIDERS, "local/other", "scorer", prompts, 5000, past)
    assert longer.answer_tokens == USUAL_ANSWER_TOKENS["scorer"]


def test_what_is_assumed_is_said() -> None:
    past = {("local/mine", "scorer"): Past(33, 2.5)}
    assert assumptions([("local/mine", "scorer")], past, thinking={}, stood_in=False) == []
    length, answers = assumptions(
        [("local/mine", "scorer"), ("local/mine", "prober"), ("sim/a", "critic")],
        past,
        thinking={},
        stood_in=True,
    )
    assert "800 words an article" in length
    assert "prober 200, critic 30; and to take 0.1 or 10 s each" in answers
    only_batches = {("local/mine", "scorer"): Past(33, None)}
    assert assumptions([("local/mine", "scorer")], only_batches, thinking={}, stood_in=False) == [
        "Answers without a history are taken to take 10 s each."
    ]


@pytest.mark.parametrize(
    ("model", "price"),
    [
        ("sim/calm-1", Price(prompt=0, completion=0)),
        ("local/mine", OWN),
        # The file's own price goes before litellm's.
        ("openai/gpt-4.1", OWN),
        # litellm lists 0.4 and 1.6 USD for a million tokens.
        ("openai/gpt-4.1-mini", Price(prompt=0.4, completion=1.6)),
        # A model that another provider is listed with may cost something else here.
        ("gemini/gpt-4.1-mini", None),
        ("openai/no-such-model", None),
        ("local/other", None),
    ],
)
def test_the_price_of_a_model(model: str, price: Price | None) -> None:
    found = price_of(PROVIDERS, model)
    if price is None or found is None:
        assert found is price
    else:
        assert found.prompt == pytest.approx(price.prompt)
        assert found.completion == pytest.approx(price.completion)


def test_tokens_are_counted_where_the_tokenizer_is_at_hand() -> None:
    """A hundred times "hello world " is 200 tokens of OpenAI's and 1200 characters."""
    messages = [{"role": "user", "content": "hello world " * 100}]
    assert 200 <= count_tokens(PROVIDERS, "openai/gpt-4.1-mini", messages) <= 212
    for model in ("sim/calm-1", "local/mine", "local/llama-3", "openai/llama-3"):
        assert count_tokens(PROVIDERS, model, messages) == 300
