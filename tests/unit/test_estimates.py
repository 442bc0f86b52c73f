"""What calls will use: tokens times prices, and the time that the tightest limit asks."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge_gym.asking.budgeting import highest_cost
from judge_gym.asking.estimating import (
    USUAL_ANSWER_TOKENS,
    USUAL_LATENCY_S,
    PerCall,
    assumptions,
    estimate,
    most_used,
    per_call,
)
from judge_gym.design.experiment import Effort
from judge_gym.llm.capabilities import fitted, taken_by
from judge_gym.llm.pricing import count_tokens, most_tokens, price_of
from judge_gym.llm.providers import Price, Provider, Providers, load_providers
from judge_gym.prompts import Prompt
from judge_gym.records.calls import Call, Parameters
from judge_gym.settings import Settings
from judge_gym.shipped import DEPLOYMENTS
from judge_gym.simulator.chat import count_tokens as simulated_tokens
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
CALL = PerCall(
    prompt_tokens=1000,
    answer_tokens=100,
    answer_limit=1000,
    reserved_tokens=2000,
    latency_s=4,
    price=OWN,
    model="p/m",
    batch_price=Price(prompt=0.5, completion=1),
)


def used(calls: int = 120, provider: Any = None, **settings: Any) -> Any:
    given = Provider(name="p", **({"concurrency": 8} | (provider or {})))
    return estimate(Settings(**({"workers": 4} | settings)), given, [(calls, CALL)])


def test_cost_is_tokens_times_prices() -> None:
    """120 x (1000 x 1 + 100 x 2) / 1e6 = 0.144."""
    of = used()
    assert (of.prompt_tokens, of.answer_tokens) == (120_000, 12_000)
    assert of.cost_usd == pytest.approx(0.144)


@pytest.mark.parametrize(
    ("calls", "batched", "cost"),
    [
        # A call costs 0.0012 USD, in a batch half of that.
        ((9,), 0, 0.0108),
        # Two kinds of one model fill batches together: 50 and 50, and 3 are left.
        ((60, 43), 100, 0.0636),
        ((60, 46), 106, 0.0636),
    ],
)
def test_batches_cost_their_own_price_and_what_is_left_over_the_full_one(
    calls: tuple[int, ...], batched: int, cost: float
) -> None:
    settings = Settings(batch_minimum=10, batch_fallback=5, batch_maximum=50)
    provider = Provider(name="openai", batch="openai")
    of = estimate(settings, provider, [(count, CALL) for count in calls])
    assert of.batched == batched
    assert of.batched_usd == pytest.approx(batched * 0.0006)
    assert of.cost_usd == pytest.approx(cost)


def test_the_highest_cost_of_a_call_is_its_prompt_and_its_longest_answer() -> None:
    """40 characters are 10 tokens: (10 x 1 + 100 x 2) / 1e6."""
    prompt = Prompt(({"role": "user", "content": "x" * 40},), "t", "h")
    call = Call("k", "w", "a", "local/mine", prompt, Parameters(1, 1, max_tokens=100, seed=1))
    assert highest_cost(PROVIDERS, call) == pytest.approx(2.1e-4)


def test_a_cost_with_an_unknown_part_is_unknown() -> None:
    provider = Provider(name="p")
    unpriced = PerCall(1000, 100, 1000, 2000, 4, None, "p/m", None)
    assert estimate(Settings(), provider, [(1, CALL), (1, unpriced)]).cost_usd is None
    # What is not asked at all costs nothing, whatever its price.
    assert estimate(Settings(), provider, [(0, unpriced)]).cost_usd == 0
    assert estimate(Settings(), provider, [(0, unpriced)]).seconds == 0


@pytest.mark.parametrize(
    ("provider", "settings", "seconds"),
    [
        # 120 calls of 4 s are two chunks, which hold two of four slots: 4 of 8 at a time.
        ({}, {}, 120),
        # 60 a minute, of which half: four minutes; 600 a minute: 24 s, so the concurrency rules.
        ({"requests_per_minute": 60}, {}, 240),
        ({"requests_per_minute": 600}, {}, 120),
        # 240,000 tokens reserved, half of 40,000 a minute.
        ({"tokens_per_minute": 40_000}, {}, 720),
        # Four chunks hold all four slots.
        ({}, {"chunk_size": 30}, 60),
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
    past = {("local/mine", "scorer", None): Past(answer_tokens=33, latency_s=2.5)}
    known = per_call(PROVIDERS, "local/mine", "scorer", prompts, 50, past)
    assert known == PerCall(15, 33, 50, 65, 2.5, OWN, "local/mine", None)
    # Without a past: the usual, but no more than the longest answer.
    new = per_call(PROVIDERS, "local/other", "scorer", prompts, 50, past)
    assert new == PerCall(15, 50, 50, 65, USUAL_LATENCY_S, None, "local/other", None)
    # Answers of batches have tokens, and no time of their own.
    batches = {("local/mine", "scorer", None): Past(answer_tokens=33, latency_s=None)}
    assert per_call(PROVIDERS, "local/mine", "scorer", prompts, 50, batches) == PerCall(
        15, 33, 50, 65, USUAL_LATENCY_S, OWN, "local/mine", None
    )
    longer = per_call(PROVIDERS, "local/other", "scorer", prompts, 5000, past)
    assert longer.answer_tokens == USUAL_ANSWER_TOKENS["scorer"]
    assert longer.answer_limit == 5000


@pytest.mark.parametrize(
    ("model", "effort", "limit"),
    [
        # It thinks only when it is asked to, within 4096 tokens at effort high.
        ("anthropic/claude-sonnet-4-5", "none", 1024),
        ("anthropic/claude-sonnet-4-5", None, 1024),
        ("anthropic/claude-sonnet-4-5", "high", 1024 + 4096),
        # It thinks unless it is asked not to.
        ("gemini/gemini-2.5-flash", "none", 1024),
        ("gemini/gemini-2.5-flash", "low", 1024 + 1024),
        ("gemini/gemini-2.5-flash", None, 1024 + 16_384),
        # It cannot be kept from thinking.
        ("openai/gpt-5-mini", None, 1024 + 16_384),
    ],
)
def test_the_limit_of_an_answer_is_the_one_that_is_sent(
    model: str, effort: Effort | None, limit: int
) -> None:
    """A plan's upper bound counts what the request allows, whatever answers had before."""
    shipped = load_providers(DEPLOYMENTS / "providers.toml")
    prompt = Prompt(({"role": "user", "content": "x"},), "score", "0")
    past = {(model, "scorer", effort): Past(33, 2.5)}
    each = per_call(shipped, model, "scorer", [prompt], 1024, past, effort)
    asked = Parameters(1, 1, 1024, seed=1, reasoning_effort=effort).asked()
    sent = fitted(model, asked, taken_by(shipped, model))
    assert (each.answer_tokens, each.answer_limit, sent.limit) == (33, limit, limit)


def test_what_is_assumed_is_said() -> None:
    past = {("local/mine", "scorer", None): Past(33, 2.5)}
    assert (
        assumptions([("local/mine", "scorer", None)], past, thinking={}, evidence=False, made=False)
        == []
    )
    length, answers = assumptions(
        [("local/mine", "scorer", None), ("local/mine", "prober", None), ("sim/a", "critic", None)],
        past,
        thinking={},
        evidence=True,
        made=False,
    )
    assert "800 words a document" in length
    assert "prober 200, critic 30; and to take 0.1 or 10 s each" in answers
    only_batches = {("local/mine", "scorer", None): Past(33, None)}
    assert assumptions(
        [("local/mine", "scorer", None)], only_batches, thinking={}, evidence=False, made=False
    ) == ["Answers without a history are taken to take 10 s each."]


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


@given(st.text(max_size=300))
def test_a_text_has_no_more_tokens_than_are_counted_at_most(text: str) -> None:
    """The simulator counts runs of letters and digits, and every other sign."""
    assert simulated_tokens(text) <= most_tokens(text)


def test_prose_of_many_languages_and_code_stay_below_the_count() -> None:
    """OpenAI's own tokenizer counts less; of English prose not less than half as much."""
    texts = [
        "The minister answered every question of the members in a public session. " * 20,
        "Die Verfassungsgerichtsbarkeit der Bundesrepublik entschied einstimmig darüber. " * 20,
        "法院周一开庭,听取了两家报纸的申诉。" * 20,
        "Суд заседал в понедельник и отложил решение до вечера. " * 20,
        "अदालत ने सोमवार को दो अख़बारों की शिकायत सुनी। " * 20,
        'if (a[i] != b[j++]) { return {"x": 0x1F, "y": [1, 2, 3]}; }\n\n\t\t// ---- \n' * 20,
        "https://www.example.org/a/b?id=QmFzZTY0IGlzIG5vdCBhIHdvcmQ&x=1234567890 " * 20,
        "x" * 400,
    ]
    for text in texts:
        counted = count_tokens(PROVIDERS, "openai/gpt-4.1-mini", [{"content": text}])
        assert counted <= most_tokens(text)
    english = [{"role": "user", "content": texts[0]}]
    assert most_tokens(texts[0]) < 2 * count_tokens(PROVIDERS, "openai/gpt-4.1-mini", english)


def test_the_most_that_calls_in_batches_cost_is_their_full_price() -> None:
    """A batch may leave every call open: 100 x (1000 x 1 + 100 x 2) / 1e6 = 0.12."""
    settings = Settings(batch_minimum=10, batch_fallback=5, batch_maximum=50)
    of = most_used(settings, Provider(name="openai", batch="openai"), [(100, CALL)])
    assert of.batched == 100
    assert of.cost_usd == pytest.approx(0.12)
