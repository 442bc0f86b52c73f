"""Stages are ordered by their words, whoever wrote them and however they are listed."""

from pathlib import Path
from random import Random

import pytest
from ruamel.yaml import YAML

from judge_gym.simulator.verdicts import order_stages

SWEEP_RUBRICS = Path(__file__).parents[3] / "deployments" / "sweeps" / "rubrics"
RUBRICS: list[tuple[int, tuple[str, ...]]] = [
    (-1, ("No evidence", "Minor signs", "Substantial signs", "Overwhelming signs")),
    (-1, ("None", "Low", "Moderate", "High", "Extreme")),
    (-1, ("Not at all", "Somewhat", "Mostly", "Completely")),
    (-1, ("Absent", "Emerging tendencies", "Established pattern", "Fully consolidated")),
    (-1, ("Very weak", "Weak", "Ambiguous / Mixed Evidence", "Strong", "Very strong")),
    (-1, ("Isolated incidents", "Recurring incidents", "Systematic abuse")),
    (1, ("Incorrect", "Correct")),
    (1, ("The claim is false", "The claim is true")),
    (1, ("Not correct", "Fully correct")),
    (1, ("Severe violations", "Frequent violations", "Isolated violations", "No violations")),
    (1, ("Systemic abuse of rights", "Some abuse of rights", "Rights fully protected")),
    (-1, ("Fully free elections", "Mostly free elections", "Rarely free elections")),
    (1, ("Minimal democratic practice", "Partial practice", "Extensive practice", "Full practice")),
]


@pytest.mark.parametrize(("valence", "labels"), RUBRICS)
def test_ordinary_wording_is_put_in_order(valence: int, labels: tuple[str, ...]) -> None:
    for seed in range(6):
        listed = list(labels)
        Random(seed).shuffle(listed)
        order = order_stages(tuple((label, ()) for label in listed), valence)
        assert [listed[index] for index in order] == list(labels)


@pytest.mark.parametrize("path", sorted(SWEEP_RUBRICS.glob("*.yaml")), ids=lambda path: path.stem)
def test_rubrics_of_the_example_sweeps_are_put_in_order(path: Path) -> None:
    stages = YAML(typ="safe").load(path)["stages"]
    listed = [(stage["label"], tuple(stage["criteria"])) for stage in stages]
    backwards = tuple(reversed(listed))
    assert order_stages(backwards, -1) == tuple(reversed(range(len(listed))))


def test_criteria_decide_where_labels_do_not() -> None:
    stages = (("Gamma", ("seen in all cases",)), ("Beta", ("never seen",)), ("Alpha", ("rare",)))
    assert order_stages(stages, -1) == (1, 2, 0)


def test_stages_without_a_word_of_amount_stay_as_listed() -> None:
    assert order_stages((("Red", ()), ("Blue", ()), ("Green", ())), -1) == (0, 1, 2)
