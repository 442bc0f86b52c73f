"""Every figure is said once: its table, unit, formula, and what it needs."""

from collections import Counter

from judge_gym.analysis import registry
from judge_gym.analysis.registry import LAST, QUESTIONS
from judge_gym.report.page import decisions


def test_every_table_has_formulas_and_says_what_it_needs() -> None:
    tables = registry.tables()
    silent = [table.title for table in tables if not table.formulas]
    # Pooling over settings takes whatever contrasts there are.
    needless = [table.title for table in tables if not table.needs]
    assert (silent, needless) == ([], ["Axes over the grid"])


def test_every_figure_stands_in_one_table_which_shows_it() -> None:
    names = [figure.name for table in registry.tables() for figure in table.figures]
    assert len(set(names)) == len(names)
    for table in registry.tables():
        assert {column.figure for column in table.columns} == set(table.names), table.title


def test_every_question_has_one_main_table_and_an_order() -> None:
    keys = [question.key for question in QUESTIONS]
    places = Counter((table.question, table.rank) for table in registry.tables())
    assert {question for question, _ in places} <= set(keys)
    assert all((key, 0) in places for key in keys)
    # Tables without a rank of their own come last, by title.
    ranked = {place: tables for place, tables in places.items() if place[1] != LAST}
    assert [place for place, tables in ranked.items() if tables > 1] == []


def test_every_hypothesis_says_what_decides_it() -> None:
    by_key = {one.key: one for one in decisions()}
    assert by_key["H3"].claim.endswith("below -0.05 unless the plan says otherwise")
    assert "0.95 for Norway" in by_key["V1.reference"].replaces
