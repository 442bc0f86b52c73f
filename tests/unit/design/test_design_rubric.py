"""What makes a rubric fit a scale."""

import pytest
from pydantic import ValidationError

from judge_gym.design.rubric import MIDPOINT_LABEL, Rubric, Stage, is_midpoint, rubric_faults

CRITERIA = ("a court sits", "a paper prints", "a party meets")


def a_rubric(*labels: str, reasoning: str = "") -> Rubric:
    stages = tuple(Stage(label=label, criteria=CRITERIA) for label in labels)
    return Rubric(stages=stages, reasoning=reasoning)


@pytest.mark.parametrize(
    ("labels", "size", "faults"),
    [
        (["none", "all"], 2, []),
        (["none", MIDPOINT_LABEL, "all"], 3, []),
        (["none", "ambiguous/mixed evidence.", "all"], 3, []),
        (["none", "some", "many", "all"], 4, []),
        (["none", "all"], 4, ["there must be exactly 4 stages, not 2"]),
        (["none", "some", "all"], 3, [f'stage 2 must be labelled "{MIDPOINT_LABEL}"']),
        (
            [MIDPOINT_LABEL, "some", "all"],
            3,
            [
                f'stage 1 may not be "{MIDPOINT_LABEL}"',
                f'stage 2 must be labelled "{MIDPOINT_LABEL}"',
            ],
        ),
        (["none", MIDPOINT_LABEL], 2, [f'stage 2 may not be "{MIDPOINT_LABEL}"']),
        (["None", "none "], 2, ["stage labels must be unique; repeated: none"]),
    ],
)
def test_faults_of_a_rubric(labels: list[str], size: int, faults: list[str]) -> None:
    assert rubric_faults(a_rubric(*labels), size) == faults


@pytest.mark.parametrize(
    ("label", "midpoint"),
    [
        ("Ambiguous / Mixed Evidence", True),
        ("AMBIGUOUS/MIXED EVIDENCE.", True),
        ("Mixed Evidence", False),
        ("Ambiguous", False),
    ],
)
def test_the_midpoint_label_is_known_by_its_letters(label: str, midpoint: bool) -> None:
    assert is_midpoint(label) is midpoint


@pytest.mark.parametrize(
    "criteria",
    [("a", "b"), ("a", "b", "c", "d", "e", "f"), ("a", "b", "  "), ("a", "b", "x" * 1001)],
)
def test_criteria_are_three_to_five_and_never_empty(criteria: tuple[str, ...]) -> None:
    with pytest.raises(ValidationError):
        Stage(label="none", criteria=criteria)


def test_the_key_is_of_the_stages_alone() -> None:
    rubric = a_rubric("none", "all")

    assert rubric.key == a_rubric("none", " all ", reasoning="because").key
    assert rubric.key != a_rubric("all", "none").key
