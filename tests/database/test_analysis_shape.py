"""How judges use their scale, and what settings do to it, over all draws of a rubric."""

import pytest

from judge_gym.report.moves import largest_settings
from judge_gym.report.scale_use import scale_use
from judge_gym.report.tables import result_tables
from support.lab import Lab, only

ALPHA, BETA = "acme/alpha-1", "other/beta-1"
DRAWS = 3
ITEMS = 8


def drawn(lab: Lab, model: str, verdicts: list[object], **axes: object) -> None:
    """Judge each item once under each draw of an own rubric; draw d shifts the verdicts by none."""
    for draw in range(DRAWS):
        own = [[verdict] for verdict in verdicts[draw:] + verdicts[:draw]]
        lab.own(model, own, rubric={"kind": "own"}, rubric_draw=draw, **axes)


@pytest.fixture
def lab(database: str) -> Lab:
    lab = Lab(database)
    lab.documents([None] * ITEMS)
    forced = [1, 2, 3, 4, 1, 2, 3, 4]
    allowed = ["abstained", 2, "abstained", 4, "abstained", 2, 3, "abstained"]
    drawn(lab, ALPHA, forced, abstain=False)
    drawn(lab, ALPHA, allowed, abstain=True)
    drawn(lab, BETA, [2] * ITEMS, abstain=False)
    drawn(lab, BETA, [2] * ITEMS, abstain=True)
    return lab


def test_a_setting_is_compared_over_all_draws_of_the_rubric(lab: Lab) -> None:
    rows = lab.analyse()
    contrast = only(rows, "contrast_abstain_share", judge=ALPHA)
    # Four of eight verdicts of each draw became abstentions.
    assert contrast.estimate == pytest.approx(0.5)
    assert (contrast.n, contrast.n_items) == (2 * DRAWS * ITEMS, ITEMS)
    assert "rubric_draw" not in contrast.scope
    assert sorted(row.scope["judge"] for row in rows if row.metric == "contrast") == [ALPHA, BETA]
    # Beta never abstains: its share is compared with nothing.
    assert not [
        r for r in rows if r.metric == "contrast_abstain_share" and r.scope["judge"] == BETA
    ]


def test_a_level_of_one_replicate_is_a_replicate_and_has_no_rows(lab: Lab) -> None:
    rows = lab.analyse()
    shares = [row for row in rows if row.metric == "abstain_share"]
    assert len(shares) == 4  # two judges, with and without abstention
    assert not any("rubric_draw" in row.scope for row in shares)
    [alpha] = [row for row in shares if row.scope["judge"] == ALPHA and row.scope["abstain"]]
    assert (alpha.estimate, alpha.n) == (pytest.approx(0.5), DRAWS * ITEMS)
    assert only(rows, "expected_stage", judge=BETA, abstain=True).estimate == 2


def test_levels_with_replicates_have_rows_beside_those_over_all(database: str) -> None:
    lab = Lab(database)
    lab.documents([None] * 3)
    for draw, stage in enumerate((1, 4)):
        lab.own(ALPHA, [[stage, stage]] * 3, rubric={"kind": "own"}, rubric_draw=draw)
    found = {
        row.scope.get("rubric_draw"): row for row in lab.analyse() if row.metric == "mean_score"
    }
    assert {draw: row.estimate for draw, row in found.items()} == {
        None: pytest.approx(0.5),
        0: 0,
        1: 1,
    }


def test_the_regime_and_the_moves_stand_on_the_first_screen(lab: Lab) -> None:
    rows = lab.analyse()
    assert {
        row.scope["regime"] for row in rows if row.metric == "regime" and BETA in str(row.scope)
    } == {"compressed"}
    lines = {row.cells[0]: row.cells[2] for row in scale_use(rows).rows()}
    assert lines[BETA] == "compressed in 2 settings"
    moved = [row.cells for row in largest_settings(rows).rows() if "abstentions" in row.cells[0]]
    assert moved[0][0] == "abstain: off → on, share of abstentions"
    titles = [table.title for table in result_tables(rows)]
    assert titles.index("How judges use their scale") < titles.index("Regime of each judge")


def test_concepts_are_ranked_by_how_alike_judges_read_them(database: str) -> None:
    lab = Lab(database)
    lab.documents([None] * 4)
    verdicts = {
        # Alpha gives the middle alone, beta the ends: 1 apart in the middle, 0 in abstentions.
        "fascism": {ALPHA: [[2]] * 4, BETA: [[1], [4], [1], [4]]},
        # Half of the middle apart, and a quarter of the abstentions.
        "erosion": {ALPHA: [[2]] * 4, BETA: [[2], [1], [4], ["abstained"]]},
    }
    for concept, of_judge in verdicts.items():
        for model, given in of_judge.items():
            lab.own(model, given, concept=concept)
    # A setting that one concept alone has counts for neither.
    lab.own(ALPHA, [[4]] * 4, concept="fascism", abstain=False)
    rows = [row for row in lab.analyse() if row.metric == "concept_spread"]
    assert [row.scope["concept"] for row in rows] == ["erosion", "fascism"]
    assert [row.estimate for row in rows] == pytest.approx([(2 / 3 + 1 / 4) / 2, 1 / 2])
