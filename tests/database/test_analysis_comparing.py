"""Figures across judges, on verdicts few enough to work out by hand."""

import pytest

from judge_gym.metrics.estimate import Remark, RemarkKind
from support.lab import Lab, labels, only, rubric

pytestmark = pytest.mark.slow

COMMON = {"rubric": {"provided": rubric(*labels(4))}}
ALPHA, BETA = "acme/alpha-1", "acme/beta-1"


def two_judges(lab: Lab, **fields: object) -> None:
    """Three items both judges scored five times, and a fourth on which beta abstained.

    Alpha chose stage 1, 2, 1 and beta 4, 2, 2; alpha gave 0.8 to each verdict, beta 0.6.
    """
    lab.documents([None] * 4)
    lab.own(
        ALPHA,
        [[1] * 5, [2] * 5, [1] * 5, [3] * 5],
        probes=[[0.8]] * 4,
        **fields,
    )
    lab.own(
        BETA,
        [[4] * 5, [2] * 5, [2] * 5, ["abstained"] * 5],
        probes=[[0.6]] * 3 + [[]],
        **fields,
    )


def test_polarization_of_a_common_rubric_is_the_mean_over_common_items(database: str) -> None:
    lab = Lab(database)
    two_judges(lab, **COMMON)
    rows = lab.analyse()

    # Divergences 1, 0, 1 bits over the three items; 30 samples on them.
    p = only(rows, "polarization")
    assert p.estimate == pytest.approx(2 / 3)
    assert (p.n, p.n_items, p.unit) == (30, 3, "bits")
    # The t interval 2/3 ± 4.303 · 0.577/√3 reaches beyond [0, 1].
    assert (p.lower, p.upper) == (0, 1)
    # Dealing ten samples to two judges separates them in 2 of 252 ways, on each of two items.
    assert p.p is not None
    assert p.p <= 3 / 1001
    assert p.floor is not None
    assert 0 < p.floor < 0.2
    assert only(rows, "polarization_excess").estimate == pytest.approx(2 / 3 - p.floor)
    # Stages 1 and 4 are the whole scale apart, 1 and 2 a third of it: (1 + 0 + 1/3) / 3.
    assert only(rows, "polarization_ordinal").estimate == pytest.approx(4 / 9)
    pair = only(rows, "polarization_pair")
    assert pair.scope["pair"] == "alpha and beta"
    assert pair.estimate == pytest.approx(2 / 3)
    assert pair.p_adjusted == pair.p


def test_confidence_is_weighed_against_polarization_and_agreement(database: str) -> None:
    lab = Lab(database)
    two_judges(lab, **COMMON)
    rows = lab.analyse()

    assert only(rows, "confidence", judge=ALPHA).estimate == pytest.approx(0.8)
    assert only(rows, "confidence", judge=ALPHA).n_items == 3
    # Mean confidence (0.8 + 0.6) / 2 times P = 2/3.
    assert only(rows, "entrenchment").estimate == pytest.approx(0.7 * 2 / 3)
    # The other judge gives the same verdict on one item of three: agreement 0, 1, 0.
    assert only(rows, "overconfidence", judge=ALPHA).estimate == pytest.approx(0.8 - 1 / 3)
    assert only(rows, "overconfidence", judge=BETA).estimate == pytest.approx(0.6 - 1 / 3)
    # (0.8 - 0)² twice and (0.8 - 1)² once.
    assert only(rows, "brier_score", judge=ALPHA).estimate == pytest.approx(1.32 / 3)


def test_own_rubrics_are_labelled_as_mixing_rubric_and_judgement(database: str) -> None:
    lab = Lab(database)
    two_judges(lab)
    rows = lab.analyse()

    assert only(rows, "polarization_mixed").estimate == pytest.approx(2 / 3)
    assert only(rows, "polarization_mixed").scope["rubric"] == "own"
    names = {row.metric for row in rows}
    assert {"entrenchment_mixed", "overconfidence_mixed", "brier_score_mixed"} <= names
    assert "polarization" not in names
    assert "polarization_pair" not in names


def test_models_of_one_family_are_averaged_before_families_compare(database: str) -> None:
    lab = Lab(database)
    lab.documents([None])
    for model, stage in (("acme/alpha-1", 1), ("acme/alpha-2", 2), (BETA, 2)):
        lab.own(model, [[stage] * 5], **COMMON)
    rows = lab.analyse()

    # Family alpha is (1/2, 1/2), beta (0, 1): H(1/4, 3/4) - (1 + 0)/2 = 0.8113 - 0.5.
    assert only(rows, "polarization").estimate == pytest.approx(0.311278, abs=1e-6)
    assert only(rows, "polarization").reason == "no interval, because there is one item"
    assert [row.scope["pair"] for row in rows if row.metric == "polarization_pair"] == [
        "alpha and beta"
    ]


def test_pairs_of_three_families_are_adjusted_by_holm(database: str) -> None:
    lab = Lab(database)
    lab.documents([None] * 2)
    for model, stage in ((ALPHA, 1), (BETA, 1), ("acme/gamma-1", 4)):
        lab.own(model, [[stage] * 5] * 2, **COMMON)
    pairs = {row.scope["pair"]: row for row in lab.analyse() if row.metric == "polarization_pair"}

    assert pairs["alpha and beta"].estimate == 0
    assert pairs["alpha and beta"].p == pairs["alpha and beta"].p_adjusted == 1
    apart = sorted((pairs["alpha and gamma"], pairs["beta and gamma"]), key=lambda row: row.p or 0)
    # The smallest p counts three times, the next twice and no less than the one before.
    smallest, next_one = (row.p or 0 for row in apart)
    assert apart[0].p_adjusted == pytest.approx(3 * smallest)
    assert apart[1].p_adjusted == pytest.approx(max(3 * smallest, 2 * next_one))
    assert "Holm over 3" in apart[0].method


def test_a_judge_without_verdicts_is_left_out_and_named(database: str) -> None:
    lab = Lab(database)
    two_judges(lab, **COMMON)
    lab.own("acme/mute-1", [["failed"] * 5] * 4, **COMMON)
    rows = lab.analyse()

    assert only(rows, "polarization").estimate == pytest.approx(2 / 3)
    assert Remark(RemarkKind.JUDGES_LEFT_OUT, names=("acme/mute-1",)) in (
        only(rows, "polarization").remarks
    )
    assert only(rows, "overconfidence", judge=ALPHA).estimate == pytest.approx(0.8 - 1 / 3)
    assert only(rows, "confidence", judge=ALPHA).n_items == 3
    assert only(rows, "replicate_variance", judge=ALPHA).n_items == 3
    mute = only(rows, "overconfidence", judge="acme/mute-1")
    assert mute.estimate is None
    assert mute.reason == "not estimable, because the judge has no scored verdict"


@pytest.mark.parametrize(
    ("replicates", "judges", "reason"),
    [
        (5, [ALPHA], "there is 1"),
        (5, [ALPHA, "acme/alpha-2"], "there is 1"),
        (4, [ALPHA, BETA], "holds 4 scored replicates and 5 are needed"),
    ],
)
def test_what_cannot_be_compared_says_why(
    database: str, replicates: int, judges: list[str], reason: str
) -> None:
    lab = Lab(database)
    lab.documents([None] * 2)
    for model in judges:
        lab.own(model, [[1] * replicates] * 2, **COMMON)
    rows = lab.analyse()

    for metric in ("polarization", "polarization_excess", "entrenchment"):
        row = only(rows, metric)
        assert (row.estimate, row.lower, row.p) == (None, None, None)
        assert row.reason
    assert reason in only(rows, "polarization").reason
