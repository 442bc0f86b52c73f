"""Embeddings through the gateway and the ledger, and the bundles that are made of them."""

import asyncio
import json
import urllib.request
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa
from sklearn.metrics.pairwise import cosine_similarity

from judge_gym.design.bundles import Bundles
from judge_gym.lab import scoring
from judge_gym.lab.embedding import embedding_prompt
from judge_gym.llm.gateway import ProviderRefusedError
from judge_gym.llm.providers import Price
from judge_gym.records.calls import EMBEDDING, Answer, Failure
from judge_gym.simulator.server import serving
from judge_gym.store import tables as t
from judge_gym.store.items import bundle_plans, documents_of, plan_similarity, texts_of
from support.misbehaving import Step, misbehaving, refuses, replies
from support.rig import a_call, calls, gateway_at, no_rows, run, runtime_at
from support.study import Study, corpus, missing_by, window

pytestmark = pytest.mark.usefixtures("quick_retries", "key")

MODEL = "real/text-embedding-3-small"
PLAN = Bundles(by="similar", size=2, embeddings=MODEL)
PRICES = {"text-embedding-3-small": Price(prompt=2, completion=9)}


def vector(numbers: Any, tokens: int = 7) -> Step:
    """An answer with one embedding, in OpenAI's form."""
    return replies(
        200,
        {
            "object": "list",
            "data": [{"object": "embedding", "index": 0, "embedding": numbers}],
            "model": "text-embedding-3-small",
            "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
        },
    )


def embedded(database: str, *script: Step) -> tuple[Any, Any, Any]:
    """Embed one text; returns outcome or exception, ledger row and provider."""
    call = a_call(
        "k", model=MODEL, prompt=embedding_prompt("two words"), parameters=EMBEDDING, replicate="0"
    )

    async def work() -> tuple[Any, Any, Any]:
        async with (
            misbehaving(*script) as provider,
            gateway_at(database, provider.base_url, prices=PRICES) as (gateway, engine),
        ):
            try:
                outcome: Any = (await gateway.ask(call, no_rows))[1]
            except ProviderRefusedError as error:
                outcome = error
            # Asked again, it is answered by the ledger.
            if isinstance(outcome, Answer):
                _, again = await gateway.ask(call, no_rows)
                assert json.loads(again.text) == json.loads(outcome.text)  # type: ignore[union-attr]
            return outcome, calls(engine)["k"], provider

    return run(work())


def test_a_text_is_sent_once_and_its_vector_and_cost_are_stored(database: str) -> None:
    outcome, row, provider = embedded(database, vector([0.25, -1, 1e-7]))
    assert isinstance(outcome, Answer)
    assert json.loads(row.answer) == [0.25, -1, 1e-7]
    (sent,) = provider.requests
    assert sent["input"] == ["two words"]
    assert sent["model"] == "text-embedding-3-small"
    assert "messages" not in sent
    assert "max_tokens" not in sent
    assert (row.status, row.attempts, row.prompt_tokens, row.completion_tokens) == (
        "succeeded", 1, 7, 0
    )  # fmt: skip
    # 7 tokens at 2 dollars a million; the answer has none.
    assert float(row.cost_usd) == pytest.approx(14e-6)
    assert row.cost_source == "file"
    assert row.messages == [{"role": "user", "content": "two words"}]
    assert "input" not in row.sent_body


@pytest.mark.filterwarnings("ignore:Pydantic serializer warnings")
def test_a_vector_in_base64_is_read(database: str) -> None:
    # 0.5 and -2 as 32-bit floats, the lowest byte first.
    _, row, _ = embedded(database, vector("AAAAPwAAAMA="))
    assert json.loads(row.answer) == [0.5, -2]


@pytest.mark.parametrize("step", [refuses(500, "busy"), refuses(429, "slow down")])
def test_what_may_pass_is_retried_by_the_gateway_alone(database: str, step: Step) -> None:
    outcome, row, provider = embedded(database, step, step, vector([1.0]))
    assert isinstance(outcome, Answer)
    assert row.attempts == len(provider.requests) == 3
    assert len(row.errors) == 2


def test_an_answer_without_a_vector_is_requested_once_more(database: str) -> None:
    outcome, row, provider = embedded(database, vector([]), vector([1.0, 2.0]))
    assert isinstance(outcome, Answer)
    assert json.loads(row.answer) == [1, 2]
    assert len(provider.requests) == 2
    # Both are paid for.
    assert row.prompt_tokens == 14


def test_a_text_that_is_too_long_fails_and_a_wrong_key_stops_the_run(database: str) -> None:
    too_long = refuses(400, "This model's maximum context length is 8192 tokens.")
    outcome, row, _ = embedded(database, too_long)
    assert isinstance(outcome, Failure)
    assert outcome.kind == "context_too_long"
    assert row.status == "failed"
    outcome, _, _ = embedded(database, refuses(401, "Incorrect API key", "invalid_api_key"))
    assert isinstance(outcome, ProviderRefusedError)


def test_bundles_are_made_of_embeddings_that_are_paid_for_once(
    database: str, tmp_path: Path
) -> None:
    async def whole() -> None:
        async with (
            serving() as base_url,
            runtime_at(database, base_url, prices=PRICES) as runtime,
        ):
            study = Study(runtime, window(corpus(tmp_path, 6)))
            similar = study.experiment("sim/calm-1", bundles=PLAN)
            spread = study.experiment("sim/low-1", bundles=PLAN.model_copy(update={"by": "spread"}))
            tags = study.register(similar, spread)
            await study.collect()
            await study.write_rubrics([similar, spread])
            with pytest.raises(Exception, match=r"6 documents of 6 lack it"):
                missing_by(runtime, scoring.plan_scoring, tags)
            assert await study.embed(PLAN) == {"ready": 6}
            # The other plan compares the same vectors.
            assert not await study.embed(spread.bundles)
            await study.score(tags)
            assert not await study.embed(PLAN)
            keys = study.all(sa.select(t.Call.key).where(t.Call.agent == "embedder"))
            assert len(keys) == 6
            with runtime.session() as session:
                number = session.scalars(sa.select(t.Window.id)).one()
                documents = documents_of(session, number)
                texts = texts_of(session, documents.values())
                plans = {one.bundles: one.groups for one in bundle_plans(session, number)}
                found = plan_similarity(session, number, PLAN, "", documents.values())
            vectors = await asyncio.to_thread(requested, base_url, texts)
            cosines = cosine_similarity(vectors)
            assert found == pytest.approx(cosines, abs=1e-6)
            within = [within_pairs(groups, list(documents), cosines) for groups in plans.values()]
            assert list(plans) == [PLAN, spread.bundles]
            assert within[0] > within[1]

    run(whole())


def requested(base_url: str, texts: list[str]) -> list[list[float]]:
    """The vectors that the simulator gives without judge-gym in between."""
    body = json.dumps({"model": "text-embedding-3-small", "input": texts}).encode()
    with urllib.request.urlopen(f"{base_url}/embeddings", body, timeout=60) as response:
        return [one["embedding"] for one in json.load(response)["data"]]


def within_pairs(groups: Any, keys: list[str], cosines: Any) -> float:
    """The mean cosine of two documents of one bundle."""
    return float(
        np.mean(
            [
                cosines[keys.index(one), keys.index(other)]
                for group in groups
                for one in group
                for other in group
                if one < other
            ]
        )
    )
