"""The batch route against the simulator: whatever becomes of a batch, the rows are the same."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from judge_gym.asking.engine import cancel_batch, collect_batches
from judge_gym.llm.batches.submitting import BatchError
from judge_gym.llm.gateway import ProviderRefusedError
from judge_gym.simulator.launch import running
from judge_gym.store import tables as t
from judge_gym.store.calls import past_answers
from support.batched import (
    batches_at,
    faults_given,
    judge_on,
    judge_to_the_end,
    outcomes,
    set_faults,
    start,
)
from support.rig import count, empty, run, runtime_at
from support.study import Study, corpus, window
from support.waiting import until

pytestmark = pytest.mark.usefixtures("quick_retries")

DOCUMENTS, REPLICATES = 6, 2
CALLS = DOCUMENTS * REPLICATES
START_S = 240.0
"""A process that judges imports for seconds, on a busy machine for a minute or two."""


@pytest.fixture(scope="module")
def provider() -> Any:
    """A simulator as a process, whose batches end at once."""
    with running(batch_seconds=0) as url:
        yield url


@pytest.fixture
def faulty(provider: str) -> Any:
    """The simulator, to be given faults that end with the test."""
    yield provider
    set_faults(provider)


@pytest.fixture(scope="module")
def articles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return corpus(tmp_path_factory.mktemp("articles"), DOCUMENTS)


async def prepared(runtime: Any, articles: Path) -> tuple[Study, list[str]]:
    """A study with its rubric written, and nothing judged."""
    study = Study(runtime, window(articles))
    experiment = study.experiment("sim/calm-1", replicates=REPLICATES)
    tags = study.register(experiment)
    await study.collect()
    await study.write_rubrics([experiment])
    return study, tags


@pytest.fixture(scope="module")
def directly(shared_database: str, provider: str, articles: Path) -> dict[str, list[Any]]:
    """What the same study gives without batches."""

    async def work() -> dict[str, list[Any]]:
        async with runtime_at(empty(shared_database), provider) as runtime:
            study, tags = await prepared(runtime, articles)
            await study.score(tags)
            return outcomes(runtime.engine)

    rows: dict[str, list[Any]] = run(work())
    assert len(rows["samples"]) == CALLS
    return rows


def fault(kind: str, **more: Any) -> dict[str, Any]:
    return {"kind": kind, **more}


ONCE = {"max_count": 1}
FATES = {
    "nothing": (),
    "out of order": (fault("batch_out_of_order"),),
    "duplicate lines": (fault("batch_duplicate_lines", lines=1.0),),
    "half failed": (fault("batch_half_failed"),),
    "expired half way": (fault("batch_expired"),),
    "expired at once": (fault("batch_expired", done=0),),
    "vanished": (fault("batch_vanished"),),
    "failed validation": (fault("batch_failed"),),
    "empty and cut answers": (
        fault("empty", routes=["line"], max_count=3),
        fault("length", routes=["line"], max_count=3),
    ),
    "upload refused": (fault("server_error", routes=["files"], **ONCE),),
    "creation refused": (fault("rate_limit", routes=["batches"], **ONCE),),
    "creation answered, and the answer lost": (fault("cut", routes=["batches"], **ONCE),),
    "output cut": (fault("cut", routes=["files"], from_call=2, **ONCE),),
    "a login page instead of the batch": (
        fault("html", status=502, routes=["batches"], from_call=2, **ONCE),
    ),
    "no batch API": (fault("context_too_long", routes=["files"], **ONCE),),
}


@pytest.mark.parametrize("fate", FATES)
def test_a_batch_gives_the_same_rows_as_direct_calls(
    database: str, faulty: str, articles: Path, directly: dict[str, list[Any]], fate: str
) -> None:
    known = {batch["id"] for batch in batches_at(faulty)}

    async def work() -> Any:
        async with runtime_at(database, faulty, batch=True) as runtime:
            study, tags = await prepared(runtime, articles)
            set_faults(faulty, *FATES[fate])
            await judge_to_the_end(study, tags)
            with runtime.session() as session:
                past = past_answers(session, ["sim/calm-1"])["sim/calm-1", "scorer"]
            return outcomes(runtime.engine), study.all(sa.select(t.Batch)), calls(study), past

    rows, [batch], ledger, past = run(work())
    assert rows == directly
    assert {call.status for call in ledger} == {"succeeded"}
    assert batch.answered + batch.failed == batch.calls == CALLS
    made = {one["id"] for one in batches_at(faulty)} - known
    # One batch at most, and it is the one in the database.
    lost = fate in ("vanished", "no batch API")
    assert made == (set() if lost else {batch.provider_batch_id})
    for call in ledger:
        assert call.batch_id == batch.id
        # Sent in the batch, and again directly when that did not answer it.
        again = call.route == "direct"
        assert call.attempts == again + (batch.submitted_at is not None)
        assert len(call.errors) == again
        assert (call.latency_ms is None) == (call.route == "batch")
    assert sum(call.route == "batch" for call in ledger) == batch.answered
    # What a plan goes by: a batch's answers have tokens, and no time of their own.
    assert past.answer_tokens
    assert (past.latency_s is None) == all(call.route == "batch" for call in ledger)


def calls(study: Study) -> list[t.Call]:
    """The ledger rows of the judgements."""
    return study.all(sa.select(t.Call).where(t.Call.workflow == "w3-scoring"))


STALL = {"kind": "slow_first_byte", "seconds": 3600}
"""The provider does what it is asked, and the client does not hear of it."""
KILLS = {
    # Which request is never answered, and how many batches the provider has by then.
    "before the file is known here": ({**STALL, "routes": ["files"], "to_call": 1}, 0),
    "before the batch is known here": ({**STALL, "routes": ["batches"], "to_call": 1}, 1),
}


@pytest.mark.slow
@pytest.mark.parametrize("moment", KILLS)
def test_a_client_killed_while_it_sends_is_gone_on_from(
    database: str, faulty: str, articles: Path, directly: dict[str, list[Any]], moment: str
) -> None:
    stall, there = KILLS[moment]
    known = {batch["id"] for batch in batches_at(faulty)}

    async def work() -> None:
        async with runtime_at(database, faulty, batch=True) as runtime:
            study, tags = await prepared(runtime, articles)
            set_faults(faulty, stall)
            await asyncio.to_thread(killed_when_stalled, database, faulty, tags, known, there)
            [batch] = study.all(sa.select(t.Batch))
            assert (batch.status, batch.provider_batch_id) == ("planned", None)
            assert (batch.input_file_id is None) == (there == 0)
            assert {call.batch_id for call in calls(study)} == {batch.id}
            assert (await judge_on(runtime, tags))["waiting"] == CALLS
            made = {one["id"] for one in batches_at(faulty)} - known
            [batch] = study.all(sa.select(t.Batch))
            assert made == {batch.provider_batch_id}
            assert (await judge_on(runtime, tags))["waiting"] == 0
            assert outcomes(runtime.engine) == directly
            assert {(call.attempts, call.route) for call in calls(study)} == {(1, "batch")}

    run(work())


def killed_when_stalled(
    database: str, base_url: str, tags: list[str], known: set[str], there: int
) -> None:
    """Kill -9 a process that judges, once the request that is never answered has been made."""
    before = faults_given(base_url)
    process = start(database, base_url, tags)

    def stalled() -> bool:
        assert process.poll() is None, "it was to be killed"
        return faults_given(base_url) > before

    try:
        until(stalled, "the request that stalls", START_S)
    finally:
        process.kill()
        process.wait()
    set_faults(base_url)

    def made() -> bool:
        return len({batch["id"] for batch in batches_at(base_url)} - known) == there

    until(made, f"{there} batches at the provider")


@pytest.mark.slow
def test_a_client_killed_while_it_asks_after_a_batch_holds_nobody_up(
    database: str, faulty: str, articles: Path, directly: dict[str, list[Any]]
) -> None:
    known = {batch["id"] for batch in batches_at(faulty)}

    async def work() -> None:
        async with runtime_at(database, faulty, batch=True) as runtime:
            _, tags = await prepared(runtime, articles)
            await judge_on(runtime, tags)
            set_faults(faulty, {**STALL, "routes": ["files"]})  # the download of the answers
            before = faults_given(faulty)
            process = start(database, faulty, tags)
            try:
                await asyncio.to_thread(
                    until, lambda: faults_given(faulty) > before, "a download", START_S
                )
                # Another process has the batch: this one leaves it alone, and sends nothing.
                await collect_batches(runtime)
                assert (await judge_on(runtime, tags))["waiting"] == CALLS
            finally:
                process.kill()
                process.wait()
            set_faults(faulty)

            def free() -> bool:
                with runtime.engine.connect() as connection:
                    held = sa.text("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'")
                    return connection.scalar(held) == 0

            await asyncio.to_thread(until, free, "the lock of the killed process to go", START_S)
            assert (await judge_on(runtime, tags))["waiting"] == 0
            assert outcomes(runtime.engine) == directly
            assert len({one["id"] for one in batches_at(faulty)} - known) == 1

    run(work())


def test_two_runs_at_once_send_and_take_in_each_batch_once(
    database: str, faulty: str, articles: Path, directly: dict[str, list[Any]]
) -> None:
    known = {batch["id"] for batch in batches_at(faulty)}

    async def work() -> None:
        async with (
            runtime_at(database, faulty, batch=True) as one,
            runtime_at(database, faulty, batch=True) as other,
        ):
            study, tags = await prepared(one, articles)
            for _ in range(3):
                await asyncio.gather(judge_on(one, tags), judge_on(other, tags))
            assert (await judge_on(one, tags)).total() == 0
            assert outcomes(one.engine) == directly
            assert len({found["id"] for found in batches_at(faulty)} - known) == 1
            assert {call.attempts for call in calls(study)} == {1}

    run(work())


def test_the_calls_of_a_cancelled_batch_are_asked_directly_by_the_next_run(
    database: str, articles: Path, directly: dict[str, list[Any]]
) -> None:
    async def work(base_url: str) -> None:
        async with runtime_at(database, base_url, batch=True) as runtime:
            study, tags = await prepared(runtime, articles)
            assert (await judge_on(runtime, tags))["waiting"] == CALLS
            [batch] = study.all(sa.select(t.Batch))
            assert await cancel_batch(runtime, batch.id) == "cancelling"
            until_ended = asyncio.to_thread(until, lambda: ended(base_url), "its end", START_S)
            assert {one["status"] for one in await until_ended} == {"cancelled"}
            await collect_batches(runtime)
            left = calls(study)
            assert {(call.status, call.batch_id) for call in left} == {("cancelled", batch.id)}
            assert {call.errors[0]["kind"] for call in left} == {"unanswered"}
            with pytest.raises(BatchError, match="no open batch"):
                await cancel_batch(runtime, batch.id)
            assert (await judge_on(runtime, tags)).total() == CALLS
            assert outcomes(runtime.engine) == directly
            assert len(batches_at(base_url)) == 1

    # Long enough not to be done by then; cancelling takes a tenth of it.
    with running(batch_seconds=20) as base_url:
        run(work(base_url))


def ended(base_url: str) -> list[dict[str, Any]]:
    """The provider's batches once none of them is open."""
    found = batches_at(base_url)
    return found if all(one["status"] == "cancelled" for one in found) else []


def test_a_planned_batch_that_was_never_sent_is_cancelled_here_alone(
    database: str, faulty: str, articles: Path
) -> None:
    known = batches_at(faulty)

    async def work() -> None:
        async with runtime_at(database, faulty, batch=True) as runtime:
            study, tags = await prepared(runtime, articles)
            set_faults(faulty, {"kind": "server_error", "routes": ["batches"]})
            assert (await judge_on(runtime, tags))["waiting"] == CALLS
            [batch] = study.all(sa.select(t.Batch))
            assert batch.status == "planned"
            assert "500" in batch.error or "on purpose" in batch.error
            assert await collect_batches(runtime) == [batch.error]
            set_faults(faulty)
            assert await cancel_batch(runtime, batch.id) == "cancelled"
            assert batches_at(faulty) == known
            assert {call.status for call in calls(study)} == {"cancelled"}

    run(work())


def test_a_key_that_is_refused_stops_the_run_and_the_batch_is_sent_by_the_next(
    database: str, faulty: str, articles: Path, directly: dict[str, list[Any]]
) -> None:
    async def work() -> None:
        async with runtime_at(database, faulty, batch=True) as runtime:
            study, tags = await prepared(runtime, articles)
            set_faults(faulty, {"kind": "unauthorized", "routes": ["files"]})
            with pytest.raises(ProviderRefusedError, match="sim refuses sim/calm-1"):
                await judge_on(runtime, tags)
            assert count(runtime.engine, t.Sample) == 0
            set_faults(faulty)
            await judge_to_the_end(study, tags)
            assert outcomes(runtime.engine) == directly
            assert {call.route for call in calls(study)} == {"batch"}

    run(work())


def test_a_provider_that_is_not_there_has_lost_no_batch(
    database: str, faulty: str, articles: Path
) -> None:
    async def work() -> None:
        async with runtime_at(database, faulty, batch=True) as runtime:
            study, tags = await prepared(runtime, articles)
            await judge_on(runtime, tags)
        wrong = faulty.removesuffix("/v1") + "/elsewhere"
        async with runtime_at(database, wrong, batch=True) as runtime:
            assert await collect_batches(runtime)
        [batch] = study.all(sa.select(t.Batch))
        assert batch.status == "submitted"
        assert "not_found" in batch.error or "404" in batch.error

    run(work())
