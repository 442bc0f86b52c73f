"""Specification curves as shown: what is said of a claim, and what is drawn."""

from dataclasses import replace
from typing import Any

import pytest

from judge_gym.report.multiverse import (
    cells_table,
    claims_table,
    curves_of,
    least_settled,
    rule_cautions,
    sign_change_cautions,
    specification_plot,
)
from judge_gym.report.plots.svg import draw
from judge_gym.store.results import ResultRow

SCOPE = {"concept": "order", "country": "Freedonia", "window": "spring", "claim": "score"}


def row(metric: str, estimate: float | None, scope: dict[str, Any], **more: Any) -> ResultRow:
    blank = dict.fromkeys(("lower", "upper", "floor", "p", "p_adjusted"))
    given = {**blank, "n": 10, "n_items": 5, "unit": "", "method": "", "simulated": False, **more}
    return ResultRow(metric=metric, scope=scope, estimate=estimate, **given)


def claim(
    pair: str, values: list[float], *, same: float, against: float = 0.0, p: float = 0.01
) -> list[ResultRow]:
    """The rows of a claim with a cell per value, at wordings w0, w1, ..., of half-width 0.1."""
    scope = {**SCOPE, "pair": pair}
    cells = [
        row(
            "specification", value, {**scope, "wording": f"w{place}", "rubric": "provided"},
            lower=value - 0.1, upper=value + 0.1,
        )
        for place, value in enumerate(values)
    ]  # fmt: skip
    median = sorted(values)[len(values) // 2]
    return [
        *cells,
        row("specification_median", median, scope, p=p, p_adjusted=p),
        row("specification_same_sign", same, scope, floor=0.6, n=len(values)),
        row("specification_significant", 1 - against, scope, floor=0.05),
        row("specification_against", against, scope),
    ]


HELD = claim("a and b", [0.3, 0.2, 0.25], same=1.0)
TURNED = claim("a and c", [0.3, -0.2, 0.25], same=2 / 3, against=1 / 3)
UNSURE = claim("b and c", [0.3, 0.05, -0.01], same=2 / 3, p=0.2)


def test_what_is_said_of_a_claim_over_its_cells() -> None:
    curves = curves_of([*HELD, *TURNED, *UNSURE])
    assert [curve.verdict for curve in curves] == ["holds", "reverses", "open"]
    assert [curve.verdict for curve in least_settled(curves)] == ["reverses", "open", "holds"]


def test_one_sign_without_a_median_off_0_does_not_hold() -> None:
    (curve,) = curves_of(claim("a and b", [0.1, 0.2], same=1.0, p=0.06))
    assert curve.verdict == "open"


def test_the_table_keeps_the_claims_that_depend_on_choices() -> None:
    table = claims_table(curves_of([*HELD, *TURNED, *UNSURE]), most=2)
    assert [line.cells[1] for line in table.rows] == ["reverses", "open"]
    assert table.notes[0].startswith("1 more claim.")


def test_cells_stand_in_order_with_the_choices_that_vary() -> None:
    (curve,) = curves_of(TURNED)
    table = cells_table(curve, most=2)
    assert table.columns == ("wording", "estimate", "significant", "items")
    assert [line.cells[0] for line in table.rows] == ["w1", "w0"]
    assert "1 cell " in table.notes[0]


def test_the_picture_has_a_point_a_cell_and_a_row_a_level() -> None:
    plot = specification_plot([*HELD, *TURNED])
    assert plot.panels[0].heading.startswith("score: a less c")
    assert [one["estimate"] for one in plot.panels[0].rows] == [-0.2, 0.25, 0.3]
    svg = draw(plot.kind, plot.panels[0].rows, "curve-1", "what")
    assert all(f"wording: w{place}" in svg for place in range(3))
    assert "rubric" not in svg


def test_an_effect_that_changes_sign_is_a_caution() -> None:
    scope = {"axis": "judge", "from": "a", "to": "b", "moderator": "evidence_view"}
    scope |= {"lowest_at": "raw", "highest_at": "cleaned"}
    rows = [
        row("effect_over_levels", 0.0, scope, p=0.001, p_adjusted=0.01),
        row("effect_lowest", -0.2, scope, lower=-0.3, upper=-0.1),
        row("effect_highest", 0.2, scope, lower=0.1, upper=0.3),
    ]
    (caution,) = sign_change_cautions(rows)
    assert "judge a → b changes sign with evidence view: -0.20 [-0.30, -0.10] at raw" in caution
    assert not list(sign_change_cautions([replace(one, p_adjusted=0.06) for one in rows]))


def test_without_a_curve_the_picture_says_why() -> None:
    missing = row("specification_median", None, {}, because="it needs two cells")
    assert "two cells" in specification_plot([missing]).missing
    with pytest.raises(ValueError, match="no reason"):
        type(specification_plot([missing]))("specification_curve", "t", "h", "b")


def of_panel(
    axis: str, value: float, same: float, supported: float, half: float = 0.1
) -> list[ResultRow]:
    """The rows of a change of the panel by eight rules."""
    scope = {"concept": "order", "axis": axis, "from": False, "to": True}
    ends = {"lower": value - half, "upper": value + half}
    return [
        row("panel_contrast", value, scope, **ends),
        row("panel_contrast_same_sign", same, scope, n=8),
        row("panel_contrast_supported", supported, scope, n=8),
    ]


def test_changes_that_few_rules_support_are_said_the_frailest_first() -> None:
    rows = [
        *of_panel("abstain", 0.3, 1.0, 1.0),
        *of_panel("evidence_view", 0.2, 7 / 8, 4 / 8),
        *of_panel("shuffle_order", -0.2, 6 / 8, 1 / 8),
        *of_panel("concept", 0.05, 3 / 8, 0.0),  # not supported by the linear pool itself
    ]
    [said] = rule_cautions(rows)
    assert said.startswith("The rule that combines the judges decides 2 of 3 changes")
    frailest, next_one = said.split(": ", 1)[1].split("; ")
    assert frailest.startswith("shuffle order: off → on keeps its sign under 6 of 8 rules")
    assert [one[-1] for one in (frailest, next_one.partition(".")[0])] == ["1", "4"]


def test_where_every_rule_supports_what_the_linear_pool_does_nothing_is_said() -> None:
    firm, open_one = of_panel("abstain", 0.3, 1.0, 1.0), of_panel("concept", 0.05, 0.5, 0.0)
    assert not list(rule_cautions([*firm, *open_one]))


def test_the_same_change_in_two_settings_is_told_apart() -> None:
    rows = []
    for may, supported in ((True, 4 / 8), (False, 7 / 8)):
        found = of_panel("concept", 0.2, 1.0, supported)
        rows += [replace(one, scope={**one.scope, "abstain": may}) for one in found]
    [said] = rule_cautions(rows)
    assert "may abstain keeps its sign under 8 of 8 rules, its support under 4" in said
    assert "forced choice keeps its sign under 8 of 8 rules, its support under 7" in said
