"""After failures alike without a success, no more calls to a model begin in that run."""

import asyncio
import logging
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import pytest

from judge_gym.asking.engine import collect_batches
from judge_gym.judges import Item, RubricJudge
from judge_gym.judges.judging import judge_missing
from judge_gym.judges.rubric_judge import Criterion
from judge_gym.llm.breaker import ENOUGH_ALIKE, ENOUGH_ATTEMPTS, Breaker, ModelStoppedError
from judge_gym.records.calls import Answer, Failure
from judge_gym.simulator.launch import running
from judge_gym.store.batches import batches as stored_batches
from support.batched import faults_given, set_faults
from support.misbehaving import Step, answers, misbehaving, refuses
from support.panel_runs import ledger
from support.rig import a_call, calls, gateway_at, no_rows, ready_rubric, run, runtime_at

pytestmark = pytest.mark.usefixtures("quick_retries", "key")

EMPTY = answers("", finish_reason="length")
OVERLOADED = refuses(503, "overloaded")


def ask_in_turn(
    database: str, script: Sequence[Step], count: int, attempts: int = 2, **given: Any
) -> tuple[list[Any], int, dict[str, str]]:
    """How each of so many calls ended, the requests that arrived, and each call's ledger status."""

    async def work() -> tuple[list[Any], int, dict[str, str]]:
        async with (
            misbehaving(*script) as provider,
            gateway_at(database, provider.base_url, attempts=attempts, **given) as (
                gateway,
                engine,
            ),
        ):
            opened = await gateway.open([a_call(f"k{n}") for n in range(count)])
            ends = await asyncio.gather(
                *(gateway.ask(a_call(f"k{n}"), no_rows, opened[n]) for n in range(count)),
                return_exceptions=True,
            )
            statuses = {key: row.status for key, row in calls(engine).items()}
            return ends, len(provider.requests), statuses

    ended: tuple[list[Any], int, dict[str, str]] = run(work())
    return ended


@pytest.mark.parametrize(
    ("step", "requests", "kept"),
    [
        pytest.param(EMPTY, 5, 5, id="nothing but thought"),
        pytest.param(answers(""), 5, 5, id="empty"),
        pytest.param(refuses(400, "temperature and top_p exclude"), 5, 5, id="400"),
        pytest.param(refuses(400, "ours", "content_policy_violation"), 5, 5, id="content policy"),
        # All calls begin before the second attempt of one ends; an answer that came is kept.
        pytest.param(OVERLOADED, 12 + 5, 5, id="retries used up"),
        pytest.param(answers("a long tho", finish_reason="length"), 12 + 5, 12, id="cut"),
    ],
)
def test_five_failures_alike_stop_a_model_and_what_has_no_answer_stays_missing(
    database: str, step: Step, requests: int, kept: int
) -> None:
    ends, arrived, statuses = ask_in_turn(database, [step], 12, concurrency=1)
    stopped = [end for end in ends if isinstance(end, ModelStoppedError)]
    assert arrived == requests
    assert len(stopped) == 12 - kept
    assert sum(status in ("succeeded", "failed") for status in statuses.values()) == kept
    assert "sent" not in statuses.values()
    for error in stopped:
        assert "No more calls to real/m were made after 5 failures alike" in error.message


def test_what_is_in_flight_ends(database: str) -> None:
    ends, requests, statuses = ask_in_turn(database, [EMPTY], 40, concurrency=8)
    asked = [end for end in ends if not isinstance(end, BaseException)]
    assert ENOUGH_ALIKE <= len(asked) < ENOUGH_ALIKE + 8
    assert requests == len(asked)
    assert sum(status == "failed" for status in statuses.values()) == len(asked)


def test_a_provider_that_fails_every_request_is_tried_by_one_at_a_time(database: str) -> None:
    """So few requests arrive, though no call of so many has used up its attempts."""
    ends, requests, _ = ask_in_turn(
        database, [OVERLOADED], 200, attempts=4, concurrency=20, outage_patience_s=0
    )
    assert ENOUGH_ATTEMPTS <= requests < 20 + ENOUGH_ATTEMPTS
    assert all(isinstance(end, ModelStoppedError) for end in ends)
    assert "attempts in a row" in ends[0].message


def test_an_outage_that_patience_outlasts_costs_no_call_and_is_logged_once(
    database: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "judge_gym.outages")
    down = [answers(), *[OVERLOADED] * 70, answers()]
    ends, requests, statuses = ask_in_turn(database, down, 60, attempts=4, concurrency=20)
    assert set(statuses.values()) == {"succeeded"}, ends
    assert requests == 60 + 70
    began, ended = (one for one in caplog.records if one.name == "judge_gym.outages")
    assert (began.levelno, ended.levelno) == (logging.WARNING, logging.INFO)
    assert "server: " in began.getMessage()
    assert "outage_patience_s is 90" in began.getMessage()
    assert ended.getMessage().endswith("answers again.")


def test_a_fault_that_passes_at_once_is_no_outage(
    database: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "judge_gym.outages")
    script = [answers(), OVERLOADED, OVERLOADED, answers(), OVERLOADED, answers()]
    ask_in_turn(database, script, 20, attempts=4, concurrency=1)
    assert not [one for one in caplog.records if one.name == "judge_gym.outages"]


def test_a_success_begins_the_count_anew_and_faults_of_single_prompts_stop_nothing_after_it(
    database: str,
) -> None:
    refused = refuses(400, "Rejected by our safety system", "content_policy_violation")
    late = [*[refused] * 4, answers(), *[refused] * 10]
    ends, requests, _ = ask_in_turn(database, late, 15, concurrency=1)
    assert requests == 15
    assert not any(isinstance(end, BaseException) for end in ends)


def test_a_provider_that_goes_down_in_the_middle_stops_its_model_too(database: str) -> None:
    ends, requests, _ = ask_in_turn(database, [answers(), OVERLOADED], 12, concurrency=1)
    assert requests == 12 + ENOUGH_ALIKE
    assert sum(isinstance(end, ModelStoppedError) for end in ends) == 11 - ENOUGH_ALIKE


def test_failures_that_differ_are_not_alike(database: str) -> None:
    script = [refuses(400, f"field {name!r} is unknown") for name in ("a", "b", "c") * 4]
    ends, requests, _ = ask_in_turn(database, script, 12, concurrency=1)
    assert requests == 12
    assert all(isinstance(end[1], Failure) for end in ends)


def test_a_model_stops_alone_and_a_chunk_of_it_is_not_begun(database: str) -> None:
    async def work() -> None:
        async with (
            misbehaving(*[EMPTY] * ENOUGH_ALIKE, answers()) as provider,
            gateway_at(database, provider.base_url, attempts=2) as (gateway, _),
        ):
            for number in range(ENOUGH_ALIKE):
                await gateway.ask(a_call(f"k{number}"), no_rows)
            with pytest.raises(ModelStoppedError):
                await gateway.open([a_call("more")])
            other = a_call("other", model="real/other")
            await gateway.open([a_call("more"), other])
            _, outcome = await gateway.ask(other, no_rows)
            assert isinstance(outcome, Answer)
            gateway.forget_refusals()
            _, outcome = await gateway.ask(a_call("more"), no_rows)
            assert isinstance(outcome, Answer)

    run(work())


def test_cut_answers_that_can_be_read_stop_nothing(database: str) -> None:
    async def work() -> None:
        async with (
            misbehaving(answers("VERDICT: A. And", finish_reason="length")) as provider,
            gateway_at(database, provider.base_url) as (gateway, _),
        ):
            for key in map(str, range(2 * ENOUGH_ALIKE)):
                await gateway.ask(
                    a_call(key), lambda call_id, _, key=key: [ready_rubric(key, call_id)]
                )
            assert len(provider.requests) == 4 * ENOUGH_ALIKE

    run(work())


JUDGE = RubricJudge(
    name="notes",
    model="sim/good-1",
    task="Mark the notes.",
    criteria=(Criterion(name="clarity", description="It is clear."),),
)
NOTES = [Item(id=str(n), text=f"It rained for {n} days.") for n in range(10)]


@pytest.fixture(scope="module")
def batching() -> Iterator[str]:
    """A simulator whose batches end at once."""
    with running(batch_seconds=0) as url:
        yield url


def judged_after_a_batch(
    database: str, base_url: str, **fault: Any
) -> tuple[ModelStoppedError | None, int]:
    """The error of judging after a batch with these failures, and how many calls were direct."""

    async def work() -> ModelStoppedError | None:
        async with runtime_at(database, base_url, batch=True) as runtime:
            set_faults(base_url, {"routes": ["line"], **fault})
            assert (await judge_missing(runtime, JUDGE, NOTES)).counts == {"waiting": len(NOTES)}
            await collect_batches(runtime)
            assert faults_given(base_url) >= ENOUGH_ALIKE
            with runtime.session() as session:
                (batch,) = stored_batches(session, ended=True)
            # A batch without a usable answer is no success.
            assert batch.status == ("completed" if batch.answered else "failed")
            assert batch.error
            set_faults(base_url)
            try:
                await judge_missing(runtime, JUDGE, NOTES)
            except ModelStoppedError as error:
                return error
            return None

    error = run(work())
    return error, sum(row.route == "direct" for row in ledger(database))


@pytest.mark.slow
@pytest.mark.parametrize("fault", ["server_error", "empty", "context_too_long"])
def test_a_batch_of_failures_alike_stops_its_model_until_the_next_run(
    database: str, batching: str, fault: str
) -> None:
    error, direct = judged_after_a_batch(database, batching, kind=fault)
    assert error is not None
    assert error.model == JUDGE.model
    assert direct == 0

    async def next_run() -> Counter[str]:
        async with runtime_at(database, batching, batch=True) as runtime:
            return (await judge_missing(runtime, JUDGE, NOTES)).counts

    assert run(next_run()) == {"scored": len(NOTES)}


@pytest.mark.parametrize(
    "fault",
    [
        pytest.param({"kind": "server_error", "max_count": 9}, id="one call succeeded"),
        pytest.param({"kind": "length"}, id="cut"),
    ],
)
def test_a_batch_that_says_little_of_direct_calls_stops_nothing(
    database: str, batching: str, fault: dict[str, Any]
) -> None:
    error, direct = judged_after_a_batch(database, batching, **fault)
    assert error is None
    assert direct == fault.get("max_count", len(NOTES))


def test_refused_requests_of_a_batch_stop_nothing() -> None:
    """They are sent again directly, without the parameter that the model does not take."""
    breaker = Breaker(90)
    breaker.batch_ended("m", {str(n): Failure("bad_request", "top_p?") for n in range(10)})
    breaker.check("m")
