"""How judges use their scale, and what settings do to it, over all draws of a rubric."""

from dataclasses import replace

import pytest
from sqlalchemy.orm import Session

from judge_gym.analysis.data import load_sweep_data
from judge_gym.report.moves import largest_settings
from judge_gym.report.plots.content import read_plots
from judge_gym.report.plots.plot import Plot
from judge_gym.report.scale_use import scale_use
from judge_gym.report.tables import result_tables
from judge_gym.store.results import ResultRow
from support.lab import SWEEP, Lab, only

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


def curves_of(lab: Lab, rows: list[ResultRow]) -> Plot:
    with Session(lab.engine) as session:
        plots = read_plots(session, SWEEP, load_sweep_data(session, SWEEP), rows)
    return next(plot for plot in plots if plot.kind == "response")


def means(rows: list[ResultRow], judge: str) -> dict[str, float | None]:
    found = [r for r in rows if r.metric == "response_mean" and r.scope.get("judge") == judge]
    return {row.scope["reference"]: row.estimate for row in found}


def test_response_curves_are_stored_against_what_is_known_and_drawn_as_stored(
    database: str,
) -> None:
    lab = Lab(database)
    lab.documents([n / 10 for n in range(11)])
    known = {
        "task_type": "control",
        "scale_size": 5,
        "ground_truth": {"source": "made up", "per_item": True},
    }
    lab.own(ALPHA, [[n] for n in (1, 2, 2, 2, 3, 3, 4, 4, 5, 5, 5)], **known)
    lab.own(BETA, [[n] for n in (1, 1, 1, "abstained", 1, 5, 5, 5, 5, 5, 5)], **known)
    rows = lab.analyse()
    places = ["0.100", "0.300", "0.500", "0.700", "0.900"]
    assert means(rows, ALPHA) == dict(zip(places, [1.5, 2, 3, 4, 5], strict=True))
    assert means(rows, BETA) == dict(zip(places, [1, 1, 3, 5, 5], strict=True))
    assert {row.scope["part"] for row in rows if row.metric == "response_fit"} == {"what is known"}
    plot = curves_of(lab, rows)
    [panel] = plot.panels
    assert panel.says == "Against what is known."
    of_beta = [row for row in panel.rows if row["judge"] == BETA]
    assert [row["mean"] for row in of_beta if row["mean"]] == [1, 1, 3, 5, 5]
    assert len([row for row in of_beta if row["fitted"]]) == 11
    [told] = {(row["regime"], row["steepest"]) for row in of_beta}
    rise = only(rows, "steepest_rise", judge=BETA)
    assert told[1] == f"{rise.estimate:.2f} of the rise, line 0.20"
    # What is drawn is what is stored: nothing is computed for the page.
    moved = [replace(r, estimate=2.25) if r.metric == "response_mean" else r for r in rows]
    drawn = {row["mean"] for row in curves_of(lab, moved).panels[0].rows if row["mean"]}
    assert drawn == {2.25}


def test_without_known_answers_each_judge_is_drawn_against_the_others(database: str) -> None:
    lab = Lab(database)
    lab.documents([None] * 5)
    lab.own(ALPHA, [[1], [2], [3], [4], [4]], scale_size=4)
    lab.own(BETA, [[1], [1], [4], [4], [4]], scale_size=4)
    rows = lab.analyse()
    # Beta has 0, 0, 1, 1, 1 on the 0-1 scale: two places, each the middle of its fifth.
    assert means(rows, ALPHA) == {"0.100": 1.5, "0.900": pytest.approx(11 / 3)}
    assert {r.scope["part"] for r in rows if r.metric == "response_mean"} == {"the other judges"}
    # Nothing between the ends: points alone, and no share of a rise.
    assert only(rows, "steepest_rise", judge=ALPHA).estimate is None
    assert {row["steepest"] for row in curves_of(lab, rows).panels[0].rows} == {"no rise told"}


def test_a_judge_alone_has_no_curve_and_the_picture_says_why(database: str) -> None:
    lab = Lab(database)
    lab.documents([None] * 3)
    lab.own(ALPHA, [[1], [2], [3]])
    plot = curves_of(lab, lab.analyse())
    assert not plot.panels
    assert "another judge" in plot.missing


def test_curves_over_all_draws_of_a_rubric_are_drawn(lab: Lab) -> None:
    rows = lab.analyse()
    plot = curves_of(lab, rows)
    # Alpha is told apart by the items; beta gives one stage, and no curve rises with it.
    assert {panel.heading for panel in plot.panels} == {"forced choice", "may abstain"}
    drawn = {row["judge"] for panel in plot.panels for row in panel.rows}
    assert drawn <= {ALPHA, BETA}
    assert BETA in drawn
