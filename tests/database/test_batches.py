"""The batch route against the simulator: whatever becomes of a batch, the rows are the same."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import sqlalchemy as sa

from judge_gym.asking.engine import cancel_batch, collect_batches
from judge_gym.llm.batches import submitting
from judge_gym.llm.batches.submitting import BatchError, BatchRefusedError
from judge_gym.llm.gateway import ProviderRefusedError
from judge_gym.simulator.launch import running
from judge_gym.store import tables as t
from judge_gym.store.batches import SentDirectly, sent_directly
from judge_gym.store.calls import past_answers
from judge_gym.store.experiments import register_sweep
from judge_gym.store.spending import spending_scope
from support.batched import (
    ANTHROPIC,
    OPENAI,
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
from support.tiers import rest_slow
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


async def prepared(runtime: Any, articles: Path, provider: str = OPENAI) -> tuple[Study, list[str]]:
    """A study with its rubric written, and nothing judged."""
    study = Study(runtime, window(articles))
    experiment = study.experiment(f"{provider}/calm-1", replicates=REPLICATES)
    tags = study.register(experiment)
    await study.collect()
    await study.write_rubrics([experiment])
    return study, tags


class Direct(NamedTuple):
    """What a study gives without batches."""

    provider: str
    rows: dict[str, list[Any]]
    bodies: dict[str, Any]
    """Call key → the body that was sent."""


@pytest.fixture(scope="module", params=[OPENAI, ANTHROPIC])
def directly(
    request: pytest.FixtureRequest, shared_database: str, provider: str, articles: Path
) -> Direct:
    async def work() -> Direct:
        async with runtime_at(empty(shared_database), provider) as runtime:
            study, tags = await prepared(runtime, articles, request.param)
            await study.score(tags)
            bodies = {call.key: call.sent_body for call in calls(study)}
            return Direct(request.param, outcomes(runtime.engine), bodies)

    direct: Direct = run(work())
    assert len(direct.rows["samples"]) == len(direct.bodies) == CALLS
    return direct


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
    "failed validation": (fault("batch_failed", code="invalid_json_line"),),
    "empty and cut answers": (
        fault("empty", routes=["line"], max_count=3),
        fault("length", routes=["line"], max_count=3),
    ),
    "upload or download refused": (fault("server_error", routes=["files"], **ONCE),),
    "creation refused": (fault("rate_limit", routes=["batches"], **ONCE),),
    "creation answered, and the answer lost": (fault("cut", routes=["batches"], **ONCE),),
    "upload or download cut": (fault("cut", routes=["files"], **ONCE),),
    "output cut": (fault("cut", routes=["files"], from_call=2, **ONCE),),
    "a login page instead of the batch": (
        fault("html", status=502, routes=["batches"], from_call=2, **ONCE),
    ),
    "creation answered, and the connection reset": (fault("reset", routes=["batches"], **ONCE),),
    "a huge page instead of the batch": (
        fault("html", characters=4_000_000, routes=["batches"], from_call=2, **ONCE),
    ),
    "half of the batch's JSON": (fault("invalid_json", routes=["batches"], from_call=2, **ONCE),),
    "a slow and halting provider": (
        fault("slow_first_byte", seconds=0.2, routes=["files", "batches"], max_count=3),
        fault("stall", seconds=0.2, routes=["files", "batches"]),
    ),
}


STATUSES = {
    "expired half way": "expired",
    "expired at once": "expired",
    "vanished": "vanished",
    "failed validation": "failed",
}
"""How a batch ends, where it is not completed."""


@pytest.mark.parametrize("fate", rest_slow(FATES, 5))
def test_a_batch_gives_the_same_rows_as_direct_calls(
    database: str,
    faulty: str,
    articles: Path,
    directly: Direct,
    fate: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(submitting, "PATIENCE", timedelta(0))
    provider, model = directly.provider, f"{directly.provider}/calm-1"
    known = {batch["id"] for batch in batches_at(faulty, provider)}

    async def work() -> Any:
        async with runtime_at(database, faulty, batch=True) as runtime:
            study, tags = await prepared(runtime, articles, provider)
            set_faults(faulty, *FATES[fate])
            await judge_to_the_end(study, tags)
            with runtime.session() as session:
                past = past_answers(session, [model])[model, "scorer", None]
            return outcomes(runtime.engine), study.all(sa.select(t.Batch)), calls(study), past

    if fate == "failed validation" and provider == ANTHROPIC:
        with pytest.raises(BatchRefusedError):  # at once: nothing goes at the direct price unasked
            run(work())
        return
    rows, [batch], ledger, past = run(work())
    assert rows == directly.rows
    assert {call.status for call in ledger} == {"succeeded"}
    assert batch.answered + batch.failed == batch.calls == CALLS
    assert batch.status == STATUSES.get(fate, "completed")
    assert bool(batch.error) == bool(batch.failed)
    if fate == "half failed":
        assert f"{CALLS // 2} failed: " in batch.error
    made = {one["id"] for one in batches_at(faulty, provider)} - known
    # One batch at most, and it is the one in the database.
    assert made == (set() if fate == "vanished" else {batch.provider_batch_id})
    for call in ledger:
        assert call.batch_id == batch.id
        # Sent in the batch, and again directly when that did not answer it.
        again = call.route == "direct"
        assert call.attempts == again + (batch.submitted_at is not None)
        assert len(call.errors) == again
        assert (call.latency_ms is None) == (call.route == "batch")
        # Recorded before the batch was created, and kept when the answer came.
        assert call.sent_body == directly.bodies[call.key]
        assert (call.served_model, call.cost_source) == ("calm-1", "simulated")
    assert sum(call.route == "batch" for call in ledger) == batch.answered
    # What a plan goes by: a batch's answers have tokens, and no time of their own.
    assert past.answer_tokens
    assert (past.latency_s is None) == all(call.route == "batch" for call in ledger)


def test_what_went_directly_is_counted_by_its_reason(
    database: str, faulty: str, articles: Path
) -> None:
    async def work() -> None:
        async with runtime_at(database, faulty, batch=True) as runtime:
            study, tags = await prepared(runtime, articles)
            one = study.experiment(f"{OPENAI}/calm-1", replicates=REPLICATES)
            study.change(lambda session: register_sweep(session, "mine", "", None, [one]))
            began = datetime.now(UTC)
            set_faults(faulty, fault("batch_half_failed"))
            await judge_to_the_end(study, tags)

            def direct(provider: str, since: datetime) -> SentDirectly:
                with runtime.session() as session:
                    return sent_directly(
                        session, spending_scope(session, "mine"), [provider], since
                    )

            assert direct(OPENAI, began) == SentDirectly(CALLS // 2, 0)
            assert direct(OPENAI, datetime.now(UTC)) == SentDirectly(0, 0)
            assert direct("other", began) == SentDirectly(0, 0)
            study.change(lambda session: session.execute(sa.update(t.Call).values(batch_id=None)))
            assert direct(OPENAI, began) == SentDirectly(0, CALLS)

    run(work())


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
@pytest.mark.parametrize(
    ("directly", "moment"),
    [
        (OPENAI, "before the file is known here"),
        (OPENAI, "before the batch is known here"),
        (ANTHROPIC, "before the batch is known here"),
    ],
    indirect=["directly"],
)
def test_a_client_killed_while_it_sends_is_gone_on_from(
    database: str, faulty: str, articles: Path, directly: Direct, moment: str
) -> None:
    stall, there = KILLS[moment]
    known = {batch["id"] for batch in batches_at(faulty, directly.provider)}

    async def work() -> None:
        async with runtime_at(database, faulty, batch=True) as runtime:
            study, tags = await prepared(runtime, articles, directly.provider)
            set_faults(faulty, stall)
            arguments = (database, faulty, directly.provider, tags, known, there)
            await asyncio.to_thread(killed_when_stalled, *arguments)
            [batch] = study.all(sa.select(t.Batch))
            assert (batch.status, batch.provider_batch_id) == ("planned", None)
            assert (batch.requested_at is None) == (there == 0)
            assert {call.batch_id for call in calls(study)} == {batch.id}
            assert (await judge_on(runtime, tags))["waiting"] == CALLS
            made = {one["id"] for one in batches_at(faulty, directly.provider)} - known
            [batch] = study.all(sa.select(t.Batch))
            assert made == {batch.provider_batch_id}
            assert (await judge_on(runtime, tags))["waiting"] == 0
            assert outcomes(runtime.engine) == directly.rows
            assert {(call.attempts, call.route) for call in calls(study)} == {(1, "batch")}

    run(work())


def killed_when_stalled(
    database: str, base_url: str, provider: str, tags: list[str], known: set[str], there: int
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
        return len({batch["id"] for batch in batches_at(base_url, provider)} - known) == there

    until(made, f"{there} batches at the provider")


@pytest.mark.slow
@pytest.mark.parametrize("directly", [OPENAI], indirect=True)
def test_a_client_killed_while_it_asks_after_a_batch_holds_nobody_up(
    database: str, faulty: str, articles: Path, directly: Direct
) -> None:
    known = {batch["id"] for batch in batches_at(faulty, directly.provider)}

    async def work() -> None:
        async with runtime_at(database, faulty, batch=True) as runtime:
            _, tags = await prepared(runtime, articles, directly.provider)
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
                    # The server is that of the whole run: others hold locks in their databases.
                    held = sa.text(
                        "SELECT count(*) FROM pg_locks JOIN pg_database AS d ON d.oid = database "
                        "WHERE locktype = 'advisory' AND d.datname = current_database()"
                    )
                    return connection.scalar(held) == 0

            await asyncio.to_thread(until, free, "the lock of the killed process to go", START_S)
            assert (await judge_on(runtime, tags))["waiting"] == 0
            assert outcomes(runtime.engine) == directly.rows
            assert len({one["id"] for one in batches_at(faulty, directly.provider)} - known) == 1

    run(work())


@pytest.mark.parametrize("directly", [OPENAI], indirect=True)
def test_two_runs_at_once_send_and_take_in_each_batch_once(
    database: str, faulty: str, articles: Path, directly: Direct
) -> None:
    known = {batch["id"] for batch in batches_at(faulty, directly.provider)}

    async def work() -> None:
        async with (
            runtime_at(database, faulty, batch=True) as one,
            runtime_at(database, faulty, batch=True) as other,
        ):
            study, tags = await prepared(one, articles, directly.provider)
            for _ in range(3):
                await asyncio.gather(judge_on(one, tags), judge_on(other, tags))
            assert (await judge_on(one, tags)).total() == 0
            assert outcomes(one.engine) == directly.rows
            assert (
                len({found["id"] for found in batches_at(faulty, directly.provider)} - known) == 1
            )
            assert {call.attempts for call in calls(study)} == {1}

    run(work())


@pytest.mark.slow
def test_the_calls_of_a_cancelled_batch_are_asked_directly_by_the_next_run(
    database: str, articles: Path, directly: Direct
) -> None:
    async def work(base_url: str) -> None:
        async with runtime_at(database, base_url, batch=True) as runtime:
            study, tags = await prepared(runtime, articles, directly.provider)
            assert (await judge_on(runtime, tags))["waiting"] == CALLS
            [batch] = study.all(sa.select(t.Batch))
            assert await cancel_batch(runtime, batch.id) == "cancelling"
            await asyncio.to_thread(
                until, lambda: is_over(base_url, directly.provider), "its end", START_S
            )
            await collect_batches(runtime)
            left = calls(study)
            assert {(call.status, call.batch_id) for call in left} == {("cancelled", batch.id)}
            assert {call.errors[0]["kind"] for call in left} == {"unanswered"}
            with pytest.raises(BatchError, match="no open batch"):
                await cancel_batch(runtime, batch.id)
            assert (await judge_on(runtime, tags)).total() == CALLS
            assert outcomes(runtime.engine) == directly.rows
            assert len(batches_at(base_url, directly.provider)) == 1

    # Long enough not to be done by then; cancelling takes a tenth of it.
    with running(batch_seconds=20) as base_url:
        run(work(base_url))


def is_over(base_url: str, provider: str) -> bool:
    """Whether the provider has cancelled its only batch."""
    [batch] = batches_at(base_url, provider)
    return "cancelled" in batch.values() or batch.get("processing_status") == "ended"


@pytest.mark.parametrize("provider_name", [OPENAI, ANTHROPIC])
def test_a_planned_batch_that_was_never_sent_is_cancelled_here_alone(
    database: str, faulty: str, articles: Path, provider_name: str
) -> None:
    known = batches_at(faulty, provider_name)

    async def work() -> None:
        async with runtime_at(database, faulty, batch=True) as runtime:
            study, tags = await prepared(runtime, articles, provider_name)
            set_faults(faulty, {"kind": "server_error", "routes": ["batches"]})
            assert (await judge_on(runtime, tags))["waiting"] == CALLS
            [batch] = study.all(sa.select(t.Batch))
            assert batch.status == "planned"
            assert batch.error
            assert await collect_batches(runtime) == [batch.error]
            set_faults(faulty)
            assert await cancel_batch(runtime, batch.id) == "cancelled"
            assert batches_at(faulty, provider_name) == known
            assert {call.status for call in calls(study)} == {"cancelled"}

    run(work())


@pytest.mark.slow
def test_a_batch_at_work_that_may_be_the_lost_one_is_neither_sent_again_nor_cancelled(
    database: str, articles: Path
) -> None:
    """Its requests cannot be read before it ends, and another might be paid for twice."""

    async def work(base_url: str) -> None:
        async with runtime_at(database, base_url, batch=True) as runtime:
            study, tags = await prepared(runtime, articles, ANTHROPIC)
            set_faults(base_url, fault("cut", routes=["batches"], **ONCE))
            for _ in range(3):
                assert (await judge_on(runtime, tags))["waiting"] == CALLS
            [theirs] = batches_at(base_url, ANTHROPIC)
            [batch] = study.all(sa.select(t.Batch))
            assert (batch.status, batch.provider_batch_id) == ("planned", None)
            assert theirs["id"] in batch.error
            assert await collect_batches(runtime) == [batch.error]
            with pytest.raises(BatchError, match=theirs["id"]):
                await cancel_batch(runtime, batch.id)
            assert {call.status for call in calls(study)} == {"planned"}

    with running(batch_seconds=3600) as base_url:
        run(work(base_url))


def test_a_refused_request_leaves_no_doubt_about_the_batch(database: str, articles: Path) -> None:
    async def work(base_url: str) -> None:
        async with runtime_at(database, base_url, batch=True) as runtime:
            # Another database's batch of the same size is at work with the same key.
            other, tags = await prepared(runtime, articles, ANTHROPIC)
            await judge_on(runtime, tags)
            other.change(lambda session: session.execute(FORGOTTEN))
            set_faults(base_url, fault("rate_limit", routes=["batches"], **ONCE))
            assert (await judge_on(runtime, tags))["waiting"] == CALLS
            [*_, batch] = other.all(sa.select(t.Batch).order_by(t.Batch.id))
            assert (batch.status, batch.requested_at) == ("planned", None)
            await collect_batches(runtime)
            [*_, batch] = other.all(sa.select(t.Batch).order_by(t.Batch.id))
            assert batch.status == "submitted"
            assert len(batches_at(base_url, ANTHROPIC)) == 2

    with running(batch_seconds=3600) as base_url:
        run(work(base_url))


FORGOTTEN = sa.text(
    "UPDATE llm_calls SET batch_id = NULL, status = 'planned' WHERE batch_id IS NOT NULL; "
    "DELETE FROM llm_batches"
)


def test_a_key_that_is_refused_stops_the_run_and_the_batch_is_sent_by_the_next(
    database: str, faulty: str, articles: Path, directly: Direct
) -> None:
    async def work() -> None:
        async with runtime_at(database, faulty, batch=True) as runtime:
            study, tags = await prepared(runtime, articles, directly.provider)
            first = "files" if directly.provider == OPENAI else "batches"
            set_faults(faulty, {"kind": "unauthorized", "routes": [first]})
            refused = f"{directly.provider} refuses {directly.provider}/calm-1"
            with pytest.raises(ProviderRefusedError, match=refused):
                await judge_on(runtime, tags)
            assert count(runtime.engine, t.Sample) == 0
            set_faults(faulty)
            await judge_to_the_end(study, tags)
            assert outcomes(runtime.engine) == directly.rows
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
        assert "Not Found" in batch.error

    run(work())
