"""Calls, gateways and runtimes for tests that need a real ledger and a real provider."""

import asyncio
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from functools import cache
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from judge_gym.llm.gateway import Gateway
from judge_gym.llm.providers import ModelRules, Price, Provider, Providers
from judge_gym.prompts import Prompt
from judge_gym.records.calls import Answer, Call, DerivedRow, Failure, Parameters, TokenChance
from judge_gym.runtime import Runtime
from judge_gym.settings import Settings
from judge_gym.store import tables as t

Prices = Mapping[str, Price]
KEY_NAME = "TEST_PROVIDER_KEY"
KEY = "sk-planted-0123456789abcdef"
_DELETIONS = "; ".join(str(sa.delete(table)) for table in reversed(t.Base.metadata.sorted_tables))


def a_call(key: str, text: str = "question", **changes: Any) -> Call:
    """A call of the provider `real`."""
    prompt = Prompt(({"role": "user", "content": text},), "probe", "0" * 16)
    given: dict[str, Any] = {
        "workflow": "w2-rubric",
        "agent": "rubricer",
        "model": "real/m",
        "prompt": prompt,
        "parameters": Parameters(temperature=0, top_p=1, max_tokens=50, seed=1),
    }
    return Call(key, **(given | changes))


def an_answer(text: str = "answer", **changes: Any) -> Answer:
    """An answer as a client would give it."""
    given: dict[str, Any] = {
        "finish_reason": "stop",
        "prompt_tokens": 7,
        "completion_tokens": 3,
        "cost_usd": 0.01,
        "latency_ms": 5.0,
        "simulated": False,
    }
    return Answer(text, **(given | changes))


def a_full_answer(text: str = "answer", **changes: Any) -> Answer:
    """An answer with all that a provider may say of it, no two values alike."""
    given: dict[str, Any] = {
        "body": {"model": "m", "max_tokens": 50},
        "served_model": "m-2026-10-01",
        "response_id": "msg_1",
        "fingerprint": "fp_1",
        "finish_given": "end_turn",
        "cached_tokens": 4,
        "cache_written_tokens": 2,
        "reasoning_tokens": 1,
        "cost_source": "file",
        "reasoning": 'A "thought".',
        "chances": (
            TokenChance("B", -0.25, (("B", -0.25), ("C", -1.5))),
            TokenChance("\n", -0.125),
        ),
    }
    return an_answer(text, **(given | changes))


def ready_rubric(key: str, call_id: int, **changes: Any) -> DerivedRow:
    """A derived row: a usable rubric of two stages."""
    stage = {"label": "Some signs", "criteria": ["one", "two", "three"]}
    given = failed_rubric(key, call_id).values | {
        "status": "ready",
        "failure": None,
        "stages": [stage, stage | {"label": "All signs"}],
        "observability": 0.9,
        "discriminability": 0.8,
        "critic_model": "real/m",
    }
    return DerivedRow("rubrics", given | changes)


def failed_rubric(key: str, call_id: int) -> DerivedRow:
    """A derived row: a rubric that failed."""
    return DerivedRow(
        "rubrics",
        {
            "key": key,
            "source": "generated",
            "owner_model": "real/m",
            "owner_family": "m",
            "concept": "order",
            "country": "Freedonia",
            "scale_size": 2,
            "variant": 0,
            "status": "failed",
            "failure": "as the test says",
            "call_id": call_id,
        },
    )


def as_rubric(key: str) -> Any:
    """A derive function: an answer makes a usable rubric, a failure a failed one."""

    def derive(call_id: int, outcome: Answer | Failure) -> Sequence[DerivedRow]:
        made = ready_rubric if isinstance(outcome, Answer) else failed_rubric
        return [made(key, call_id)]

    return derive


def no_rows(_call_id: int, _outcome: Answer | Failure) -> Sequence[DerivedRow]:
    """A derive function for calls from which nothing follows."""
    return ()


def providers_at(
    base_url: str, concurrency: int = 8, *, batch: bool = False, prices: Prices | None = None
) -> Providers:
    """The provider `real`, with a key, and `sim` and `sim-anthropic`, without, at one address.

    With `batch`, the simulated ones take batches; `prices` are those of models of `real`.
    """
    real = Provider(
        name="real",
        litellm="openai",
        base_url=base_url,
        key_env=KEY_NAME,
        concurrency=concurrency,
        prices=prices or {},
    )
    sim = Provider(
        name="sim",
        litellm="openai",
        base_url=base_url,
        concurrency=concurrency,
        batch=batch,
        logprobs=20,
        efforts=("none", "low", "medium", "high"),
        default_effort="none",
    )
    messages = Provider(
        name="sim-anthropic",
        litellm="anthropic",
        base_url=base_url,
        path="/",
        concurrency=concurrency,
        batch=batch,
        models={"*": ModelRules(refuses=("seed",))},
    )
    by_name = {provider.name: provider for provider in (real, sim, messages)}
    return Providers(by_name, Path("providers.toml"))


@asynccontextmanager
async def gateway_at(
    url: str,
    base_url: str,
    *,
    attempts: int = 3,
    timeout_s: float = 5,
    concurrency: int = 8,
    outage_patience_s: float = 90,
    reuse_answers: bool = False,
    prices: Prices | None = None,
) -> AsyncIterator[tuple[Gateway, sa.Engine]]:
    """A gateway on a database and a provider, closed in the end."""
    engine = sa.create_engine(url)
    gateway = Gateway(
        engine,
        providers_at(base_url, concurrency, prices=prices),
        attempts=attempts,
        timeout_s=timeout_s,
        outage_patience_s=outage_patience_s,
        reuse_answers=reuse_answers,
    )
    try:
        yield gateway, engine
    finally:
        await gateway.close()
        engine.dispose()


@asynccontextmanager
async def runtime_at(
    url: str,
    base_url: str,
    *,
    batch: bool = False,
    prices: Prices | None = None,
    **settings: Any,
) -> AsyncIterator[Runtime]:
    """A runtime on a database and a provider, which takes batches with `batch`."""
    configured = Settings(**settings)
    async with gateway_at(
        url, base_url, attempts=2, concurrency=16, reuse_answers=configured.reuse_answers,
        prices=prices,
    ) as (gateway, engine):  # fmt: skip
        providers = providers_at(base_url, batch=batch, prices=prices)
        yield Runtime(configured, engine, providers, gateway)


def run(work: Coroutine[Any, Any, Any]) -> Any:
    """Run a test's coroutine in a loop of its own."""
    return asyncio.run(work)


def calls(engine: sa.Engine) -> dict[str, Any]:
    """The ledger by key."""
    with engine.connect() as connection:
        return {row.key: row for row in connection.execute(sa.select(t.Call))}


def count(engine: sa.Engine, table: Any) -> int:
    """How many rows a table has."""
    with engine.connect() as connection:
        return connection.execute(sa.select(sa.func.count()).select_from(table)).scalar_one()


@cache
def emptying(url: str) -> sa.Engine:
    """The engine of `empty`, whose connection is kept.

    A new one reads the catalogs of all tables anew, which takes 15 times as long as the deletions.
    """
    return sa.create_engine(url, pool_size=1, pool_pre_ping=True)


def empty(url: str) -> str:
    """Delete every row of a database: quicker than making another one."""
    with emptying(url).begin() as connection:
        connection.exec_driver_sql(_DELETIONS)
    return url
