"""What a sweep has used, summed over its ledger rows, and when that is too much."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa

from judge_gym.asking.budgeting import (
    BudgetExceededError,
    SweepBudget,
    check_priced,
    exceeded_error,
    recounted,
    spending_check,
)
from judge_gym.design.plans import Budget
from judge_gym.errors import ConfigError
from judge_gym.lab.approving import SpendingPlan
from judge_gym.llm import gateway as gateways
from judge_gym.llm.gateway import Gateway
from judge_gym.llm.providers import Price, Provider, Providers
from judge_gym.records.calls import Answer, Failure, Request
from judge_gym.report.approval import plan_sentence
from judge_gym.store import tables as t
from judge_gym.store.calls import Paid, call_costs, cost_of
from judge_gym.store.cleaning import forget_failures
from judge_gym.store.decisions import Approved
from judge_gym.store.experiments import (
    experiments_of_sweep,
    register_experiment,
    register_sweep,
)
from judge_gym.store.ledger import Closed, Ledger, Sent, now
from judge_gym.store.rubrics import applied_key, sham_key
from judge_gym.store.selecting import Selection
from judge_gym.store.spending import (
    Spent,
    call_sums,
    sent_since,
    spending_scope,
    spent,
    spent_since,
)
from support.misbehaving import answers, misbehaving, refuses, stays_silent
from support.rig import KEY, KEY_NAME, a_call, an_answer, no_rows, providers_at, run, runtime_at
from support.study import Study, corpus, window

MODEL, RIVAL = "real/one", "real/two"


def stored(database: str, tmp_path: Path, work: Any) -> None:
    """Run `work(study, experiment, other)`; of the two experiments the first is the sweep's."""

    async def whole() -> None:
        async with runtime_at(database, "http://127.0.0.1:9") as runtime:
            study = Study(runtime, window(corpus(tmp_path, 1)))
            one, other = study.experiment(MODEL), study.experiment(RIVAL, scale_size=5)
            swap = {"pairs": "all", "sham": True}
            study.change(lambda session: register_sweep(session, "mine", "", swap, [one]))
            study.change(lambda session: register_experiment(session, other))
            await work(study, one, other)

    run(whole())


async def ended(
    study: Study, key: str, outcome: Answer | Failure, *errors: dict[str, Any], **call: Any
) -> None:
    """A call that was asked and ended so."""
    ledger = Ledger(study.runtime.engine)
    (opened,) = await ledger.open([a_call(key, **call)], "real")
    await ledger.write(Sent(opened.id, now(), Request({"max_tokens": 50})))
    if isinstance(outcome, Failure):
        errors = (*errors, {"kind": outcome.kind, "message": outcome.message})
    await ledger.write(Closed(opened.id, outcome, errors, (), now()))


def used(study: Study) -> Spent:
    return study.change(lambda session: spent(session, spending_scope(session, "mine")))


def test_a_sweep_has_used_what_its_experiments_windows_and_rubrics_have(
    database: str, tmp_path: Path
) -> None:
    async def work(study: Study, one: Any, other: Any) -> None:
        mine, others = study.ids([one.name, other.name])
        assert used(study) == Spent(0, 0.0, 0, 0, 0)
        paid = an_answer(cost_usd=1.0)
        await ended(study, "score/1", paid, experiment_id=mine)
        await ended(study, f"view/{one.window.key}/d/neutralized", paid)
        await ended(study, f"rubric/{applied_key(one)}/0", paid)
        await ended(study, f"rubric/{applied_key(one)}/0/set-aside/7", paid)
        await ended(study, f"critic/{sham_key(one)}", paid)
        # Another experiment's, another window's, another rubric's.
        await ended(study, "score/2", paid, experiment_id=others)
        await ended(study, "view/0000000000000000/d/neutralized", paid)
        await ended(study, f"rubric/{applied_key(other)}/0", paid)
        assert used(study) == Spent(calls=5, cost_usd=5.0, unpriced=0, ended=5, failed=0)
        # A call that waits has used nothing.
        await Ledger(study.runtime.engine).open([a_call("score/3", experiment_id=mine)], "real")
        assert used(study).calls == 5
        await ended(study, "score/4", an_answer(cost_usd=None), experiment_id=mine)
        assert used(study) == Spent(calls=6, cost_usd=5.0, unpriced=1, ended=6, failed=0)

    stored(database, tmp_path, work)


def test_failures_of_experiments_that_left_the_sweep_do_not_stop_it(
    database: str, tmp_path: Path
) -> None:
    async def work(study: Study, one: Any, other: Any) -> None:
        mine, others = study.ids([one.name, other.name])
        await ended(study, "score/1", Failure("server", "down"), experiment_id=mine)
        study.change(lambda session: register_sweep(session, "mine", "", None, [other]))
        await ended(study, "score/2", an_answer(cost_usd=1.0), experiment_id=others)
        # No run retries the failure; both calls were made.
        assert used(study) == Spent(calls=2, cost_usd=1.0, unpriced=0, ended=1, failed=0)
        study.change(lambda session: register_sweep(session, "mine", "", None, [one]))
        assert used(study) == Spent(calls=2, cost_usd=1.0, unpriced=0, ended=1, failed=1)

    stored(database, tmp_path, work)


def test_one_statement_counts_what_a_status_then_looks_for(database: str, tmp_path: Path) -> None:
    async def work(study: Study, one: Any, other: Any) -> None:
        mine, others = study.ids([one.name, other.name])

        def found() -> tuple[int, int, int, bool, bool]:
            sums = used(study)
            return (
                *(sums.unread, sums.refused, sums.in_flight),
                *(sums.last_ended is not None, sums.cancelled),
            )

        assert found() == (0, 0, 0, False, False)
        # An experiment that left the sweep: its calls are counted as spent, and not looked for.
        study.change(lambda session: register_sweep(session, "mine", "", None, [one, other]))
        cut = an_answer(cost_usd=1.0, prompt_words=900)
        await ended(study, "score/1", cut, experiment_id=others)
        await ended(study, "score/2", Failure("authentication", "who?"), experiment_id=others)
        assert found() == (1, 1, 0, True, False)
        study.change(lambda session: register_sweep(session, "mine", "", None, [one]))
        assert found() == (0, 0, 0, False, False)
        assert used(study).cost_usd == 1.0
        await ended(study, "score/3", cut, experiment_id=mine)
        await ended(study, "score/4", cut, experiment_id=mine)
        await ended(study, "score/5", Failure("authentication", "who?"), experiment_id=mine)
        await ended(study, "score/6", Failure("server", "down"), experiment_id=mine)
        ledger = Ledger(study.runtime.engine)
        [waits] = await ledger.open([a_call("score/7", experiment_id=mine)], "real")
        await ledger.write(Sent(waits.id, now(), Request({"max_tokens": 50})))
        assert found() == (2, 1, 1, True, False)
        [last] = study.all(sa.select(sa.func.max(t.Call.finished_at)))
        assert used(study).last_ended == last

    stored(database, tmp_path, work)


def test_sums_of_calls_are_of_all_their_prompts(database: str, tmp_path: Path) -> None:
    async def work(study: Study, one: Any, _: Any) -> None:
        (mine,) = study.ids([one.name])
        answer = an_answer(cost_usd=1.0, prompt_tokens=10, completion_tokens=2)
        for number in range(3):
            await ended(study, f"score/{number}", answer, experiment_id=mine)
        digest = sa.case((t.Call.key == "score/0", "b" * 64), else_="a" * 64)
        retemplated = sa.update(t.Call).values(template="score", template_hash=digest)
        study.change(lambda session: session.execute(retemplated))
        by_id = study.change(lambda session: experiments_of_sweep(session, "mine"))
        [sums] = study.change(lambda session: call_sums(session, by_id))
        assert (sums.calls, sums.failed, sums.attempts, sums.cost) == (3, 0, 3, 3)
        assert (sums.prompt, sums.completion, sums.unpriced, sums.lost) == (30, 6, 0, 0)
        assert sums.prompts == ["score " + "a" * 12, "score " + "b" * 12]
        assert all(isinstance(number, int) for number in (sums.calls, sums.prompt, sums.unpriced))

    stored(database, tmp_path, work)


def test_what_failed_before_a_request_is_counted_apart_from_calls(
    database: str, tmp_path: Path
) -> None:
    async def work(study: Study, one: Any, _: Any) -> None:
        (mine,) = study.ids([one.name])
        await ended(study, "score/1", an_answer(), experiment_id=mine)
        ledger = Ledger(study.runtime.engine)
        [opened] = await ledger.open([a_call("score/2", experiment_id=mine)], "real")
        lost = Failure("bad_request", "real/m does not apply temperature 0")
        await ledger.write(Closed(opened.id, lost, (), (), now()))
        assert used(study) == Spent(1, 0.01, 0, ended=1, failed=0, unsent=1)

    stored(database, tmp_path, work)


def test_failures_count_once_they_are_for_good_and_not_when_the_model_refuses_every_call(
    database: str, tmp_path: Path
) -> None:
    async def work(study: Study, one: Any, _: Any) -> None:
        (mine,) = study.ids([one.name])
        await ended(study, "score/1", an_answer(), {"kind": "server"}, experiment_id=mine)
        await ended(study, "score/2", Failure("server", "down"), experiment_id=mine)
        await ended(study, "score/3", Failure("authentication", "who?"), experiment_id=mine)
        assert used(study) == Spent(calls=3, cost_usd=0.01, unpriced=0, ended=2, failed=1)
        # A failure that shall be asked again has not ended.
        study.change(lambda session: forget_failures(session, Selection([mine])))
        assert used(study) == Spent(calls=3, cost_usd=0.01, unpriced=0, ended=1, failed=0)

    stored(database, tmp_path, work)


@pytest.mark.parametrize(
    ("second", "status", "cost"),
    [(answers("full"), "succeeded", 2.0), (refuses(400, "no"), "failed", 1.0)],
    ids=["then an answer", "then a failure"],
)
def test_a_discarded_first_answer_is_paid_for(
    database: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    second: Any,
    status: str,
    cost: float,
) -> None:
    """7 prompt and 3 answer tokens at 0.1 USD each make 1 USD an answer."""
    monkeypatch.setenv(KEY_NAME, KEY)
    prices = {"m": Price(prompt=1e5, completion=1e5)}

    async def work(study: Study, one: Any, _: Any) -> None:
        (mine,) = study.ids([one.name])
        async with misbehaving(answers("cut", finish_reason="length"), second) as provider:
            real = providers_at(provider.base_url).by_name["real"]
            priced = Providers({"real": real.model_copy(update={"prices": prices})}, Path("p.toml"))
            gateway = Gateway(study.runtime.engine, priced, attempts=1, timeout_s=5)
            await gateway.ask(a_call("score/1", experiment_id=mine), no_rows)
            await gateway.close()
        assert study.all(sa.select(t.Call.status)) == [status]
        assert used(study).cost_usd == cost
        assert used(study).calls == 2
        (call,) = study.all(sa.select(t.Call.id))
        with study.runtime.session() as session:
            assert cost_of(session, [call]) == Paid(cost, 0, 0.0)
            assert call_costs(session, [call]) == {call: cost}
            assert spent_since(session, datetime.now(UTC) - timedelta(hours=1)) == (2, cost)
            assert [usd for _, _, usd in sent_since(session, datetime.min.replace(tzinfo=UTC))] == [
                cost
            ]

    stored(database, tmp_path, work)


@pytest.mark.parametrize(("bound", "unknown"), [(0.0, 0), (0.5, 1), (None, 1)])
def test_requests_that_cost_at_most_nothing_are_of_known_cost(
    database: str, tmp_path: Path, bound: float | None, unknown: int
) -> None:
    """The run of one ended before its answer, and the answer of another has no cost."""

    async def work(study: Study, one: Any, _: Any) -> None:
        (mine,) = study.ids([one.name])
        ledger = Ledger(study.runtime.engine)
        (lost,) = await ledger.open([a_call("score/1", experiment_id=mine)], "real")
        await ledger.write(Sent(lost.id, now(), Request({"max_tokens": 50}), bound))
        await ended(study, "score/1", an_answer(cost_usd=0.0), experiment_id=mine)
        uncounted = an_answer(cost_usd=None, at_most_usd=bound)
        await ended(study, "score/2", uncounted, experiment_id=mine)
        with study.runtime.session() as session:
            costs = list(call_costs(session, study.all(sa.select(t.Call.id))).values())
            [sums] = call_sums(session, experiments_of_sweep(session, "mine"))
            viewed = session.scalar(sa.text("SELECT unpriced FROM analysis.spending"))
        assert np.isnan(costs).all() == bool(unknown)
        assert used(study).unpriced == sums.unpriced == viewed == 2 * unknown
        assert sums.lost == unknown

    stored(database, tmp_path, work)


def test_a_discarded_answer_is_paid_for_when_the_second_request_is_cancelled(
    database: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KEY_NAME, KEY)
    monkeypatch.setattr(gateways, "LONGEST_STOP_S", 0.01)
    prices = {"m": Price(prompt=1e5, completion=1e5)}

    async def work(study: Study, one: Any, _: Any) -> None:
        (mine,) = study.ids([one.name])
        arrived = asyncio.Event()

        async def silent(request: Any) -> Any:
            arrived.set()
            return await stays_silent(request)

        async with misbehaving(answers("cut", finish_reason="length"), silent) as provider:
            real = providers_at(provider.base_url).by_name["real"]
            priced = Providers({"real": real.model_copy(update={"prices": prices})}, Path("p.toml"))
            gateway = Gateway(study.runtime.engine, priced, attempts=1, timeout_s=60)
            asking = asyncio.create_task(
                gateway.ask(a_call("score/1", experiment_id=mine), no_rows)
            )
            await arrived.wait()
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            await gateway.close()
        # What came of the second is not known: it is still stored as sent.
        assert study.all(sa.select(t.Call.status)) == ["sent"]
        assert used(study).cost_usd == 1.0

    stored(database, tmp_path, work)


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        ({"max_cost_usd": 0.2}, "max_cost_usd is 0.2, and 20 calls cost 0.2 USD."),
        ({"max_calls": 20}, "max_calls is 20, and 20 calls"),
        ({"max_cost_usd": 0.21, "max_calls": 21, "max_failures_share": 0}, ""),
        ({}, ""),
    ],
)
def test_a_budget_is_passed_when_it_is_used_up(
    database: str, tmp_path: Path, limits: dict[str, float], said: str
) -> None:
    """20 calls at 0.01 USD."""

    async def work(study: Study, one: Any, _: Any) -> None:
        (mine,) = study.ids([one.name])
        check = checking(study, **limits)
        for number in range(20):
            if check:
                check()
            await ended(study, f"score/{number}", an_answer(), experiment_id=mine)
        if not said:
            if check:
                check()
            return
        with pytest.raises(BudgetExceededError) as error:
            check()
        assert said in error.value.message
        assert "in my.yaml and rerun the command" in error.value.remedy

    stored(database, tmp_path, work)


def test_failures_are_a_share_from_the_twentieth_call_on(database: str, tmp_path: Path) -> None:
    """Five failures of 20 are 0.25."""

    async def work(study: Study, one: Any, _: Any) -> None:
        (mine,) = study.ids([one.name])
        strict = checking(study, max_failures_share=0.2)
        lenient = checking(study, max_failures_share=0.25)
        for number in range(20):
            strict()
            outcome = Failure("server", "down") if number < 5 else an_answer()
            await ended(study, f"score/{number}", outcome, experiment_id=mine)
        lenient()
        with pytest.raises(BudgetExceededError, match="5 of 20 that ended have failed") as error:
            strict()
        assert "retry_failed" in error.value.remedy

    stored(database, tmp_path, work)


def checking(study: Study, **limits: Any) -> Any:
    budget = SweepBudget(sweep="mine", file=Path("my.yaml"), limits=Budget(**limits))
    return spending_check(study.runtime, budget)


def test_a_used_up_budget_counts_the_answers_that_came_after_it(
    database: str, tmp_path: Path
) -> None:
    async def work(study: Study, one: Any, _: Any) -> None:
        (mine,) = study.ids([one.name])
        await ended(study, "score/1", an_answer(cost_usd=1.0), experiment_id=mine)
        budget = SweepBudget(sweep="mine", file=Path("my.yaml"), limits=Budget(max_calls=1))
        error = exceeded_error(budget.spender([MODEL]), used(study))
        assert error is not None
        assert "1 call cost 1" in error.message
        await ended(study, "score/2", an_answer(cost_usd=1.0), experiment_id=mine)
        assert "2 calls cost 2" in recounted(study.runtime, error).message

    stored(database, tmp_path, work)


def test_a_bounded_cost_needs_prices() -> None:
    priced = {"cheap": Price(prompt=0.1, completion=0.2)}
    providers = Providers(
        {
            "sim": Provider(name="sim", litellm="openai"),
            "local": Provider(name="local", litellm="openai", prices=priced),
            "openai": Provider(name="openai"),
        },
        Path("providers.toml"),
    )
    budget = SweepBudget(sweep="mine", file=Path("my.yaml"), limits=Budget(max_cost_usd=5))
    check_priced(providers, budget.spender(["sim/calm-1", "local/cheap", "openai/gpt-4.1"]))
    unlisted = ["sim/calm-1", "local/dear"]
    with pytest.raises(ConfigError) as error:
        check_priced(providers, budget.spender(unlisted))
    assert "the price of local/dear is in no list" in error.value.message
    assert 'prices."dear" = {prompt = ' in error.value.remedy
    assert "table [local] of providers.toml" in error.value.remedy
    with pytest.raises(ConfigError, match=r"openai/gpt-4\.1-minni is in no list") as error:
        check_priced(providers, budget.spender(["openai/gpt-4.1-minni"]))
    assert error.value.remedy.startswith("Did you mean gpt-4.1-mini? ")
    calls = SweepBudget(sweep="mine", file=Path("m"), limits=Budget(max_calls=5))
    check_priced(providers, calls.spender(unlisted))


def test_a_form_says_what_open_calls_can_cost(database: str, tmp_path: Path) -> None:
    async def work(study: Study, one: Any, _: Any) -> None:
        (mine,) = study.ids([one.name])
        ledger = Ledger(study.runtime.engine)
        for number, most in enumerate((0.25, None)):
            (opened,) = await ledger.open([a_call(f"score/{number}", experiment_id=mine)], "real")
            await ledger.write(Sent(opened.id, now(), Request({}), most))
        plan = SpendingPlan(
            called="Sweep mine", subject="mine", over_usd=1.0, lines=(), judges=(), unpriced=(),
            spent=used(study), approved=Approved(2.0, frozenset()),
        )  # fmt: skip
        assert (plan.spent.open_calls, plan.spent.open_usd, plan.spent_usd) == (2, 0.25, 0.0)
        assert "at most 0.25 USD for 2 calls" in plan_sentence(plan)

    stored(database, tmp_path, work)
