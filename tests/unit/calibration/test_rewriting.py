"""Variants that a model makes: which are asked for, which are judged, and what is said of them."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge_gym.calibration.design import CalibrationDesign, Perturber
from judge_gym.judges import Criterion, Item, RubricJudge
from judge_gym.judges.calibrating.assessing import assess
from judge_gym.judges.calibrating.estimating import CalibrationFindings
from judge_gym.judges.calibrating.texts import RewrittenText, changed_texts, rewritings
from judge_gym.planted.editing import (
    NothingToChange,
    NotMade,
    Perturbed,
    differences,
)
from judge_gym.planted.perturbations import perturbations
from judge_gym.report.calibration import after, before, calibration_report, warning
from support.judge_results import a_result

DESIGN = CalibrationDesign(
    name="mixed", judges=("a.yaml",), items="items.jsonl", repeats=1, severities=(0.5, 1.0),
    perturbations=("vague_ify", "tone"),
    perturber=Perturber(model="openai/gpt-9", types=("vague_ify",)),
)  # fmt: skip
ITEMS = [Item(id=str(n), text=f"Site {n} gave {n + 11} tonnes. It rained.") for n in range(4)]


def rewritten() -> dict[str, RewrittenText]:
    """What a model made: of the first text nothing, of the second an error, of the third a text."""
    half, whole = (
        [one for one in rewritings(ITEMS, DESIGN) if one.severity == severity]
        for severity in (0.5, 1.0)
    )
    found = {one.key: RewrittenText(made(one.text)) for one in half}
    return found | {
        whole[0].key: RewrittenText(NothingToChange("same: the text is not changed at all")),
        whole[1].key: RewrittenText(NotMade("timeout: late")),
        whole[2].key: RewrittenText(made(whole[2].text), simulated=True),
    }


def made(text: str) -> Perturbed:
    changed = text.replace(" tonnes", " <i>somehow</i>")
    return Perturbed(changed, differences(text, changed))


@given(st.text("ab ,.\n", max_size=60), st.text("ab ,.\n", max_size=60))
def test_differences_lead_from_one_text_to_the_other(one: str, other: str) -> None:
    edits = differences(one, other)
    at, kept, new = 0, "", ""
    for edit in edits:
        assert at <= edit.start <= edit.end <= len(one)
        kept += one[at : edit.start]
        new += one[at : edit.start] + edit.text
        at = edit.end
    assert new + one[at:] == other
    assert bool(edits) == (one != other)


def test_differences_are_whole_words() -> None:
    (edit,) = differences("It rose by 30% then.", "It rose by somewhat then.")
    assert (edit.start, edit.end, edit.text) == (11, 14, "somewhat")


def test_a_model_is_asked_for_its_types_at_each_severity_and_for_no_text_twice() -> None:
    twice = [*ITEMS, ITEMS[0].model_copy(update={"id": "again"})]
    wanted = rewritings(twice, DESIGN)
    assert {one.perturbation for one in wanted} == {"vague_ify"}
    assert [one.severity for one in wanted] == [0.5] * 4 + [1.0] * 4
    assert len({one.key for one in wanted}) == 8
    other = DESIGN.model_copy(update={"perturber": Perturber(model="m/n", types=("vague_ify",))})
    assert not {one.key for one in rewritings(ITEMS, other)} & {one.key for one in wanted}
    long = Item(id="long", text="x" * 12_001)
    assert rewritings([long], DESIGN) == []
    texts = changed_texts([long], DESIGN)
    assert list(texts.left_out["vague_ify", 1.0]) == [
        "a model is not given more than 12,000 characters to change"
    ]


def test_only_what_was_changed_is_judged_and_the_rest_says_why() -> None:
    texts = changed_texts(ITEMS, DESIGN, rewritten())
    (variant,) = texts.changed["vague_ify", 1.0]
    assert variant.original == 2
    assert variant.item.simulated
    assert variant.item.variant is not None
    assert variant.item.variant.perturber == "openai/gpt-9"
    assert len(texts.changed["vague_ify", 0.5]) == 4
    assert texts.left_out["vague_ify", 1.0] == {
        "same: the text is not changed at all": 1, "timeout: late": 1,
    }  # fmt: skip
    # neither what failed nor what is still to be asked is a text that cannot be changed
    assert texts.not_applicable == {"vague_ify": 1, "tone": 0}
    assert {one.item.variant.perturber for one in texts.changed["tone", 1.0]} == {None}


def report(model: str) -> CalibrationFindings:
    judge = RubricJudge(
        name="mine", model=model, task="Mark.",
        criteria=(Criterion(name="evidence", description="Figures."),),
    )  # fmt: skip
    texts = changed_texts(ITEMS, DESIGN, rewritten())
    named = {"judge": judge.key, "model": model, "duration_s": 0.1}
    said = {
        item.key: [a_result(item, float(len(item.text)), variant=item.variant, **named)]
        for item in texts.items
    }
    return CalibrationFindings(
        design=DESIGN, texts=texts, assessments=[assess(judge, texts, said, DESIGN)], together=[],
        policies=[], costs=[0.0], chosen=0, why="Because.",
        written=datetime(2026, 1, 2, tzinfo=UTC),
    )  # fmt: skip


def test_a_perturber_of_the_judges_own_family_is_warned_of() -> None:
    assert "is of the same family as mine" in warning(report("azure/gpt-4"))
    assert warning(report("anthropic/claude-1")) == ""
    without = replace(report("openai/gpt-4"), design=DESIGN.model_copy(update={"perturber": None}))
    assert warning(without) == ""


def test_the_page_says_who_changed_what_and_marks_a_models_changes(tmp_path: Path) -> None:
    whole = report("openai/gpt-4")
    page = calibration_report(whole).save(tmp_path).path.read_text()
    assert "is of the same family as mine" in page
    assert "vague_ify by openai/gpt-9" in page
    assert "1: same: the text is not changed at all; 1: timeout: late" in page
    assert "&lt;i&gt;somehow" in page.replace("<mark>", "").replace("</mark>", "")
    assert "<i>somehow" not in page
    (case,) = (one for one in whole.assessments[0].cases if one.perturbation == "vague_ify")
    assert "".join(piece.text for piece in before(case) if piece.changed) == "tonnes"
    assert "".join(piece.text for piece in after(case) if piece.changed) == "<i>somehow</i>"


@pytest.mark.parametrize("name", list(perturbations()))
def test_a_change_is_described_in_a_sentence(name: str) -> None:
    described = perturbations()[name].description
    assert described.endswith(".")
    assert "\n" not in described
