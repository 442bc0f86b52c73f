"""The tables in a terminal: aligned, as wide as it is, nothing read as markup."""

import io
from pathlib import Path

import pytest
from rich.console import Console

from deployments.cli import results
from judge_gym.report.table import Row, Table, TerminalTable, plain_table, without_empty
from support.command_line import SWEEPS

TABLE = Table(
    "Confidence",
    "How sure.",
    ("judge", "confidence", "items"),
    (
        Row(("acme/a-1", "0.50 [0.40, 0.60]", "16"), heading="order"),
        Row(("acme/a-long", "0.70", "8"), heading="order"),
        Row(("acme/a-1", "0.10", "16"), heading="chaos"),
    ),
    notes=("A note.",),
)


def printed(table: Table, width: int = 100) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=width).print(TerminalTable(table, table.marks))
    return [line.rstrip() for line in out.getvalue().splitlines()]


def test_rows_stand_aligned_under_their_headings() -> None:
    assert printed(TABLE) == [
        "Confidence",
        "How sure.",
        "  judge               confidence  items",
        "order",
        "  acme/a-1     0.50 [0.40, 0.60]     16",
        "  acme/a-long               0.70      8",
        "chaos",
        "  acme/a-1                  0.10     16",
        "  A note.",
        "",
    ]


def test_names_fold_and_numbers_stay_whole_in_a_narrow_terminal() -> None:
    name = "acme/a-model-with-a-name-that-is-much-longer-than-a-line-of-this-terminal"
    table = Table("T", "E.", ("judge", "P"), (Row((name, "0.50 [0.40, 0.60]")),))
    lines = printed(table, width=50)
    assert all(len(line) <= 50 for line in lines)
    assert any(line.endswith("0.50 [0.40, 0.60]") for line in lines)
    assert "".join(line[:31].strip() for line in lines[3:-1]) == name


def test_numbers_that_do_not_fit_beside_names_come_below_with_the_names() -> None:
    cells = ("a-long-judge", "0.91 [0.87, 0.95]", "0.72 [0.66, 0.79]", "0.50 [0.40, 0.60]")
    table = Table("T", "", ("judge", "P", "Q", "R"), (Row(cells), Row(("b", "1", "2", "3"))))
    assert printed(table, width=52) == [
        "T",
        "judge                         P                  Q",
        "a-long-judge  0.91 [0.87, 0.95]  0.72 [0.66, 0.79]",
        "b                             1                  2",
        "",
        "judge                         R",
        "a-long-judge  0.50 [0.40, 0.60]",
        "b                             3",
        "",
    ]
    assert [line for line in printed(table, width=80) if line.startswith("b ")] == [
        "b                             1                  2                  3"
    ]


def test_a_label_that_wraps_does_not_read_as_another_row() -> None:
    label = "all judges on democratic backsliding, evidence first, cleaned evidence"
    rows = tuple(Row((label, "0.28 [0.15, 0.41]"), heading="H1") for _ in range(2))
    lines = printed(Table("T", "", ("about", "figure"), rows), width=60)
    [*_, first, rest, second, other, _] = lines
    assert first.startswith("  all judges on")
    assert first == second
    assert rest == other
    assert rest.startswith("    ")
    assert not rest.startswith("     ")
    assert " ".join((first[:40].strip(), rest.strip())) == label


def test_rows_without_a_figure_are_counted_and_left_out() -> None:
    rows = (Row(("a", "0.5", "–")), Row(("b", "–", "–")), Row(("c", "–", "")), Row((), "heading"))
    table = without_empty(Table("T", "", ("judge", "P", "items"), rows, ("A note.",)))
    assert [row.cells[:1] for row in table.rows] == [("a",), ()]
    assert table.notes == ("A note.", "2 rows without a figure are left out.")
    # "items" has no value in any row that is left.
    assert (table.columns, table.rows[0].cells) == (("judge", "P"), ("a", "0.5"))
    words = plain_table("T", ("judge",), [["–"]])
    assert without_empty(words) == words


def test_brackets_in_names_are_no_markup() -> None:
    table = Table("[red]T[/]", "[b]", ("judge",), (Row(("[link=x]y[/link]",)),), simulated=True)
    lines = printed(table)
    assert lines[0] == "[red]T[/] (SIMULATED)"
    assert "[link=x]y[/link]" in lines


def test_what_to_type_next_survives_being_pasted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    program = tmp_path / "my tools" / "judge-gym"
    program.parent.mkdir()
    program.touch()
    monkeypatch.setattr("sys.argv", [str(program), "demo"])
    monkeypatch.setenv("PATH", str(tmp_path))
    commands = dict(results.next_steps("my sweep", tmp_path / "sweeps" / "a b.yaml"))
    assert commands["Progress"] == "'my tools/judge-gym' sweep status 'my sweep'"
    assert "'sweeps/a b.yaml'" in commands["Extend it"]
    assert "Your own sweep" not in commands
    (tmp_path / "sweeps").mkdir()
    (tmp_path / "sweeps" / "a b.frozen.json").touch()
    frozen = dict(results.next_steps("my sweep", tmp_path / "sweeps" / "a b.yaml"))
    assert "edit" not in frozen["Extend it"]
    shipped = dict(results.next_steps("quick", SWEEPS / "quick.yaml"))
    assert "quick.yaml" in shipped["Your own sweep"]
    assert "data examples my-examples" in dict(results.next_steps("demo", None))["Your own sweep"]
    assert "Your own sweep" not in dict(results.next_steps("demo", None, imported=True))


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        (
            "postgresql+psycopg://me:s3cret@db.example:5432/lab",
            "psql postgresql://me@db.example:5432/lab",
        ),
        (
            "postgresql+psycopg://me@/lab?host=/run/pg&password=s3cret",
            "psql 'postgresql://me@/lab?host=%2Frun%2Fpg'",
        ),
    ],
)
def test_a_password_is_never_shown(url: str, shown: str) -> None:
    assert results.psql_command(url) == shown


def test_names_do_not_break_while_headings_can_wrap() -> None:
    headings = ("judge", "wording", *(f"long heading {number}" for number in range(7)))
    row = ("recorded/alpha-7b", "short", *("0.50 [0.4]",) * 7)
    lines = printed(plain_table("", headings, [row], words=2), width=120)
    assert any("recorded/alpha-7b  short" in line for line in lines)
    assert max(map(len, lines)) <= 120
