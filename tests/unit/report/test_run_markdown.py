"""The findings in short: what is cut, what is marked, and that no text is read as markup."""

import pytest

from judge_gym.report.markdown import MOST_ROWS, caption, records
from judge_gym.report.table import Row, Table, escaped, escaped_sentence


def table(rows: int, **more: bool) -> Table:
    return Table(
        "Findings",
        "What was found.",
        ("about", "conclusion", "figure"),
        tuple(
            Row((f"judge {n}", "open", f"{n}"), heading="H1  Judges differ.", group="H1")
            for n in range(rows)
        ),
        words=2,
        **more,
    )


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, with a dot.", "plain, with a dot."),
        ("<img src=x onerror=a()>", r"\<img src=x onerror=a()\>"),
        ("[here](http://x)", r"\[here\](http://x)"),
        ("`a` **b** _c_", r"\`a\` \*\*b\*\* \_c\_"),
        ("one\n\n# two\n| three", r"one \# two \| three"),
        ("- a list", r"\- a list"),
        ("1. a list", r"1\. a list"),
        ("a\\`", r"a\\\`"),
    ],
)
def test_text_of_others_is_shown_as_it_is(text: str, shown: str) -> None:
    assert escaped(text) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Change `version` and `a_b`.", "Change `version` and `a_b`."),
        ("A name <b> with _c_: `x`", r"A name \<b\> with \_c\_: `x`"),
        # What does not pair, or would end a cell, is text.
        ("a ` b", r"a \` b"),
        ("``a`` `b|c`", r"\`\`a\`\` \`b\|c\`"),
        ("- `a`", r"\- `a`"),
    ],
)
def test_code_in_a_sentence_stays_code(text: str, shown: str) -> None:
    assert escaped_sentence(text) == shown


def test_a_long_table_is_cut_and_says_so() -> None:
    assert len(records(table(MOST_ROWS + 1))) == MOST_ROWS
    assert caption(table(MOST_ROWS + 1), "The page.").endswith("The first 10 of 11 rows. The page.")
    assert caption(table(MOST_ROWS), "The page.") == "Findings. What was found."


def test_rows_begin_with_the_conclusion_and_say_what_they_rest_on() -> None:
    simulated = table(1, simulated=True, imported=True)
    [row] = records(simulated)
    assert list(row.items()) == [
        ("conclusion", "open"),
        ("group", "H1"),
        ("about", "judge 0"),
        ("figure", "0"),
        ("source", "SIMULATED and IMPORTED"),
    ]
    assert caption(simulated, "The page.") == "**SIMULATED** **IMPORTED** Findings. What was found."
