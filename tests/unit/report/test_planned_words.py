"""What is called planned, and that nothing else is."""

import csv
import io
from datetime import UTC, datetime, timedelta

from judge_gym.design.frozen import Registration
from judge_gym.design.plans import standing
from judge_gym.report.files import results_csv
from judge_gym.report.findings import findings_table, sentences
from judge_gym.report.headline_tables import headline_table
from judge_gym.report.headlines import headlines
from judge_gym.store.results import RunInfo

NOON = datetime(2026, 1, 5, 12, tzinfo=UTC)
RUN = RunInfo(7, "trial", "0.1.0", False, NOON)
KINDS = {
    "planned": {"confirmatory": True, "planned": True},
    "confirmatory": {"confirmatory": True},
    "exploratory": {},
}


def found(make_finding) -> list:
    """One finding of each kind, each on a concept of its own."""
    return [
        make_finding("supported", 0.3, (0.2, 0.4), scope={"concept": kind}, **marks)
        for kind, marks in KINDS.items()
    ]


def test_findings_say_which_kind_they_are(make_finding) -> None:
    rows = found(make_finding)
    table = findings_table(rows, "planned: frozen on time")
    column = table.columns.index("plan")
    assert [row.cells[column] for row in table.rows] == list(KINDS)
    for row in rows:
        [sentence] = sentences([row])
        assert f"({row.kind})" in sentence


def test_headlines_say_which_kind_they_are(make_finding) -> None:
    for finding in found(make_finding):
        [row] = headline_table(headlines([finding])).rows
        assert f"({finding.kind})" in row.heading


def test_every_figure_of_the_csv_has_its_kind(make_row, make_finding) -> None:
    figures = [make_row("polarization_excess", 0.3, scope={"concept": kind}) for kind in KINDS]
    figures.append(make_row("polarization", 0.4, scope={"concept": "planned"}))
    text = results_csv(RUN, figures, found(make_finding))
    lines = list(csv.DictReader(io.StringIO(text, newline="")))
    assert [line["plan"] for line in lines] == [*KINDS, "exploratory"]


def test_a_plan_that_does_not_hold_plans_nothing() -> None:
    held = Registration("a" * 64, NOON, NOON)
    later = NOON + timedelta(seconds=1)
    assert held.objection(later) == ""
    for objection in (
        held.objection(NOON),
        Registration("a" * 64, NOON, later).objection(later),
        Registration("a" * 64, NOON, NOON, judgements_before=3).objection(None),
        Registration("a" * 64, NOON, NOON, changed=("replicates: [2] became [3]",)).objection(None),
    ):
        assert objection
    refused = standing(None, None, later, Registration("a" * 64, NOON, NOON, 3))
    assert (refused.confirmatory, refused.frozen) == (False, "")
    assert Registration.from_json(held.as_json()) == held
