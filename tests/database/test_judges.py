"""Judges for products over real HTTP: what is asked, what is kept, what is not asked twice."""

import asyncio
import json
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from judge_gym.asking.budgeting import BudgetExceededError
from judge_gym.design.plans import Budget
from judge_gym.errors import ConfigError
from judge_gym.judges import (
    CallableJudge,
    Criterion,
    Item,
    Judge,
    JudgeResult,
    PairwiseJudge,
    RubricJudge,
    Scale,
    Variant,
    read_items,
)
from judge_gym.judges.judging import judge_items
from judge_gym.llm.gateway import ProviderRefusedError
from judge_gym.llm.providers import Price
from judge_gym.store import tables as t
from judge_gym.store.calls import Paid, cost_of
from support.judge_runs import ITEMS, simulated
from support.misbehaving import Provider, Step, answers, misbehaving, refuses
from support.rig import calls, count, run, runtime_at
from support.simulation import Simulator

pytestmark = pytest.mark.usefixtures("key")

JUDGE = RubricJudge(
    name="notes",
    model="real/m",
    task="Mark the note.",
    criteria=(
        Criterion(name="evidence", description="It has evidence.", weight=3),
        Criterion(name="clarity", description="It is clear."),
    ),
)
PRICE = Price(prompt=1, completion=2)
PAIR = PairwiseJudge(name="pair", model="sim/good-1", task="Which is better?")
GOOD_TEXT = '{"reason": "Clear.", "scores": {"evidence": 80, "clarity": 40}}'
GOOD = answers(GOOD_TEXT)
BAD = answers("I would say it is rather good.")


def judged(
    database: str, script: Sequence[Step], *, judge: Judge = JUDGE, **given: Any
) -> tuple[list[JudgeResult], Provider]:
    """Judge the first item, or `items`, with a provider that answers by a script."""
    settings = given.pop("settings", {})
    items = given.pop("items", ITEMS[:1])

    async def work() -> tuple[list[JudgeResult], Provider]:
        async with (
            misbehaving(*script) as provider,
            runtime_at(database, provider.base_url, **settings) as runtime,
        ):
            return await judge_items(runtime, judge, items, **given), provider

    results: tuple[list[JudgeResult], Provider] = run(work())
    return results


def ledger(database: str) -> dict[str, Any]:
    engine = sa.create_engine(database, poolclass=sa.NullPool)
    return calls(engine)


def test_a_result_says_what_came_of_it(database: str) -> None:
    (result,), provider = judged(database, [GOOD])
    (call,) = ledger(database).values()
    assert result.score == (3 * 80 + 40) / 4
    assert result.subscores == {"evidence": 80, "clarity": 40}
    assert (result.status, result.reason, result.failure) == ("scored", "Clear.", None)
    assert (result.judge, result.model, result.item) == (JUDGE.key, "real/m", "0")
    assert (result.repeat, result.simulated, result.call_ids) == (0, False, (call.id,))
    assert result.duration_s == pytest.approx(call.latency_ms / 1000)
    assert (call.workflow, call.agent, call.template) == ("judging", "judge", "judge_rubric")
    (request,) = provider.requests
    assert request["response_format"] == {"type": "json_object"}
    assert request["temperature"] == 1


def test_an_answer_that_cannot_be_read_is_asked_for_once_more(database: str) -> None:
    (result,), provider = judged(database, [BAD, GOOD])
    assert (result.status, result.score) == ("scored", 70)
    assert len(provider.requests) == len(result.call_ids) == 2
    system, asked, answered, again = (one["content"] for one in provider.requests[1]["messages"])
    assert [system, asked] == [one["content"] for one in provider.requests[0]["messages"]]
    assert answered == "I would say it is rather good."
    assert "no_json" in again
    assert JUDGE.form in again


def test_one_that_cannot_be_read_twice_is_no_score_and_stays_so(database: str) -> None:
    (result,), provider = judged(database, [BAD])
    assert (result.status, result.score, len(provider.requests)) == ("unparseable", None, 2)
    assert (result.failure or "").startswith("no_json: ")
    (again,), later = judged(database, [GOOD], retry_failed=True)
    assert again == result
    assert not later.requests


def test_nothing_is_asked_twice(database: str) -> None:
    first, before = judged(database, [GOOD], items=ITEMS)
    second, after = judged(database, [GOOD], items=ITEMS)
    assert (len(before.requests), len(after.requests)) == (len(ITEMS), 0)
    assert second == first
    assert [result.item for result in first] == [item.id for item in ITEMS]
    more, extended = judged(database, [GOOD], items=[*ITEMS, *ITEMS[:1]], repeats=2)
    assert len(extended.requests) == len(ITEMS)
    assert [(one.item, one.repeat) for one in more[:4]] == [("0", 0), ("0", 1), ("1", 0), ("1", 1)]
    assert more[-2:] == more[:2]


def test_a_text_is_judged_once_whatever_its_name_file_label_and_variant(database: str) -> None:
    item = ITEMS[0]
    variant = Variant(perturbation="add_fluff", severity=0.5, seed=7)
    changes: list[dict[str, Any]] = [
        {},
        {"id": "other", "variant": variant},
        {"corpus": "c", "truth": 3.0, "category": "k"},
        {"text": "Other."},
        {"context": "Other."},
    ]
    items = [item.model_copy(update=change) for change in changes]
    results, provider = judged(database, [GOOD], items=items)
    assert len(provider.requests) == 3
    assert [(one.item, one.variant, one.corpus) for one in results[:3]] == [
        ("0", None, ""),
        ("other", variant, ""),
        ("0", None, "c"),
    ]


def test_a_changed_label_costs_nothing_and_a_new_item_its_own_calls(
    database: str, tmp_path: Path
) -> None:
    file = tmp_path / "items.csv"
    rows = [f"Note {number}.,{number}" for number in range(5)]
    file.write_text("\n".join(["text,truth", *rows]))
    _, first = judged(database, [GOOD], items=read_items(file))
    assert len(first.requests) == 5

    file.write_text("\n".join(["text,truth", *rows[:4], "Note 4.,1"]))
    relabelled, none = judged(database, [GOOD], items=read_items(file))
    assert not none.requests
    # In front: the names of rows without an id move by one.
    file.write_text("\n".join(["text,truth", "A new note.,2", *rows]))
    more, one = judged(database, [GOOD], items=read_items(file))
    assert len(one.requests) == 1
    assert "A new note." in str(one.requests)
    assert [result.item for result in more] == ["1", "2", "3", "4", "5", "6"]
    assert {result.call_ids for result in relabelled} < {result.call_ids for result in more}


@pytest.mark.parametrize("reuse", [False, True])
def test_repeats_are_draws_of_their_own(database: str, reuse: bool) -> None:
    _, provider = judged(database, [GOOD], repeats=3, settings={"reuse_answers": reuse})
    assert len({request["seed"] for request in provider.requests}) == 3
    assert {row.route for row in ledger(database).values()} == {"direct"}


def test_a_key_that_is_refused_stops_the_run_early(database: str) -> None:
    denied = refuses(401, "bad key")
    items = [Item(id=str(number), text=f"Note {number}.") for number in range(30)]
    provider_requests: list[int] = []

    async def work() -> None:
        async with (
            misbehaving(denied) as provider,
            runtime_at(database, provider.base_url) as runtime,
        ):
            with pytest.raises(ProviderRefusedError, match="bad key"):
                await judge_items(runtime, JUDGE, items, concurrency=2)
            provider_requests.append(len(provider.requests))

    run(work())
    assert provider_requests[0] <= 2
    assert count(sa.create_engine(database), t.JudgeResult) == 0
    results, provider = judged(database, [GOOD], items=items)
    assert {result.status for result in results} == {"scored"}
    assert len(provider.requests) == 30


def test_what_failed_is_kept_until_it_is_asked_for_again(database: str) -> None:
    script = [refuses(400, "no such parameter")]
    (result,), _ = judged(database, script)
    assert (result.status, result.score) == ("failed", None)
    assert result.failure == "bad_request: no such parameter"
    (same,), quiet = judged(database, [GOOD])
    assert (same, quiet.requests) == (result, [])
    (again,), _ = judged(database, [GOOD], retry_failed=True)
    assert (again.status, again.call_ids) == ("scored", result.call_ids)


def test_an_empty_answer_is_made_again_on_request_and_stays_in_the_ledger(database: str) -> None:
    (result,), _ = judged(database, [answers("")])
    assert (result.status, result.is_empty) == ("unparseable", True)
    (same,), quiet = judged(database, [GOOD])
    assert (same, quiet.requests) == (result, [])
    (again,), later = judged(database, [GOOD], retry_failed=True)
    assert (again.status, len(later.requests)) == ("scored", 1)
    assert set(again.call_ids).isdisjoint(result.call_ids)
    rows = {row.id: row.answer for row in ledger(database).values()}
    assert [rows[call].strip() for call in result.call_ids] == [""] * len(result.call_ids)


def test_a_run_that_stopped_goes_on_where_it_was(database: str) -> None:
    with pytest.raises(ProviderRefusedError):
        judged(database, [BAD, refuses(401, "bad key")])
    (result,), provider = judged(database, [GOOD])
    assert (result.status, len(provider.requests), len(result.call_ids)) == ("scored", 1, 2)
    assert len(provider.requests[0]["messages"]) == 4, "what was answered is not asked again"


def test_a_budget_ends_the_run_and_counts_what_was_used_before(database: str) -> None:
    bounded = JUDGE.model_copy(update={"budget": Budget(max_calls=3)})
    with pytest.raises(BudgetExceededError, match=r"'notes'.*max_calls is 3, and 3 calls.*: 3 of"):
        judged(database, [GOOD], judge=bounded, items=ITEMS, concurrency=2)
    assert len(ledger(database)) == 3
    with pytest.raises(BudgetExceededError):
        judged(database, [GOOD], judge=bounded, items=ITEMS)
    _, provider = judged(database, [GOOD], items=ITEMS)
    assert len(provider.requests) == len(ITEMS) - 3


def test_a_cost_that_cannot_be_bounded_is_refused(database: str) -> None:
    bounded = JUDGE.model_copy(update={"budget": Budget(max_cost_usd=1)})
    with pytest.raises(ConfigError, match="'notes': budget"):
        judged(database, [GOOD], judge=bounded)
    assert not ledger(database)


@pytest.mark.parametrize("name", ["repeats", "concurrency"])
def test_none_at_all_is_refused(database: str, name: str) -> None:
    with pytest.raises(ConfigError, match=f"{name} is 0"):
        judged(database, [GOOD], **{name: 0})


def test_pairs_are_asked_in_both_orders(database: str) -> None:
    pair = PAIR.model_copy(update={"model": "real/m"})
    items = [Item(id="1", text="alpha", second="omega")]
    first = answers('{"winner": 1, "reason": "x"}')
    (result,), provider = judged(database, [first], judge=pair, items=items)
    assert (result.status, result.score, result.verdict) == ("inconsistent", None, None)
    assert result.subscores == {"as_given": 1, "swapped": 0}
    shown = [request["messages"][1]["content"] for request in provider.requests]
    assert [text.index("alpha") < text.index("omega") for text in shown] == [True, False]
    (same,), quiet = judged(database, [first], judge=pair, items=items)
    assert (same, quiet.requests) == (result, [])


def test_equal_texts_are_asked_twice_even_when_answers_are_reused(database: str) -> None:
    pair = PAIR.model_copy(update={"model": "real/m"})
    items = [Item(id="1", text="one", second="one")]
    _, provider = judged(
        database,
        [answers('{"winner": 1}')],
        judge=pair,
        items=items,
        settings={"reuse_answers": True},
    )
    assert len(provider.requests) == 2


def test_simulated_judges_are_marked_and_free(database: str, simulator: Simulator) -> None:
    judge = JUDGE.model_copy(update={"model": "sim/good-1"})
    results = simulated(database, simulator, judge)
    assert {(one.status, one.simulated) for one in results} == {("scored", True)}
    engine = sa.create_engine(database)
    with sa.orm.Session(engine) as session:
        ids = [call for one in results for call in one.call_ids]
        assert cost_of(session, ids) == Paid(0, 0, 0, simulated=True)
        assert cost_of(session, []) == Paid(0, 0, 0)


def test_analysts_find_judgements_with_judge_item_and_cost(database: str) -> None:
    variant = Variant(perturbation="tone", severity=0.5, seed=7)
    items = [ITEMS[0], ITEMS[0].model_copy(update={"variant": variant, "text": "Note!"})]
    judged(database, [BAD, GOOD], items=items, concurrency=1)
    engine = sa.create_engine(database, poolclass=sa.NullPool)
    query = (
        "SELECT judge, judge_key, item, perturbation, severity, score, subscores, calls, unpriced "
        "FROM analysis.judge_results ORDER BY judge_result_id"
    )
    with engine.connect() as connection:
        rows = connection.execute(sa.text(query)).all()
    common = ("notes", JUDGE.key, "0")
    marks = (70, {"evidence": 80, "clarity": 40})
    assert [tuple(row) for row in rows] == [
        (*common, "", None, *marks, 2, 2),
        (*common, "tone", 0.5, *marks, 1, 1),
    ]


THOUGHT = answers("", choices=[{"index": 0, "finish_reason": "length",
                                "message": {"role": "assistant", "content": ""}}])  # fmt: skip


@pytest.mark.parametrize(
    ("script", "price", "cost", "unpriced"),
    [
        ([GOOD], PRICE, 13e-6, 0),
        ([THOUGHT], PRICE, 13e-6, 0),
        ([answers(""), GOOD], PRICE, 26e-6, 0),
        ([BAD, THOUGHT], PRICE, 26e-6, 0),
        ([refuses(400, "This text is not taken.")], PRICE, 0, 0),
        ([GOOD], None, None, 1),
        ([answers(GOOD_TEXT, usage=None)], PRICE, None, 1),
        ([THOUGHT], None, None, 1),
        ([answers(GOOD_TEXT, usage=None)], Price(prompt=0, completion=0), 0, 0),
    ],
    ids=["kept", "limit-used-up", "empty-first", "unreadable-first", "refused", "no-price",
         "no-counts", "limit-used-up-without-price", "free-without-counts"],
)  # fmt: skip
def test_the_view_has_what_all_answers_of_a_judgement_cost(
    database: str, script: Sequence[Step], price: Price | None, cost: float | None, unpriced: int
) -> None:
    """An answer has 7 tokens of prompt at 1 USD a million, and 3 of answer at 2 USD."""
    prices = {"m": price} if price else {}
    judged(database, script, settings={"prices": prices})
    engine = sa.create_engine(database, poolclass=sa.NullPool)
    with engine.connect() as connection:
        row = connection.execute(
            sa.text("SELECT cost_usd, unpriced FROM analysis.judge_results")
        ).one()
    assert row.unpriced == unpriced
    assert row.cost_usd == (None if cost is None else round(Decimal(cost), 8))


def test_what_is_judged_of_a_simulated_text_is_marked(database: str) -> None:
    (result,), _ = judged(database, [GOOD], items=[Item(id="1", text="x", simulated=True)])
    assert result.simulated


@pytest.fixture
def configured(
    database: str, simulator: Simulator, monkeypatch: pytest.MonkeyPatch
) -> Iterator[None]:
    """The settings name the database and the simulator."""
    from judge_gym.settings import settings

    monkeypatch.setenv("JUDGE_GYM_DATABASE_URL", database)
    monkeypatch.setenv("JUDGE_GYM_SIMULATOR_URL", simulator.url)
    settings.cache_clear()
    yield
    settings.cache_clear()


@pytest.mark.usefixtures("configured")
def test_three_lines_judge_a_text_in_a_script_and_where_a_loop_runs(tmp_path: Path) -> None:
    import judge_gym

    file = tmp_path / "judge.yaml"
    file.write_text(
        "{kind: pairwise, name: pair, model: sim/good-1, task: Which is better?, ties: true}"
    )
    judge = judge_gym.Judge.from_file(str(file))
    pair = {"second": "Another text.", "context": "A question?"}
    first = judge.score("One text.", **pair)
    assert len(first.call_ids) == 2

    async def notebook() -> list[JudgeResult]:
        return [judge.score("One text.", **pair), await judge.ascore("One text.", **pair)]

    assert asyncio.run(notebook()) == [first, first]
    with pytest.raises(ConfigError, match="its own second text"):
        judge.score(ITEMS[0], context="A question?")


@pytest.mark.usefixtures("configured")
def test_a_python_function_is_a_judge_until_its_source_changes() -> None:
    def words(item: dict[str, Any]) -> int:
        return len(item["text"].split())

    judge = CallableJudge.of(words, scale=Scale(lowest=0, highest=9))
    assert [one.score for one in judge.score_batch(ITEMS[:2], repeats=2)] == [2] * 4
    before = judge.key

    def words(item: dict[str, Any]) -> int:  # type: ignore[no-redef]
        return 1 + len(item["text"].split())

    later = CallableJudge.of(words, scale=Scale(lowest=0, highest=9))
    assert later.key != before
    assert later.score("One.").score == 2
    for given in (lambda item: 1, len):
        with pytest.raises(ConfigError):
            CallableJudge.of(given)  # neither a name nor a source
    assert CallableJudge.of(len, version="1").function == "builtins:len"


def test_the_view_has_a_judgement_with_text_label_prompt_and_answer(database: str) -> None:
    labelled = ITEMS[0].model_copy(update={"truth": "70"})
    judge = JUDGE.model_copy(update={"one_call_per_criterion": True})
    steps = [
        answers('{"reason": "A.", "scores": {"evidence": 80}}'),
        answers('{"reason": "B.", "scores": {"clarity": 40}}'),
    ]
    items = [Item.model_validate(labelled.model_dump())]
    (result,), provider = judged(database, steps, judge=judge, items=items)
    assert (result.score, len(provider.requests)) == (70, 2)
    engine = sa.create_engine(database, poolclass=sa.NullPool)
    query = sa.text("SELECT text, second_text, context, label, prompts, answers FROM "
                    "analysis.judge_results")  # fmt: skip
    with engine.connect() as connection:
        (row,) = connection.execute(query)
    assert tuple(row)[:4] == (ITEMS[0].text, None, "", "70")
    assert row.prompts == [request["messages"] for request in provider.requests]
    assert [json.loads(answer)["reason"] for answer in row.answers] == ["A.", "B."]
    # A new label is another row's matter: no call.
    judged(database, [BAD], judge=judge, items=[items[0].model_copy(update={"truth": 65.5})])
    judged(database, [BAD], judge=judge, items=ITEMS[:1])
    with engine.connect() as connection:
        assert connection.execute(query).one().label == "65.5"
    # The mean of three labels in full, as Python reads it back.
    judged(database, [BAD], judge=judge, items=[items[0].model_copy(update={"truth": 13 / 3})])
    with engine.connect() as connection:
        assert float(connection.execute(query).one().label) == 13 / 3


def test_judges_of_one_name_are_told_apart_by_their_fields(database: str) -> None:
    example = {"text": "A note.", "scores": {"evidence": 80, "clarity": 40}, "reason": "Fine."}
    shown = type(JUDGE).model_validate(JUDGE.model_dump() | {"examples": [example]})
    warm = JUDGE.model_copy(update={"temperature": 0.5})
    for judge in (JUDGE, shown, warm):
        judged(database, [GOOD], judge=judge, items=ITEMS[:1])
    query = sa.text(
        "SELECT judge, judge_config ->> 'task', judge_config -> 'temperature', judge_examples, "
        "judge_config ? 'examples', judge_created_at <= created_at FROM analysis.judge_results "
        "ORDER BY judge_result_id"
    )
    with sa.create_engine(database, poolclass=sa.NullPool).connect() as connection:
        rows = [tuple(row) for row in connection.execute(query)]
    same = (JUDGE.name, JUDGE.task)
    assert rows == [
        (*same, JUDGE.temperature, 0, False, True),
        (*same, JUDGE.temperature, 1, False, True),
        (*same, 0.5, 0, False, True),
    ]
