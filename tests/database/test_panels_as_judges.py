"""A panel where a judge is taken, and a judge where a panel's rater is."""

import re
from pathlib import Path

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.errors import ConfigError
from judge_gym.judges import Item, Judge, load_judge
from judge_gym.judges.calibrating.judging import Asked
from judge_gym.judges.planning import JudgePlan, plan_judging
from judge_gym.llm.providers import load_providers
from judge_gym.panel import PanelState, load_panel
from judge_gym.panel.document import as_document
from judge_gym.panel.judge import PanelJudge
from judge_gym.panel.running import run_panel
from judge_gym.settings import Settings
from judge_gym.shipped import DEPLOYMENTS
from support.command_line import REPOSITORY
from support.judge_runs import simulated
from support.panels import a_document
from support.rig import run, runtime_at
from support.simulation import Simulator

PROVIDERS = load_providers(DEPLOYMENTS / "providers.toml")
PANELS = REPOSITORY / "deployments" / "panels"
GRADES = """
def by_length(item):
    return {"score": min(5, 1 + len(item["text"]) // 10), "reason": "Counted."}

def raises(item):
    raise RuntimeError("out of cheese")
"""
TEXTS = [Item(id="short", text="A note."), Item(id="long", text="A note with 12 lamps by 4 May.")]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name in ("rubric", "rater-b", "rater-c"):
        (tmp_path / f"{name}.yaml").write_text((PANELS / f"{name}.yaml").read_text())
    (tmp_path / "panel_grades.py").write_text(GRADES)
    for name, highest in (("by_length", 5), ("raises", 5), ("percent", 100)):
        function = "by_length" if name == "percent" else name
        (tmp_path / f"{name}.yaml").write_text(
            f"{{kind: callable, name: {name}, function: 'panel_grades:{function}', "
            f"scale: {{lowest: 1, highest: {highest}}}}}\n"
        )
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def panel_judge(folder: Path, raters: str, more: str = "") -> Judge:
    (folder / "panel.yaml").write_text(
        f"{{name: small, rubric: rubric.yaml, raters: [{raters}], arbiter: {{model: sim/good-2}}"
        f"{more}}}"
    )
    (folder / "judge.yaml").write_text("{kind: panel, name: council, panel: panel.yaml}")
    return load_judge(folder / "judge.yaml")


def test_a_panel_judges_texts_and_asks_nothing_twice(
    database: str, simulator: Simulator, folder: Path
) -> None:
    judge = panel_judge(folder, "rater-b.yaml, by_length.yaml, rater-c.yaml")
    results = simulated(database, simulator, judge, items=TEXTS, repeats=2)
    assert [result.status for result in results] == ["scored"] * 4
    assert [result.subscores["by_length"] for result in results] == [1, 1, 4, 4]
    for result in results:
        assert min(result.subscores.values()) <= result.score <= max(result.subscores.values())
    # Two raters and the arbiter; each repeat is a review of its own.
    calls = [call for result in results for call in result.call_ids]
    assert len(set(calls)) == len(calls) == 12
    assert all(result.simulated for result in results)
    assert simulated(database, simulator, judge, items=TEXTS, repeats=2) == results


def test_a_plan_knows_what_a_panel_uses_and_costs(database: str, folder: Path) -> None:
    for name in ("rater-b", "rater-c"):
        file = folder / f"{name}.yaml"
        file.write_text(re.sub("model: .*", "model: openai/gpt-4.1-nano", file.read_text()))
    engine = sa.create_engine(database, poolclass=sa.NullPool)

    def planned(raters: str, repeats: int) -> JudgePlan:
        asked = Asked(panel_judge(folder, raters), TEXTS, repeats)
        with Session(engine) as session:
            [plan] = plan_judging(session, PROVIDERS, Settings(), [asked])
        return plan

    once, thrice = (planned("rater-b.yaml, rater-c.yaml", repeats) for repeats in (1, 3))
    assert (once.calls, thrice.calls) == (6, 18)  # two raters and the arbiter, of two texts
    assert once.used is not None
    assert once.used.prompt_tokens > 6 * 100
    assert once.used.cost_usd is not None
    assert once.used.cost_usd > 0
    assert thrice.used is not None
    assert thrice.used.cost_usd == pytest.approx(3 * once.used.cost_usd)
    # What a function of one's own uses is not known, so the whole is not.
    assert planned("rater-b.yaml, by_length.yaml", 1).used is None


def test_whom_a_panel_asks_is_another_judge(folder: Path) -> None:
    raters = "rater-b.yaml, by_length.yaml, rater-c.yaml"
    everyone = panel_judge(folder, raters)
    spared = panel_judge(folder, raters, ", escalate: {first: 2, within: 1}")
    assert isinstance(everyone, PanelJudge)
    assert isinstance(spared, PanelJudge)
    assert everyone.panel.key == spared.panel.key
    assert everyone.key != spared.key


def test_a_rater_that_fails_leaves_no_score_and_its_reason(
    database: str, simulator: Simulator, folder: Path
) -> None:
    judge = panel_judge(folder, "by_length.yaml, raises.yaml")
    [result] = simulated(database, simulator, judge, items=TEXTS[:1])
    assert (result.status, result.score) == ("failed", None)
    assert result.failure is not None
    assert "out of cheese" in result.failure


def test_a_text_longer_than_a_panel_sees_has_no_score(
    database: str, simulator: Simulator, folder: Path
) -> None:
    judge = panel_judge(folder, "rater-b.yaml, rater-c.yaml")
    [result] = simulated(database, simulator, judge, items=[Item(id="book", text="a " * 25_000)])
    assert (result.status, result.call_ids) == ("failed", ())
    document = as_document(Item(id="long", text="b" * 25_000, context="c" * 400))
    assert [item.id for item in document.shown] == ["context-1", "text-1", "text-2", "text-3"]
    assert not document.was_truncated


def test_a_judge_as_a_rater_judges_each_item_and_the_whole(
    database: str, simulator: Simulator, folder: Path
) -> None:
    panel_judge(folder, "rater-b.yaml, by_length.yaml")
    panel, document = load_panel(folder / "panel.yaml"), a_document(text="Feed it.")

    async def work() -> PanelState:
        async with runtime_at(database, simulator.url) as runtime:
            return await run_panel(runtime, panel, document, emit=lambda _: None)

    state = run(work())
    review = state.raters[1].review
    assert review is not None
    # "Feed it. Item one." has 18 characters; both items as one text have 38.
    assert [item.score for item in review.items] == [2, 2]
    assert (review.overall_score, review.overall_comment) == (4, "Counted.")
    assert state.raters[1].tier == "judge"
    assert state.phase == "done"
    again = run(work())
    assert all(step.kept for step in (*again.raters, again.consensus))


@pytest.mark.parametrize(
    ("raters", "said"),
    [
        ("rater-b.yaml, percent.yaml", "scores from 1 to 100, and the rubric from 1 to 5"),
        ("rater-b.yaml, judge.yaml", "judge of judges, one below the other"),
    ],
)
def test_a_judge_that_is_no_rater_is_named(folder: Path, raters: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        panel_judge(folder, raters)
