"""From rows of the view `samples` to what the metrics take."""

import pandas as pd
import pytest

from judge_gym.errors import StoreError
from judge_gym.metrics.recompute import group_of, item_values, over_levels

COLUMNS = [
    *("experiment_id", "model", "family", "setting", "window_name", "scoring_method", "scale_size"),
    *("wording", "rubric_draw"),
    *("arm", "status", "item_id", "stage_bits", "first_probability", "second_probability"),
]
SINGLE = ("one", "spring", "single", 4, "standard", 0)
SUBSET = ("two", "spring", "subset", 4, "standard", 0)
SUBSET_DRAWN = ("three", "spring", "subset", 4, "standard", 1)
ROWS = [
    (12, "x/mild", "x", *SINGLE, "own", "scored", 7, 0b0010, 0.5, None),
    (11, "y/bold", "y", *SINGLE, "own", "scored", 7, 0b1000, 0.9, 0.7),
    (11, "y/bold", "y", *SINGLE, "own", "abstained", 7, None, None, None),
    (11, "y/bold", "y", *SINGLE, "own", "scored", 9, 0b0001, None, None),
    (11, "y/bold", "y", *SINGLE, "swap", "scored", 9, 0b0001, 0.1, None),
    (13, "x/deep", "x", *SINGLE, "own", "scored", 9, 0b0100, None, 0.2),
    (14, "x/mild", "x", *SUBSET, "own", "scored", 7, 0b0011, 0.6, None),
    (15, "x/mild", "x", *SUBSET_DRAWN, "own", "scored", 7, 0b0110, 0.8, None),
]


@pytest.fixture
def samples() -> pd.DataFrame:
    frame = pd.DataFrame(ROWS, columns=COLUMNS)
    names = ["model", "family", "window_name", "scoring_method", "wording", "arm", "status"]
    kinds = dict.fromkeys(names, "category") | {"stage_bits": "Int64", "scale_size": "Int64"}
    return frame.astype(kinds)


def test_a_group_has_the_scored_samples_of_its_own_arms(samples: pd.DataFrame) -> None:
    group = group_of(samples, {"window": "spring", "scoring_method": "single", "judge": "y/bold"})
    assert group.judges == ("x/deep", "x/mild", "y/bold")
    assert group.family.tolist() == [0, 0, 1]
    assert group.items == (7, 9)
    assert sorted(group.experiments) == [11, 12, 13]
    told = zip(group.verdicts.judge, group.verdicts.item, group.verdicts.stages, strict=True)
    assert list(told) == [(1, 0, 0b0010), (2, 0, 0b1000), (2, 1, 0b0001), (0, 1, 0b0100)]
    assert group.verdicts.n_stages == 4


def test_the_mean_of_both_probes_of_a_sample_counts_once(samples: pd.DataFrame) -> None:
    probes = group_of(samples, {"scoring_method": "single"}).probes
    told = zip(probes.judge, probes.item, probes.stages, probes.probability, strict=True)
    assert list(told) == [
        (1, 0, 0b0010, 0.5),
        (2, 0, 0b1000, pytest.approx(0.8)),
        (0, 1, 0b0100, 0.2),
    ]


def test_a_scope_without_a_draw_has_the_samples_of_all(samples: pd.DataFrame) -> None:
    whole = group_of(samples, {"scoring_method": "subset"})
    assert whole.experiments == (14, 15)
    assert whole.verdicts.stages.tolist() == [0b0011, 0b0110]
    second = group_of(samples, {"scoring_method": "subset", "rubric_draw": 1})
    assert second.experiments == (15,)


@pytest.mark.parametrize(
    ("scope", "said"), [({"window": "spring"}, "2 groups"), ({"window": "autumn"}, "0 groups")]
)
def test_a_scope_that_is_not_one_groups_is_refused(
    samples: pd.DataFrame, scope: dict[str, str], said: str
) -> None:
    with pytest.raises(StoreError, match=said):
        group_of(samples, scope)


def test_figures_of_one_level_stand_apart_from_those_over_all() -> None:
    """Of the first judge there is a figure over both wordings, of the second there is none."""
    figures = pd.DataFrame({
        "metric": ["swap", "swap", "swap", "sham"],
        "scope": [
            {"judge": "a"},
            {"judge": "a", "wording": "plain"},
            {"judge": "b", "wording": "plain"},
            {"judge": "a", "wording": "plain", "rubric_draw": 1},
        ],
    })  # fmt: skip
    assert over_levels(figures).index.tolist() == [0, 2, 3]
    assert over_levels(figures.drop(columns="metric").iloc[:3]).index.tolist() == [0, 2]


def test_items_that_lack_a_level_are_left_out_of_values_over_levels() -> None:
    """Item 7 has the mean of four values, 0.25; item 8 lacks a draw of one wording."""
    wordings, draws = ["standard", "standard", "plain", "plain"], [0, 1, 0, 1]
    rows = pd.DataFrame({
        "item_id": [7] * 4 + [9] * 4 + [8] * 3,
        "wording": wordings * 2 + wordings[:3],
        "rubric_draw": draws * 2 + draws[:3],
        "difference": [0.1, 0.2, 0.3, 0.4, 0.0, 0.0, 0.0, 0.2, 9.0, 9.0, 9.0],
    })  # fmt: skip
    assert item_values(rows, "difference").tolist() == pytest.approx([0.25, 0.05])
    alone = rows[(rows["wording"] == "plain") & (rows["rubric_draw"] == 0)]
    assert item_values(alone, "difference").tolist() == pytest.approx([0.3, 9.0, 0.0])
