"""What judges say together by each rule: by hand, and what holds for every rule."""

from math import log2, sqrt

import numpy as np
import pytest

from judge_gym.metrics.cells import CellMeans
from judge_gym.metrics.combining import (
    BY_STATED_AGREEMENT,
    by_rule,
    conflict_of_all,
    positions_by_rule,
    rules_that_keep,
)
from judge_gym.metrics.estimate import Estimate, not_estimable
from judge_gym.metrics.masses import Rule, cell_masses


def found(cells, stated=None):
    return {(rule, one.metric): one for rule, figures in by_rule(cells, stated) for one in figures}


def values(cells, metric, stated=None):
    return {
        rule: one.estimate for (rule, name), one in found(cells, stated).items() if name == metric
    }


def test_rules_by_hand_item_by_item(build_verdicts):
    # item 0: {1} against {2}, total conflict; item 1: {1, 2} with {2} gives {2}
    cells = cell_masses(build_verdicts([[[1], [(1, 2)]], [[2], [2]]]))
    stages = cells.masses.n_stages
    # Averaged, item 1: m({1,2}) = m({2}) = 1/2 with itself gives 1/4 and 3/4; item 0: 1/2 each.
    assert values(cells, "combined_gap") == {
        "dempster": 0,
        "yager": 0.5,
        "dubois_prade": 2 / stages / 2,
        "pcr6": 0,
        "averaged": pytest.approx(2 / stages / 4 / 2),
        "linear_pool": pytest.approx(2 / stages / 2 / 2),
        "log_pool": 0,
    }
    middle = (1 + stages) / 2
    assert values(cells, "combined_stage") == {
        "dempster": 2,
        "yager": (middle + 2) / 2,
        "dubois_prade": 1.75,
        "pcr6": 1.75,
        "averaged": pytest.approx((1.5 + 1.875) / 2),
        "linear_pool": pytest.approx((1.5 + 1.75) / 2),
        "log_pool": 2,
    }
    assert values(cells, "combined_top")["linear_pool"] == pytest.approx((0.5 + 0.75) / 2)
    assert values(cells, "combined_entropy")["yager"] == pytest.approx(log2(stages) / 2)
    assert found(cells)["dempster", "combined_gap"].n_items == 1
    assert found(cells)["log_pool", "combined_stage"].n_items == 1


def test_the_log_pool_is_the_normalised_geometric_mean(build_verdicts):
    # Stage 1 with 1/4 and 3/4, stage 2 with 3/4 and 1/2, stage 3 with 0 and 1/4 ... of 4 samples.
    cells = cell_masses(build_verdicts([[[1, 2, 2, 2]], [[1, 1, 2, 3]]]))
    one, two = sqrt(1 / 4 * 1 / 2), sqrt(3 / 4 * 1 / 4)
    stage = values(cells, "combined_stage")["log_pool"]
    assert stage == pytest.approx((one + 2 * two) / (one + two))


def test_the_pool_by_stated_agreement_weighs_item_by_item(build_verdicts):
    cells = cell_masses(build_verdicts([[[1], [1]], [[3], [3]]]))
    stated = CellMeans(np.array([[0.9, 0.5], [0.3, 0.5]]), np.ones((2, 2), dtype=np.int64))
    stage = values(cells, "combined_stage", stated)[BY_STATED_AGREEMENT]
    assert stage == pytest.approx(((0.75 * 1 + 0.25 * 3) + 2) / 2)
    missing = CellMeans(stated.value, np.array([[1, 0], [1, 1]]))
    assert BY_STATED_AGREEMENT not in values(cells, "combined_stage", missing)


def test_judges_of_one_mind_are_the_same_by_every_rule(build_verdicts):
    cells = cell_masses(build_verdicts([[[2], [4]]] * 3))
    for (rule, metric), one in found(cells).items():
        expected = {"combined_stage": 3, "combined_top": 1}.get(metric, 0)
        assert one.estimate == pytest.approx(expected), rule


def test_total_conflict_leaves_dempster_nothing(build_verdicts):
    cells = cell_masses(build_verdicts([[[1]], [[2]], [[1]]]))
    assert conflict_of_all(cells)[0].estimate == 1
    assert found(cells)["dempster", "combined_stage"].estimate is None
    assert "totally" in found(cells)["dempster", "combined_stage"].reason
    assert values(cells, "combined_gap")["yager"] == 1


def test_conflict_of_all_judges_and_in_an_open_world(build_verdicts):
    # Item 0 in total conflict, item 1 without; one judge abstains from item 1 half of the time.
    cells = cell_masses(build_verdicts([[[1], [(1, 2)]], [[2], [2]]]))
    figures = {one.metric: one.estimate for one in conflict_of_all(cells)}
    assert figures["dempster_conflict"] == figures["total_conflict"] == 0.5
    assert figures["open_world_conflict"] == 0.5
    silent = conflict_of_all(cells, np.array([[0.0, 0.0], [0.5, 0.0]]))[2].estimate
    assert silent == pytest.approx((1 + 0.5) / 2)


def test_too_many_judges_for_the_rules_that_list_products(build_verdicts):
    spread = [[1, 2, 3, 4, (1, 2), (2, 3), (3, 4)]]
    cells = cell_masses(build_verdicts([spread] * 9))
    assert "40353607 products" in found(cells)["pcr6", "combined_gap"].reason
    assert values(cells, "combined_gap")["yager"] is not None
    assert {rule for rule, _ in found(cells)} == {rule.value for rule in Rule}


def test_positions_by_rule_are_on_the_scale_and_absent_on_total_conflict(build_verdicts):
    # item 0: {1} against {4}, total conflict; item 1: {4} twice; item 2 lacks the second judge
    cells = cell_masses(build_verdicts([[[1], [4], [2]], [[4], [4], []]]))
    found = dict(positions_by_rule(cells))
    assert found["linear_pool"].value.tolist() == [[0.5, 1, 0]]
    assert found["linear_pool"].n.tolist() == [[2, 2, 0]]
    assert found["dempster"].n.tolist() == [[0, 2, 0]]
    assert found["yager"].value.tolist() == [[0.5, 1, 0]]
    assert "stated_agreement" not in found


def test_stated_agreement_weighs_positions_too(build_verdicts):
    cells = cell_masses(build_verdicts([[[1]], [[4]]]))
    stated = CellMeans(np.array([[0.25], [0.75]]), np.ones((2, 1), dtype=int))
    found = dict(positions_by_rule(cells, stated))
    assert found[BY_STATED_AGREEMENT].value[0, 0] == pytest.approx(0.75)


def contrast(value, half):
    ends = (None, None) if half is None else (value - half, value + half)
    return Estimate("c", value, *ends, 10, 5, because="" if half is not None else "one item")


def test_rules_that_keep_a_contrast_are_counted_on_the_side_of_the_linear_pool():
    found = {
        "linear_pool": contrast(-0.2, 0.1),
        "dempster": contrast(-0.3, 0.1),
        "yager": contrast(-0.1, 0.2),  # the sign alone
        "log_pool": contrast(0.3, 0.1),  # supported, on the other side
        "pcr6": contrast(-0.1, None),  # no interval
        "averaged": not_estimable("c", "the rule gives nothing"),
    }
    same, supported = rules_that_keep(found)
    assert (same.estimate, supported.estimate) == (4 / 5, 2 / 5)
    assert same.n == supported.n == 5


@pytest.mark.parametrize(
    "found",
    [
        {},
        {"linear_pool": contrast(0.2, 0.1)},
        {"dempster": contrast(0.2, 0.1), "yager": contrast(0.2, 0.1)},
        {"linear_pool": contrast(0.0, None), "yager": contrast(0.2, 0.1)},
    ],
)
def test_without_a_side_to_keep_no_share_is_made(found):
    assert [one.estimate for one in rules_that_keep(found)] == [None, None]
