"""What calls that are still to be made will use: tokens, money, time, and what is assumed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from judge_gym.llm.capabilities import taken_by
from judge_gym.llm.pricing import count_tokens, price_of
from judge_gym.llm.providers import Price, Provider, Providers
from judge_gym.model_names import is_simulated_model
from judge_gym.prompts import Prompt
from judge_gym.settings import Settings
from judge_gym.store.calls import Past

USUAL_ANSWER_TOKENS = {
    "cleaner": 1000,
    "neutralizer": 220,
    "abstractor": 240,
    "rubricer": 900,
    "critic": 30,
    "scorer": 400,
    "prober": 200,
    "judge": 150,
    "perturber": 500,
    "writer": 150,
    "rater": 400,
    "arbiter": 150,
}
"""Tokens of an answer to each agent, where the ledger has none to go by."""
USUAL_LATENCY_S, USUAL_SIMULATED_LATENCY_S = 10.0, 0.1
"""Seconds that an answer takes, where the ledger has none to go by."""


ARTICLE_WORDS = 800
"""Words of an article that is not collected yet."""


@dataclass(frozen=True)
class PerCall:
    """Means over one kind of call to one model."""

    prompt_tokens: float
    answer_tokens: float
    reserved_tokens: float
    """What a rate limit counts: the prompt and the longest answer allowed."""
    latency_s: float
    price: Price | None


@dataclass(frozen=True)
class Estimate:
    """What a number of calls will use."""

    prompt_tokens: int
    answer_tokens: int
    cost_usd: float | None
    """None when the price of one of the models is in no list."""
    seconds: float


def per_call(
    providers: Providers,
    model: str,
    agent: str,
    prompts: Sequence[Prompt],
    longest_answer: int,
    past: Mapping[tuple[str, str], Past],
) -> PerCall:
    """Return the means for one kind of call; `prompts` are examples of what will be sent."""
    known = past.get((model, agent), _NO_PAST)
    thinking = taken_by(providers, model).thinking_tokens
    answer, latency = known.answer_tokens, known.latency_s
    counts = [count_tokens(providers, model, prompt.messages) for prompt in prompts]
    characters = [sum(len(part["content"]) for part in prompt.messages) for prompt in prompts]
    return PerCall(
        prompt_tokens=sum(counts) / len(counts),
        answer_tokens=min(USUAL_ANSWER_TOKENS[agent], longest_answer) + thinking
        if answer is None
        else answer,
        reserved_tokens=sum(characters) / 4 / len(characters) + longest_answer + thinking,
        latency_s=_usual_latency_s(model) if latency is None else latency,
        price=price_of(providers, model),
    )


def assumptions(
    asked: Sequence[tuple[str, str]],
    past: Mapping[tuple[str, str], Past],
    *,
    thinking: Mapping[str, int],
    stood_in: bool,
) -> list[str]:
    """Return the assumptions made where the ledger has no history, as sentences.

    `asked` are the estimated (model, agent) pairs. `thinking` is each model's thinking
    budget in tokens. `stood_in` says that placeholders stood in for missing evidence or rubrics.
    """
    told = []
    if stood_in:
        told.append(
            "Missing evidence and rubrics are assumed to have the usual length: "
            f"{ARTICLE_WORDS} words an article."
        )
    known = {one: past.get(one, _NO_PAST) for one in asked}
    uncounted = dict.fromkeys(one[1] for one, seen in known.items() if seen.answer_tokens is None)
    untimed = {_usual_latency_s(one[0]) for one, seen in known.items() if seen.latency_s is None}
    taken = []
    if uncounted:
        usual = ", ".join(f"{agent} {USUAL_ANSWER_TOKENS[agent]}" for agent in uncounted)
        taken.append(f"to have, in tokens: {usual}")
    if untimed:
        seconds = " or ".join(f"{one:g}" for one in sorted(untimed))
        taken.append(f"to take {seconds} s each")
    if taken:
        told.append(f"Answers without a history are taken {'; and '.join(taken)}.")
    unthought = {one[0] for one, seen in known.items() if seen.answer_tokens is None}
    for model in sorted(unthought & {one for one, room in thinking.items() if room}):
        told.append(
            f"{model} thinks before it answers: all {thinking[model]:,} tokens of thinking_tokens "
            "are counted with each of its answers without a history, which is the most it can use."
        )
    return told


_NO_PAST = Past(None, None)


def _usual_latency_s(model: str) -> float:
    return USUAL_SIMULATED_LATENCY_S if is_simulated_model(model) else USUAL_LATENCY_S


def estimate(
    settings: Settings, provider: Provider, calls: Sequence[tuple[int, PerCall]]
) -> Estimate:
    """Sum what so many calls of each kind to one provider will use.

    The time is what the tightest bound asks: requests or tokens a minute, or requests in flight,
    each for as long as an answer takes. Retries and pauses after a 429 come on top.
    """
    calls = [(count, each) for count, each in calls if count]
    costs = [_cost(count, each) for count, each in calls]
    known = [cost for cost in costs if cost is not None]
    return Estimate(
        prompt_tokens=round(sum(count * each.prompt_tokens for count, each in calls)),
        answer_tokens=round(sum(count * each.answer_tokens for count, each in calls)),
        cost_usd=sum(known) if len(known) == len(costs) else None,
        seconds=_seconds(settings, provider, calls),
    )


def _cost(count: int, each: PerCall) -> float | None:
    if each.price is None:
        return None
    prompt, answer = each.prompt_tokens, each.answer_tokens
    return count * (prompt * each.price.prompt + answer * each.price.completion) / 1e6


def _seconds(settings: Settings, provider: Provider, calls: Sequence[tuple[int, PerCall]]) -> float:
    total = sum(count for count, _ in calls)
    if not total:
        return 0.0
    # A chunk holds one of the provider's task slots, and with it a share of its bounds.
    share = min(1.0, settings.workers / provider.task_slots)
    chunks = settings.workers * settings.chunk_size
    in_flight = min(total, chunks, max(1, int(provider.concurrency * share)))
    bounds = [sum(count * each.latency_s for count, each in calls) / in_flight]
    if provider.requests_per_minute:
        bounds.append(60 * total / (provider.requests_per_minute * share))
    if provider.tokens_per_minute:
        reserved = sum(count * each.reserved_tokens for count, each in calls)
        bounds.append(60 * reserved / (provider.tokens_per_minute * share))
    return max(bounds)
