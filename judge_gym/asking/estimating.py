"""What calls that are still to be made will use: tokens, money, time, and what is assumed."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil

from judge_gym.design.experiment import Effort
from judge_gym.llm.batches.policy import policy_of, split
from judge_gym.llm.capabilities import taken_by
from judge_gym.llm.pricing import batch_price_of, count_tokens, price_of
from judge_gym.llm.providers import Price, Provider, Providers
from judge_gym.model_names import is_simulated_model
from judge_gym.prompts import Prompt
from judge_gym.records.calls import EMBEDDER
from judge_gym.settings import Settings
from judge_gym.store.calls import Past, PastKey

USUAL_ANSWER_TOKENS = {
    EMBEDDER: 0,
    "cleaner": 1000,
    "neutralizer": 220,
    "abstractor": 240,
    "rubricer": 900,
    "critic": 30,
    "scorer": 400,
    "prober": 200,
    "score_critic": 30,
    "judge": 150,
    "perturber": 500,
    "proposer": 500,
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
    answer_limit: float
    """The output limit as sent, with the room for thinking."""
    reserved_tokens: float
    """What a rate limit counts: the prompt and the longest answer allowed."""
    latency_s: float
    price: Price | None
    model: str
    batch_price: Price | None
    """The price in a batch; None also where the provider takes none."""
    may_batch: bool = True
    """Whether it may go in a batch; an embedding is always requested directly."""


@dataclass(frozen=True)
class UsageEstimate:
    """What a number of calls will use."""

    prompt_tokens: int
    answer_tokens: int
    cost_usd: float | None
    """None when the price of one of the models is in no list."""
    seconds: float
    """How long the direct calls take."""
    batched: int
    """Calls of these that go in batches, which are answered within 24 hours."""
    batched_usd: float | None
    """The part of the cost that is for batches; None as for `cost_usd`."""


def per_call(
    providers: Providers,
    model: str,
    agent: str,
    prompts: Sequence[Prompt],
    longest_answer: float,
    past: Mapping[PastKey, Past],
    effort: Effort | None = None,
) -> PerCall:
    """Return the means for one kind of call; `prompts` are examples of what will be sent.

    Answers at another `effort` say nothing of its length: without a past of its own, all the room
    for thinking counts.
    """
    history = past.get((model, agent, effort), _NO_PAST)
    taken = taken_by(providers, model)
    limit = taken.limit(longest_answer, effort)
    may_batch = agent != EMBEDDER
    batched = providers.of(model).batch and may_batch
    answer, latency = history.answer_tokens, history.latency_s
    counts = [count_tokens(providers, model, prompt.messages) for prompt in prompts]
    characters = [sum(len(part["content"]) for part in prompt.messages) for prompt in prompts]
    return PerCall(
        prompt_tokens=sum(counts) / len(counts),
        answer_tokens=min(USUAL_ANSWER_TOKENS[agent] + taken.room(effort), limit)
        if answer is None
        else answer,
        answer_limit=limit,
        reserved_tokens=sum(characters) / 4 / len(characters) + limit,
        latency_s=_usual_latency_s(model) if latency is None else latency,
        price=price_of(providers, model),
        model=model,
        batch_price=batch_price_of(providers, model) if batched else None,
        may_batch=may_batch,
    )


def assumptions(
    kinds: Sequence[PastKey],
    past: Mapping[PastKey, Past],
    *,
    thinking: Mapping[str, int],
    evidence: bool,
    made: bool,
) -> list[str]:
    """Return the assumptions made where the ledger has no history, as sentences.

    `kinds` are those of the estimated calls. `thinking` is each model's most room for thinking, in
    tokens. `evidence` says that placeholders stand for evidence that is not collected, `made` that
    they stand for views and rubrics that models have not made yet.
    """
    sentences = []
    if evidence:
        sentences.append(
            f"Evidence that is not collected is assumed to have {ARTICLE_WORDS} words a document."
        )
    if made:
        sentences.append(
            "Views and rubrics that are not made yet are expected to have the usual length."
        )
    histories = {kind: past.get(kind, _NO_PAST) for kind in kinds}
    uncounted = [kind for kind, history in histories.items() if history.answer_tokens is None]
    untimed = {
        _usual_latency_s(model)
        for (model, _, _), history in histories.items()
        if history.latency_s is None
    }
    usual = []
    if uncounted:
        agents = dict.fromkeys(agent for _, agent, _ in uncounted)
        tokens = ", ".join(f"{agent} {USUAL_ANSWER_TOKENS[agent]}" for agent in agents)
        usual.append(f"to have, in tokens: {tokens}")
    if untimed:
        seconds = " or ".join(f"{latency:g}" for latency in sorted(untimed))
        usual.append(f"to take {seconds} s each")
    if usual:
        sentences.append(f"Answers without a history are taken {'; and '.join(usual)}.")
    for model in sorted({model for model, _, _ in uncounted if thinking.get(model)}):
        sentences.append(
            f"{model} thinks before it answers: all {thinking[model]:,} tokens of thinking_tokens "
            "are counted with each of its answers without a history, which is the most it can use."
        )
    return sentences


_NO_PAST = Past(None, None)


def _usual_latency_s(model: str) -> float:
    return USUAL_SIMULATED_LATENCY_S if is_simulated_model(model) else USUAL_LATENCY_S


def estimate(
    settings: Settings, provider: Provider, calls: Sequence[tuple[int, PerCall]]
) -> UsageEstimate:
    """Sum what so many calls of each kind to one provider will use.

    Where the provider takes batches, the batch policy splits the calls to each model. The time is
    what the tightest bound asks of the direct ones: requests or tokens a minute, or requests in
    flight, each for as long as an answer takes. Retries and pauses after a 429 come on top.
    """
    calls = [(count, kind) for count, kind in calls if count]
    batched = _in_batches(settings, provider, calls)
    direct = [(count - part, kind) for (count, kind), (part, _) in zip(calls, batched, strict=True)]
    batched_usd = _sum([_cost(part, kind, kind.batch_price) for part, kind in batched])
    direct_usd = _sum([_cost(count, kind, kind.price) for count, kind in direct])
    return UsageEstimate(
        prompt_tokens=round(sum(count * kind.prompt_tokens for count, kind in calls)),
        answer_tokens=round(sum(count * kind.answer_tokens for count, kind in calls)),
        cost_usd=_sum([batched_usd, direct_usd]),
        seconds=_seconds(settings, provider, direct),
        batched=sum(part for part, _ in batched),
        batched_usd=batched_usd,
    )


def most_used(
    settings: Settings, provider: Provider, calls: Sequence[tuple[int, PerCall]]
) -> UsageEstimate:
    """Return `estimate` with every call at the full price: a batch may leave any of them open."""
    full = _sum([_cost(count, kind, kind.price) for count, kind in calls if count])
    found = estimate(settings, provider, calls)
    return replace(
        found,
        prompt_tokens=sum(ceil(count * kind.prompt_tokens) for count, kind in calls),
        answer_tokens=sum(ceil(count * kind.answer_tokens) for count, kind in calls),
        cost_usd=full,
    )


def in_all(estimates: Sequence[UsageEstimate]) -> UsageEstimate:
    """Return the sum of estimates of calls, one after the other."""
    return UsageEstimate(
        sum(one.prompt_tokens for one in estimates),
        sum(one.answer_tokens for one in estimates),
        _sum([one.cost_usd for one in estimates]),
        sum(one.seconds for one in estimates),
        sum(one.batched for one in estimates),
        _sum([one.batched_usd for one in estimates]),
    )


def _in_batches(
    settings: Settings, provider: Provider, calls: Sequence[tuple[int, PerCall]]
) -> list[tuple[int, PerCall]]:
    """Return how many calls of each kind go in batches, which are of one model each."""
    totals: Counter[str] = Counter()
    for count, kind in calls:
        totals[kind.model] += count if provider.batch and kind.may_batch else 0
    room = {
        model: sum(split(count, policy_of(settings)).batches) for model, count in totals.items()
    }
    parts = []
    for count, kind in calls:
        part = min(count, room[kind.model]) if kind.may_batch else 0
        room[kind.model] -= part
        parts.append((part, kind))
    return parts


def _sum(costs: Sequence[float | None]) -> float | None:
    known = [cost for cost in costs if cost is not None]
    return sum(known) if len(known) == len(costs) else None


def _cost(count: int, kind: PerCall, price: Price | None) -> float | None:
    if not count:
        return 0.0
    if price is None:
        return None
    return count * price.cost_usd(kind.prompt_tokens, kind.answer_tokens)


def _seconds(settings: Settings, provider: Provider, calls: Sequence[tuple[int, PerCall]]) -> float:
    total = sum(count for count, _ in calls)
    if not total:
        return 0.0
    # A chunk holds one of the provider's task slots, and with it a share of its bounds.
    chunks = min(settings.workers, ceil(total / settings.first_chunk))
    share = min(1.0, chunks / provider.task_slots)
    in_flight = min(total, chunks * settings.first_chunk, max(1, int(provider.concurrency * share)))
    bounds = [sum(count * kind.latency_s for count, kind in calls) / in_flight]
    if provider.requests_per_minute:
        bounds.append(60 * total / (provider.requests_per_minute * share))
    if provider.tokens_per_minute:
        reserved = sum(count * kind.reserved_tokens for count, kind in calls)
        bounds.append(60 * reserved / (provider.tokens_per_minute * share))
    return max(bounds)
