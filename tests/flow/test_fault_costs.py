"""What a bad day costs at most: a request more per rate limit, one item for a poisoned one.

A request that is refused is no call that is paid for: the calls are the requests that are answered.
"""

import asyncio
from collections import Counter
from pathlib import Path

import pytest
import sqlalchemy as sa
from aiohttp import web

from flows.w1_evidence import w1_evidence
from flows.w2_rubric import w2_rubric
from flows.w3_scoring import w3_scoring
from judge_gym.lab.sweeps import RegisteredSweep
from judge_gym.store import tables as t
from support.flow_runs import configured, prepared, run_flow
from support.misbehaving import answers, misbehaving, refuses
from support.natural_rows import natural_rows
from support.simulation import Simulator
from support.sweeps import scoring_sweep

pytestmark = pytest.mark.stress
PROVIDERS = """
[sim]
base_url_env = "JUDGE_GYM_SIMULATOR_URL"
# No other test of the run uses it: a chunk that waits for a slot would be late.
[poisoned]
litellm = "openai"
base_url_env = "LOCAL_BASE_URL"
concurrency = 160
"""


def test_rate_limits_of_one_in_twenty_requests_cost_no_call(
    database: str, simulator: Simulator, tmp_path: Path
) -> None:
    file = tmp_path / "scoring.yaml"
    text = scoring_sweep("scoring", "sim/calm-1", "sim/high-1", documents=10, replicates=20)
    file.write_text(text)
    with configured(
        tmp_path, JUDGE_GYM_DATABASE_URL=database, JUDGE_GYM_SIMULATOR_URL=simulator.url
    ):
        run = prepared(file)
        run_flow(w1_evidence, run.windows, run.views, run.utility_model)
        run_flow(w2_rubric, run.tags, run.utility_model)
        before = simulator.statistics()
        # Drawn by a seed for every request, those that are sent again included.
        simulator.use_faults({"kind": "rate_limit", "share": 0.05, "retry_after": 0.05})
        try:
            state = run_flow(w3_scoring, run.tags)
        finally:
            simulator.use_faults()
    after = simulator.statistics()
    statuses = Counter(row["status"] for row in natural_rows(database)["samples"].values())
    needed = 2 * 10 * 20
    assert statuses.total() == needed
    assert statuses.keys() <= {"scored", "abstained"}, state.message
    refused = after["refused"] - before["refused"]
    answered = after["total"] - before["total"]
    print(f"{needed} calls needed, {answered} answered, {refused} refused.")
    assert answered == needed
    # Each refusal is sent again once, and nothing else is: a twentieth of all requests.
    assert 10 <= refused <= 40


@pytest.mark.parametrize("poison", ["hangs", "fails"])
def test_a_poisoned_item_fails_alone_and_nobody_waits_for_it(
    database: str, simulator: Simulator, tmp_path: Path, poison: str
) -> None:
    """Its calls never succeed; chunks that it is in and chunks that it is not in go on.

    Where they fail, the server holds them back until all others are answered: a run that waited
    for one of them would wait until the call's time is up.
    """
    file = tmp_path / "scoring.yaml"
    file.write_text(scoring_sweep("scoring", "poisoned/judge-1", documents=10, replicates=4))
    (tmp_path / "providers.toml").write_text(PROVIDERS)
    good, bad = answers("VERDICT: A"), refuses(500, "this one, always")
    answered = 0
    others_are_done = asyncio.Event()

    async def step(request: web.Request) -> web.StreamResponse:
        nonlocal answered
        if title not in await request.text():
            answered += 1
            if answered == 36:
                others_are_done.set()
            return await good(request)
        await (asyncio.sleep(600) if poison == "hangs" else others_are_done.wait())
        return await bad(request)

    async def score(run: RegisteredSweep) -> None:
        async with misbehaving(step) as local:
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("LOCAL_BASE_URL", local.base_url)
                await w3_scoring(run.tags, return_state=True)

    with configured(
        tmp_path,
        JUDGE_GYM_DATABASE_URL=database,
        JUDGE_GYM_SIMULATOR_URL=simulator.url,
        JUDGE_GYM_PROVIDERS_FILE=str(tmp_path / "providers.toml"),
        JUDGE_GYM_CALL_ATTEMPTS="2",
        JUDGE_GYM_CALL_TIMEOUT_S="10",
        JUDGE_GYM_CHUNK_SIZE="20",
        LOCAL_BASE_URL="http://127.0.0.1:9/v1",
    ):
        run = prepared(file)
        run_flow(w1_evidence, run.windows, run.views, run.utility_model)
        run_flow(w2_rubric, run.tags, run.utility_model)
        engine = sa.create_engine(database, poolclass=sa.NullPool)
        with engine.connect() as connection:
            title = connection.scalar(sa.select(t.Document.title).order_by(t.Document.position))
        asyncio.run(score(run))
    with engine.connect() as connection:
        ended = connection.execute(
            sa.select(t.Sample.status, sa.func.max(t.Call.finished_at), sa.func.count())
            .join(t.Call, t.Call.id == t.Sample.call_id)
            .group_by(t.Sample.status)
        )
        last = {status: (moment, count) for status, moment, count in ended}
        first_failure = connection.scalar(
            sa.select(sa.func.min(t.Call.finished_at)).where(t.Call.status == "failed")
        )
    assert {status: count for status, (_, count) in last.items()} == {"scored": 36, "failed": 4}
    assert last["scored"][0] < first_failure
