"""Swap and sham: what another rubric does to confidence and verdicts."""

import pytest

from support.lab import Lab, only

ALPHA, BETA, GAMMA = "acme/alpha-1", "acme/beta-1", "acme/gamma-1"


def swapped(lab: Lab) -> int:
    """Alpha loses confidence under beta's rubric, beta none under alpha's; alpha's experiment.

    Alpha has a sham arm; beta's swap leaves the third item out.
    """
    lab.documents([None] * 3)
    alpha = lab.own(ALPHA, [[1], [1], [1]], probes=[[0.8]] * 3)
    beta = lab.own(BETA, [[2], [2], [2]], probes=[[0.6]] * 3)
    lab.samples(lab.arm(alpha, "swap", BETA), [[4], [4], [4]], probes=[[0.5], [0.6], [0.7]])
    lab.samples(lab.arm(beta, "swap", ALPHA), [[2], [2]], probes=[[0.6]] * 2)
    lab.samples(lab.arm(alpha, "sham", ALPHA), [[1], [1], [4]], probes=[[0.8], [0.8], [0.7]])
    return alpha


def test_swap_sensitivity_is_paired_by_item_and_adjusted_over_the_pairs(database: str) -> None:
    lab = Lab(database)
    swapped(lab)
    rows = lab.analyse()

    moved = only(rows, "swap_sensitivity", judge=ALPHA, rival=BETA)
    assert moved.estimate == pytest.approx((-0.3 - 0.2 - 0.1) / 3)
    # Two of the eight sign patterns are as extreme; twice that, as there are two pairs.
    assert moved.p == pytest.approx(0.25)
    assert moved.p_adjusted == pytest.approx(0.5)
    still = only(rows, "swap_sensitivity", judge=BETA, rival=ALPHA)
    assert (still.estimate, still.p, still.p_adjusted, still.n_items) == (0, 1, 1, 2)


def test_verdicts_are_compared_on_the_unit_scale(database: str) -> None:
    lab = Lab(database)
    swapped(lab)
    rows = lab.analyse()

    # From stage 1 to stage 4 of four, on every item.
    assert only(rows, "swap_verdict_shift", judge=ALPHA).estimate == pytest.approx(1)
    change = only(rows, "swap_verdict_change", judge=ALPHA)
    assert change.estimate == pytest.approx(1)
    # One replicate on either side: dealing them out again changes as much.
    assert (change.floor, change.p) == (pytest.approx(1), 1)


def test_a_sham_is_reported_beside_the_swap(database: str) -> None:
    lab = Lab(database)
    swapped(lab)
    rows = lab.analyse()

    sham = only(rows, "sham_sensitivity", judge=ALPHA)
    assert sham.estimate == pytest.approx(-0.1 / 3)
    assert sham.p_adjusted == sham.p
    assert "rival" not in sham.scope
    assert only(rows, "sham_verdict_change", judge=ALPHA).estimate == pytest.approx(1 / 3)
    assert not [row for row in rows if row.metric == "sham_sensitivity" and row is not sham]


def test_swap_samples_never_enter_figures_of_the_own_arm(database: str) -> None:
    lab = Lab(database)
    swapped(lab)
    rows = lab.analyse()
    assert only(rows, "confidence", judge=ALPHA).estimate == pytest.approx(0.8)
    # Own verdicts alone: alpha 1 and beta 2 everywhere, with one replicate each.
    assert only(rows, "overconfidence_mixed", judge=ALPHA).estimate == pytest.approx(0.8)


def test_a_swap_without_probes_says_why(database: str) -> None:
    lab = Lab(database)
    lab.documents([None])
    alpha = lab.own(ALPHA, [[1]])
    lab.samples(lab.arm(alpha, "swap", BETA), [[2]])
    row = only(lab.analyse(), "swap_sensitivity")
    assert row.estimate is None
    assert "under both conditions" in row.reason
    assert row.p_adjusted is None


def test_judges_and_rubrics_are_split_where_they_fully_cross_and_the_rest_is_named(
    database: str,
) -> None:
    lab = Lab(database)
    lab.documents([None] * 4)
    alpha = lab.own(ALPHA, [[1, 1], [2, 1], [1, 2], [1, 1]])
    beta = lab.own(BETA, [[4, 3], [3, 3], [4, 4], [3, 4]])
    lab.samples(lab.arm(alpha, "swap", BETA), [[1, 2], [2, 2], [1, 1], [1, 2]])
    lab.samples(lab.arm(beta, "swap", ALPHA), [[4, 4], [3, 4], [4, 3], [3, 3]])
    crossed = {row.scope["part"]: row for row in lab.analyse() if row.metric == "decomposition"}
    assert "block" not in crossed["rubrics"].method
    # gamma judged by no rubric but its own and alpha's
    gamma = lab.own(GAMMA, [[1, 4], [4, 1], [1, 4], [4, 1]])
    lab.samples(lab.arm(gamma, "swap", ALPHA), [[1, 1], [1, 1], [4, 4], [4, 4]])
    parts = {row.scope["part"]: row for row in lab.analyse() if row.metric == "decomposition"}
    for part, row in parts.items():
        assert row.estimate == pytest.approx(crossed[part].estimate)
        assert row.n == crossed[part].n == 32
        assert row.method.endswith(
            f"; on the largest complete block: judges {ALPHA}, {BETA} by rubrics of {ALPHA}, {BETA}"
        )
