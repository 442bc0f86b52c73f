"""The headlines: a dozen rows that never say more than the findings they stand for."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from deployments.cli import results
from judge_gym.metrics.hypotheses import HYPOTHESES, VALIDITY_CHECKS
from judge_gym.report import scale_use
from judge_gym.report.findings import distinct_labels, sentences
from judge_gym.report.headline_tables import (
    CHECKS,
    headline_plot,
    headline_table,
    shorter_table,
)
from judge_gym.report.headlines import answers, headlines
from judge_gym.report.moves import largest_settings
from judge_gym.report.page import Report
from judge_gym.report.scale_use import ScaleUse
from judge_gym.report.summary import Summary, abstention_cautions
from judge_gym.report.table import Table
from judge_gym.report.undecided import undecided
from judge_gym.store.results import FindingRow
from support.report_pages import report


def rows(table: Table) -> list[tuple[str, ...]]:
    return [row.cells for row in table.rows]


def judge(name: str, concept: str = "order") -> dict[str, str]:
    return {"judge": name, "concept": concept}


def test_few_findings_of_a_claim_have_a_row_each(make_finding) -> None:
    found = [
        make_finding("supported", 0.3, (0.2, 0.4), scope=judge("a/a")),
        make_finding("inconclusive", 0.1, (0.0, 0.2), scope=judge("b/b")),
    ]
    assert rows(headline_table(headlines(found))) == [
        ("a/a on order", "0.30 [0.20, 0.40]", "supported"),
        ("b/b on order", "0.10 [0.00, 0.20]", "inconclusive"),
    ]


def test_many_findings_of_a_claim_have_a_row_per_conclusion(make_finding) -> None:
    given = [("supported", 0.3), ("inconclusive", 0.2), ("supported", 0.5), ("inconclusive", 0.1)]
    found = [
        make_finding(conclusion, value, (value - 0.1, value + 0.1), scope=judge(f"j/{place}"))
        for place, (conclusion, value) in enumerate(given)
    ]
    assert rows(headline_table(headlines(found))) == [
        ("j/0, j/2 on order", "0.30 to 0.50", "supported"),
        ("j/1, j/3 on order", "0.10 to 0.20", "inconclusive"),
    ]


def test_rows_name_the_level_of_the_axis_in_which_they_differ(make_finding) -> None:
    orders = ("rubric_first", "evidence_first")
    pooled = [
        make_finding(
            "supported", 0.3, (0.2, 0.4), scope={"concept": "order", "prompt_order": level}
        )
        for level in orders
    ]
    assert [row.label for row in headlines(pooled)] == [
        "all judges on order, rubric first",
        "all judges on order, evidence first",
    ]
    single = [
        make_finding(conclusion, 0.3, (0.2, 0.4), scope={**judge(name), "prompt_order": level})
        for conclusion, level in zip(("inconclusive", "supported"), orders, strict=True)
        for name in ("a/a", "b/b")
    ]
    assert [(row.label, row.conclusion) for row in headlines(single)] == [
        ("a/a, b/b on order, evidence first", "supported"),
        ("a/a, b/b on order, rubric first", "inconclusive"),
    ]


def test_a_level_at_its_default_is_named_beside_other_judges_at_another(make_finding) -> None:
    levels = (("a/a", 0.3), ("a/a", 1.0), ("b/b", 1.0))
    found = [
        make_finding("supported", 0.3, (0.2, 0.4), scope={**judge(name), "temperature": level})
        for name, level in levels
    ]
    # b/b was only tested at 1, the default.
    assert distinct_labels(found) == [
        f"{name} on order, temperature {level}" for name, level in levels
    ]


def test_figures_that_differ_in_more_than_the_judge_are_counted(make_finding) -> None:
    given = [("supported", "a/a", "own"), ("supported", "b/b", "provided"),
             ("refuted", "a/a", "provided"), ("refuted", "b/b", "own")]  # fmt: skip
    found = [
        make_finding(conclusion, 0.3, (0.2, 0.4), scope={**judge(name), "rubric": rubric})
        for conclusion, name, rubric in given
    ]
    assert [row.label for row in headlines(found)] == ["2 of 4 figures on order"] * 2


def test_settings_that_changed_are_named_with_their_effect_largest_first(make_row) -> None:
    scopes = [{"axis": "prompt_order", "from": "rubric_first", "to": level} for level in "abcd"]
    values = zip(scopes, (0.05, -0.3, 0.01, 0.2), (0.1, 0.1, 0.1, 0.3), strict=True)
    effects = largest_settings(
        [
            make_row("axis_effect", value, (value - half, value + half), scope=scope)
            for scope, value, half in values
        ]
    )
    assert [row.cells[1:] for row in headline_table([], effects).rows] == [
        ("-0.30 [-0.40, -0.20]", "moved"),
        ("0.20 [-0.10, 0.50]", "no move shown"),
        ("0.05 [-0.05, 0.15]", "no move shown"),
    ]


def test_every_axis_that_varies_has_its_figure_however_short_the_table(make_row) -> None:
    """Five axes with two changes each: the larger one of each stands in every table."""
    names = ("evidence_view", "abstain", "prompt_order", "temperature", "actors")
    rows = [
        make_row("axis_effect", value, (value - 0.1, value + 0.1),
                 scope={"axis": name, "from": "a", "to": to})
        for place, name in enumerate(names)
        for to, value in (("b", 0.01 * place), ("c", -0.3 + 0.01 * place))
    ]  # fmt: skip
    lost = make_row("axis_effect", None, (None, None), scope={"axis": "top_p", "from": 1, "to": 2})
    effects = largest_settings([lost, *rows])
    named = [f"{name.replace('_', ' ')}: a → c" for name in names]
    for table in (
        headline_table([], effects),
        headline_table([], effects, most=1),
        headline_table([], effects, most=0),
        shorter_table([], effects),
    ):
        assert [row.cells[0] for row in table.rows] == [*named, "top p: 1 → 2"]
        assert "-0.30 [-0.40, -0.20]" in table.rows[0].cells[1]
    assert headline_table([], effects).rows[-1].cells[1:] == ("–", "not testable")


def test_one_axis_alone_has_its_figure_in_the_shortest_table(make_row) -> None:
    scope = {"axis": "abstain", "from": False, "to": True}
    effects = largest_settings([make_row("axis_effect", 0.02, (-0.1, 0.14), scope=scope)])
    [row] = headline_table([], effects, most=0).rows
    assert "abstain: off → on 0.02 [-0.10, 0.14]" in row.heading
    [row] = shorter_table([], effects).rows
    assert row.cells == ("abstain: off → on", "0.02 [-0.10, 0.14], no move shown")


def test_claims_keep_their_figures_in_the_shortest_table(make_finding) -> None:
    """One claim with one figure, one with a span of two values, a check, and an untested claim."""
    planned = {"confirmatory": True}
    found = [
        make_finding("supported", 0.31, (0.2, 0.42), **planned),
        *(
            make_finding(conclusion, value, (value - 0.1, value + 0.1), hypothesis="H2",
                         unit="probability", scope=judge(conclusion), **planned)
            for value, conclusion in ((0.15, "inconclusive"), (0.4, "supported"))
        ),
        make_finding("not testable here", hypothesis="H3", scope=judge("a/a"), **planned),
        make_finding("supported", 0.01, (0.0, 0.02), hypothesis="V4.variance"),
    ]  # fmt: skip
    told = [row.cells[1] for row in shorter_table(headlines(found)).rows]
    assert told == [
        "0.31 [0.20, 0.42] bits, supported",
        "0.15 to 0.40, 1 supported, 1 inconclusive",
        "not testable",
        "supported",
    ]
    explored = [replace(one, confirmatory=one.hypothesis == "H2") for one in found]
    shortest = shorter_table(headlines(explored), planned_figures_only=True)
    assert [row.cells[1] for row in shortest.rows][:2] == ["supported", told[1]]


def test_of_several_judges_the_most_and_the_least_abstentions_are_said(make_row) -> None:
    """Of 60 judgements each 18, 6 and 3; a judge alone has no least."""
    shares = {"a/a": 0.3, "b/b": 0.1, "c/c": 0.05}
    rows = [make_row("abstention_rate", share, scope=judge(of)) for of, share in shares.items()]
    [said] = abstention_cautions(rows)
    assert "in 30% of judgements by a/a (most), and in 5% by c/c (least)" in said
    [said] = abstention_cautions(rows[:1])
    assert "in 30% of judgements by a/a:" in said


def test_what_a_plan_confirms_is_the_headline_and_the_rest_says_it_explores(make_finding) -> None:
    explored = make_finding("supported", 0.9, (0.8, 1.0), scope=judge("a/a", "chaos"))
    planned = make_finding("refuted", 0.0, (-0.1, 0.04), scope=judge("a/a"), confirmatory=True)
    [headline] = headlines([explored, planned])
    assert (headline.label, headline.conclusion) == ("a/a on order", "refuted")
    assert headline.explored == "1 supported"
    [heading] = {row.heading for row in headline_table(headlines([explored])).rows}
    assert "exploratory" in heading
    [heading] = {row.heading for row in headline_table([headline]).rows}
    assert "exploratory" not in heading


def orders(make_finding) -> list[FindingRow]:
    """One order supports the claim, as planned; the other leaves it open."""
    planned, other = (
        make_finding(
            conclusion,
            value,
            interval,
            scope={"concept": "order", "prompt_order": level},
            confirmatory=level == "rubric_first",
        )
        for conclusion, value, interval, level in (
            ("supported", 0.22, (0.11, 0.33), "rubric_first"),
            ("inconclusive", 0.06, (-0.02, 0.13), "evidence_first"),
        )
    )
    return [planned, other]


def test_what_a_plan_confirms_has_its_level_and_the_other_levels_beside_it(make_finding) -> None:
    found = headlines(orders(make_finding))
    assert [(row.label, row.figure, row.conclusion, row.is_beside) for row in found] == [
        ("all judges on order, rubric first", "0.22 [0.11, 0.33]", "supported", False),
        ("all judges on order, evidence first", "0.06 [-0.02, 0.13]", "inconclusive", True),
    ]
    planned, other = headline_table(found).rows
    assert "(confirmatory)" in planned.heading
    assert "(exploratory)" in other.heading
    assert not any(row.explored for row in found)
    assert [conclusion for row in shorter_table(found).rows for conclusion in row.cells[1:]] == [
        "0.22 [0.11, 0.33] bits, supported",
        "0.06 [-0.02, 0.13] bits, inconclusive",
    ]
    [answer] = answers(found)
    [(_, _, [first]), (_, _, [second])] = answer.conclusions
    assert "planned" not in first
    assert "not planned" in second
    assert any("evidence first" in line for line in undecided(found))


def test_sentences_name_the_level_of_what_a_plan_confirms(make_finding) -> None:
    planned, other = sentences(orders(make_finding))
    assert "for all judges on order, rubric first," in planned
    assert "for all judges on order, evidence first," in other


def test_a_level_that_no_other_figure_of_the_claim_leaves_stands_once(make_finding) -> None:
    """A scope has the axes that vary in the sweep; the other order lacks a figure."""
    one, other = orders(make_finding)
    assert headline_table(headlines([one, other])).notes == ()
    [planned] = headlines([one])
    assert planned.label == "all judges on order"
    [note] = headline_table([planned]).notes
    assert "rubric first" in note
    [explored] = headlines([replace(one, confirmatory=False)])
    assert headline_table([explored]).notes == ()


def test_checks_that_are_counted_have_a_line_that_names_the_refuted(make_finding) -> None:
    found = [
        make_finding(conclusion, 0.1, (0.0, 0.2), hypothesis=hypothesis)
        for hypothesis, conclusion in (
            ("V2", "supported"),
            ("V4.variance", "supported"),
            ("V4.variance", "refuted"),
            ("V5", "inconclusive"),
        )
    ]
    [line] = headline_table(headlines(found), count_checks=True).rows
    assert line.cells == ()
    assert line.heading.startswith(CHECKS)
    assert "2 supported, 1 refuted, 1 inconclusive" in line.heading
    assert line.heading.endswith("refuted: repeats")


def test_many_levels_beside_a_planned_figure_have_a_row_per_conclusion(make_finding) -> None:
    """Of five temperatures one is planned; of four others three are open and one refuted."""
    given = ["supported", *["inconclusive"] * 3, "refuted"]
    found = [
        make_finding(
            conclusion,
            0.3,
            (0.2, 0.4),
            scope={"concept": "order", "temperature": place / 4},
            confirmatory=not place,
        )
        for place, conclusion in enumerate(given)
    ]
    assert [(row.label, row.conclusion) for row in headlines(found)] == [
        ("all judges on order, temperature 0.0", "supported"),
        ("all judges on order, temperature 1.0", "refuted"),
        ("3 of 4 figures on order", "inconclusive"),
    ]


def test_a_check_is_one_row_with_its_counts(make_finding) -> None:
    found = [
        make_finding(conclusion, 0.01 * place, (0.0, 0.1), hypothesis="V4.variance")
        for place, conclusion in enumerate(("supported", "supported", "refuted", "inconclusive"))
    ]
    table = headline_table(headlines(found))
    [(label, *said)] = rows(table)
    assert label.startswith("Do judges repeat themselves?")
    assert said == ["0.00 to 0.03", "2 supported, 1 refuted, 1 inconclusive"]
    assert table.rows[0].heading == CHECKS


@pytest.mark.parametrize("published", [0.5, 0.75])
def test_a_check_says_its_unit_and_the_claim_that_all_its_figures_have(
    make_finding, published: float
) -> None:
    found = [
        make_finding("supported", 0.6, (0.5, 0.7), hypothesis="V3.published", direction="within",
                     margin=0.05, reference=reference)
        for reference in (0.5, published)
    ]  # fmt: skip
    [(label, *_)] = rows(headline_table(headlines(found)))
    assert "share correct" in label
    assert ("within 0.05 of 0.50" in label) == (published == 0.5)


def test_a_claim_without_a_testable_figure_is_a_line_with_its_reason(make_finding) -> None:
    found = [
        make_finding("not testable here", reason="4 replicates are too few: raise replicates"),
        make_finding("supported", 0.2, (0.1, 0.3), hypothesis="H2", scope=judge("a/a")),
    ]
    lines = headline_table(headlines(found)).rows
    assert [row.cells for row in lines] == [(), ("a/a on order", "0.20 [0.10, 0.30]", "supported")]
    assert "4 replicates are too few: raise replicates" in lines[0].heading
    [first, _] = answers(headlines(found))
    assert first.conclusions == [
        ("not testable", "not testable", ["4 replicates are too few: raise replicates"])
    ]
    assert len(headline_plot(headlines(found)).panels[0].rows) == 1


def test_figures_that_cannot_be_tested_stand_beside_those_that_can(make_finding) -> None:
    found = [
        make_finding("supported", 0.3, (0.2, 0.4), scope=judge("a/a")),
        make_finding("not testable here", scope=judge("b/b")),
    ]
    assert rows(headline_table(headlines(found))) == [
        ("a/a on order", "0.30 [0.20, 0.40]", "supported"),
        ("b/b on order", "–", "not testable"),
    ]


def test_several_figures_of_a_claim_say_what_they_have_in_common(make_finding) -> None:
    def finding(conclusion: str, size: int, view: str, value: float):
        scope = {**judge("a/a"), "scale_size": size, "evidence_view": view}
        return make_finding(conclusion, value, (value - 0.05, value + 0.05), scope=scope)

    found = [
        finding("supported", 5, "raw", 0.3),
        finding("supported", 5, "neutralized", 0.2),
        finding("inconclusive", 4, "raw", 0.1),
        finding("inconclusive", 4, "neutralized", 0.05),
    ]
    plot = headline_plot(headlines(found))
    labels = {row["label"]: row["conclusion"] for row in plot.panels[0].rows}
    assert labels == {
        "2 of 4 figures on order: 5 stages": "supported",
        "2 of 4 figures on order: 4 stages": "inconclusive",
    }
    crossed = [
        found[0],
        replace(found[1], conclusion="inconclusive"),
        found[2],
        replace(found[3], conclusion="supported"),
    ]
    # Nothing tells the two lines apart but how they came out.
    assert {row["label"] for row in headline_plot(headlines(crossed)).panels[0].rows} == {
        "2 of 4 figures on order (supported)",
        "2 of 4 figures on order (inconclusive)",
    }


def test_a_picture_of_checks_says_how_all_of_their_figures_came_out(make_finding) -> None:
    found = [
        make_finding(conclusion, value, (value - 0.1, value + 0.1), hypothesis="V4.icc", scope=of)
        for conclusion, value, of in [
            ("supported", 0.8, judge("a/a")),
            ("inconclusive", 0.5, judge("b/b")),
        ]
    ]
    [first, second] = headline_plot(headlines(found)).panels[0].rows
    assert (first["concluded"], second["concluded"]) == ("1 supported, 1 inconclusive", "")


def test_figures_of_one_system_name_it(make_finding) -> None:
    scopes = [{**judge("a/a"), "system": name} for name in ("one", "two")]
    found = [
        make_finding("supported", 0.9, (0.8, 1.0), hypothesis="V3.chance", scope=of)
        for of in [judge("a/a"), *scopes]
    ]
    assert distinct_labels(found) == [
        "a/a on order",
        "a/a on order, system one",
        "a/a on order, system two",
    ]
    [said] = sentences(found)
    # The parts stand in the table.
    assert "for a/a on order, the share" in said


def test_a_claim_that_the_sweep_has_no_figure_for_is_no_headline(make_finding) -> None:
    assert headlines([make_finding("not testable here", scope={})]) == []
    assert headline_plot([]).missing


@pytest.mark.parametrize("hypothesis", [*HYPOTHESES, *VALIDITY_CHECKS], ids=lambda one: one.key)
def test_every_claim_has_a_question_in_plain_words(hypothesis, make_finding) -> None:
    [headline] = headlines([make_finding("supported", 0.1, (0.0, 0.2), hypothesis=hypothesis.key)])
    assert headline.question.endswith("?")


def test_a_check_names_what_it_refutes(make_finding) -> None:
    found = [
        make_finding(conclusion, 0.1, (0.0, 0.2), hypothesis="V4.variance", scope=judge(name))
        for name, conclusion in (("a/a", "refuted"), ("b/b", "supported"))
    ]
    [answer] = answers(headlines(found))
    assert answer.conclusions == [
        ("1 supported, 1 refuted", "refuted", ["refuted for a/a on order"])
    ]


def test_answers_put_what_came_out_alike_together(make_finding) -> None:
    found = [
        make_finding(conclusion, 0.3, (0.2, 0.4), scope=judge(name))
        for name, conclusion in (
            ("a/a", "inconclusive"),
            ("b/b", "supported"),
            ("c/c", "supported"),
        )
    ]
    [answer] = answers(headlines(found))
    assert answer.conclusions == [
        ("supported", "supported", ["b/b on order", "c/c on order"]),
        ("inconclusive", "inconclusive", ["a/a on order"]),
    ]


@pytest.mark.parametrize(
    ("direction", "margin", "reference", "ends"),
    [
        ("above", 0.05, 0.5, (0.5, 0.55)),
        ("below", -0.05, 0, (0, -0.05)),
        ("within", 0.05, 0.66, (0.61, 0.71)),
    ],
)
def test_the_picture_has_the_margin_that_decides(
    make_finding, direction: str, margin: float, reference: float, ends: tuple[float, float]
) -> None:
    given = {"direction": direction, "margin": margin, "reference": reference}
    plot = headline_plot(headlines([make_finding("supported", 0.7, (0.6, 0.8), **given)]))
    [row] = plot.panels[0].rows
    assert (row["near"], row["far"]) == pytest.approx(ends)


def printed(given: Report, monkeypatch: pytest.MonkeyPatch, width: int) -> list[str]:
    out = io.StringIO()
    monkeypatch.setattr(results, "console", Console(file=out, width=width))
    results.show_headlines(given, [("Report", "report.html")])
    return out.getvalue().splitlines()


@pytest.mark.parametrize("width", [80, 120, 200])
def test_a_sweep_of_many_claims_is_printed_in_forty_lines(
    make_finding, monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    """Every claim open in every way, long names, and more cautions than there is room for."""
    found = [
        make_finding(
            conclusion,
            0.3,
            (0.2, 0.4),
            hypothesis=claim.key,
            scope=judge(f"organisation/model-with-a-long-name-{place}-{conclusion}"),
        )
        for claim in (*HYPOTHESES, *VALIDITY_CHECKS)
        for place, conclusion in enumerate(("supported", "refuted", "inconclusive") * 2)
    ]
    cautions = tuple(f"w3-scoring: {place} failed." for place in range(30))
    summary = Summary("99 experiments", "W3 scoring 1/1", "9 calls", headlines(found), cautions)
    lines = printed(replace(report(simulated=True), summary=summary), monkeypatch, width)
    assert len(lines) <= results.MOST_LINES - 1
    assert sum("SIMULATED" in line for line in lines) == 1
    assert any("25 more" in line for line in lines)
    assert lines[-1].endswith("report.html")
    shown = "\n".join(lines)
    told = {row.question for row in headlines(found) if not row.is_check}
    assert all(question[:20] in shown for question in told)
    assert CHECKS in shown


def test_how_judges_use_the_scale_is_printed_before_the_last_cautions(
    make_finding, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run of a study that has the page's line on regimes had none in the terminal."""
    scopes = [judge(name, concept) for name in ("a/a", "b/b") for concept in ("c", "d")]
    found = [
        make_finding("supported", 0.3, (0.2, 0.4), hypothesis=claim.key, scope=scope)
        for claim in HYPOTHESES[:3]
        for scope in scopes[:3]
    ]
    uses = ScaleUse([("a/a", "3.36", "compressed")], ["compressed", "graded"])
    cautions = tuple(f"{place}: {'a long caution of many words ' * 6}" for place in range(6))
    summary = Summary(
        "9 experiments", "W3 scoring 1/1", "9 calls", headlines(found), cautions, uses=uses
    )
    lines = printed(replace(report(simulated=True), summary=summary), monkeypatch, 80)
    assert len(lines) <= results.MOST_LINES - 1
    assert any(line.startswith(scale_use.QUESTION) for line in lines)
    assert any(line.startswith("- 2: ") for line in lines)
    assert any("0.30 [0.20, 0.40]" in line for line in lines)
