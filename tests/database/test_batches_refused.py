"""Batches at a provider that refuses, forgets or words things in its own way.

Nothing paid is lost, nothing is sent twice, and nothing goes at the direct price unasked.
"""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.asking.engine import cancel_batch, collect_batches
from judge_gym.llm.batches import submitting
from judge_gym.llm.batches.submitting import BatchRefusedError
from judge_gym.llm.gateway import ProviderRefusedError
from judge_gym.records.batches import StoredBatch
from judge_gym.runtime import Runtime
from judge_gym.store import batches as store
from judge_gym.store import tables as t
from support.batch_stand_in import Line, Said, Stand, first, standing
from support.batched import judge_on, judge_to_the_end
from support.lab import labels, rubric
from support.rig import run, runtime_at
from support.study import Study, corpus, window

pytestmark = pytest.mark.usefixtures("quick_retries")
DOCUMENTS, REPLICATES = 3, 4
CALLS = DOCUMENTS * REPLICATES
RUBRIC = {"provided": rubric(*labels(4))}


class Judged:
    """A study on a stand-in: its runs, its ledger and its batches."""

    def __init__(self, runtime: Runtime, study: Study, tags: list[str]) -> None:
        self.runtime, self.study, self.tags = runtime, study, tags

    async def once(self) -> Any:
        return await judge_on(self.runtime, self.tags)

    def calls(self) -> list[Any]:
        return self.study.all(sa.select(t.Call).where(t.Call.workflow == "w3-scoring"))

    def batches(self) -> list[Any]:
        return self.study.all(sa.select(t.Batch).order_by(t.Batch.id))

    def routes(self) -> set[tuple[str, str]]:
        return {(call.route, call.status) for call in self.calls()}


@pytest.fixture(scope="module")
def articles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return corpus(tmp_path_factory.mktemp("articles"), DOCUMENTS)


@pytest.fixture
def at(database: str, articles: Path) -> Callable[..., None]:
    """Runs a test's work on a study whose judgements wait to be sent to a stand-in."""

    def work_at(stand: Stand, work: Callable[[Judged], Any], *, batch: bool = True) -> None:
        async def whole() -> None:
            async with (
                standing(stand),
                runtime_at(database, stand.base_url, batch=batch) as runtime,
            ):
                study = Study(runtime, window(articles))
                one = study.experiment("sim/calm-1", replicates=REPLICATES, rubric=RUBRIC)
                tags = study.register(one)
                await study.collect()
                await study.write_rubrics([one])
                stand.direct = stand.requests = 0  # a critic marks the rubric
                await work(Judged(runtime, study, tags))

        run(whole())

    return work_at


BY_BATCH = {("batch", "succeeded")}
FREE = {("direct", "planned")}


@pytest.mark.parametrize(
    "said",
    [
        {"error_file_id": ""},
        {"error_file_id": None},
        {"output_file_id": "file-out-batch_0", "input_file_id": "", "errors": ""},
        {"errors": {"data": None}, "metadata": None, "created_at": None},
        {"status": "COMPLETED", "error_file_id": ""},
    ],
)
def test_absent_ids_are_absent_however_they_are_written(at: Any, said: Any) -> None:
    stand = Stand(look=lambda _: said)

    async def work(judged: Judged) -> None:
        await judge_to_the_end(judged.study, judged.tags)
        assert judged.routes() == BY_BATCH
        assert sorted(stand.executed) == sorted(str(call.id) for call in judged.calls())

    if said.get("status") == "COMPLETED":
        stand.look = lambda _: {"error_file_id": ""}
    at(stand, work)
    assert stand.direct == 0


@pytest.mark.parametrize("state", ["paused", None, 7])
def test_a_state_of_an_unknown_name_is_waited_for(at: Any, state: Any) -> None:
    stand = Stand(create=lambda _: {"status": state}, look=first(2, {"status": state}))

    async def work(judged: Judged) -> None:
        for _ in range(3):
            assert (await judged.once())["waiting"] == CALLS
        [batch] = judged.batches()
        assert repr(state) in batch.error
        assert "sweep batches cancel" in batch.error
        assert (await judged.once())["waiting"] == 0
        assert judged.routes() == BY_BATCH

    at(stand, work)
    assert (len(stand.executed), stand.direct) == (CALLS, 0)


def test_a_batch_that_is_not_found_for_a_while_is_waited_for_and_not_sent_again(
    at: Any,
) -> None:
    stand = Stand(look=first(3, (404, "No batch found")), listed=False)

    async def work(judged: Judged) -> None:
        for _ in range(4):
            assert (await judged.once())["waiting"] == CALLS
        assert await collect_batches(judged.runtime) == []
        assert judged.routes() == BY_BATCH

    at(stand, work)
    assert (len(stand.batches), len(stand.executed), stand.direct) == (1, CALLS, 0)


def test_a_batch_that_is_not_found_within_the_patience_is_sent_directly(
    at: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand = Stand(look=lambda _: (404, "No batch found"), listed=False)

    async def work(judged: Judged) -> None:
        await judged.once()
        [problem] = await collect_batches(judged.runtime)
        assert "batch_0" in problem
        assert "UTC" in problem  # until when it is waited for
        monkeypatch.setattr(submitting, "PATIENCE", timedelta(0))
        assert (await judged.once())["waiting"] == 0
        assert [batch.status for batch in judged.batches()] == ["vanished"]
        assert judged.routes() == {("direct", "succeeded")}

    at(stand, work)
    assert stand.direct == CALLS


def test_a_person_may_give_up_a_batch_that_is_not_found(at: Any) -> None:
    stand = Stand(look=lambda _: (404, "No batch found"), listed=False)

    async def work(judged: Judged) -> None:
        await judged.once()
        [batch] = judged.batches()
        assert await cancel_batch(judged.runtime, batch.id) == "cancelled"
        assert (await judged.once())["waiting"] == 0
        assert judged.routes() == {("direct", "succeeded")}

    at(stand, work)


@pytest.mark.parametrize("status", [404, 429, 500])
def test_answers_that_cannot_be_downloaded_at_first_are_taken_in_later(
    at: Any, status: int
) -> None:
    stand = Stand(download=first(2, (status, "No such File object")))

    async def work(judged: Judged) -> None:
        await judged.once()
        for _ in range(2):
            [problem] = await collect_batches(judged.runtime)
            assert "No such File object" in problem
            assert "\n" not in problem
        assert (await judged.once())["waiting"] == 0
        assert judged.routes() == BY_BATCH

    at(stand, work)
    assert (len(stand.executed), stand.direct) == (CALLS, 0)


def test_answers_that_are_gone_for_good_are_sent_directly_after_the_patience(
    at: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    stand = Stand(download=lambda _: (404, "expired"))

    async def work(judged: Judged) -> None:
        await judged.once()
        monkeypatch.setattr(submitting, "PATIENCE_FOR_ANSWERS", timedelta(0))
        assert (await judged.once())["waiting"] == 0
        assert {call.errors[0]["message"] for call in judged.calls()} == {
            "the answers of the batch are gone: expired"
        }

    at(stand, work)
    assert stand.direct == CALLS


def test_answers_that_name_no_call_are_kept_until_a_person_gives_them_up(at: Any) -> None:
    def renamed(line: Line) -> Line:
        return {"custom_id": f"request-{line['custom_id']}", "response": None}

    stand = Stand(answered=renamed)

    async def work(judged: Judged) -> None:
        for _ in range(3):
            assert (await judged.once())["waiting"] == CALLS
        [batch] = judged.batches()
        assert f"none of its {CALLS} lines" in batch.error
        assert stand.direct == 0
        assert await cancel_batch(judged.runtime, batch.id) == "completed"
        assert (await judged.once())["waiting"] == 0

    at(stand, work)
    assert stand.direct == CALLS


def at_most(lines: int) -> Callable[[list[Line]], Said]:
    """A hook of uploads: larger files are refused."""
    return lambda file: (413, "File is too large.") if len(file) > lines else None


@pytest.mark.parametrize(("most", "sizes"), [(6, [6, 6]), (5, [3, 3, 3, 3]), (1, [1] * CALLS)])
def test_a_batch_that_is_too_large_goes_in_parts(at: Any, most: int, sizes: list[int]) -> None:
    stand = Stand(upload=at_most(most))

    async def work(judged: Judged) -> None:
        assert (await judged.once())["waiting"] == CALLS
        taken = [batch.calls for batch in judged.batches() if batch.status == "submitted"]
        assert taken == sizes
        await judge_to_the_end(judged.study, judged.tags)
        assert judged.routes() == BY_BATCH
        assert {(call.attempts, len(call.errors)) for call in judged.calls()} == {(1, 0)}

    at(stand, work)
    assert sorted(stand.executed) == sorted(set(stand.executed))
    assert (len(stand.executed), stand.direct) == (CALLS, 0)


@pytest.mark.parametrize("said", [(413, "File is too large."), (405, "no batches here")])
def test_where_no_batch_is_taken_the_run_stops_and_nothing_goes_directly(
    at: Any, database: str, said: Any
) -> None:
    stand = Stand(upload=lambda _: said)

    async def work(judged: Judged) -> None:
        for _ in range(2):
            with pytest.raises(BatchRefusedError, match=said[1]) as raised:
                await judged.once()
            assert "batch = false" in raised.value.remedy
            assert judged.routes() == FREE
            assert stand.direct == 0
        assert stand.requests < 20
        async with runtime_at(database, stand.base_url, batch=False) as direct:
            assert (await judge_on(direct, judged.tags))["waiting"] == 0

    at(stand, work)
    assert stand.direct == CALLS


@pytest.mark.parametrize("sent", [False, True])
def test_where_batches_are_switched_off_those_at_work_are_taken_in_and_others_go_directly(
    at: Any, database: str, sent: bool
) -> None:
    stand = Stand(create=lambda _: None if sent else (429, "Slow down."))

    async def work(judged: Judged) -> None:
        assert (await judged.once())["waiting"] == CALLS
        async with runtime_at(database, stand.base_url, batch=False) as direct:
            assert (await judge_on(direct, judged.tags))["waiting"] == 0
        assert judged.routes() == {("batch" if sent else "direct", "succeeded")}

    at(stand, work)
    assert stand.direct == (0 if sent else CALLS)


QUEUE = "Enqueued token limit reached for calm-1. Please try again once some batches are done."


def failed(code: str, message: str) -> dict[str, Any]:
    return {
        "status": "failed",
        "errors": {"object": "list", "data": [{"code": code, "message": message, "line": None}]},
    }


def test_a_batch_too_large_for_the_queue_alone_goes_in_halves(at: Any) -> None:
    running: set[str] = set()

    def look(batch_id: str) -> Said:
        lines = stand.files[stand.batches[batch_id]["input_file_id"]]
        if batch_id in running:
            running.remove(batch_id)
            return None
        if len(lines) > 4 or running:
            return failed("token_limit_exceeded", QUEUE)
        running.add(batch_id)
        return {"status": "in_progress"}

    stand = Stand(look=look)

    async def work(judged: Judged) -> None:
        assert await judge_to_the_end(judged.study, judged.tags) > 2
        assert judged.routes() == BY_BATCH
        assert {batch.status for batch in judged.batches()} == {"completed", "failed"}
        ended = [batch for batch in judged.batches() if batch.status == "failed"]
        assert all("Enqueued token limit" in batch.error for batch in ended)

    at(stand, work)
    assert sorted(stand.executed) == sorted(set(stand.executed))
    assert (len(stand.executed), stand.direct) == (CALLS, 0)


@pytest.mark.parametrize("count", [2, 5])
def test_of_batches_that_fail_at_one_moment_not_all_wait_for_the_others(
    database: str, count: int
) -> None:
    start, engine = threading.Barrier(count), sa.create_engine(database, pool_size=count + 1)

    def put_off(batch: StoredBatch) -> bool:
        start.wait(timeout=60)
        return store.put_off(engine, batch, QUEUE)

    with Session(engine) as session, ThreadPoolExecutor(count) as at_once:
        for number in range(10):
            model = f"sim/calm-{number}"
            shared = {"provider": "sim", "model": model, "status": "submitted", "calls": 1}
            ids = [f"{model} {one}" for one in range(count)]
            session.add_all(t.Batch(key=one, provider_batch_id=one, **shared) for one in ids)
            session.commit()
            batches = [b for b in store.batches(session, ended=False) if b.model == model]
            assert sorted(at_once.map(put_off, batches)) == [False] + [True] * (count - 1)
    engine.dispose()


@pytest.mark.parametrize(
    ("said", "error"),
    [
        (failed("billing_hard_limit_reached", "Billing hard limit has been reached."), "quota"),
        (failed("insufficient_quota", "You exceeded your current quota."), "quota"),
        (failed("token_limit_exceeded", QUEUE), "takes no batch"),
    ],
)
def test_a_batch_that_failed_for_money_stops_the_run_and_is_sent_again_as_a_batch(
    at: Any, said: Any, error: str
) -> None:
    stand = Stand(look=lambda _: said)

    async def work(judged: Judged) -> None:
        with pytest.raises(ProviderRefusedError, match=said["errors"]["data"][0]["message"]):
            await judge_to_the_end(judged.study, judged.tags)
        assert judged.routes() & FREE
        assert stand.direct == 0
        stand.look = lambda _: None
        judged.runtime.gateway.forget_refusals()
        await judge_to_the_end(judged.study, judged.tags)
        # Every sending is accounted for: refused, or answered.
        assert all(call.attempts == len(call.errors) + 1 for call in judged.calls())

    at(stand, work)
    # A single call that is left is too few for a batch.
    assert stand.direct == (error != "quota")
    assert len(stand.executed) == CALLS - stand.direct
