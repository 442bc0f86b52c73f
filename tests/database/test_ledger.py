"""The ledger: what is on disk when, in how few transactions, and what a fault takes along."""

import asyncio
from collections.abc import Iterator

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.llm.gateway import Gateway
from judge_gym.records.attempts import AT_MOST, UNKNOWN_OUTCOME, attempt_error
from judge_gym.records.calls import Failure, Request
from judge_gym.store import tables as t
from judge_gym.store.calls import outcomes_of
from judge_gym.store.ledger import Closed, Ledger, LedgerRows, Sent, now
from support.rig import (
    a_call,
    a_full_answer,
    an_answer,
    as_rubric,
    calls,
    count,
    failed_rubric,
    no_rows,
    providers_at,
    ready_rubric,
    run,
)

AS_ASKED = Request({"max_tokens": 50})


@pytest.fixture
def engine(database: str) -> Iterator[sa.Engine]:
    engine = sa.create_engine(database)
    yield engine
    engine.dispose()


def commits(engine: sa.Engine) -> list[int]:
    """A list that grows by one with every transaction that is committed."""
    seen: list[int] = []
    sa.event.listen(engine, "commit", lambda _: seen.append(1))
    return seen


def statuses(engine: sa.Engine) -> dict[str, str]:
    return {key: row.status for key, row in calls(engine).items()}


def test_an_opened_call_is_on_disk_with_all_that_will_be_sent(engine: sa.Engine) -> None:
    run(Ledger(engine).open([a_call("k", "What is order?", agent="critic")], "real"))
    row = calls(engine)["k"]
    assert (row.status, row.attempts, row.answer, row.errors) == ("planned", 0, None, [])
    assert row.messages == [{"role": "user", "content": "What is order?"}]
    assert (row.agent, row.provider, row.model) == ("critic", "real", "real/m")
    assert row.parameters == {"temperature": 0, "top_p": 1, "max_tokens": 50, "seed": 1}


def test_answers_come_back_in_the_order_asked(engine: sa.Engine) -> None:
    async def work() -> None:
        ledger = Ledger(engine)
        first = await ledger.open([a_call(key) for key in "cab"], "real")
        again = await ledger.open([a_call(key) for key in "bca"], "real")
        assert [one.id for one in again] == [first[2].id, first[0].id, first[1].id]

    run(work())
    assert sorted(calls(engine)) == ["a", "b", "c"]


def test_the_same_key_twice_in_one_go_is_one_row(engine: sa.Engine) -> None:
    one, two = run(Ledger(engine).open([a_call("k"), a_call("k")], "real"))
    assert one == two
    assert count(engine, t.Call) == 1


def test_writes_that_gather_share_transactions(engine: sa.Engine) -> None:
    async def work() -> None:
        ledger = Ledger(engine)
        opened = await ledger.open([a_call(f"k{number}") for number in range(300)], "real")
        seen = commits(engine)
        await asyncio.gather(*(ledger.write(Sent(one.id, now(), AS_ASKED)) for one in opened))
        await asyncio.gather(
            *(
                ledger.write(Closed(one.id, an_answer(), (), [ready_rubric(str(one.id), one.id)],
                                    now()))
                for one in opened
            )
        )  # fmt: skip
        # 600 writes in two waves: the first of a wave goes alone, the others together.
        assert len(seen) <= 6

    run(work())
    assert set(statuses(engine).values()) == {"succeeded"}
    assert count(engine, t.Rubric) == 300


def test_a_row_that_cannot_be_takes_only_its_own_call_along(engine: sa.Engine) -> None:
    """One derived row breaks a constraint; the calls that gathered with it keep their answers."""

    async def work() -> list[BaseException | None]:
        ledger = Ledger(engine)
        opened = await ledger.open([a_call(f"k{number}") for number in range(20)], "real")
        for one in opened:
            await ledger.write(Sent(one.id, now(), AS_ASKED))
        rows = [ready_rubric(f"r{number}", one.id) for number, one in enumerate(opened)]
        rows[7] = ready_rubric("r7", opened[7].id, observability=1.2)
        closing = (
            ledger.write(Closed(one.id, an_answer(), (), [row], now()))
            for one, row in zip(opened, rows, strict=True)
        )
        return await asyncio.gather(*closing, return_exceptions=True)

    ends = run(work())
    assert isinstance(ends[7], sa.exc.IntegrityError)
    assert "observability_range" in str(ends[7])
    assert [number for number, end in enumerate(ends) if end is not None] == [7]
    assert statuses(engine) == {f"k{n}": "sent" if n == 7 else "succeeded" for n in range(20)}
    assert calls(engine)["k7"].answer is None
    assert count(engine, t.Rubric) == 19


def test_rows_of_one_table_with_different_columns_gather(engine: sa.Engine) -> None:
    """A failed rubric names fewer columns than a ready one; neither may decide for the other."""

    async def work() -> None:
        ledger = Ledger(engine)
        opened = await ledger.open([a_call(f"k{number}") for number in range(4)], "real")
        rows = [
            failed_rubric("r0", opened[0].id),
            failed_rubric("r1", opened[1].id),
            ready_rubric("r2", opened[2].id),
            failed_rubric("r3", opened[3].id),
        ]
        seen = commits(engine)
        closing = (
            ledger.write(Closed(one.id, an_answer(), (), [row], now()))
            for one, row in zip(opened, rows, strict=True)
        )
        await asyncio.gather(*closing)
        assert len(seen) == 1

    run(work())
    with engine.connect() as connection:
        found = connection.execute(sa.select(t.Rubric.status, t.Rubric.observability))
        assert sorted(found.all(), key=str) == [("failed", None)] * 3 + [("ready", 0.9)]


def test_an_answer_that_another_process_wrote_stays(engine: sa.Engine) -> None:
    """Two processes ask the same; rows were derived from the first answer, so it stays."""

    async def work() -> None:
        first, second = Ledger(engine), Ledger(engine)
        (one,) = await first.open([a_call("k")], "real")
        await first.write(Sent(one.id, now(), AS_ASKED))
        (two,) = await second.open([a_call("k")], "real")
        rows = [ready_rubric("r", one.id, observability=0.7)]
        await first.write(Closed(one.id, an_answer("first"), (), rows, now()))
        await second.write(Sent(two.id, now(), AS_ASKED))
        late = [ready_rubric("r", two.id, observability=0.1)]
        await second.write(Closed(two.id, an_answer("second"), (), late, now()))

    run(work())
    row = calls(engine)["k"]
    assert (row.status, row.answer) == ("succeeded", "first")
    with engine.connect() as connection:
        assert connection.execute(sa.select(t.Rubric.observability)).all() == [(0.7,)]


def test_two_ledgers_over_the_same_calls_do_not_deadlock(engine: sa.Engine) -> None:
    async def work() -> None:
        ledgers = [Ledger(engine), Ledger(engine)]
        keys = [f"k{number}" for number in range(150)]

        async def all_of(ledger: Ledger, order: list[str]) -> None:
            opened = await ledger.open([a_call(key) for key in order], "real")
            for change in (
                lambda one: Sent(one.id, now(), AS_ASKED),
                lambda one: Closed(one.id, an_answer(), (), [ready_rubric(str(one.id), one.id)],
                                   now()),
            ):  # fmt: skip
                await asyncio.gather(*(ledger.write(change(one)) for one in opened))

        for _ in range(3):
            await asyncio.gather(all_of(ledgers[0], keys), all_of(ledgers[1], keys[::-1]))

    run(work())
    assert set(statuses(engine).values()) == {"succeeded"}
    assert count(engine, t.Rubric) == 150


def test_planning_again_keeps_attempts_and_errors_and_says_who_is_asked_now(
    engine: sa.Engine,
) -> None:
    """The critic was changed after its call failed: the row names the one that answers."""
    failure = Failure("server", "boom")

    async def work() -> None:
        ledger = Ledger(engine)
        for attempt, model in enumerate(("real/old", "real/older", "sim/new")):
            call = a_call("k", f"question {attempt}", model=model)
            (one,) = await ledger.open([call], model.partition("/")[0])
            assert one.answer is None
            await ledger.write(Sent(one.id, now(), AS_ASKED))
            error = {"kind": "server", "at": "then", "message": f"boom {attempt}"}
            outcome = an_answer() if attempt == 2 else failure
            await ledger.write(Closed(one.id, outcome, [] if attempt == 2 else [error], (), now()))

    run(work())
    row = calls(engine)["k"]
    assert (row.status, row.attempts, row.answer) == ("succeeded", 3, "answer")
    assert [error["message"] for error in row.errors] == ["boom 0", "boom 1"]
    assert (row.model, row.provider) == ("sim/new", "sim")
    assert row.messages == [{"role": "user", "content": "question 2"}]


def test_each_sending_whose_outcome_was_lost_is_kept_as_an_error(engine: sa.Engine) -> None:
    async def killed_once_sent() -> None:
        ledger = Ledger(engine)
        (opened,) = await ledger.open([a_call("k")], "real")
        await ledger.write(Sent(opened.id, now(), AS_ASKED))

    run(killed_once_sent())
    assert calls(engine)["k"].errors == []
    run(killed_once_sent())
    assert [error["kind"] for error in calls(engine)["k"].errors] == [UNKNOWN_OUTCOME]

    async def answered() -> None:
        ledger = Ledger(engine)
        (opened,) = await ledger.open([a_call("k")], "real")
        # No answer was thrown away, so that one that is cut off may be asked for once more.
        assert not opened.discarded
        await ledger.write(Sent(opened.id, now(), AS_ASKED))
        await ledger.write(Closed(opened.id, an_answer(), (), (), now()))
        await ledger.open([a_call("k")], "real")

    run(answered())
    row = calls(engine)["k"]
    assert (row.status, row.attempts) == ("succeeded", 3)
    assert [error["kind"] for error in row.errors] == [UNKNOWN_OUTCOME] * 2
    assert all(set(error) == {*attempt_error("", ""), AT_MOST} for error in row.errors)


def test_an_answered_call_is_not_planned_again(engine: sa.Engine) -> None:
    async def work() -> None:
        ledger = Ledger(engine)
        (one,) = await ledger.open([a_call("k")], "real")
        given = an_answer("kept", cost_usd=None, prompt_tokens=None)
        await ledger.write(Closed(one.id, given, (), (), now()))
        (again,) = await ledger.open([a_call("k", "another question")], "real")
        assert again.answer == given

    run(work())
    row = calls(engine)["k"]
    assert (row.status, row.messages[0]["content"]) == ("succeeded", "question")


def test_an_answer_at_hand_is_used_again_without_sending(engine: sa.Engine) -> None:
    """Nothing listens at the address, so a request would fail."""

    async def work() -> None:
        ledger = Ledger(engine)
        (one,) = await ledger.open([a_call("k")], "real")
        await ledger.write(Closed(one.id, an_answer("kept"), (), (), now()))
        gateway = Gateway(engine, providers_at("http://127.0.0.1:9/v1"), attempts=1, timeout_s=1)
        call_id, outcome = await gateway.ask(a_call("k"), as_rubric("r"))
        assert (call_id, outcome) == (one.id, an_answer("kept"))
        await gateway.ask(a_call("k"), as_rubric("r"))
        await gateway.close()

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TEST_PROVIDER_KEY", "unused")
        run(work())
    assert calls(engine)["k"].attempts == 0
    assert count(engine, t.Rubric) == 1


def test_a_cancelled_caller_does_not_stop_the_writer(engine: sa.Engine) -> None:
    async def work() -> None:
        ledger = Ledger(engine)
        opened = await ledger.open([a_call(f"k{number}") for number in range(3)], "real")
        writing = [
            asyncio.create_task(ledger.write(Sent(one.id, now(), AS_ASKED))) for one in opened
        ]
        await asyncio.sleep(0)
        writing[1].cancel()
        assert isinstance((await asyncio.gather(*writing, return_exceptions=True))[1],
                          asyncio.CancelledError)  # fmt: skip
        await ledger.write(Closed(opened[0].id, an_answer(), (), (), now()))

    run(work())
    assert statuses(engine)["k0"] == "succeeded"


def test_what_cancelled_callers_had_to_write_is_on_disk_at_the_end(engine: sa.Engine) -> None:
    """Also what still gathered behind a slow commit when the run was stopped."""

    async def work() -> None:
        ledger = Ledger(engine)
        opened = await ledger.open([a_call("first"), a_call("second")], "real")
        with engine.connect() as other:
            other.execute(sa.select(t.Call.id).with_for_update())  # holds the first commit up
            writing = []
            for one in opened:
                closed = Closed(one.id, an_answer(), (), (), now())
                writing.append(asyncio.create_task(ledger.write(closed)))
                await asyncio.sleep(0.01)
            for task in writing:
                task.cancel()
            await asyncio.gather(*writing, return_exceptions=True)
        await ledger.flush()

    run(work())
    assert statuses(engine) == {"first": "succeeded", "second": "succeeded"}


def test_an_answer_outlives_the_connections_to_the_database(engine: sa.Engine) -> None:
    """As when the server restarts."""

    async def work() -> None:
        ledger = Ledger(engine)
        (one,) = await ledger.open([a_call("k")], "real")
        with sa.create_engine(engine.url, poolclass=sa.NullPool).connect() as other:
            other.exec_driver_sql(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid()"
            )
        await ledger.write(
            Closed(one.id, an_answer(), (), as_rubric("r")(one.id, an_answer()), now())
        )

    run(work())
    assert statuses(engine) == {"k": "succeeded"}
    assert count(engine, t.Rubric) == 1


def test_rows_without_a_call_to_close_are_written(engine: sa.Engine) -> None:
    async def work() -> None:
        ledger = Ledger(engine)
        (one,) = await ledger.open([a_call("k")], "real")
        for _ in range(2):
            await ledger.write(LedgerRows([ready_rubric("r", one.id)]))
        await ledger.write(LedgerRows(no_rows(one.id, an_answer())))

    run(work())
    assert count(engine, t.Rubric) == 1


def test_changes_of_one_call_that_gather_all_count(engine: sa.Engine) -> None:
    async def work() -> None:
        ledger = Ledger(engine)
        one, two = await ledger.open([a_call("one"), a_call("two")], "real")
        first, second = ({"kind": "server", "at": "then", "message": text} for text in "ab")
        failure = Failure("server", "boom")
        seen = commits(engine)
        await asyncio.gather(
            ledger.write(Sent(one.id, now(), AS_ASKED)),
            ledger.write(Sent(two.id, now(), AS_ASKED)),
            ledger.write(Sent(one.id, now(), AS_ASKED)),
            ledger.write(Closed(one.id, failure, [first], (), now())),
            ledger.write(Closed(one.id, an_answer("later"), [second], (), now())),
            ledger.write(Closed(one.id, an_answer("too late"), (), (), now())),
        )
        assert len(seen) == 1

    run(work())
    row = calls(engine)["one"]
    assert (row.status, row.answer, row.attempts) == ("succeeded", "later", 2)
    assert [error["message"] for error in row.errors] == ["a", "b"]
    assert calls(engine)["two"].attempts == 1


def test_all_of_an_answer_is_kept(engine: sa.Engine) -> None:
    async def work() -> None:
        ledger = Ledger(engine)
        (opened,) = await ledger.open([a_call("k")], "real")
        await ledger.write(Closed(opened.id, a_full_answer(), (), (), now()))
        (again,) = await ledger.open([a_call("k")], "real")
        assert again.answer == a_full_answer()

    run(work())
    with Session(engine) as session:
        assert outcomes_of(session, ["k"]) == {"k": a_full_answer()}
    row = calls(engine)["k"]
    assert row.sent_body == {"model": "m", "max_tokens": 50}
    assert (row.served_model, row.response_id, row.fingerprint) == ("m-2026-10-01", "msg_1", "fp_1")
    assert (row.finish_reason, row.finish_given) == ("stop", "end_turn")
    assert (row.cached_tokens, row.cache_written_tokens, row.reasoning_tokens) == (4, 2, 1)
    assert (row.cost_source, row.reasoning) == ("file", 'A "thought".')
    assert row.logprobs == [["B", -0.25, [["B", -0.25], ["C", -1.5]]], ["\n", -0.125, []]]


def test_what_a_provider_does_not_say_is_null(engine: sa.Engine) -> None:
    async def work() -> None:
        ledger = Ledger(engine)
        (opened,) = await ledger.open([a_call("k")], "real")
        await ledger.write(Closed(opened.id, an_answer(), (), (), now()))

    run(work())
    silent = sa.select(t.Call.id).where(
        *(getattr(t.Call, name).is_(None) for name in (*NOT_SAID, "logprobs", "sent_body"))
    )
    with engine.connect() as connection:
        assert len(connection.execute(silent).all()) == 1


NOT_SAID = (
    "served_model", "response_id", "fingerprint", "finish_given", "cached_tokens",
    "cache_written_tokens", "reasoning_tokens", "cost_source", "reasoning",
)  # fmt: skip


def test_a_failed_call_keeps_what_was_sent(engine: sa.Engine) -> None:
    async def work() -> None:
        ledger = Ledger(engine)
        (opened,) = await ledger.open([a_call("k")], "real")
        failure = Failure("bad_request", "no seed", {"model": "m", "seed": 1})
        await ledger.write(
            Closed(opened.id, failure, [attempt_error("bad_request", "")], (), now())
        )

    run(work())
    row = calls(engine)["k"]
    assert (row.status, row.sent_body) == ("failed", {"model": "m", "seed": 1})


def test_values_arrive_as_they_are(engine: sa.Engine) -> None:
    """A group travels as JSON, which none of these may notice."""
    odd = 'quote " backslash \\ \\u0041 tab\t line\u2028 end 🙂 {} $1 %s :rows'
    answer = an_answer(
        odd, cost_usd=0.00000123, latency_ms=0.1 + 0.2, prompt_tokens=2**31 - 1, simulated=True
    )
    at = now()

    async def work() -> None:
        ledger = Ledger(engine)
        (one,) = await ledger.open([a_call("k", odd)], "real")
        row = ready_rubric("r", one.id, reasoning=odd, observability=1 / 3)
        bare = ready_rubric("s", one.id, status="failed", failure=odd, stages=None)
        await ledger.write(Closed(one.id, answer, (), [row, bare], at))
        assert (await ledger.open([a_call("k")], "real"))[0].answer == answer

    run(work())
    kept = calls(engine)["k"]
    assert kept.messages == [{"role": "user", "content": odd}]
    assert kept.finished_at == at
    with engine.connect() as connection:
        query = sa.select(t.Rubric.reasoning, t.Rubric.observability).where(t.Rubric.key == "r")
        assert connection.execute(query).one() == (odd, 1 / 3)
        # NULL, not the null of JSON.
        query = sa.select(t.Rubric.failure).where(t.Rubric.stages.is_(None))
        assert connection.execute(query).scalars().all() == [odd]
