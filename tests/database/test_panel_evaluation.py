"""A panel on a labelled set: what is planted is found again, and nothing is asked twice."""

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import NormalDist

import pytest
from aiohttp import web
from scipy.stats import t as student_t

from deployments.cli.study import show_report
from judge_gym.design.plans import Budget
from judge_gym.llm.providers import Price, Providers
from judge_gym.metrics.estimate import Estimate
from judge_gym.panel import Anchor, Panel
from judge_gym.panel.evaluating.escalating import dearer
from judge_gym.panel.evaluating.evaluation import Evaluation, NothingToEvaluateError, evaluate
from judge_gym.panel.evaluating.labelled import LabelledDocument, LabelledItem
from judge_gym.panel.evaluating.planning import plan_reviews
from judge_gym.panel.evaluating.reviewing import (
    PanelReviews,
    prices_of,
    review_all,
    stored_reviews,
)
from judge_gym.planted.families import grader_of
from judge_gym.report.panel import evaluation_report, figure_rows, score_rows
from judge_gym.simulator.server import serving
from support.misbehaving import answers, misbehaving
from support.panel_runs import ledger
from support.panels import ITEMS as PROPOSAL
from support.panels import a_panel, a_rubric, review_said, verdict_said
from support.postgres import temporary_database
from support.rig import run, runtime_at

pytestmark = pytest.mark.slow

STEPS = 10
"""Of a scale of eleven anchors, on which whole numbers hide little."""
MODELS = ("sim/severe-1", "sim/severe-2", "sim/lenient-1")
ITEMS = 8
"""Of each document; errors are drawn from their texts."""
PLANTED = 12
"""Values that are looked for: error, bias and accuracy of three raters, three correlations."""
DOCUMENTS = tuple(
    LabelledDocument(
        id=f"d{n}",
        title="Plans",
        truth=4 + n % 3,
        simulated=n == 0,
        items=tuple(
            LabelledItem(id=f"i{i}", text=f"Plan {n}, part {i}.", truth=4 + n % 3)
            for i in range(ITEMS)
        ),
    )
    for n in range(24)
)


def panel() -> Panel:
    """Two raters of one family, one of them told to look <b>elsewhere</b>, and one of another."""
    anchors = tuple(Anchor(name=f"Step {n}", description="-") for n in range(STEPS + 1))
    small = a_panel(provider="sim", rubric=a_rubric(lowest=0, anchors=anchors))
    raters = tuple(
        rater.model_copy(update={"model": model, "label": f"View <b>{rater.label[-1]}</b>"})
        for rater, model in zip(small.raters, MODELS, strict=True)
    )
    arbiter = small.arbiter.model_copy(update={"model": "sim/good-2"})
    return small.model_copy(update={"raters": raters, "arbiter": arbiter})


def reviewed(
    database: str, folder: Path, asked: Panel, documents: tuple[LabelledDocument, ...]
) -> tuple[PanelReviews, dict[int, float]]:
    """Have simulated raters that know the true scores review these; one of them has a price."""
    known = folder / "known.jsonl"
    known.write_text(
        "".join(
            json.dumps({"text": item.text, "worth": (item.truth or 0) / STEPS}) + "\n"
            for document in documents
            for item in document.items
        )
    )

    async def work() -> tuple[PanelReviews, dict[int, float]]:
        async with serving(known=known) as url, runtime_at(database, url) as plain:
            priced = {"lenient-1": Price(prompt=1, completion=0)}
            sim = plain.providers.by_name["sim"].model_copy(update={"prices": priced})
            runtime = replace(plain, providers=Providers({"sim": sim}, plain.providers.file))
            found = await review_all(runtime, asked, documents)
            calls = [call for state in found.states if state for call in state.call_ids]
            return found, prices_of(runtime, calls)

    return run(work())


@pytest.fixture(scope="module")
def database(postgres_server: str, migrated_template: str) -> Iterator[str]:
    with temporary_database(postgres_server, migrated_template) as url:
        yield url


@pytest.fixture(scope="module")
def evaluation(database: str, tmp_path_factory: pytest.TempPathFactory) -> Evaluation:
    found, prices = reviewed(database, tmp_path_factory.mktemp("known"), panel(), DOCUMENTS)
    return evaluate(panel(), DOCUMENTS, found, prices, 0.1)


def holds(found: Estimate, planted: float) -> bool:
    """Whether it lies in an interval so wide that 19 draws of 20 have all planted values in theirs.

    That of 95%, stretched by what Bonferroni's share takes of Student's t.
    """
    assert found.estimate is not None
    bound = found.upper if planted > found.estimate else found.lower
    assert bound is not None
    furthest, usual = student_t.ppf([1 - 0.025 / PLANTED, 0.975], found.n_items - 1)
    return bool(abs(planted - found.estimate) <= furthest / usual * abs(bound - found.estimate))


@pytest.mark.slow
@pytest.mark.parametrize(("place", "model"), list(enumerate(MODELS)))
def test_planted_skill_is_found_again(evaluation: Evaluation, place: int, model: str) -> None:
    grader = grader_of(model)
    errors = NormalDist(-STEPS * grader.severity, STEPS * grader.noise)
    chance = {k: errors.cdf(k + 0.5) - errors.cdf(k - 0.5) for k in range(-STEPS, STEPS + 1)}
    assert evaluation.items is not None
    way = evaluation.items.ways[place]
    assert holds(way.error, sum(abs(k) * share for k, share in chance.items()))
    assert holds(way.bias, errors.mean)
    assert holds(way.accuracy, chance[0])


@pytest.mark.slow
def test_planted_correlation_is_found_again(evaluation: Evaluation) -> None:
    assert evaluation.items is not None
    for pair in evaluation.items.pairs:
        grader = grader_of(MODELS[0])
        # whole numbers add 1/12 to each variance of (steps · noise)²
        kept = 1 / (1 + 1 / 12 / (STEPS * grader.noise) ** 2)
        planted = grader.shared * kept if pair.same_family else 0.0
        assert holds(pair.correlation, planted), pair
    # what a second family adds is surely there, biases or not
    for one in evaluation.items.second_family:
        assert (one.gained.lower or 0) > 0


def test_every_way_and_what_it_costs(evaluation: Evaluation) -> None:
    ways = [way.name for way in evaluation.whole.ways]
    pools = ["mean", "median", "majority", "Dempster-Shafer", "calibrated"]
    assert ways == ["rater_a", "rater_b", "rater_c", *pools, "arbiter"]
    costs = evaluation.costs
    assert costs["rater_a"] == costs["rater_b"] == 0 < costs["rater_c"]
    assert {costs[name] for name in pools} == {costs["rater_c"]} == {costs["arbiter"]}
    calibrated = evaluation.whole.ways[ways.index("calibrated")]
    assert (calibrated.gained.lower or 0) > 0  # biases of 1.25 points are off
    assert (evaluation.simulated, evaluation.made_up, evaluation.left_out) == (True, True, [])


def test_it_is_shown_and_written_marked_and_escaped(
    evaluation: Evaluation, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    report = evaluation_report(evaluation, "Read.")
    page = report.save(tmp_path).path.read_text(encoding="utf-8")
    assert "View &lt;b&gt;a&lt;/b&gt;" in page
    assert "<b>a</b>" not in page
    assert page.count("<strong>SIMULATED DATA</strong>") == 1
    assert page.count('<span class="mark">SIMULATED</span>') == 1  # true scores by a rule
    show_report(report)
    told = capsys.readouterr().out
    for said in ("Evaluation of panel small (SIMULATED)", "Items (SIMULATED)", "more while"):
        assert said in told
    assert "24 of 24 documents are in these figures." in told
    assert evaluation.answer in " ".join(told.split())
    assert evaluation.answer.startswith("Less error than the best single rater: mean, ")
    assert evaluation.cheapest is not None
    assert evaluation.least in " ".join(told.split())
    # A policy is only called dearer where the paired interval shows it.
    shown = {
        policy.name: (dearer(policy, evaluation.cheapest).lower or 0.0) > 0
        for policy in evaluation.policies
        if policy is not evaluation.cheapest
    }
    unshown = evaluation.least.partition("than ")[2]
    assert {name: f"{name}: " not in unshown for name in shown} == shown
    rows, scores = list(figure_rows(evaluation)), list(score_rows(evaluation))
    assert all(row["simulated"] for row in (*rows, *scores))
    assert len(scores) == len(DOCUMENTS) * (1 + ITEMS)
    assert scores[0]["arbiter"] is not None
    assert {row["whom"] for row in rows} >= {"rater_a and rater_b", "two, all where they differ"}


def test_the_same_set_again_asks_nothing_and_says_the_same(
    evaluation: Evaluation, database: str, tmp_path: Path
) -> None:
    calls = len(ledger(database))
    assert calls == len(DOCUMENTS) * 4
    found, prices = reviewed(database, tmp_path, panel(), DOCUMENTS)
    assert len(ledger(database)) == calls
    again = evaluate(panel(), DOCUMENTS, found, prices, 0.1)
    assert list(figure_rows(again)) == list(figure_rows(evaluation))


def test_a_plan_counts_what_is_left(evaluation: Evaluation, database: str) -> None:
    new = DOCUMENTS[0].model_copy(update={"id": "new"})
    severe = panel().raters[0].model_copy(update={"temperature": 0.5})
    other = panel().model_copy(update={"raters": (severe, *panel().raters[1:])})

    async def work() -> None:
        async with runtime_at(database, "http://127.0.0.1:9/v1") as runtime:
            for asked, documents, calls in (
                (panel(), DOCUMENTS, 0),
                (panel(), (*DOCUMENTS, new), 1),
                (other, DOCUMENTS, len(DOCUMENTS)),
            ):
                uses = plan_reviews(runtime, asked, documents)
                assert [use.calls for use in uses] == [calls] * 4
                models = [*(rater.model for rater in asked.raters), asked.arbiter.model]
                assert [use.model for use in uses] == models, "also where all is stored"
                assert all(use.used and (use.used.prompt_tokens > 0) == bool(calls) for use in uses)
            names = [(use.name, use.model) for use in uses]
            assert names[2:] == [("rater_c", "sim/lenient-1"), ("arbiter", "sim/good-2")]
            rater, arbiter = uses[2].used, uses[3].used
            assert rater is not None
            assert arbiter is not None
            # a review says more than a verdict, by what both have said so far
            assert rater.answer_tokens > arbiter.answer_tokens > 0
            assert min(rater.prompt_tokens, arbiter.prompt_tokens) > 100 * len(DOCUMENTS)

    run(work())


def test_what_could_not_be_reviewed_is_in_no_figure(evaluation: Evaluation) -> None:
    states = list(evaluation.reviewed.states)
    first, second = states[0], states[1]
    assert first is not None
    assert second is not None
    states[0] = first.model_copy(update={"phase": "error", "error": "1 of 3 raters gave a review"})
    silent = second.raters[1].model_copy(update={"review": None, "error": "timeout: no answer"})
    raters = (second.raters[0], silent, second.raters[2])
    states[1] = second.model_copy(update={"raters": raters})
    states[2] = None
    found = evaluate(panel(), DOCUMENTS, PanelReviews(states, None), {}, 0.1)
    assert dict(found.left_out) == {
        "d0": "ended in error: 1 of 3 raters gave a review",
        "d1": "without every review: rater_b: timeout: no answer",
        "d2": "not reviewed: the panel's budget was used up",
    }
    assert {way.error.n_items for way in found.whole.ways} == {len(DOCUMENTS) - 3}
    assert found.whole.scored.truth.tolist() == [one.truth for one in DOCUMENTS[3:]]
    # calls that the ledger no longer has: what they cost is not known
    assert "cost is not known" in found.policies[0].cost.reason
    with pytest.raises(NothingToEvaluateError, match=r"none of 24 .* 1 of 3 raters gave a review"):
        evaluate(panel(), DOCUMENTS, PanelReviews([states[0], *[None] * 23], None), {}, 0.1)


def test_what_is_stored_says_the_same_also_of_failures(
    postgres_server: str, migrated_template: str
) -> None:
    """Of four documents, one is whole, and one each lacks a review, two reviews, and a verdict."""
    garbage = {"sim/b": ("lacks-one", "lacks-two"), "sim/c": ("lacks-two",)}
    documents = tuple(
        LabelledDocument(
            id=name,
            title=name,
            truth=3,
            items=tuple(LabelledItem(id=i, text=f"{i} of {name}.") for i in PROPOSAL),
        )
        for name in ("whole", "lacks-one", "lacks-two", "no-verdict")
    )
    asked = a_panel(provider="sim")

    async def step(request: web.Request) -> web.StreamResponse:
        body = await request.json()
        prompt, model = str(body["messages"]), f"sim/{body['model']}"
        if model == asked.arbiter.model:
            said = "I cannot say." if "Good." in prompt else verdict_said(3)
        elif any(name in prompt for name in garbage.get(model, ())):
            said = "I cannot say."
        else:
            said = review_said(3).replace("Fair.", "Good." if "no-verdict" in prompt else "Fair.")
        return await answers(said)(request)

    async def work() -> tuple[PanelReviews, PanelReviews, PanelReviews]:
        async with (
            misbehaving(step) as provider,
            runtime_at(own, provider.base_url) as runtime,
        ):
            before = stored_reviews(runtime, asked, documents)
            found = await review_all(runtime, asked, documents)
            made = len(provider.requests)
            again = stored_reviews(runtime, asked, documents)
            assert len(provider.requests) == made
            return before, found, again

    with temporary_database(postgres_server, migrated_template) as own:
        before, found, again = run(work())
    assert before.states == [None] * 4
    reports = [evaluate(asked, documents, one, {}, 0.1) for one in (found, again)]
    assert list(figure_rows(reports[0])) == list(figure_rows(reports[1]))
    lacking = dict(reports[0].left_out)
    assert lacking == dict(reports[1].left_out)
    assert list(lacking) == ["lacks-one", "lacks-two", "no-verdict"]
    assert "1 of 3 raters gave a review, and a consensus needs 2" in lacking["lacks-two"]
    assert "The arbiter gave no consensus" in lacking["no-verdict"]


def test_scores_of_items_that_no_rater_saw_are_counted(
    evaluation: Evaluation, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    more = tuple(
        LabelledItem(id=f"more{n}", text="More.", truth=truth)
        for n, truth in enumerate((4, None, 5))
    )
    longer = DOCUMENTS[0].model_copy(update={"items": (*DOCUMENTS[0].items, *more)})
    found = evaluate(panel(), (longer, *DOCUMENTS[1:]), evaluation.reviewed, {}, 0.1)
    assert (evaluation.unseen, found.unseen) == (0, 2)
    assert found.items is not None
    assert len(found.items.scored.truth) == len(DOCUMENTS) * ITEMS
    report = evaluation_report(found)
    show_report(report)
    said = "True scores of items that no rater saw, as a document is too long: 2."
    assert said in capsys.readouterr().out
    assert said in report.save(tmp_path).path.read_text(encoding="utf-8")
    assert "that no rater saw" not in evaluation_report(evaluation).page.markdown


def test_a_budget_ends_it_with_what_was_reviewed(
    postgres_server: str, migrated_template: str, tmp_path: Path
) -> None:
    bounded = panel().model_copy(update={"budget": Budget(max_calls=4)})
    with temporary_database(postgres_server, migrated_template) as own:
        found, _ = reviewed(own, tmp_path, bounded, DOCUMENTS[:6])
        done = [state for state in found.states if state]
        assert 0 < len(done) < 6  # those that were under way at once
        assert found.stopped is not None
        assert re.search(r"max_calls is 4", found.stopped.message)
        # The budget is used up: the stored reviews are shown again, wherever they stand.
        turned = tuple(reversed(DOCUMENTS[:6]))
        again, _ = reviewed(own, tmp_path, bounded, turned)
        assert [bool(one) for one in reversed(again.states)] == [bool(one) for one in found.states]
        assert again.stopped is not None
        # Nothing was stopped where every review is stored.
        whole, _ = reviewed(own, tmp_path, bounded, DOCUMENTS[: len(done)])
        assert all(whole.states)
        assert whole.stopped is None
