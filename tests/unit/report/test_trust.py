"""The tiles that say how far a report can be trusted, and the questions of its sections."""

from collections import Counter

import pytest

from judge_gym.analysis.registry import QUESTIONS
from judge_gym.formats import ABSENT
from judge_gym.metrics.estimate import Remark, RemarkKind
from judge_gym.metrics.hypotheses import HYPOTHESES, VALIDITY_CHECKS
from judge_gym.report.facts import ServedSummary
from judge_gym.report.headlines import headlines
from judge_gym.report.questions import sections
from judge_gym.report.tables import result_tables
from judge_gym.report.trust import (
    ABSTAINED,
    DETECTABLE,
    INDEPENDENT,
    READABLE,
    STABLE,
    trust_tiles,
)

NONE_SERVED = ServedSummary()


def tiles(rows=(), findings=(), served: ServedSummary = NONE_SERVED) -> dict[str, tuple[str, str]]:
    found = trust_tiles(rows, headlines(findings), served, findings)
    return {tile.label: (tile.value, tile.says) for tile in found}


def test_shares_are_weighted_by_judgements_and_name_the_worst_judge(make_row) -> None:
    """Of 300 and 100 judgements 0 and 20 are unreadable: 95% are readable, 80% of the second."""
    rows = [
        make_row("unparseable_rate", share, scope={"judge": judge}, n=n)
        for judge, share, n in (("a/a", 0.0, 300), ("b/b", 0.2, 100))
    ]
    rows.append(make_row("unparseable_rate", 1.0, scope={"judge": "a/a", "category": "x"}, n=300))
    value, says = tiles(rows)[READABLE]
    assert value == "95.0%"
    assert says == "of 400 answers hold a verdict; lowest 80% (b/b)"


def test_the_worst_judge_is_the_worst_over_all_its_settings(make_row) -> None:
    """The first has 10 unreadable of 200, 20 in 100 of one setting; the second 15 of 100."""
    rows = [
        make_row("unparseable_rate", share, scope={"judge": judge, "evidence_view": view}, n=n)
        for judge, view, share, n in (
            ("a/a", "raw", 0.2, 50),
            ("a/a", "summary", 0.0, 150),
            ("b/b", "raw", 0.15, 100),
        )
    ]
    assert tiles(rows)[READABLE][1] == "of 300 answers hold a verdict; lowest 85% (b/b)"


def test_judgements_of_a_rubric_draw_count_once(make_row) -> None:
    """Three draws of 100 judgements each are those 300 of which the pooled figure is."""
    draws = [
        make_row("unparseable_rate", share, scope={"judge": "a/a", "rubric_draw": draw}, n=100)
        for draw, share in enumerate((0.3, 0.0, 0.0))
    ]
    pooled = make_row("unparseable_rate", 0.1, scope={"judge": "a/a"}, n=300)
    assert tiles([pooled, *draws])[READABLE][1] == (
        "of 300 answers hold a verdict; lowest 90% (a/a)"
    )
    assert tiles(draws)[READABLE][1] == "of 300 answers hold a verdict; lowest 90% (a/a)"


def test_power_is_the_effect_that_four_in_five_intervals_would_exclude(make_finding) -> None:
    """An interval of 0.2 to 0.4 has a standard error of 0.1 / 1.96; 2.80 of these are 0.143."""
    found = [make_finding("supported", 0.3, (0.2, 0.4), n_items=10_001)]
    value, says = tiles(findings=found)[DETECTABLE]
    assert value == "0.14"
    assert says.startswith("beyond the first claim's margin")
    assert "correction" not in says


def test_power_is_of_all_figures_of_the_claim_after_correction(make_finding) -> None:
    """Of 10 figures each is tested at 0.5%: (2.807 + 0.842) / 1.960 of a half-width of 0.2.

    The supported figure is the most precise one; the widest decides. The check is another family.
    """
    planned = {"confirmatory": True, "n_items": 10_001, "p": 0.2}
    found = [make_finding("supported", 0.3, (0.25, 0.35), scope={"judge": "a/0"}, **planned)]
    found += [
        make_finding("inconclusive", 0.1, (0.1 - 0.02 * n, 0.1 + 0.02 * n),
                     scope={"judge": f"a/{n}"}, **planned)
        for n in (9, 10, 8, 7, 6, 5, 4, 3, 3)
    ]  # fmt: skip
    found.append(make_finding("supported", 0.0, (-0.01, 0.01), hypothesis="V4.variance", p=0.1))
    value, says = tiles(findings=found)[DETECTABLE]
    assert value == "0.37"
    assert "least precise of 10 figures" in says
    assert says.endswith("corrected over 10")


@pytest.mark.parametrize(("tests", "margin"), [(1, "0.16"), (10, "0.22")])
def test_power_of_an_equivalence_is_the_margin_that_is_shown(
    make_finding, tests: int, margin: str
) -> None:
    """12 items, half-width 0.1: an error of 0.1 / 2.201, times 2.201 (or 3.497) + 1.282.

    An effect beyond the margin would refute the claim, so that none is called detectable.
    """
    within = {"direction": "within", "hypothesis": "C1.score", "p": 0.2, "unit": "0-1 scale"}
    scope = {"axis": "abstain", "from": False, "to": True}
    found = [
        make_finding("inconclusive", 0.0, (-0.1, 0.1), scope=scope | {"judge": f"a/{n}"}, **within)
        for n in range(tests)
    ]
    value, says = tiles(findings=found)[DETECTABLE]
    assert value == margin
    assert "beyond" not in says
    assert "within 0.05" in says


def test_power_is_by_the_degrees_of_freedom_of_the_figure(make_row, make_finding) -> None:
    """With 2 degrees: an error of 0.1 / 4.303, times 4.303 + 1.282 = 0.130; 12 items give 0.158."""
    scope = {"axis": "abstain", "from": False, "to": True, "judge": "a/a"}
    row = make_row("contrast", 0.0, (-0.1, 0.1), scope=scope, df=2.0)
    found = [
        make_finding("inconclusive", 0.0, (-0.1, 0.1), scope=scope, direction="within",
                     hypothesis="C1.score", unit="0-1 scale")
    ]  # fmt: skip
    assert tiles([row], found)[DETECTABLE][0] == "0.13"
    assert tiles([], found)[DETECTABLE][0] == "0.16"


def test_drift_counts_groups_and_names_judges_that_another_model_answered_for(make_row) -> None:
    drifting = Remark(RemarkKind.DEPENDENT_REPLICATES)
    rows = [
        make_row("replicate_time_correlation", 0.3, scope={"concept": "a"}, remarks=(drifting,)),
        make_row("replicate_time_correlation_mixed", 0.0, scope={"concept": "b"}),
    ]
    value, says = tiles(rows, served=ServedSummary(2, 2, ("b/b",)))[STABLE]
    assert value == "1 of 2"
    assert "requested model" not in tiles(rows, served=ServedSummary(2, 2))[STABLE][1]
    assert says.endswith("another model than the requested one answered for b/b")


def test_the_fewest_votes_are_shown_with_their_interval(make_row) -> None:
    rows = [
        make_row("effective_votes", votes, (votes - 0.5, votes + 0.5), scope={"concept": concept})
        for concept, votes in (("order", 3.0), ("law", 1.9))
    ]
    value, says = tiles(rows)[INDEPENDENT]
    assert value == "1.9"
    assert "on law (lowest of 2)" in says
    assert says.endswith("[1.4, 2.4]")


@pytest.mark.parametrize("label", [READABLE, ABSTAINED, STABLE, INDEPENDENT, DETECTABLE])
def test_a_tile_without_figures_is_a_dash_and_says_why(label: str) -> None:
    value, says = tiles()[label]
    assert value == ABSENT
    assert says


def test_every_claim_belongs_to_one_question() -> None:
    claims = Counter(claim for question in QUESTIONS for claim in question.claims)
    assert claims == Counter(claim.key for claim in (*HYPOTHESES, *VALIDITY_CHECKS))


def test_a_section_opens_with_its_main_table_and_own_rubrics_follow(make_row) -> None:
    rows = [
        make_row(metric, 0.5, (0.4, 0.6), scope={"concept": "order"})
        for metric in ("polarization_mixed", "polarization", "polarization_ordinal")
    ]
    [section] = sections([], result_tables(rows), [])
    assert section.question.key == "stand-apart"
    assert section.table is not None
    assert section.table.title == "Polarization"
    assert [table.title for table in section.more_tables] == [
        "Polarization: own rubrics",
        "Polarization by distance",
    ]


def test_abstentions_are_of_the_judgements_in_which_a_judge_may_abstain(make_row) -> None:
    """Of 200 judgements that may abstain 33 do; 200 of forced choice would make it 8%."""
    rows = [
        make_row("abstention_rate", share, scope={"judge": judge, "abstain": allowed}, n=100)
        for judge, allowed, share in (
            ("a/a", True, 0.16),
            ("a/a", False, 0.0),
            ("b/b", True, 0.17),
            ("b/b", False, 0.0),
        )
    ]
    value, says = tiles(rows)[ABSTAINED]
    assert value == "16.5%"
    assert says.startswith("of 200 answers")
    assert says.endswith("; settings of forced choice are not counted")
    assert "forced choice" not in tiles(rows[::2])[ABSTAINED][1]
