"""Findings: what a plan that was stored in time confirms, and what the figures only suggest."""

from datetime import UTC, datetime

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.design.plans import AnalysisPlan, Margin, PrimaryOutcome
from judge_gym.report.headlines import headlines
from judge_gym.store import tables as t
from judge_gym.store.results import FindingRow, latest_run, load_findings, planned, register_plan
from support.lab import SWEEP, Lab, labels, rubric

COMMON = {"rubric": {"provided": rubric(*labels(4))}}
ALPHA, BETA = "acme/alpha-1", "bolt/beta-1"
ITEMS = 12


def a_plan(margin: float = 0.1) -> AnalysisPlan:
    return AnalysisPlan(
        name="plan",
        sweep=SWEEP,
        description="Do the two stand apart?",
        margins=({"hypothesis": "H1", "margin": margin, "why": "less is nothing"},),
        primary=({"hypothesis": "H1", "scope": {"concept": "order"}},),
        confirmatory=("H1",),
    )


def two_judges_apart(lab: Lab) -> None:
    """Five verdicts each on twelve items, three stages apart but for one judge's lapses."""
    lab.documents([None] * ITEMS)
    lab.own(ALPHA, [[1, 1, 1, 1, 1 + item % 2] for item in range(ITEMS)], **COMMON)
    lab.own(BETA, [[4, 4, 4, 4, 4 - item % 3] for item in range(ITEMS)], **COMMON)


def findings(lab: Lab, plan: AnalysisPlan | None, stored: datetime | None) -> list[FindingRow]:
    """The findings after a plan was stored at some time."""
    with Session(lab.engine) as session, session.begin():
        register_plan(session, SWEEP, plan)
        if stored:
            session.execute(sa.update(t.AnalysisPlan).values(stored_at=stored))
    lab.analyse()
    with Session(lab.engine) as session:
        run = latest_run(session, SWEEP)
        assert run is not None
        return load_findings(session, run.id)


def of(found: list[FindingRow], hypothesis: str) -> FindingRow:
    (one,) = (finding for finding in found if finding.hypothesis == hypothesis)
    return one


@pytest.mark.parametrize(
    ("stored", "confirmatory"),
    [(datetime(2020, 1, 1, tzinfo=UTC), True), (datetime(2100, 1, 1, tzinfo=UTC), False)],
    ids=["before the first judgement", "after it"],
)
def test_a_plan_confirms_only_what_it_fixed_in_time(
    database: str, stored: datetime, confirmatory: bool
) -> None:
    lab = Lab(database)
    two_judges_apart(lab)
    first = of(findings(lab, a_plan(), stored), "H1")
    assert (first.conclusion, first.confirmatory) == ("supported", confirmatory)
    assert first.margin == 0.1
    assert first.lower is not None
    assert first.lower > 0.1


def test_a_margin_beyond_the_interval_refutes(database: str) -> None:
    lab = Lab(database)
    two_judges_apart(lab)
    assert of(findings(lab, a_plan(margin=0.99), None), "H1").conclusion == "refuted"


def test_what_the_data_cannot_say_is_said(database: str) -> None:
    lab = Lab(database)
    two_judges_apart(lab)
    found = findings(lab, None, None)
    swapped = of(found, "H3")
    assert swapped.conclusion == "not testable here"
    assert "needs a swap" in swapped.reason
    assert not any(one.confirmatory for one in found)
    assert {one.hypothesis for one in found} >= {"H1", "H2", "H4.distance", "V1.polarization", "V5"}


def test_a_primary_outcome_without_a_figure_is_a_finding_of_its_own(database: str) -> None:
    lab = Lab(database)
    two_judges_apart(lab)
    plan = a_plan().model_copy(
        update={
            "margins": (Margin(hypothesis="H1", margin=0.1, why="x"),
                        Margin(hypothesis="H3", margin=0.05, why="x")),
            "primary": (PrimaryOutcome(hypothesis="H1", scope={"concept": "order"}),
                        PrimaryOutcome(hypothesis="H1", scope={"concept": "trust"}),
                        PrimaryOutcome(hypothesis="H3")),
            "confirmatory": ("H1", "H3"),
        }
    )  # fmt: skip
    found = findings(lab, plan, datetime(2020, 1, 1, tzinfo=UTC))
    confirmed = {
        (one.hypothesis, one.scope.get("concept")): one.conclusion
        for one in found
        if one.confirmatory
    }
    lost = "not testable here"
    assert confirmed == {("H1", "order"): "supported", ("H1", "trust"): lost, ("H3", None): lost}
    untested = [row.claim_key for row in headlines(found) if row.untested_outcome]
    assert untested == ["H1", "H3"]


def test_a_changed_plan_is_a_plan_of_its_own(database: str) -> None:
    lab = Lab(database)
    two_judges_apart(lab)
    with Session(lab.engine) as session, session.begin():
        for plan in (a_plan(), a_plan(margin=0.2), a_plan()):
            register_plan(session, SWEEP, plan)
        current = planned(session, SWEEP)
        assert current.plan == a_plan()
        assert session.scalar(sa.select(sa.func.count()).select_from(t.AnalysisPlan)) == 2
        register_plan(session, SWEEP, None)
        assert planned(session, SWEEP).plan is None
