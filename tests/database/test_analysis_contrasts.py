"""Contrasts: the same judge in two experiments that differ in one axis."""

import re

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.metrics.estimate import Remark, RemarkKind
from judge_gym.store import tables as t
from judge_gym.store.results import ResultRow
from support.lab import Lab, labels, only, rubric

ALPHA, BETA = "acme/alpha-1", "acme/beta-1"
SHARED = {"provided": rubric(*labels(4))}
FIXED = {"randomize_labels": False, "shuffle_order": False}


def test_a_view_is_contrasted_item_by_item(database: str) -> None:
    lab = Lab(database)
    lab.documents([None] * 3)
    lab.own(ALPHA, [[1], [2], [4]], probes=[[0.5]] * 3, evidence_view="neutralized")
    lab.own(ALPHA, [[4], [4], [4]], probes=[[0.7]] * 3, evidence_view="raw")
    rows = lab.analyse()

    row = only(rows, "contrast")
    # Scores fall by 1, 2/3 and 0.
    assert row.estimate == pytest.approx(-5 / 9)
    # Two items move: two of the four sign patterns are as extreme.
    assert row.p == row.p_adjusted == pytest.approx(0.5)
    assert row.scope == {
        "concept": "order",
        "country": "Freedonia",
        "window": "spring",
        "rubric": "own",
        "axis": "evidence_view",
        "from": "raw",
        "to": "neutralized",
        "judge": ALPHA,
    }
    assert only(rows, "contrast_confidence").estimate == pytest.approx(-0.2)


def test_a_value_that_was_not_applied_is_left_out_of_contrasts_on_its_axis(database: str) -> None:
    lab = Lab(database)
    lab.documents([None] * 3)
    for model in (ALPHA, BETA):
        for temperature, stages in ((0.0, [[1], [1], [2]]), (1.0, [[4], [4], [4]])):
            lab.own(model, stages, temperature=temperature, probes=[[0.5]] * 3)
            lab.own(model, stages, temperature=temperature, evidence_view="raw")
    lab.not_applied(ALPHA, "temperature", temperature=0.0)
    rows = lab.analyse()

    lost = Remark(RemarkKind.NOT_APPLIED, names=("temperature", ALPHA))
    for metric in ("contrast", "contrast_confidence"):
        of_alpha = only(rows, metric, axis="temperature", judge=ALPHA, evidence_view="neutralized")
        assert (of_alpha.estimate, of_alpha.n) == (None, 0)
        assert of_alpha.because == f"{ALPHA} did not apply temperature as set"
        assert lost in of_alpha.remarks
    of_beta = only(rows, "contrast", axis="temperature", judge=BETA, evidence_view="raw")
    # Up 1, 1 and 2/3 on the 0-1 scale.
    assert of_beta.estimate == pytest.approx(8 / 9)
    assert lost not in of_beta.remarks
    # Only the two settings of the other judge are pooled, and only they win or lose.
    assert only(rows, "axis_effect", axis="temperature").estimate == pytest.approx(8 / 9)
    assert only(rows, "axis_share_higher", axis="temperature", level="1.0").n == 2
    # Both of its temperatures are compared on every other axis.
    views = [row for row in rows if row.metric == "contrast"]
    views = [row for row in views if row.scope["axis"] == "evidence_view"]
    assert [row.estimate for row in views] == [0, 0, 0, 0]


def test_an_axis_that_no_judge_applied_has_no_effect_to_estimate(database: str) -> None:
    lab = Lab(database)
    lab.documents([None] * 2)
    lab.own(ALPHA, [[1], [1]], top_p=0.5)
    lab.own(ALPHA, [[2], [2]])
    lab.not_applied(ALPHA, "top_p", top_p=0.5)

    row = only(lab.analyse(), "axis_effect")
    assert row.scope == {"axis": "top_p", "from": "0.5", "to": "1.0"}
    assert (row.estimate, row.because) == (None, "no judge applied top_p as set")


def test_wordings_are_groups_of_their_own_and_no_contrast(database: str) -> None:
    lab = Lab(database)
    lab.documents([None] * 2)
    for wording in ("standard", "Vanilla"):
        for model in ("recorded/alpha", "recorded/beta"):
            lab.own(model, [[1], [2]], wording=wording)
    rows = lab.analyse()

    figures = [row.scope for row in rows if row.metric == "polarization_excess_mixed"]
    assert {scope.get("wording") for scope in figures} == {"standard", "Vanilla", None}
    assert only(rows, "contrast").because.startswith("it needs two experiments of a judge")
    # What has no wording in its scope says that it pools them; nothing else does.
    pools = Remark(RemarkKind.POOLED_FACET, 2, names=("wording",))
    shown = [row for row in rows if row.estimate is not None]
    assert {"wording" in row.scope for row in shown} == {True, False}
    for row in shown:
        assert (pools in row.remarks) == ("wording" not in row.scope), row


def test_labels_and_order_may_be_switched_together(database: str) -> None:
    lab = Lab(database)
    lab.documents([None])
    lab.own(ALPHA, [[2]], **FIXED)
    lab.own(ALPHA, [[3]])
    row = only(lab.analyse(), "contrast")
    assert (row.scope["axis"], row.scope["from"], row.scope["to"]) == (
        "presentation",
        "fixed",
        "random",
    )
    assert row.estimate == pytest.approx(1 / 3)


def test_experiments_that_differ_in_more_are_not_contrasted(database: str) -> None:
    lab = Lab(database)
    lab.documents([None])
    lab.own(ALPHA, [[2]], evidence_view="raw", **FIXED)
    lab.own(ALPHA, [[3]])
    lab.own(BETA, [[3]], evidence_view="raw")
    lab.own(ALPHA, [[3]], concept="another", evidence_view="raw")
    # Only one flag of the display differs from the first, and nothing else does.
    lab.own(ALPHA, [[1]], evidence_view="raw", randomize_labels=True, shuffle_order=False)
    contrasts = [row for row in lab.analyse() if row.metric == "contrast"]
    assert [row.scope["axis"] for row in contrasts] == ["randomize_labels"]
    assert (contrasts[0].scope["from"], contrasts[0].scope["to"]) == (False, True)


def test_sets_and_points_and_scales_meet_on_the_unit_scale(database: str) -> None:
    lab = Lab(database)
    lab.documents([None])
    lab.own(ALPHA, [[2]])
    lab.own(ALPHA, [[(3, 4)]], scoring_method="subset")
    lab.own(ALPHA, [[2]], scale_size=2)
    rows = lab.analyse()
    # Stages 3 and 4 of four are 2/3 and 1, their mean 5/6; stage 2 is 1/3.
    assert only(rows, "contrast", axis="scoring_method").estimate == pytest.approx(1 / 2)
    # From 2 stages to 4: stage 2 of two is 1.
    assert only(rows, "contrast", axis="scale_size").estimate == pytest.approx(1 / 3 - 1)
    # Of two stages none lies between the ends, whatever the judge does.
    between = [row for row in rows if row.metric == "contrast_middle_mass"]
    assert "scale_size" not in {row.scope["axis"] for row in between}


def test_every_pair_of_levels_is_contrasted_and_adjusted_together(database: str) -> None:
    lab = Lab(database)
    lab.documents([None] * 3)
    for view, stage in (("abstracted", 1), ("raw", 4), ("cleaned", 4)):
        lab.own(ALPHA, [[stage]] * 3, evidence_view=view)
    rows = {
        (row.scope["from"], row.scope["to"]): row
        for row in lab.analyse()
        if row.metric == "contrast"
    }
    # Two of eight sign patterns for the pairs that move, p = 1 for the one that does not:
    # by Benjamini-Hochberg 0.25 · 3/2 for both of the former.
    assert {ends: (row.p, row.p_adjusted) for ends, row in rows.items()} == {
        ("raw", "cleaned"): (1, 1),
        ("raw", "abstracted"): (0.25, pytest.approx(0.375)),
        ("cleaned", "abstracted"): (0.25, pytest.approx(0.375)),
    }


def test_experiments_without_a_common_item_say_so(database: str) -> None:
    lab = Lab(database)
    lab.documents([None] * 2)
    lab.own(ALPHA, [[2], ["abstained"]])
    lab.own(ALPHA, [["abstained"], [3]], evidence_view="raw")
    row = only(lab.analyse(), "contrast")
    assert row.estimate is None
    assert "under both conditions" in row.reason


def test_an_item_without_a_name_to_exchange_is_left_out_of_the_contrast(database: str) -> None:
    lab = Lab(database)
    lab.documents([None] * 4)
    # Documents are "Document 0" to "Document 3", and only the raw view shows titles.
    swapped = {"swapped": {"name": "two", "swap": [["0", "1"], ["2", "x"]]}}
    lab.own(ALPHA, [[1], [1], [1], [1]], evidence_view="raw", actors="as_found")
    lab.own(ALPHA, [[2], [4], [3], [4]], evidence_view="raw", actors=swapped)
    rows = lab.analyse()
    row = only(rows, "contrast", axis="actors")
    assert (row.scope["from"], row.scope["to"]) == ("as_found", "swapped two")
    # Up 1, 3 and 2 thirds; the fourth document has no name of the mapping.
    assert row.estimate == pytest.approx(2 / 3)
    assert row.n_items == 3
    assert Remark(RemarkKind.NOTHING_SWAPPED, number=1) in row.remarks
    assert only(rows, "axis_effect", axis="actors").n_items == 3


def by_rule(rows: list[ResultRow]) -> dict[str, float | None]:
    named = [row for row in rows if row.metric == "panel_contrast_by_rule"]
    return {row.scope["rule"]: row.estimate for row in named}


def test_a_change_of_the_panel_is_made_by_every_rule(database: str) -> None:
    lab = Lab(database)
    lab.documents([None] * 2)
    shared = {"rubric": SHARED, "scoring_method": "subset"}
    # raw: {1} and {1, 2} on both; neutralized: {1, 2} and {2, 3} on one, {1} and {4} on the other.
    for model, raw, neutral in (
        (ALPHA, [[1], [1]], [[(1, 2)], [1]]),
        (BETA, [[(1, 2)], [(1, 2)]], [[(2, 3)], [4]]),
    ):
        lab.own(model, raw, evidence_view="raw", **shared)
        lab.own(model, neutral, **shared)
    rows = lab.analyse()

    # Linear pool: from 1.25 to 2 and to 2.5, in thirds of the scale.
    pooled = only(rows, "panel_contrast")
    assert pooled.estimate == pytest.approx((0.75 + 1.25) / 2 / 3)
    assert (pooled.scope["from"], pooled.scope["to"]) == ("raw", "neutralized")
    found = by_rule(rows)
    # Dempster: from stage 1 to stage 2 on the first item, nothing on the second.
    assert found["dempster"] == pytest.approx(1 / 3)
    # Yager: as Dempster on the first, from 1 to the middle of the scale on the second.
    assert found["yager"] == pytest.approx((1 + 1.5) / 2 / 3)
    rules = len(found) + 1
    assert only(rows, "panel_contrast_same_sign").estimate == 1
    assert only(rows, "panel_contrast_same_sign").n == rules
    # Two items that differ little by the linear pool: its t interval holds 0, and so do others.
    assert (pooled.lower or 0) < 0


def test_a_judge_without_a_verdict_at_one_level_is_not_in_the_panel(database: str) -> None:
    lab = Lab(database)
    lab.documents([None] * 2)
    for model in (ALPHA, BETA, "acme/gamma-1"):
        lab.own(model, [[1], [2]], evidence_view="raw", rubric=SHARED)
    lab.own(ALPHA, [[2], [3]], rubric=SHARED)
    lab.own(BETA, [[2], [3]], rubric=SHARED)
    lab.own("acme/gamma-1", [["abstained"], ["abstained"]], rubric=SHARED)
    row = only(lab.analyse(), "panel_contrast")
    assert (row.estimate, row.n) == (pytest.approx(1 / 3), 8)


def test_one_judge_is_no_panel(database: str) -> None:
    lab = Lab(database)
    lab.documents([None] * 2)
    lab.own(ALPHA, [[1], [2]], evidence_view="raw")
    lab.own(ALPHA, [[2], [3]])
    assert only(lab.analyse(), "panel_contrast").because.startswith("it needs two judges")


def test_a_contrast_of_other_items_is_refused_with_the_difference(database: str) -> None:
    lab = Lab(database)
    lab.documents([None] * 3)
    lab.own(ALPHA, [[1], [2], [3]], evidence_view="raw")
    lab.own(ALPHA, [[2], [2], [3]], evidence_view="raw", abstain=False)
    with Session(lab.engine) as session, session.begin():
        # A fault: the window changed after the first two were frozen.
        of_last = sa.select(t.Document).where(t.Document.position == 2)
        columns = {
            column.name: getattr(session.scalars(of_last).one(), column.name)
            for column in t.Document.__table__.columns
            if column.name != "id"
        }
        more = {"position": 3, "key": "new", "url": "file:n", "canonical_url": "file:n"}
        session.add(t.Document(**{**columns, **more}))
    lab.own(ALPHA, [[1], [2], [2], [3]], evidence_view="cleaned")
    rows = lab.analyse()
    kept = only(rows, "contrast", axis="abstain")
    assert kept.estimate is not None
    refused = only(rows, "contrast", axis="evidence_view")
    assert refused.estimate is None
    assert re.search(
        r"do not hold the same items: raw 3 \([0-9a-f]{16}\), cleaned 4 \(", refused.because
    )
    pooled = only(rows, "axis_effect", axis="evidence_view")
    assert (pooled.estimate, pooled.because) == (None, refused.because)
    assert only(rows, "axis_effect", axis="abstain").estimate == kept.estimate
