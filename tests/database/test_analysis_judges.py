"""Figures of one judge: outcomes, consistency, width, display bias, probe reliability."""

import pytest

from support.lab import Lab, labels, only, rubric

ALPHA = "acme/alpha-1"


def test_outcomes_are_shares_of_samples_by_arm(database: str) -> None:
    lab = Lab(database)
    lab.documents([None] * 2)
    own = lab.own(ALPHA, [[1, "abstained"], [2, "unparseable"]])
    lab.samples(lab.arm(own, "swap", "acme/beta-1"), [["refused"], ["failed"]])
    rows = lab.analyse()

    def rate(name: str, arm: str) -> float | None:
        row = only(rows, f"{name}_rate", judge=ALPHA, arm=arm)
        return row.estimate

    # One abstention among the three judgements made; one of four samples not readable.
    assert rate("abstention", "own") == pytest.approx(1 / 3)
    assert [rate(name, "own") for name in ("unparseable", "refused", "failed")] == [0.25, 0, 0]
    assert [rate(name, "swap") for name in ("unparseable", "refused", "failed")] == [0, 0.5, 0.5]
    assert rate("abstention", "swap") is None
    assert only(rows, "unparseable_rate", arm="own").n == 4


def test_consistency_over_replicates(database: str) -> None:
    lab = Lab(database)
    lab.documents([None] * 2)
    lab.own(ALPHA, [[1, 1, 4], [2, 2, 2]])
    rows = lab.analyse()

    # Scores 0, 0, 1 have variance 1/3; the others none.
    assert only(rows, "replicate_variance", judge=ALPHA).estimate == pytest.approx(1 / 6)
    # Both items have mean 1/3, so MSB = 0, MSW = (2/3)/4 = 1/6: ICC = -MSW / (2 · MSW).
    assert only(rows, "replicate_icc", judge=ALPHA).estimate == pytest.approx(-0.5)


def test_width_of_subset_verdicts_which_show_no_display_bias(database: str) -> None:
    lab = Lab(database)
    lab.documents([None])
    lab.own(ALPHA, [[(1, 2), (1, 2, 3, 4)]], scoring_method="subset")
    rows = lab.analyse()

    # (2-1)/3 and (4-1)/3; log2 2 / log2 4 and log2 4 / log2 4.
    assert only(rows, "subset_width", judge=ALPHA).estimate == pytest.approx(2 / 3)
    assert only(rows, "subset_information", judge=ALPHA).estimate == pytest.approx(0.75)
    assert "sets of stages" in only(rows, "position_bias", judge=ALPHA).reason


def test_display_bias_follows_what_each_sample_showed(database: str) -> None:
    lab = Lab(database)
    lab.documents([None])
    # Each verdict is the stage displayed first; stage 1 is lettered A twice, stage 2 twice.
    shown = [("AB", [1, 2]), ("AB", [2, 1]), ("BA", [1, 2]), ("BA", [2, 1])]
    lab.own(ALPHA, [[1, 2, 1, 2]], shown=shown, scale_size=2)
    rows = lab.analyse()

    assert only(rows, "position_bias", judge=ALPHA).estimate == pytest.approx(1 - 1 / 2)
    # The stage lettered A was chosen in the first and the last sample.
    assert only(rows, "label_bias", judge=ALPHA).estimate == pytest.approx(2 / 4 - 1 / 2)


def test_a_display_that_never_varies_shows_no_bias(database: str) -> None:
    lab = Lab(database)
    lab.documents([None])
    lab.own(ALPHA, [[1, 2, 1]], randomize_labels=False, shuffle_order=False)
    for metric in ("position_bias", "label_bias"):
        assert "does not vary" in only(lab.analyse(), metric).reason


def test_probe_difference_uses_samples_probed_twice(database: str) -> None:
    lab = Lab(database)
    lab.documents([None] * 3)
    lab.own(ALPHA, [[1], [1], [1]], probes=[[0.6, 0.8], [0.5, 0.5], [0.9]])
    row = only(lab.analyse(), "probe_difference", judge=ALPHA)

    assert row.estimate == pytest.approx((0.2 + 0) / 2)
    assert (row.n, row.n_items) == (2, 2)


def test_a_sample_that_was_probed_twice_counts_once(database: str) -> None:
    lab = Lab(database)
    lab.documents([None])
    common = {"rubric": {"provided": rubric(*labels(4))}}
    lab.own("acme/beta-1", [[1]], probes=[[0.6]], **common)
    alpha = lab.own(ALPHA, [[1, 2]], probes=[[0.5, 0.7]], **common)
    lab.samples(lab.arm(alpha, "swap", "acme/beta-1"), [[2]], probes=[[0.1, 0.3]])
    rows = lab.analyse()

    # Its confidence is the mean of both, 0.6. The only other verdict agrees: 0.6 - 1.
    for metric, value in (("confidence", 0.6), ("overconfidence", -0.4), ("brier_score", 0.16)):
        row = only(rows, metric, judge=ALPHA)
        assert (row.estimate, row.n) == (pytest.approx(value), 1)


def test_no_second_probe_is_a_reason(database: str) -> None:
    lab = Lab(database)
    lab.documents([None])
    lab.own(ALPHA, [[1]], probes=[[0.5]])
    assert "probed twice" in only(lab.analyse(), "probe_difference").reason


def test_judges_are_measured_on_the_items_all_of_them_scored(database: str) -> None:
    lab = Lab(database)
    lab.documents([None] * 2)
    common = {"rubric": {"provided": rubric(*labels(4))}}
    lab.own(ALPHA, [[1, 1, 1], [1, 1, 4]], **common)
    lab.own("acme/beta-1", [[2, 2, 2], ["abstained"] * 3], **common)
    row = only(lab.analyse(), "replicate_variance", judge=ALPHA)
    assert (row.estimate, row.n_items) == (0, 1)
