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


def tiles(rows=(), claims=(), served: ServedSummary = NONE_SERVED) -> dict[str, tuple[str, str]]:
    return {tile.label: (tile.value, tile.says) for tile in trust_tiles(rows, claims, served)}


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
    claims = headlines([make_finding("supported", 0.3, (0.2, 0.4))])
    assert tiles(claims=claims)[DETECTABLE][0] == "0.14"


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
