"""The figures as CSV: whole, in full precision, and harmless in a spreadsheet."""

import base64
import csv
import io
import zipfile
from datetime import UTC, datetime

import pytest

from judge_gym.report.files import COLUMNS, csv_download, results_csv
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


@pytest.mark.parametrize(
    "text", ["=1+1", "+1+1", "-1+cmd", "@SUM(A1)", " =1+1", "\t=1+1", "\r=1+1"]
)
def test_text_from_outside_is_no_formula(make_row, text: str) -> None:
    [line] = lines(make_row("m", 0.5, scope={"concept": text, "judge": text}, method=text))
    assert [line[name] for name in ("concept", "judge", "method")] == [f"'{text}"] * 3


def test_many_figures_are_zipped(make_row) -> None:
    text = results_csv(RUN, [make_row("m", place / 7, scope={"n": place}) for place in range(9000)])
    download = csv_download("figures.csv", text)
    assert download == csv_download("figures.csv", text)
    assert download.name == "figures.csv.zip"
    kind, _, held = download.address.partition(",")
    assert kind == "data:application/zip;base64"
    assert len(held) < len(text) / 5
    with zipfile.ZipFile(io.BytesIO(base64.b64decode(held))) as archive:
        assert archive.namelist() == ["figures.csv"]
        assert archive.read("figures.csv").decode() == text
