"""Judges that treat a group of items otherwise, from verdicts written down."""

import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.store import tables as t
from support.lab import Lab, labels, only, rubric

FOUR = {"rubric": {"provided": rubric(*labels(4))}}
OUTLETS = ["herald.example", "star.example"]


def test_one_judge_places_the_items_of_an_outlet_higher(database: str) -> None:
    lab = Lab(database)
    lab.documents([None] * 12)
    with Session(lab.engine) as session, session.begin():
        for position in range(12):
            session.execute(
                sa.update(t.Document)
                .where(t.Document.position == position)
                .values(domain=OUTLETS[position % 2])
            )
    level = [1, 1, 2, 2, 3, 3, 1, 2, 2, 3, 3, 1]
    for model in ("acme/alpha-1", "zeta/beta-1", "rho/gamma-1"):
        lab.own(model, [[stage] for stage in level], **FOUR)
    lab.own("nu/delta-1", [[s if place % 2 else s + 1] for place, s in enumerate(level)], **FOUR)
    rows = lab.analyse()

    row = only(rows, "item_functioning", judge="nu/delta-1")
    # One stage of three, at the same consensus; the figure of the one group is that of the other.
    assert (row.scope["items_by"], row.scope["group"]) == ("outlet", "herald.example")
    assert row.estimate is not None
    assert abs(row.estimate - 1 / 3) < 0.01
    others = [one.estimate for one in rows if one.metric == "item_functioning" and one is not row]
    assert all(estimate is not None and estimate < 0 for estimate in others)


def test_one_judge_is_moved_more_by_a_change_of_the_text(database: str) -> None:
    lab = Lab(database)
    lab.documents([None] * 6)
    for model, moved in (("acme/alpha-1", 1), ("zeta/beta-1", 0)):
        lab.own(model, [[1], [2], [3], [1], [2], [3]], evidence_view="raw", **FOUR)
        after = [[stage + moved] for stage in (1, 2, 3, 1, 2, 3)]
        lab.own(model, after, evidence_view="neutralized", **FOUR)
    row = only(lab.analyse(), "paired_functioning", judge="acme/alpha-1")
    assert row.estimate is not None
    assert abs(row.estimate - -1 / 3) < 1e-9 or abs(row.estimate - 1 / 3) < 1e-9
    # All six items move alike: 2 of 64 sign patterns.
    assert row.p == 2 / 64
