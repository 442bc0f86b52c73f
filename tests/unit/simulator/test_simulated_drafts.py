"""What the simulator writes for gyms, and how it decides about decisions."""

import json

import pytest

from judge_gym.gyms.abstract import AbstractGym
from judge_gym.gyms.extract import ExtractGym, claims_in
from judge_gym.judges import BinaryJudge, Criterion, Item, RubricJudge, VerdictName
from judge_gym.judges.aligning.candidates import with_rubric
from judge_gym.judges.answer_object import own_object
from judge_gym.prompts import Prompt, render
from judge_gym.simulator.answering import ModelRequest, answer

TEXT = (
    "The ramp at Lind was cleared by one person. It took 9 minutes on 17 of 30 days. "
    "Assign two people to the ramp. Waiting is never pleasant."
)


def said(prompt: Prompt, seed: int = 0) -> tuple[str, str]:
    """The role in which the simulator answers, and what."""
    messages = tuple((one["role"], one["content"]) for one in prompt.messages)
    found = answer(ModelRequest("sim/good-1", messages, seed=seed))
    return found.role, found.text


def drafted(form: str, task: str, seed: int = 0) -> tuple[str, str]:
    document = {"title": "", "text": TEXT}
    return said(render("gym_write", task=task, documents=[document], form=form, mark="m"), seed)


def test_a_generalisation_is_the_advice_without_names() -> None:
    role, text = drafted(AbstractGym.FORM, "Say what is to be learnt.")
    assert role == "generaliser"
    assert text == "Assign two people to the ramp."
    _, with_figures = drafted(AbstractGym.FORM, "Say it, and keep the figures.")
    assert "17 of 30 days" in with_figures
    assert "Lind" not in with_figures


def test_claims_are_sentences_with_a_figure_or_a_name_unless_all_are_asked_for() -> None:
    assert drafted(ExtractGym.FORM, "Extract the claims.")[0] == "extractor"
    stated = {"The ramp at Lind was cleared by one person.", "It took 9 minutes on 17 of 30 days."}
    of_seeds = [
        set(claims_in(drafted(ExtractGym.FORM, "Extract the claims.", seed)[1]))
        for seed in range(20)
    ]
    assert all(found <= stated for found in of_seeds)
    assert stated in of_seeds
    assert any(found < stated for found in of_seeds)  # some are overlooked
    every = claims_in(drafted(ExtractGym.FORM, "Extract every claim.", seed=1)[1])
    assert "Waiting is never pleasant." in every


@pytest.mark.parametrize(
    ("learning", "decision", "right"),
    [
        ("Retry failed uploads.", "link", True),
        ("Retry failed uploads.", "create", False),
        ("Print the legend.", "create", True),
        ("Print the legend.", "link", False),
    ],
)
def test_a_decision_is_right_when_the_principle_says_the_learning(
    learning: str, decision: str, right: bool
) -> None:
    judge = BinaryJudge(
        name="j",
        model="sim/good-1",
        task="Is the decision right?",
        verdicts=(
            VerdictName(name="correct", description="It is."),
            VerdictName(name="incorrect", description="It is not."),
        ),
    )
    item = Item(
        id="1",
        text=f"Decision: {decision}\nLearning: {learning}",
        context="Wait before failed uploads are tried again: retry them later.",
    )
    (prompt,) = judge.prompts(item, "key")
    # planted accuracy: 0.95
    verdicts = [('"correct"' in said(prompt, seed)[1]) == right for seed in range(20)]
    assert sum(verdicts) >= 16


def test_proposed_instructions_keep_names_and_are_about_one_thing_that_is_drawn() -> None:
    judge = RubricJudge(
        name="n",
        model="sim/good-1",
        task="Mark it.",
        criteria=(Criterion(name="worth", description="How good it is."),),
    )
    present = json.dumps({"task": judge.task, "criteria": {"worth": {"description": "Good."}}})
    shown = [{"title": "", "text": TEXT}]
    form = '{"task": "...", "criteria": {"worth": {"description": "..."}}}'
    prompt = render(
        "align", present=present, scale=judge.scale, documents=shown, verdicts=["x"],
        placeholders=[], form=form, mark="m",
    )  # fmt: skip
    answers = [said(prompt, seed) for seed in range(20)]
    assert {role for role, _ in answers} == {"aligner"}
    found = [own_object(text, [TEXT]) for _, text in answers]
    built = [with_rubric("r", judge, one).judge for one in found if isinstance(one, dict)]
    descriptions = {one.criteria[0].description for one in built if isinstance(one, RubricJudge)}
    assert 3 <= len(descriptions) <= 6
