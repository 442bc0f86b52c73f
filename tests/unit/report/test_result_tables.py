"""Result rows as tables: cells, groups, notes, reasons."""

import pytest

from judge_gym.formats import figure, number, p_value, ranged
from judge_gym.metrics.estimate import Remark, RemarkKind
from judge_gym.report.table import Row, Table
from judge_gym.report.tables import result_tables

ORDER = {"concept": "order", "country": "X", "window": "w", "rubric": "shared by acme/a-1"}
OWN = {**ORDER, "rubric": "own"}


def titled(tables: list[Table], title: str) -> Table:
    found = [table for table in tables if table.title == title]
    assert len(found) == 1, [table.title for table in tables]
    return found[0]


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (0.314159, 2, "0.31"),
        (0.0155, 3, "0.015"),  # binary 0.0155 lies just below the tie
        (-0.004, 2, "0.00"),
        (-0.006, 2, "-0.01"),
        (None, 2, "–"),
    ],
)
def test_numbers(value: float | None, digits: int, text: str) -> None:
    assert number(value, digits) == text


@pytest.mark.parametrize(
    ("p", "text"),
    [
        (0.0, "<0.001"),
        (0.00099, "<0.001"),
        (0.001, "0.001"),
        (0.0466, "0.047"),
        (0.1, "0.10"),
        (1.0, "1.00"),
        (None, "–"),
    ],
)
def test_p_values(p: float | None, text: str) -> None:
    assert p_value(p) == text


def test_a_figure_shows_its_interval_or_stands_alone(make_row) -> None:
    assert figure(make_row("m", 0.312, (0.224, 0.4))) == "0.31 [0.22, 0.40]"
    assert figure(make_row("m", 0.312)) == "0.31"
    assert figure(make_row("m")) == "–"


def test_polarization_stands_beside_its_floor_and_excess(make_row) -> None:
    rows = [
        make_row("polarization", 0.39, (0.29, 0.5), scope=ORDER, floor=0.13, p=0.0009, n=290),
        make_row("polarization_excess", 0.26, (0.18, 0.34), scope=ORDER),
        make_row("polarization", 0.65, (0.52, 0.78), scope={**ORDER, "concept": "chaos"}, p=0.02),
    ]
    table = titled(result_tables(rows), "Polarization")
    # Without the columns that no row has a value for: P corrected, in time.
    assert table.columns == ("group", "P", "floor P0", "P - P0", "p", "items", "verdicts")
    assert table.rows == (
        Row(
            (
                *("order", "0.39 [0.29, 0.50]", "0.13", "0.26 [0.18, 0.34]"),
                *("<0.001", "12", "290"),
            ),
            about=(("concept", "order"),),
        ),
        Row(
            ("chaos", "0.65 [0.52, 0.78]", "–", "–", "0.020", "12", "60"),
            about=(("concept", "chaos"),),
        ),
    )
    assert table.notes == ("All rows: rubric by acme/a-1.",)
    assert table.words == 1


def test_judges_stand_under_the_group_they_are_compared_in(make_row) -> None:
    subsets = {**ORDER, "scoring_method": "subset"}
    rows = [
        make_row("confidence", 0.5, scope={**scope, "judge": judge})
        for scope in ({**ORDER, "scoring_method": "single"}, subsets)
        for judge in ("acme/a-1", "acme/b-1")
    ]
    table = titled(result_tables(rows), "Confidence and overconfidence")
    assert table.columns[0] == "judge"
    assert [(heading, [row.cells[0] for row in rows]) for heading, rows in table.sections()] == [
        ("single stages", ["acme/a-1", "acme/b-1"]),
        ("subsets", ["acme/a-1", "acme/b-1"]),
    ]


def test_rows_at_the_defaults_do_not_stand_under_the_heading_of_others(make_row) -> None:
    rows = [
        make_row(metric, 0.5, scope={**ORDER, **who, "temperature": temperature})
        for temperature in (0.2, 1.0)
        for metric, who in (
            ("confidence", {"judge": "acme/a-1"}),
            ("krippendorff_alpha_ordinal", {}),
        )
    ]
    tables = result_tables(rows)
    by_judge = titled(tables, "Confidence and overconfidence")
    assert [row.heading for row in by_judge.rows] == ["temperature 0.2", "temperature 1.0"]
    by_group = titled(tables, "Agreement beyond chance")
    assert [row.cells[0] for row in by_group.rows] == ["temperature 0.2", "temperature 1.0"]


def test_settings_are_told_in_words_and_only_where_they_vary(make_row) -> None:
    fixed = {"randomize_labels": False, "shuffle_order": False, "abstain": False}
    free = {"randomize_labels": True, "shuffle_order": True, "abstain": False}
    rows = [
        make_row("confidence", 0.5, scope={**ORDER, **axes, "judge": "acme/a-1"})
        for axes in (fixed, free)
    ]
    table = titled(result_tables(rows), "Confidence and overconfidence")
    assert [row.heading for row in table.rows] == ["fixed display", "random display"]
    assert table.notes == ("All rows: order, rubric by acme/a-1, forced choice.",)


def test_two_provided_rubrics_of_one_concept_are_told_apart(make_row) -> None:
    def headings(*rubrics: tuple[str, str]) -> list[str]:
        rows = [
            make_row("confidence", 0.5, scope={"concept": c, "rubric": r, "judge": "acme/a-1"})
            for c, r in rubrics
        ]
        [table] = result_tables(rows)
        return [row.heading for row in table.rows]

    assert headings(("order", "provided 1111"), ("order", "provided 2222")) == [
        "provided rubric 1111",
        "provided rubric 2222",
    ]
    assert headings(("order", "provided 1111"), ("chaos", "provided 2222")) == ["order", "chaos"]


def test_own_rubrics_are_a_table_of_their_own_after_the_common_ones(make_row) -> None:
    rows = [
        make_row("polarization_mixed", 0.5, scope=OWN),
        make_row("confidence", 0.7, scope={**OWN, "judge": "acme/a-1"}),
        make_row("overconfidence_mixed", 0.1, scope={**OWN, "judge": "acme/a-1"}),
        make_row("polarization", 0.4, scope=ORDER),
    ]
    tables = result_tables(rows)
    assert [table.title for table in tables] == [
        "Polarization",
        "Polarization: own rubrics",
        "Confidence and overconfidence: own rubrics",
    ]
    assert tables[0].rows[0].cells[1] == "0.40"
    assert tables[2].rows[0].cells[:3] == ("acme/a-1", "0.70", "0.10")


def test_a_sham_stands_beside_every_swap_of_its_judge(make_row) -> None:
    judge = {**OWN, "judge": "acme/a-1"}
    rows = [
        make_row("swap_sensitivity", -0.2, scope={**judge, "rival": "b/b-1"}, p_adjusted=0.03),
        make_row("swap_sensitivity", -0.1, scope={**judge, "rival": "c/c-1"}, p_adjusted=0.4),
        make_row("sham_sensitivity", 0.01, scope=judge, p_adjusted=0.9),
        make_row("sham_sensitivity", 0.02, scope={**OWN, "judge": "d/d-1"}, p_adjusted=0.8),
    ]
    table = titled(result_tables(rows), "Swap sensitivity")
    assert [row.cells for row in table.rows] == [
        ("acme/a-1", "b/b-1", "-0.20", "0.030", "0.01", "0.90", "12"),
        ("acme/a-1", "c/c-1", "-0.10", "0.40", "0.01", "0.90", "12"),
        ("d/d-1", "", "–", "–", "0.02", "0.80", "–"),
    ]


def test_outcomes_that_never_happened_keep_their_interval(make_row) -> None:
    scope = {**ORDER, "judge": "acme/a-1", "arm": "own"}
    rows = [
        make_row("abstention_rate", 0.25, (0.14, 0.39), scope=scope, n=44, n_items=9),
        make_row("unparseable_rate", 1 / 48, (0.0, 0.11), scope=scope, n=48),
        make_row("refused_rate", 0.0, (0.0, 0.07), scope=scope, n=48),
        make_row("failed_rate", 0.0, (0.0, 0.07), scope=scope, n=48),
    ]
    abstained, others = result_tables(rows)
    assert abstained.columns == ("judge", "abstained", "judgements", "items")
    assert [row.cells for row in abstained.rows] == [("acme/a-1", "0.25 [0.14, 0.39]", "44", "9")]
    assert others.columns == ("judge", "unparseable", "refused", "failed", "samples")
    [line] = (row.cells for row in others.rows)
    assert line[1:] == ("0.02 [0.00, 0.11]", "0.00 [0.00, 0.07]", "0.00 [0.00, 0.07]", "48")
    # In the terminal only where something did go wrong.
    assert others.brief
    assert not result_tables([rows[2]])[0].brief


def test_the_arm_is_told_where_a_judge_has_several(make_row) -> None:
    rows = [
        make_row("abstention_rate", 0.1, scope={**ORDER, "judge": "acme/a-1", "arm": arm})
        for arm in ("own", "swap")
    ]
    table = titled(result_tables(rows), "Abstention")
    assert [row.cells[:2] for row in table.rows] == [("acme/a-1", "own"), ("acme/a-1", "swap")]


def test_a_contrast_says_what_changed(make_row) -> None:
    about = {"concept": "order", "judge": "acme/a-1"}
    view = {"axis": "evidence_view", "from": "raw", "to": "neutralized", **about}
    flag = {"axis": "shuffle_order", "from": False, "to": True, **about}
    rows = [make_row("contrast", -0.2, scope=scope) for scope in (view, flag)]
    table = titled(result_tables(rows), "Contrasts")
    assert [row.heading for row in table.rows] == [
        "evidence view: raw → neutralized",
        "shuffle order: off → on",
    ]


def test_cautions_and_missing_intervals_are_notes_and_the_rest_of_a_method_a_detail(
    make_row,
) -> None:
    rows = [
        make_row(
            "overconfidence",
            0.1,
            scope={**ORDER, "judge": f"acme/a-{items}"},
            method="mean over items, t interval",
            remarks=(Remark(RemarkKind.FEW_ITEMS, items, 30),),
            because="there is one item" if items == 1 else "",
        )
        for items in (14, 1, 24)
    ]
    table = titled(result_tables(rows), "Confidence and overconfidence")
    assert table.notes[1:] == (
        "1 figure has no interval, because there is one item.",
        "Caution: 1 to 24 items where 30 are advised.",
    )
    assert table.methods == ("overconfidence: mean over items, t interval",)


def test_reasons_are_grouped_however_many_figures_share_them(make_row) -> None:
    scopes = [{**ORDER, "judge": f"acme/a-{number}"} for number in range(5)]
    rows = [make_row("replicate_icc", scope=scope) for scope in scopes]
    rows += [make_row("brier_score", scope=scopes[0], because="it rains")]
    [table] = result_tables(rows)
    assert table.title == "Not estimable"
    assert [row.cells for row in table.rows] == [
        (
            "nothing was scored",
            "replicate icc",
            "acme/a-0 on order; acme/a-1 on order; acme/a-2 on order; 2 more",
            "5",
        ),
        ("it rains", "brier score", "acme/a-0 on order", "1"),
    ]


def test_what_a_whole_sweep_lacks_is_named_metric_by_metric(make_row) -> None:
    rows = [make_row(f"metric_{number}", scope={}) for number in range(5)]
    [table] = result_tables(rows)
    [line] = (row.cells for row in table.rows)
    assert line[1:] == ("metric 0; metric 1; metric 2; metric 3; metric 4", "the sweep", "5")


def test_a_regression_says_what_its_coefficients_are_compared_with(make_row) -> None:
    scope = {"regression": "ecc", "term": "evidence_view[raw]"}
    levels = Remark(RemarkKind.REFERENCES, names=("evidence_view cleaned", "model a/a-1"))
    [table] = result_tables(
        [make_row("regression", 0.1, scope=scope, method="least squares", remarks=(levels,))]
    )
    assert table.rows[0].cells[:3] == ("contested concepts (ecc)", "evidence view: raw", "0.10")
    assert "ecc: compared with evidence_view cleaned, model a/a-1." in table.notes
    assert table.methods == ("regression: least squares",)


def test_a_metric_that_no_table_knows_is_still_shown(make_row) -> None:
    row = make_row("brand_new", 0.5, (0.4, 0.6), scope={**ORDER, "judge": "acme/a-1"}, unit="bits")
    table = titled(result_tables([row]), "Other figures")
    assert table.rows[0].cells == ("acme/a-1", "brand new", "0.50 [0.40, 0.60]", "bits", "12")


def test_simulated_rows_mark_their_table_and_are_told_from_real_ones(make_row) -> None:
    def table(*simulated: bool) -> Table:
        rows = [
            make_row("confidence", 0.5, scope={**ORDER, "judge": f"a/{place}"}, simulated=one)
            for place, one in enumerate(simulated)
        ]
        return result_tables(rows)[0]

    assert not table(False, False).simulated
    assert table(True, True).simulated
    assert "source" not in table(True, True).columns
    both = table(True, False)
    assert both.simulated
    assert both.columns[:2] == ("judge", "source")
    assert [row.cells[1] for row in both.rows] == ["simulated", "real"]


def test_imported_judgements_are_marked_and_told_from_others(make_row) -> None:
    rows = [
        make_row("confidence", 0.5, scope={**ORDER, "judge": f"a/{place}"}, imported=one)
        for place, one in enumerate((True, False))
    ]
    [both] = result_tables(rows)
    assert both.marks == ("IMPORTED",)
    assert [row.cells[1] for row in both.rows] == ["imported", "real"]


def test_no_rows_make_no_tables() -> None:
    assert result_tables([]) == []


def test_what_few_replicates_do_to_polarization_stands_once_below_its_table(make_row) -> None:
    rows = [
        make_row(metric, 0.1, scope={**ORDER, "window": window}, method="mean", remarks=(remark,))
        for window in ("w", "v")
        for metric, remark in [
            ("polarization", Remark(RemarkKind.INDEPENDENT_REPLICATES)),
            ("polarization_excess", Remark(RemarkKind.TOO_LOW, advised=30)),
        ]
    ]
    table = titled(result_tables(rows), "Polarization")
    assert [note for note in table.notes if "Caution" in note] == [
        "Caution: polarization: P0 and p assume that replicates of a cell are independent of each "
        "other; polarization excess: P - P0 mostly understates divergence at fewer than 30 "
        "replicates (by a fifth or more at 5)."
    ]


def test_a_caution_names_its_figures_unless_it_is_of_all_of_the_table(make_row) -> None:
    def cautions(**items: int) -> list[str]:
        rows = [
            make_row(
                metric, 0.1, scope={**ORDER, "judge": "acme/a-1"}, method="mean",
                remarks=(Remark(RemarkKind.FEW_ITEMS, count, 30),) if count < 30 else (),
            )
            for metric, count in items.items()
        ]  # fmt: skip
        table = titled(result_tables(rows), "Confidence and overconfidence")
        return [note for note in table.notes if "Caution" in note]

    assert cautions(overconfidence=7, brier_score=7) == ["Caution: 7 items where 30 are advised."]
    assert cautions(confidence=60, overconfidence=7, brier_score=7) == [
        "Caution: overconfidence and brier score: 7 items where 30 are advised."
    ]
    assert cautions(overconfidence=7, brier_score=9) == [
        "Caution: overconfidence: 7 items where 30 are advised; brier score: 9 items where 30 are "
        "advised."
    ]


def test_small_variances_keep_two_digits(make_row) -> None:
    row = make_row("variance_component", 0.00123, (0, 0.0456), scope={**ORDER, "term": "item"})
    table = titled(result_tables([row]), "Where the variance is")
    assert "0.0012 [0, 0.046]" in table.rows[0].cells


@pytest.mark.parametrize(
    ("ends", "shown"),
    [
        ((0.0031, 0.2), "0.10 [0.003, 0.20]"),
        ((-0.2, -0.00004), "0.10 [-0.20, -0.00004]"),
        ((0.0, 0.2), "0.10 [0.00, 0.20]"),
        ((-0.001, 0.2), "0.10 [0.00, 0.20]"),
    ],
)
def test_an_end_that_decides_the_side_of_0_is_not_rounded_to_it(
    ends: tuple[float, float], shown: str
) -> None:
    assert ranged(0.1, *ends) == shown
