"""Rubrics as texts: figures and pairs worked out by hand."""

from collections.abc import Mapping

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.analysis.data import load_sweep_data
from judge_gym.analysis.rubric_texts import nearest_and_farthest
from judge_gym.store import tables as t
from support.lab import SWEEP, Lab, only

OWNERS = {
    "acme/alpha-1": ("acme", "red"),
    "acme/beta-1": ("acme", "red"),
    "bolt/gamma-1": ("bolt", "blue"),
    "bolt/delta-1": ("bolt", "blue"),
}
"""Owner → its family, and the word that its rubric is made of."""


def write_rubrics(lab: Lab, owners: Mapping[str, tuple[str, str]] = OWNERS) -> None:
    """Give each rubric criteria of one word with the number of its stage, and its family."""
    with Session(lab.engine) as session, session.begin():
        for row in session.scalars(sa.select(t.Rubric)):
            family, word = owners[row.owner_model]
            row.owner_family = family
            row.stages = [
                {
                    "label": f"{word}{stage}",
                    "criteria": [f"{word}{stage} {one}{word}" for one in "abc"],
                }
                for stage in range(1, 5)
            ]


def four_judges(lab: Lab) -> None:
    lab.documents([None] * 2)
    for model, (family, word) in OWNERS.items():
        lab.own(model, [[1 if word == "red" else 4]] * 2, family=family)
    write_rubrics(lab)


def test_rubrics_are_alike_within_a_family_and_not_between(database: str) -> None:
    lab = Lab(database)
    four_judges(lab)
    rows = lab.analyse()
    for metric in ("rubric_similarity", "rubric_stage_similarity"):
        family = only(rows, metric, part="owners of one family")
        assert (family.estimate, family.n, family.n_items) == (pytest.approx(1), 2, 4)
        between = only(rows, metric, part="families")
        assert (between.estimate, between.n) == (pytest.approx(0), 4)
        assert only(rows, metric, part="draws of one owner").estimate is None


def test_judges_whose_rubrics_differ_judge_differently(database: str) -> None:
    lab = Lab(database)
    four_judges(lab)
    row = only(lab.analyse(), "rubric_verdict_correlation")
    # Both tables hold 0 within the two pairs and one distance between: 8 of 24 orders keep that.
    assert row.estimate == pytest.approx(1)
    assert row.p == pytest.approx(8 / 24)


def test_the_nearest_and_the_farthest_rubrics_are_of_two_owners(database: str) -> None:
    lab = Lab(database)
    four_judges(lab)
    with Session(lab.engine) as session:
        near, far = nearest_and_farthest(load_sweep_data(session, SWEEP))
    assert {near.first.owner, near.second.owner} == {"acme/alpha-1", "acme/beta-1"}
    assert near.by_stage == pytest.approx((1, 1, 1, 1))
    assert near.first.labels == ("red1", "red2", "red3", "red4")
    assert {far.first.family, far.second.family} == {"acme", "bolt"}
    assert far.similarity == pytest.approx(0)


def test_what_length_does_is_told_for_each_rubric(database: str) -> None:
    lab = Lab(database)
    lab.documents([None] * 5)
    with Session(lab.engine) as session, session.begin():
        for row in session.scalars(sa.select(t.Document)):
            row.text = "x" * 2 ** (row.position + 4)
    up = [[1], [2], [3], [4], [4]]
    lab.own("acme/alpha-1", up, evidence_view="raw")
    lab.own("bolt/gamma-1", up[::-1], evidence_view="raw")
    rows = lab.analyse()
    # Deviations of the doublings: -2 to 2; Σ x·y = 8/3 of Σ x² = 10.
    alone = {row.scope["author"]: row for row in rows if row.metric == "length_effect_alone"}
    assert alone["acme/alpha-1"].estimate == pytest.approx(8 / 30)
    assert alone["bolt/gamma-1"].estimate == pytest.approx(-8 / 30)
    assert only(rows, "length_effect_mean").estimate == pytest.approx(0)
    assert only(rows, "length_effect_spread").estimate > 0.3
    drawn = only(rows, "length_effect", author="acme/alpha-1").estimate
    assert 0.2 < drawn < 8 / 30


def test_a_shared_rubric_is_no_rubric_of_each_judge(database: str) -> None:
    lab = Lab(database)
    lab.documents([None] * 2)
    for model, (family, _) in OWNERS.items():
        lab.own(model, [[1], [2]], family=family, rubric={"shared": "acme/alpha-1"})
    rows = lab.analyse()
    assert not [row for row in rows if row.metric == "rubric_verdict_correlation" and row.scope]
