"""Which settings move what: pooled over judges, and within judges where the pool shows nothing."""

from judge_gym.report.moves import largest_settings

ABSTAIN = {"axis": "abstain", "from": False, "to": True}


def contrast(make_row, judge: str, value: float, p: float, metric: str = "abstain_share"):
    name = f"contrast_{metric}" if metric else "contrast"
    ends = (value - 0.05, value + 0.05)
    return make_row(name, value, ends, scope={**ABSTAIN, "judge": judge}, p_adjusted=p)


def cells(rows):
    return [row.cells for row in largest_settings(rows).rows()]


def test_what_moves_judges_is_said_though_their_mean_is_open(make_row) -> None:
    rows = [
        make_row("axis_effect", 0.0, (-0.02, 0.02), scope=ABSTAIN),
        make_row("axis_effect_abstain_share", 0.3, (-0.1, 0.7), scope=ABSTAIN, p_adjusted=0.2),
        contrast(make_row, "a", 0.18, 0.01),
        contrast(make_row, "b", 0.45, 0.001),
        contrast(make_row, "c", 0.02, 0.6),
        contrast(make_row, "a", 0.01, 0.7, metric=""),
    ]
    assert cells(rows) == [
        ("abstain: off → on", "0.00 [-0.02, 0.02]", "no move shown"),
        ("abstain: off → on, share of abstentions", "0.02 to 0.45", "moved in 2 of 3 judges"),
    ]


def test_what_the_mean_over_judges_shows_is_said_once(make_row) -> None:
    rows = [
        make_row("axis_effect_abstain_share", 0.3, (0.2, 0.4), scope=ABSTAIN, p_adjusted=0.01),
        contrast(make_row, "a", 0.3, 0.01),
    ]
    assert [row[2] for row in cells(rows)] == ["moved"]


def test_a_change_of_which_no_mean_is_estimated_is_said(make_row) -> None:
    """Bundles of two plans are other items, and are not pooled over judges."""
    scope = {"axis": "bundles", "from": "random, 5", "to": "similar, 5", "judge": "a"}
    row = make_row("contrast_middle_mass", -0.26, (-0.4, -0.1), scope=scope, p_adjusted=0.01)
    [said] = cells([row])
    assert said == (
        "bundles: random, 5 → similar, 5, share between the ends, a",
        "-0.26 [-0.40, -0.10]",
        "moved in 1 of 1 judge",
    )


def test_an_axis_that_moves_nobody_is_said_once(make_row) -> None:
    rows = [contrast(make_row, "a", 0.1, 0.2, metric=""), contrast(make_row, "a", 0.3, 0.2)]
    assert cells(rows) == [("abstain: off → on", "0.10 [0.05, 0.15]", "no move shown in 1 judge")]
    pooled = make_row("axis_effect", 0.1, (-0.1, 0.3), scope=ABSTAIN)
    assert len(cells([pooled, *rows])) == 1


def test_the_choice_to_abstain_says_what_else_it_moves(make_row) -> None:
    """Where many axes vary, each has a line; abstentions alone would hide that verdicts moved."""
    effects = [("", 0.12, None), ("_abstain_share", 0.44, 0.01), ("_middle_mass", -0.1, 0.01)]
    rows = [
        make_row(f"axis_effect{name}", value, (value - 0.05, value + 0.05), scope=ABSTAIN,
                 p_adjusted=p)
        for name, value, p in effects
    ]  # fmt: skip
    other = {"axis": "scale_size", "from": 5, "to": 7}
    rows.append(make_row("axis_effect", 0.2, (0.1, 0.3), scope=other))
    found = largest_settings(rows)
    assert [row.metric for row in found.shown(0)] == [
        "axis_effect_abstain_share",
        "axis_effect",
        "axis_effect",
    ]
    assert [row.scope["axis"] for row in found.shown(0)] == ["abstain", "scale_size", "abstain"]
    assert "abstain: off → on, share of abstentions" in [row.cells[0] for row in found.rows(0)]


def test_one_line_names_what_moved_judges_though_their_mean_is_open(make_row) -> None:
    rows = [
        make_row("axis_effect", 0.0, (-0.02, 0.02), scope=ABSTAIN),
        contrast(make_row, "a", 0.18, 0.01),
        contrast(make_row, "b", 0.02, 0.6),
        contrast(make_row, "a", 0.2, 0.01, metric="middle_mass"),
    ]
    [line] = largest_settings(rows).rows(None)
    assert "no move shown; the largest: abstain: off → on 0.00" in line.heading
    assert line.heading.endswith(
        "; abstain: off → on, share between the ends, a 0.20 [0.15, 0.25] moved in 1 of 1 judge, "
        "and 1 other change"
    )
    shown = make_row("axis_effect_confidence", 0.3, (0.2, 0.4), scope=ABSTAIN)
    [line] = largest_settings([*rows, shown]).rows(None)
    assert line.heading.endswith("confidence 0.30 [0.20, 0.40]")
    [line] = largest_settings(rows[:1]).rows(None)
    assert line.heading.endswith("0.00 [-0.02, 0.02]")


def test_a_judge_whose_verdicts_moved_is_named_though_other_figures_moved_more(make_row) -> None:
    """Four contrasts of two judges on two concepts, as the mean over judges shows no move."""
    concepts = ("backsliding", "fascism")
    given = {
        ("b", ""): ((0.07, 0.02), (0.06, 0.02)),
        ("a", ""): ((-0.01, 0.8), (0.0, 0.9)),
        ("a", "abstain_share"): ((0.15, 0.01), (0.18, 0.01)),
        ("b", "abstain_share"): ((0.28, 0.01), (0.05, 0.1)),
        ("a", "middle_mass"): ((-0.2, 0.01), (-0.3, 0.01)),
        ("b", "middle_mass"): ((-0.2, 0.01), (-0.3, 0.01)),
    }
    rows = [make_row("axis_effect", 0.03, (-0.04, 0.11), scope=ABSTAIN)]
    for (judge, metric), of in given.items():
        for concept, (value, p) in zip(concepts, of, strict=True):
            row = contrast(make_row, judge, value, p, metric=metric)
            row.scope["concept"] = concept
            rows.append(row)
    found = cells(rows)
    assert found[0] == ("abstain: off → on", "0.03 [-0.04, 0.11]", "no move shown")
    assert found[1:] == [
        ("abstain: off → on, b", "0.06 to 0.07", "moved in 1 of 2 judges, 2 of 2 contrasts"),
        ("abstain: off → on, share between the ends", "-0.30 to -0.20",
         "moved in 2 of 2 judges, 4 of 4 contrasts"),
        ("abstain: off → on, share of abstentions", "0.05 to 0.28",
         "moved in 2 of 2 judges, 3 of 4 contrasts"),
    ]  # fmt: skip
    rows.append(contrast(make_row, "a", 0.09, 0.01, metric=""))
    assert "abstain: off → on, by judge" in [row[0] for row in cells(rows)]
    assert len({row[0] for row in cells(rows)}) == len(cells(rows))


def crossed(make_row, axis: str, to: str, value: float, moderator: str = "abstain", **given):
    scope = {"axis": axis, "from": "first", "to": to, "moderator": moderator, "lowest_at": "x"}
    ends = (value - 0.05, value + 0.05)
    return make_row("effect_over_levels", value, ends, scope=scope, **given)


def test_the_largest_change_of_wording_draw_and_judge_is_beside_the_settings(make_row) -> None:
    """One change is there once for each axis that it is crossed with."""
    rows = [
        make_row("axis_effect", 0.0, (-0.02, 0.02), scope=ABSTAIN),
        crossed(make_row, "judge", "second", -0.2, p_adjusted=0.9),
        crossed(make_row, "judge", "third", 0.1),
        crossed(make_row, "judge", "third", 0.1, moderator="wording"),
        crossed(make_row, "wording", "second", 0.04),
        crossed(make_row, "abstain", "second", 0.5),
    ]
    assert cells(rows) == [
        ("abstain: off → on", "0.00 [-0.02, 0.02]", "no move shown"),
        ("wording: first → second", "0.04 [-0.01, 0.09]", "no move shown"),
        ("judge: first → second (largest of 2)", "-0.20 [-0.25, -0.15]", "moved"),
    ]
    [short] = largest_settings(rows).rows(None)
    assert "judge: first → second" in short.heading
