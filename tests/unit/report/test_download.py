"""The figures as CSV: whole, in full precision, and harmless in a spreadsheet."""

import csv
import io
from datetime import UTC, datetime

import pytest

from judge_gym.report.files import COLUMNS, results_csv
from judge_gym.store.results import RunInfo

RUN = RunInfo(7, "trial", "0.1.0", False, datetime(2026, 2, 3, tzinfo=UTC))


def lines(*rows) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(results_csv(RUN, rows), newline="")))


def test_a_figure_is_a_line_with_all_that_is_known_of_it(make_row) -> None:
    scope = {"concept": "order", "judge": "acme/a-1", "from": False, "scale_size": 5}
    row = make_row(
        "contrast", 0.1 + 0.2, (-1 / 3, 2 / 3), scope=scope, p=1e-9, method="t, by item; BH"
    )
    [line] = lines(row)
    assert tuple(line) == COLUMNS
    assert (line["sweep"], line["run"], line["metric"]) == ("trial", "7", "contrast")
    assert (line["judge"], line["from"], line["rival"]) == ("acme/a-1", "False", "")
    assert line["scope"] == row.scope_key
    assert float(line["estimate"]) == 0.1 + 0.2
    assert float(line["lower"]) == -1 / 3
    assert (line["p"], line["p_adjusted"], line["n"]) == ("1e-09", "", "60")
    assert (line["method"], line["simulated"]) == ("t, by item; BH", "false")


def test_a_missing_figure_is_empty_and_says_why(make_row) -> None:
    [line] = lines(make_row("accuracy", scope={}, imported=True))
    assert line["estimate"] == line["lower"] == ""
    assert line["reason"] == "not estimable, because nothing was scored"
    assert line["imported"] == "true"


@pytest.mark.parametrize("text", ["=1+1", "+1", "-1", "@SUM(A1)", " =1+1", "\t=1+1", "\r=1+1"])
def test_text_from_outside_is_no_formula(make_row, text: str) -> None:
    [line] = lines(make_row("m", 0.5, scope={"concept": text, "judge": text}, method=text))
    assert [line[name] for name in ("concept", "judge", "method")] == [f"'{text}"] * 3
