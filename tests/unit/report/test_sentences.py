"""Findings in words: the verdict, the figure, how it lies to the margin, and nothing beyond."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from judge_gym.metrics.hypotheses import HYPOTHESES, VALIDITY_CHECKS
from judge_gym.report.files import plan_kinds
from judge_gym.report.findings import PHRASES, findings_table, sentences
from judge_gym.report.headlines import headlines
from judge_gym.seeds import canonical_json
from judge_gym.store.results import FindingRow

JUDGE = {"concept": "order", "judge": "acme/a-1"}


def test_every_hypothesis_and_check_has_words() -> None:
    assert list(PHRASES) == [one.key for one in (*HYPOTHESES, *VALIDITY_CHECKS)]


@pytest.mark.parametrize(
    ("conclusion", "figure", "fields", "end"),
    [
        ("supported", (0.27, (0.19, 0.36)), {}, "0.27 [0.19, 0.36] {}, wholly above the margin"),
        ("refuted", (-0.02, (-0.06, 0.02)), {}, "-0.02 [-0.06, 0.02] {}, wholly at or below the"),
        (
            "inconclusive",
            (0.06, (-0.02, 0.14)),
            {},
            "0.06 [-0.02, 0.14] {}; anything from -0.02 to 0.14 is still possible, on either side "
            "of the margin",
        ),
        (
            "inconclusive",
            (0.27, (0.06, 0.36)),
            {"p": 0.03, "p_adjusted": 0.09},
            "0.27 [0.06, 0.36] {}; the interval alone would decide, but p is 0.090 after "
            "Benjamini-Hochberg over 1.",
        ),
        (
            "inconclusive",
            (0.27, None),
            {"reason": "no interval, because there is one item"},
            "0.27 {}; no interval, because there is one item, so that nothing is decided.",
        ),
    ],
)
def test_one_figure_is_one_sentence(
    make_finding, conclusion: str, figure: tuple[Any, Any], fields: dict[str, Any], end: str
) -> None:
    [said] = sentences([make_finding(conclusion, *figure, **fields)])
    head = f"H1, entrenchment, is {conclusion} (exploratory): for all judges on order, "
    words = "bits further apart than chance would show"
    assert said.startswith(f"{head}judge families stand {end.format(words)}")


def test_what_cannot_be_tested_says_why_once(make_finding) -> None:
    reason = "there is one judge"
    findings = [make_finding("not testable here", reason=reason) for _ in range(2)]
    assert sentences(findings) == [
        "H1, entrenchment, is not testable here, because there is one judge."
    ]


def test_what_cannot_be_tested_comes_after_what_can(make_finding) -> None:
    later = replace(make_finding("supported", 0.3, (0.2, 0.4)), hypothesis="V1.polarization")
    said = sentences([make_finding("not testable here", reason="it is silent"), later])
    assert [one.partition(",")[0] for one in said] == ["V1.polarization", "H1"]


def test_figures_of_one_judge_are_told_apart_by_their_rubrics(make_finding) -> None:
    findings = _two_rubrics(make_finding)
    [said] = sentences(findings)
    assert "(acme/a-1 on order, own rubric); at the highest" in said
    assert "(acme/a-1 on order, rubric by acme/a-2)" in said
    rows = findings_table(findings, "").rows
    assert [row.cells[0] for row in rows] == [
        "acme/a-1 on order, own rubric",
        "acme/a-1 on order, rubric by acme/a-2",
    ]


def test_the_table_says_each_reason_once_and_how_many_more_it_holds_for(make_finding) -> None:
    silent = make_finding("not testable here", reason="it is silent")
    notes = findings_table([*_two_rubrics(make_finding), silent, silent], "").notes
    assert notes[1:] == ("H1: 2 more are not testable here, because it is silent.",)
    assert findings_table([silent, silent], "").notes[1:] == (
        "H1: not testable here, because it is silent.",
    )


def _two_rubrics(make_finding: Callable[..., FindingRow]) -> list[FindingRow]:
    return [
        make_finding("supported", value, (value - 0.1, value + 0.1), scope={**JUDGE, "rubric": of})
        for value, of in ((0.3, "own"), (0.4, "shared by acme/a-2"))
    ]


def test_figures_that_disagree_decide_nothing_together(make_finding) -> None:
    findings = [
        make_finding("supported", 0.3, (0.2, 0.4), scope={**JUDGE, "judge": "acme/a-2"}),
        make_finding("refuted", -0.1, (-0.2, 0.0), scope=JUDGE),
        make_finding("inconclusive", 0.05, (0.0, 0.1)),
        make_finding("not testable here"),
    ]
    [said] = sentences(findings)
    assert said == (
        "H1, entrenchment, has mixed results (exploratory): of 3 figures, 1 supports it, "
        "1 refutes it and 1 is inconclusive. At the lowest, judge families stand "
        "-0.10 [-0.20, 0.00] bits further apart than chance would show (acme/a-1 on order); at "
        "the highest, it is 0.30 [0.20, 0.40] (acme/a-2 on order); the claim is above the margin "
        "of 0.05."
    )


def test_figures_that_agree_decide_together(make_finding) -> None:
    findings = [make_finding("refuted", value, (value, value)) for value in (0.0, 0.01, 0.02)]
    [said] = sentences(findings)
    assert said.startswith("H1, entrenchment, is refuted in all 3 figures (exploratory). At the")


def test_the_parts_of_a_benchmark_do_not_speak_for_the_whole(make_finding) -> None:
    part = make_finding("refuted", 0.0, (0.0, 0.01), scope={**JUDGE, "category": "law"})
    [said] = sentences([make_finding("supported", 0.3, (0.2, 0.4), scope=JUDGE), part])
    assert said.startswith("H1, entrenchment, is supported (exploratory): for acme/a-1 on order")


def test_figures_without_an_interval_are_counted(make_finding) -> None:
    findings = [make_finding("inconclusive", 0.1), make_finding("inconclusive", 0.1, (0.0, 0.2))]
    [said] = sentences(findings)
    assert "; 1 of them has no interval. At the lowest" in said


def test_what_a_plan_confirms_is_told_apart_from_what_explores(make_finding) -> None:
    findings = [
        make_finding("refuted", 0.0, (-0.1, 0.01)),
        make_finding("supported", 0.2, (0.1, 0.3), confirmatory=True),
    ]
    first, second = sentences(findings)
    assert first.startswith("H1, entrenchment, is supported (confirmatory)")
    assert second.startswith("H1, entrenchment, is refuted (exploratory)")


@pytest.mark.parametrize(
    ("fields", "end"),
    [
        ({"hypothesis": "V3.chance", "margin": 0, "reference": 0.5}, "the chance level of 0.50."),
        (
            {"hypothesis": "V3.published", "direction": "within", "reference": 0.66},
            "wholly within 0.05 of 0.66.",
        ),
        ({"hypothesis": "V2", "margin": 0.0}, "wholly above 0."),
        ({"hypothesis": "H3", "direction": "below", "margin": -0.05}, "the margin of -0.05."),
    ],
)
def test_the_margin_is_named_as_what_it_is(make_finding, fields: dict[str, Any], end: str) -> None:
    [said] = sentences([make_finding("supported", 0.64, (0.62, 0.67), **fields)])
    assert said.endswith(end)


CHANGED = {"axis": "abstain", "from": False, "to": True, "judge": "acme/a-1", "concept": "order"}


@pytest.mark.parametrize(
    ("fields", "question", "claim"),
    [
        ({}, "Does abstain: off → on raise the share of abstentions?", "above 0.05"),
        ({"direction": "below", "margin": -0.1}, "lower the share of abstentions?", "below -0.10"),
        ({"direction": "within"}, "leave the share of abstentions as it is?", "within 0.05 of"),
        ({"margin": -0.1}, "keep the share of abstentions from falling?", "above -0.10"),
        ({"direction": "below"}, "keep the share of abstentions from rising?", "below 0.05"),
    ],
)
def test_a_planned_contrast_is_a_question_that_is_answered_by_its_conclusion(
    make_finding: Callable[..., FindingRow], fields: dict[str, Any], question: str, claim: str
) -> None:
    given = {"hypothesis": "C1.abstain_share", "scope": CHANGED, "unit": "share", "planned": True}
    found = make_finding("supported", 0.3, (0.2, 0.4), confirmatory=True, **(given | fields))
    [headline] = headlines([found])
    assert headline.question.endswith(question)
    assert headline.claim.startswith(claim)
    assert headline.label == "acme/a-1 on order"
    [sentence] = sentences([found])
    assert sentence.startswith("C1.abstain_share, planned contrast, is supported (planned)")
    assert "abstain: off → on moves the share of abstentions by 0.30 [0.20, 0.40]" in sentence


def test_the_csv_marks_the_contrast_that_a_plan_names(
    make_finding: Callable[..., FindingRow],
) -> None:
    given = {"hypothesis": "C2.set_size", "scope": CHANGED, "unit": "stages", "planned": True}
    found = make_finding("supported", 0.3, (0.2, 0.4), confirmatory=True, **given)
    # The size of sets is their width, in stages.
    key = ("contrast_set_width", canonical_json(CHANGED))
    assert plan_kinds([found]) == {key: "planned"}
