"""What the plots of a report show, from rows in a real database, and what is left out and why."""

from typing import Any

import pytest
from sqlalchemy.orm import Session

from judge_gym.analysis.data import load_sweep_data
from judge_gym.analysis.plotted import Overlap
from judge_gym.report.page import read_report, render_page
from judge_gym.report.plots.content import read_plots
from judge_gym.report.plots.content_of_verdicts import MAX_ITEMS, OVERVIEW
from judge_gym.report.plots.plot import ALL_ITEMS, Plot
from judge_gym.store.results import ResultRow, latest_run
from support.lab import SWEEP, Lab, labels, rubric

pytestmark = pytest.mark.slow

COMMON = {"rubric": {"provided": rubric(*labels(4))}}
ALPHA, BETA = "acme/alpha-1", "bolt/beta-1"


def plots_of(lab: Lab) -> dict[str, Plot]:
    """The plots of the lab's sweep by their kind, that of the first screen by its own name."""
    figures = lab.analyse()
    with Session(lab.engine) as session:
        plots = read_plots(session, SWEEP, load_sweep_data(session, SWEEP), figures)
    return {OVERVIEW if plot.beside == OVERVIEW else plot.kind: plot for plot in plots}


def rows_of(plot: Plot) -> list[dict[str, Any]]:
    """The rows of a plot's only panel."""
    [panel] = plot.panels
    return [dict(row) for row in panel.rows]


def test_cells_have_the_floor_of_their_own_verdicts(database: str) -> None:
    lab = Lab(database)
    lab.documents([None] * 2)
    lab.own(ALPHA, [[2] * 5, [1] * 5], **COMMON)
    lab.own(BETA, [[2] * 5, [4] * 5], **COMMON)
    plot = plots_of(lab)["heat_map"]
    apart, equal, overall = rows_of(plot)
    assert {row["pair"] for row in rows_of(plot)} == {"alpha and beta"}
    # Five of one stage and five of another: of the 252 ways to deal them, 2 set them apart, and a
    # deal of k to 5 - k diverges by 1 - H(k/5), on average 0.0861 bits.
    assert (apart["divergence"], apart["beyond"]) == (1.0, True)
    assert apart["floor"] == pytest.approx(0.0861, abs=0.03)
    assert apart["p"] < 0.05
    # Ten of one stage cannot be dealt apart.
    assert (equal["divergence"], equal["floor"], equal["p"]) == (0.0, 0.0, 1.0)
    assert not equal["beyond"]
    assert (overall["item"], overall["divergence"]) == (ALL_ITEMS, 0.5)
    assert sorted([apart["item"], equal["item"]]) == ["Document 0", "Document 1"]


def test_the_first_screen_shows_the_item_furthest_above_its_floor(database: str) -> None:
    """Equal verdicts, verdicts that stand apart, and some that overlap by chance."""
    lab = Lab(database)
    lab.documents([None] * 3)
    lab.own(ALPHA, [[2] * 5, [1] * 5, [1, 2, 1, 2, 3]], **COMMON)
    lab.own(BETA, [[2] * 5, [4] * 5, [2, 1, 3, 1, 2]], **COMMON)
    plots = plots_of(lab)
    shown = plots[OVERVIEW]
    assert [(row["judge"], row["category"]) for row in rows_of(shown) if row["share"]] == [
        (ALPHA, 1),
        (BETA, 4),
    ]
    widest = rows_of(plots["heat_map"])[0]["item"]
    assert shown.panels[0].heading == widest
    assert "1.00 bits apart" in shown.panels[0].says
    with Session(lab.engine) as session:
        run = latest_run(session, SWEEP)
        assert run is not None
        page = render_page(read_report(session, run.id))
    target = shown.link.removeprefix("#").partition("?")[0]
    document = page[page.index(f'id="{target}"') :]
    assert f"<strong>{widest}</strong>" in document[:200]
    bar = f"#{target}?concept=order&amp;judge=acme%2Falpha-1&amp;outcome=scored"
    assert f'<a href="{bar}" aria-label="Item and answers: order, {ALPHA}, scored">' in page


def test_draws_of_a_rubric_for_each_sample_are_one_picture(database: str) -> None:
    """Each of five draws has one verdict of an item: over all of them there are five."""
    lab = Lab(database)
    lab.documents([None] * 2)
    for draw in range(5):
        for model, stages in ((ALPHA, (2, 1)), (BETA, (2, 4))):
            verdicts = [[stage] for stage in stages]
            probes = [[0.75], [0.5]]
            lab.own(model, verdicts, probes=probes, rubric={"kind": "own"}, rubric_draw=draw)
    plots = plots_of(lab)
    apart, equal, overall = rows_of(plots["heat_map"])
    assert (apart["divergence"], apart["beyond"]) == (1.0, True)
    assert (equal["divergence"], overall["divergence"]) == (0.0, 0.5)
    shares = {(row["judge"], row["category"]): row["share"] for row in rows_of(plots[OVERVIEW])}
    assert (shares[ALPHA, 1], shares[BETA, 4]) == (1.0, 1.0)
    stated = {row["nearest"]: row for row in rows_of(plots["reliability"])}
    # Stated on the first item 3/4, where all verdicts are the same, and on the other 1/2.
    assert {at: row["realised"] for at, row in stated.items()} == {0.75: 1.0, 0.5: 0.0}
    assert {row["probes"] for row in stated.values()} == {5}


def test_the_items_furthest_apart_are_shown_of_many(database: str) -> None:
    lab = Lab(database)
    lab.documents([None] * (MAX_ITEMS + 2))
    lab.own(ALPHA, [[1] * 5] * (MAX_ITEMS + 2), **COMMON)
    lab.own(BETA, [[4] * 5] * MAX_ITEMS + [[1] * 5] * 2, **COMMON)
    apart = ResultRow(
        metric="polarization_pair",
        scope={
            "concept": "order",
            "country": "Freedonia",
            "window": "spring",
            "rubric": "provided",
            "pair": "alpha and beta",
        },
        **dict.fromkeys(("lower", "upper", "p", "p_adjusted")),
        estimate=40 / 42,
        floor=0.08,
        n=420,
        n_items=42,
        simulated=False,
        **dict.fromkeys(("unit", "method"), ""),
    )
    with Session(lab.engine) as session:
        plot = read_plots(session, SWEEP, load_sweep_data(session, SWEEP), [apart])[0]
    rows = rows_of(plot)
    assert [row["divergence"] for row in rows[:-1]] == [1.0] * MAX_ITEMS
    assert len({row["item"] for row in rows}) == MAX_ITEMS + 1
    assert plot.notes == ("Shown: the 40 of 42 items on which P is largest.",)


def test_shares_are_of_all_samples_whatever_became_of_them(database: str) -> None:
    lab = Lab(database)
    lab.documents([None] * 2)
    lab.own(ALPHA, [[4] * 5, [2, 2, 2, "abstained", "failed"]], **COMMON)
    plot = plots_of(lab)["distributions"]
    assert {row["category"]: row["share"] for row in rows_of(plot)} == {
        1: 0.0,
        2: 0.3,
        3: 0.0,
        4: 0.5,
        "abstained": 0.1,
        "failed": 0.1,
    }
    assert plot.numbers is not None
    assert (ALPHA, "4", "0.50", "10") in [row.cells for row in plot.numbers.rows]


def test_sets_are_counted_by_judge_and_compared_on_the_same_item(database: str) -> None:
    lab = Lab(database)
    lab.documents([None] * 2)
    subset = {"scoring_method": "subset", **COMMON}
    lab.own(ALPHA, [[(1, 2), (1, 2)], [(1,), (1, 2)]], **subset)
    lab.own(BETA, [[(2,), (2,)], [(3, 4), (1,)]], **subset)
    plots = plots_of(lab)
    rows = rows_of(plots["subsets"])
    shares = {(row["judge"], row["stages"]): row["share"] for row in rows if "judge" in row}
    assert {key: share for key, share in shares.items() if share} == {
        (ALPHA, (1,)): 0.25,
        (ALPHA, (1, 2)): 0.75,
        (BETA, (1,)): 0.25,
        (BETA, (2,)): 0.5,
        (BETA, (3, 4)): 0.25,
    }
    overlaps = {(row["pair"], row["overlap"]): row["share"] for row in rows if "pair" in row}
    # On the first item {1,2} holds {2} every time; on the second {1} and {1,2} meet {3,4} and {1}.
    assert {
        key[1]: share for key, share in overlaps.items() if key[0] == f"{ALPHA} and {BETA}"
    } == {
        Overlap.SAME: 0.125,
        Overlap.NESTED: 0.625,
        Overlap.PARTLY: 0.0,
        Overlap.APART: 0.25,
    }
    alone = f"{ALPHA} with itself"
    assert overlaps[alone, Overlap.SAME] == overlaps[alone, Overlap.NESTED] == 0.5
    # A set counts in equal parts for its stages.
    of_alpha = [row for row in rows_of(plots["distributions"]) if row["judge"] == ALPHA]
    assert [row["share"] for row in of_alpha] == [0.625, 0.375, 0.0, 0.0]


def test_swapped_confidence_is_paired_by_item(database: str) -> None:
    lab = Lab(database)
    lab.documents([None] * 2)
    judge = lab.own(ALPHA, [[1], [2]], probes=[[0.8], [0.6]])
    lab.samples(lab.arm(judge, "swap", owner=BETA), [[1], [1]], probes=[[0.5], [0.5]])
    lab.samples(lab.arm(judge, "sham", owner=ALPHA), [[1]], probes=[[0.9]])
    plot = plots_of(lab)["swaps"]
    [panel] = plot.panels
    assert panel.heading == f"{ALPHA}, rival {BETA}"
    assert panel.says.startswith("rival's less own: -0.20")
    items = [row for row in panel.rows if "item" in row]
    assert sorted((row["arm"], row["confidence"]) for row in items) == [
        ("own", 0.6),
        ("own", 0.8),
        ("rival's", 0.5),
        ("rival's", 0.5),
        ("sham", 0.9),
    ]
    assert len({row["item"] for row in items}) == 2
    means = {row["arm"]: row for row in panel.rows if "item" not in row}
    assert means["own"]["confidence"] == pytest.approx(0.7)
    assert (means["rival's"]["confidence"], means["rival's"]["lower"]) == (0.5, None)
    assert means["sham"]["confidence"] == 0.9


def test_probes_are_set_against_the_other_judges_on_the_same_item(database: str) -> None:
    lab = Lab(database)
    lab.documents([None] * 2)
    lab.own(ALPHA, [[1, 1], [2, 2]], probes=[[0.8], [0.7]], **COMMON)
    lab.own(BETA, [[1, 2], [3, 3]], probes=[[0.3], [0.4]], **COMMON)
    rows = rows_of(plots_of(lab)["reliability"])
    found = [
        (row["judge"], round(row["stated"], 9), row["realised"], row["probes"]) for row in rows
    ]
    # Half of beta's verdicts on the first item are alpha's; on the second none.
    assert found == [(ALPHA, 0.75, 0.25, 2), (BETA, 0.3, 1.0, 1), (BETA, 0.4, 0.0, 1)]
    assert rows[1]["lower"] is None


def test_effects_of_axes_come_largest_first(database: str) -> None:
    lab = Lab(database)
    lab.documents([None] * 3)
    for setting, outcomes in (
        ({}, [[1], [1], [2]]),
        ({"prompt_order": "evidence_first"}, [[1], [2], [2]]),
        ({"abstain": False}, [[4], [4], [3]]),
    ):
        lab.own(ALPHA, outcomes, **COMMON, **setting)
    rows = rows_of(plots_of(lab)["forest"])
    assert [round(row["effect"], 6) for row in rows] == [-0.777778, 0.111111]
    assert [row["change"] for row in rows] == [
        "abstain: off → on",
        "prompt order: rubric_first → evidence_first",
    ]


def test_a_plot_that_the_data_cannot_give_is_left_out_with_the_reason(database: str) -> None:
    lab = Lab(database)
    lab.documents([None])
    lab.own(ALPHA, [[1]], **COMMON)
    plots = plots_of(lab)
    assert {kind: plot.missing for kind, plot in plots.items()} == {
        "heat_map": "it compares two judges of different families or more, and there is 1",
        "reliability": "no other judge scores these items under the same rubric",
        "swaps": "no judge was probed under a rival's rubric and its own: the sweep has no swap",
        "distributions": "",
        "subsets": "no judge was asked for sets of stages",
        "response": "no judge's items have a known answer, or another judge's verdicts",
        "effects_map": "no two experiments of a judge differ in one axis alone",
        "forest": "no two experiments of a judge differ in one axis alone",
        OVERVIEW: "no two families of judges judged the same item",
    }
    with Session(lab.engine) as session:
        run = latest_run(session, SWEEP)
        assert run is not None
        page = render_page(read_report(session, run.id))
    # The first screen has a picture or none; what else is missing says why.
    del plots[OVERVIEW]
    for plot in plots.values():
        assert plot.title in page
        assert not plot.missing or f"not estimable, because {plot.missing}" in page.replace(
            "&#39;", "'"
        )
    assert page.count("<svg ") == 1


def test_only_what_the_simulator_is_behind_is_marked_simulated(database: str) -> None:
    lab = Lab(database)
    lab.documents([None] * 2)
    lab.own("sim/calm-1", [[1] * 5, [2] * 5], simulated=True, evidence_view="raw", **COMMON)
    lab.own(ALPHA, [[1] * 5, [3] * 5], evidence_view="raw", **COMMON)
    plots = plots_of(lab)
    assert plots["heat_map"].simulated
    assert plots["distributions"].simulated
    assert not plots["swaps"].simulated
