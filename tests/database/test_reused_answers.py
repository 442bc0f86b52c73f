"""Answers reused across experiments: when, how they are marked, and what they do not count as."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.records.calls import Call, Parameters, Request
from judge_gym.store import tables as t
from judge_gym.store.calls import past_answers
from judge_gym.store.cleaning import clean, forget_failures
from judge_gym.store.ledger import Closed, Ledger, Sent, now
from judge_gym.store.selecting import Selection
from judge_gym.store.spending import Scope, Spent, spent
from support.rig import a_call, a_full_answer, calls, run, runtime_at
from support.simulation import Simulator
from support.study import Study, corpus, window


@pytest.fixture
def engine(database: str) -> Iterator[sa.Engine]:
    engine = sa.create_engine(database)
    yield engine
    engine.dispose()


def asked(key: str, text: str = "question", **changes: Any) -> Call:
    """A call whose answer may be reused."""
    return a_call(key, text, **({"replicate": "0"} | changes))


def after_an_answer(engine: sa.Engine, *then: Call, reuse: bool = True) -> list[Any]:
    """Answer the call `first`, then open these in one go; returns their ledger rows."""

    async def work() -> None:
        ledger = Ledger(engine, reuse_answers=reuse)
        (first,) = await ledger.open([asked("first")], "real")
        await ledger.write(Sent(first.id, now(), Request({"max_tokens": 50})))
        await ledger.write(Closed(first.id, a_full_answer("kept"), (), (), now()))
        opened = await ledger.open(then, "real")
        for one, call in zip(opened, then, strict=True):
            row = calls(engine)[call.key]
            assert one.id == row.id
            assert (one.answer is None) == (row.status == "planned")

    run(work())
    rows = calls(engine)
    return [rows[call.key] for call in then]


def test_an_identical_request_is_given_the_answer(engine: sa.Engine) -> None:
    (row,) = after_an_answer(engine, asked("second", experiment_id=None, agent="critic"))
    source = calls(engine)["first"]
    assert (row.status, row.answer, row.finish_reason) == ("succeeded", "kept", "stop")
    assert (row.route, row.cached_from) == ("cache", source.id)
    assert (source.route, source.cached_from) == ("direct", None)
    assert (row.attempts, row.cost_usd, row.latency_ms, row.sent_at) == (0, 0, None, None)
    assert (row.prompt_tokens, row.completion_tokens, row.simulated) == (7, 3, False)
    assert row.finished_at is not None
    assert (row.served_model, row.response_id, row.sent_body) == (
        source.served_model, source.response_id, {"model": "m", "max_tokens": 50},
    )  # fmt: skip
    assert (row.reasoning, row.logprobs) == (source.reasoning, source.logprobs)
    assert (source.cost_source, row.cost_source) == ("file", None)


def test_copies_name_the_call_that_was_sent(engine: sa.Engine) -> None:
    rows = after_an_answer(engine, asked("b"), asked("a"), asked("c"))
    assert {row.cached_from for row in rows} == {calls(engine)["first"].id}


def test_nothing_is_reused_unless_the_setting_says_so(engine: sa.Engine) -> None:
    (row,) = after_an_answer(engine, asked("second"), reuse=False)
    assert (row.status, row.route) == ("planned", "direct")


GIVEN = {"temperature": 0, "top_p": 1, "max_tokens": 50, "seed": 1}


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(asked("k", replicate="1"), id="replicate"),
        pytest.param(asked("k", replicate="0/0"), id="replicate of a replicate"),
        pytest.param(asked("k", replicate=""), id="without a replicate"),
        pytest.param(asked("k", "question "), id="a space"),
        pytest.param(asked("k", "Question"), id="a capital"),
        pytest.param(asked("k", model="real/n"), id="model"),
        pytest.param(asked("k", model="sim/m"), id="provider"),
        *(
            pytest.param(asked("k", parameters=Parameters(**(GIVEN | change))), id=str(change))
            for change in (
                {"temperature": 0.1},
                {"top_p": 0.9},
                {"max_tokens": 51},
                {"seed": 2},
                {"json_answer": True},
                {"reasoning_effort": "low"},
                {"logprobs": True},
            )
        ),
    ],
)
def test_what_differs_in_anything_is_asked(engine: sa.Engine, other: Call) -> None:
    same, different = after_an_answer(engine, asked("same"), other)
    assert (same.status, different.status) == ("succeeded", "planned")


def test_identical_requests_of_one_chunk_are_all_asked(engine: sa.Engine) -> None:
    async def work() -> None:
        opened = await Ledger(engine, reuse_answers=True).open([asked("a"), asked("b")], "real")
        assert [one.answer for one in opened] == [None, None]

    run(work())


def test_a_reused_answer_is_not_spent(engine: sa.Engine) -> None:
    """The third was asked once in vain before its question had an answer."""
    keys = [f"rubric/w/{name}" for name in ("second", "third")]

    async def work() -> None:
        ledger = Ledger(engine, reuse_answers=True)
        (third,) = await ledger.open([asked(keys[1])], "real")
        await ledger.write(Sent(third.id, now(), Request({"max_tokens": 50})))

    run(work())
    after_an_answer(engine, *(asked(key) for key in keys))
    with Session(engine) as session:
        used = spent(session, Scope("none", ["w"]))
        # What came of the third, which was sent, is not known, though another's answer does for it.
        assert used == Spent(calls=1, cost_usd=0, unpriced=1, ended=2, failed=0, sent_again=1)
        # How long the model takes and answers is known from what it was asked: 5 ms.
        assert past_answers(session, ["real/m"])["real/m", "rubricer", None].latency_s == 0.005


def test_the_source_can_be_cleaned_away(engine: sa.Engine) -> None:
    after_an_answer(engine, asked("second"))
    with Session(engine) as session, session.begin():
        session.execute(sa.delete(t.Call).where(t.Call.key == "first"))
    row = calls(engine)["second"]
    assert (row.status, row.answer, row.route, row.cached_from) == (
        "succeeded",
        "kept",
        "cache",
        None,
    )
    (opened,) = run(Ledger(engine, reuse_answers=True).open([asked("third")], "real"))
    assert opened.answer is not None
    assert calls(engine)["third"].cached_from == row.id


FIXED = {"randomize_labels": False, "shuffle_order": False}
"""Letters and order as they are: drawn ones differ between experiments."""


@pytest.mark.parametrize("reuse", [True, False])
def test_experiments_that_ask_the_same_share_answers_replicate_by_replicate(
    database: str, tmp_path: Path, simulator: Simulator, reuse: bool
) -> None:
    """Where confidence is asked has no part in the judgement itself."""

    async def whole() -> None:
        async with runtime_at(database, simulator.url, reuse_answers=reuse) as runtime:
            study = Study(runtime, window(corpus(tmp_path, 3)))
            one = study.experiment("sim/calm-1", **FIXED)
            other = study.experiment("sim/calm-1", **FIXED, probe_window="same")
            drawn = study.experiment("sim/calm-1", abstain=False)
            await study.up_to_scores(one)
            before = simulator.answered()
            await study.up_to_scores(other)
            assert simulator.answered() - before == (0 if reuse else 3 * 2)
            await study.up_to_scores(drawn)
            assert simulator.answered() - before == (1 if reuse else 2) * 3 * 2
            by_experiment: dict[int, dict[Any, Any]] = {}
            scored = sa.select(t.Call).where(t.Call.agent == "scorer")
            for row in study.all(scored.order_by(t.Call.experiment_id)):
                replicate, messages = row.key.rpartition("/")[2], repr(row.messages)
                answered = (row.answer, row.parameters["seed"])
                by_experiment.setdefault(row.experiment_id, {})[messages, replicate] = answered
            first, second, _ = by_experiment.values()
            assert (first == second) is reuse
            # However alike two judgements are, their replicates have seeds of their own.
            assert len({seed for _, seed in first.values()}) == 3 * 2
            (mine, *_) = study.ids([one.name])
            study.change(lambda session: clean(session, Selection([mine]), keep_derived=False))
            left = study.all(sa.select(t.Sample.status))
            assert len(left) == 2 * 3 * 2

    run(whole())


def test_an_answer_without_text_is_not_given_to_another_call(engine: sa.Engine) -> None:
    async def work() -> None:
        ledger = Ledger(engine, reuse_answers=True)
        (first,) = await ledger.open([asked("first")], "real")
        await ledger.write(Sent(first.id, now(), Request({"max_tokens": 50})))
        await ledger.write(Closed(first.id, a_full_answer(" \n"), (), (), now()))
        same, other = await ledger.open([asked("first"), asked("second")], "real")
        assert same.answer is not None
        assert other.answer is None

    run(work())


def test_an_answer_set_aside_is_not_given_again(
    database: str, tmp_path: Path, simulator: Simulator
) -> None:
    """A summary that was of no use is made anew, not copied."""

    async def whole() -> None:
        async with runtime_at(database, simulator.url, reuse_answers=True) as runtime:
            study = Study(runtime, window(corpus(tmp_path, 1)))
            experiment = study.experiment("sim/calm-1", evidence_view="neutralized")
            study.register(experiment)
            await study.collect()
            await study.make("cleaned")
            await study.make("neutralized")
            failed = {"status": "failed", "text": None, "words": None, "failure": "of no use"}
            study.change(
                lambda session: session.execute(
                    sa.update(t.View).where(t.View.view == "neutralized").values(**failed)
                )
            )
            ids = study.ids([experiment.name])
            study.change(lambda session: forget_failures(session, Selection(ids)))
            before = simulator.answered()
            await study.make("neutralized")
            assert simulator.answered() == before + 1

    run(whole())
