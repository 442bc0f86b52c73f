"""What a panel leaves in the database: nothing is asked twice, whatever ended a run."""

import asyncio

import pytest
import sqlalchemy as sa

from judge_gym.asking.budgeting import BudgetExceededError
from judge_gym.design.plans import Budget
from judge_gym.errors import ConfigError
from judge_gym.panel import PanelState
from judge_gym.panel.running import run_panel
from judge_gym.store import tables as t
from support.misbehaving import misbehaving, refuses, stays_silent
from support.panel_runs import BAD, DONE, ERROR, ledger, rows, watched
from support.panels import (
    a_document,
    a_panel,
    by_model,
    decides,
    reviews,
    statuses,
    three,
)
from support.rig import KEY, KEY_NAME, run, runtime_at

pytestmark = pytest.mark.usefixtures("key")


def test_analysts_see_each_score_and_each_run(database: str) -> None:
    steps = three(2, 4, 3) | {"a": reviews(2, one=1, two=5)}
    watched(database, by_model(**steps | {"c": BAD}, arbiter=decides(9)))
    watched(database, by_model(**steps, arbiter=decides(9)))
    engine = sa.create_engine(database, poolclass=sa.NullPool)
    with engine.connect() as connection:
        scores = connection.execute(
            sa.text("SELECT rater, item, score FROM analysis.panel_scores ORDER BY rater, item")
        ).all()
        runs = connection.execute(
            sa.text(
                "SELECT attempt, status, final_score, raw_score, reviews, spread "
                "FROM analysis.panel_consensus ORDER BY attempt"
            )
        ).all()
    assert scores[:3] == [("rater_a", "", 2), ("rater_a", "one", 1), ("rater_a", "two", 5)]
    assert len(scores) == 9
    assert runs == [(0, "done", 4, 9, 2, 2), (1, "done", 4, 9, 3, 2)]


def test_the_same_again_asks_nothing_and_shows_the_same(database: str) -> None:
    first = watched(database, by_model(**three(2, 4, 3), arbiter=decides(9)))
    second = watched(database, refuses(500, "nobody is asked"))
    assert second.provider.requests == []
    assert [(one.phase, statuses(one)) for one in second.states] == [
        (one.phase, statuses(one)) for one in first.states
    ]
    assert all(step.kept for step in (*second.last.raters, second.last.consensus))
    leave_out = {"raters": {"__all__": {"kept"}}, "consensus": {"kept"}}
    assert second.last.model_dump(exclude=leave_out) == first.last.model_dump(exclude=leave_out)
    assert len(rows(database, t.PanelReview)) == 3
    assert len(rows(database, t.PanelConsensus)) == 1


def test_only_a_rater_that_failed_is_asked_again(database: str) -> None:
    watched(database, by_model(**three(2, 4, 3) | {"b": BAD}, arbiter=decides(2)))
    found = watched(database, by_model(b=reviews(5), arbiter=decides(4)))
    # the arbiter has not seen this review
    assert found.asked == ["b", "arbiter"]
    assert [rater.kept for rater in found.last.raters] == [True, False, True]
    assert found.last.consensus.verdict is not None
    assert found.last.consensus.verdict.final_score == 4
    of_b = [row for row in rows(database, t.PanelReview) if row.rater == "rater_b"]
    assert [(row.attempt, row.status) for row in of_b] == [(0, ERROR), (1, DONE)]
    assert watched(database, BAD).asked == []


def test_another_document_or_another_panel_is_another_question(database: str) -> None:
    step = by_model(**three(), d=reviews(3), arbiter=decides(3))
    watched(database, step)
    assert len(watched(database, step, document=a_document(text="Other.")).asked) == 4
    assert len(watched(database, step, panel=a_panel(4)).asked) == 5
    assert watched(database, step, panel=a_panel(name="renamed")).asked == []


def test_two_runs_of_the_same_ask_once(database: str) -> None:
    async def work() -> tuple[list[str], list[PanelState]]:
        step = by_model(**three(), arbiter=decides(3))
        async with (
            misbehaving(step) as provider,
            runtime_at(database, provider.base_url) as one,
            runtime_at(database, provider.base_url) as other,
        ):
            ends = await asyncio.gather(
                *(
                    run_panel(runtime, a_panel(), a_document(), emit=lambda _: None)
                    for runtime in (one, other)
                )
            )
            return [request["model"] for request in provider.requests], ends

    asked, ends = run(work())
    assert asked == ["a", "b", "c", "arbiter"]
    assert sorted(state.consensus.kept for state in ends) == [False, True]


def test_two_runs_of_different_documents_do_not_meet(database: str) -> None:
    async def work() -> list[list[PanelState]]:
        step = by_model(**three(2, 4, 3), arbiter=decides(3))
        seen: list[list[PanelState]] = [[], []]
        async with (
            misbehaving(step) as provider,
            runtime_at(database, provider.base_url) as runtime,
        ):
            documents = a_document(), a_document(ids=("one", "two"), text="Other.")
            await asyncio.gather(
                *(
                    run_panel(runtime, a_panel(), document, emit=states.append)
                    for document, states in zip(documents, seen, strict=True)
                )
            )
        return seen

    for states in run(work()):
        assert [state.sequence for state in states] == list(range(9))
        assert states[-1].phase == DONE


@pytest.mark.parametrize("at", ["rater_b", "consensus"])
def test_a_cancelled_run_leaves_rows_that_say_so_and_goes_on_later(database: str, at: str) -> None:
    silent = {"rater_b": "b", "consensus": "arbiter"}[at]
    steps = {**three(2, 4, 3), "arbiter": decides(3)}

    async def work() -> None:
        reached = asyncio.Event()

        def emit(state: PanelState) -> None:
            if state.phase == at:
                reached.set()

        async with (
            misbehaving(by_model(**steps | {silent: stays_silent})) as provider,
            runtime_at(database, provider.base_url) as runtime,
        ):
            task = asyncio.create_task(run_panel(runtime, a_panel(), a_document(), emit=emit))
            await reached.wait()
            while len(provider.requests) < {"rater_b": 2, "consensus": 4}[at]:
                await asyncio.sleep(0.01)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    run(work())
    found = {row.rater: row for row in rows(database, t.PanelReview)}
    (consensus,) = rows(database, t.PanelConsensus)
    assert (consensus.status, consensus.final_score) == ("cancelled", None)
    assert "cancelled" in consensus.failure
    assert found["rater_a"].status == DONE
    assert found["rater_b"].status == ("cancelled" if at == "rater_b" else DONE)
    assert ("rater_c" in found) is (at == "consensus")
    again = watched(database, by_model(**steps))
    assert again.asked == (["b", "c", "arbiter"] if at == "rater_b" else ["arbiter"])
    assert again.last.phase == DONE


def test_a_panel_that_cannot_be_asked_says_so_before_anything(
    database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(KEY_NAME)
    with pytest.raises(ConfigError, match=KEY_NAME):
        watched(database, BAD)
    monkeypatch.setenv(KEY_NAME, KEY)
    with pytest.raises(ConfigError, match="there is no provider 'nobody'"):
        watched(database, BAD, panel=a_panel(provider="nobody"))
    costly = a_panel(budget=Budget(max_cost_usd=1))
    with pytest.raises(ConfigError, match=r"Panel 'small': budget\.max_cost_usd is 1, but"):
        watched(database, BAD, panel=costly)
    assert ledger(database) == []
    assert rows(database, t.Panel) == []


def test_a_budget_refuses_the_next_run(database: str) -> None:
    bounded = a_panel(budget=Budget(max_calls=4))
    step = by_model(**three(), arbiter=decides(3))
    assert watched(database, step, panel=bounded).last.phase == DONE
    with pytest.raises(BudgetExceededError, match="max_calls is 4, and 4 calls"):
        watched(database, step, panel=bounded, document=a_document(text="Other."))


def test_what_emit_raises_ends_the_run(database: str) -> None:
    async def work() -> None:
        def emit(state: PanelState) -> None:
            if state.phase == "rater_b":
                raise ConnectionResetError("gone")

        async with (
            misbehaving(by_model(**three(), arbiter=decides(3))) as provider,
            runtime_at(database, provider.base_url) as runtime,
        ):
            with pytest.raises(ConnectionResetError):
                await run_panel(runtime, a_panel(), a_document(), emit=emit)
            assert len(provider.requests) == 1

    run(work())
    assert [row.status for row in rows(database, t.PanelReview)] == [DONE]
