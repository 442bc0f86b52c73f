"""Rubrics as texts: figures and pairs worked out by hand."""

import json
from collections.abc import Mapping

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.analysis.data import load_sweep_data
from judge_gym.analysis.rubric_texts import nearest_and_farthest
from judge_gym.store import tables as t
from judge_gym.store.embeddings import rubric_texts_compared
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


def four_judges(lab: Lab, owners: Mapping[str, tuple[str, str]] = OWNERS) -> None:
    lab.documents([None] * 2)
    for model, (family, word) in owners.items():
        lab.own(model, [[1 if word == "red" else 4]] * 2, family=family)
    write_rubrics(lab, owners)


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


MODEL = "acme/embed-1"
WORDS = {
    owner: (family, word)
    for (owner, (family, _)), word in zip(
        OWNERS.items(), ("red", "pink", "blue", "green"), strict=True
    )
}
"""Owners whose rubrics have no text in common."""


def embed(lab: Lab, vectors: Mapping[str, list[float]]) -> None:
    """Name a model for rubrics, and store what it gives for each of their texts, by owner."""
    with Session(lab.engine) as session, session.begin():
        session.execute(sa.update(t.Sweep).values(definition={"rubric_embeddings": MODEL}))
        rubrics = session.scalars(sa.select(t.Rubric)).all()
        owners = {one.id: one.owner_model for one in rubrics}
        for one in rubric_texts_compared(session, [one.key for one in rubrics], MODEL):
            if owners[one.of] in vectors:
                answer = json.dumps(vectors[owners[one.of]])
                session.add(
                    t.Call(
                        key=one.key, workflow="w2-rubric", agent="embedder", model=MODEL,
                        provider="acme", messages=[], parameters={}, template="",
                        template_hash="", status="succeeded", answer=answer,
                    )
                )  # fmt: skip


def test_rubrics_are_compared_by_the_embeddings_of_a_named_model(database: str) -> None:
    lab = Lab(database)
    four_judges(lab, WORDS)
    # At angles of 0, 60, 90 and 180 degrees.
    alpha, beta, gamma, delta = OWNERS
    embed(lab, {alpha: [1, 0], beta: [0.5, 0.75**0.5], gamma: [0, 2], delta: [-3, 0]})
    rows = lab.analyse()
    for metric in ("rubric_similarity", "rubric_stage_similarity"):
        family = only(rows, metric, part="owners of one family")
        # The cosines of 60 and of 90 degrees.
        assert family.estimate == pytest.approx((0.5 + 0) / 2)
        assert f"embeddings of {MODEL}" in family.method
        between = only(rows, metric, part="families")
        assert between.estimate == pytest.approx((0 - 1 + 0.75**0.5 - 0.5) / 4)
    with Session(lab.engine) as session:
        near, far = nearest_and_farthest(load_sweep_data(session, SWEEP))
    assert {near.first.owner, near.second.owner} == {beta, gamma}
    assert far.similarity == pytest.approx(-1)
    assert far.by_stage == pytest.approx((-1,) * 4)


def test_a_rubric_without_an_embedding_is_named_and_not_compared_by_words(database: str) -> None:
    lab = Lab(database)
    four_judges(lab, WORDS)
    embed(lab, {owner: [1, 0] for owner in list(OWNERS)[:3]})
    rows = lab.analyse()
    for metric in ("rubric_similarity", "rubric_verdict_correlation"):
        row = next(one for one in rows if one.metric.startswith(metric))
        assert row.estimate is None
        # The whole and four stages of one rubric of four.
        assert f"5 of 20 texts of rubrics lack an embedding of {MODEL}" in row.reason


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
