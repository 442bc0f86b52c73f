"""Findings: what a plan that was stored in time confirms, and what the figures only suggest."""

from datetime import UTC, datetime

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from judge_gym.design.plans import AnalysisPlan, Margin, PrimaryOutcome
from judge_gym.metrics.inference import holm
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
            session.execute(sa.update(t.PlanVersion).values(stored_at=stored))
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
        assert session.scalar(sa.select(sa.func.count()).select_from(t.PlanVersion)) == 2
        register_plan(session, SWEEP, None)
        assert planned(session, SWEEP).plan is None


MAY = {"evidence_view": "raw", "scoring_method": "subset"}
EARLY = datetime(2020, 1, 1, tzinfo=UTC)


def one_judge_that_may_abstain(lab: Lab) -> None:
    """Two answers to each of eight items, with and without the choice to abstain.

    With it, half of the answers to six items are abstentions, and the others name one stage more.
    """
    lab.documents([None] * 8)
    lab.own(ALPHA, [[1, 2]] * 8, abstain=False, **MAY)
    chosen = [[(1, 2), "abstained"]] * 6 + [[1, (2, 3)]] * 2
    lab.own(ALPHA, chosen, abstain=True, **MAY)


def contrasts(*planned: dict[str, object]) -> AnalysisPlan:
    given = {"axis": "abstain", "levels": (False, True), "why": "less is nothing"}
    return AnalysisPlan.model_validate(
        {
            "name": "plan",
            "sweep": SWEEP,
            "description": "What does the choice to abstain do?",
            "contrasts": [given | one for one in planned],
        }
    )


def test_a_planned_contrast_is_decided_by_its_interval(database: str) -> None:
    lab = Lab(database)
    one_judge_that_may_abstain(lab)
    plan = contrasts(
        {"figure": "abstain_share", "direction": "above", "margin": 0.1},
        {"figure": "set_size", "direction": "below", "margin": 0.5},
        {"figure": "set_width", "direction": "below", "margin": 0.5 / 3},
        {"figure": "confidence", "direction": "within", "margin": 0.1},
    )
    found = findings(lab, plan, EARLY)
    share = of(found, "C1.abstain_share")
    # Six of eight items have half of their answers withheld.
    assert share.estimate == pytest.approx(6 / 8 / 2)
    assert (share.conclusion, share.kind) == ("supported", "confirmatory")
    assert (share.unit, share.margin, share.n_items) == ("share", 0.1, 8)
    assert share.scope["axis"] == "abstain"
    # Sets of one stage become sets of 2 on six items, and of 1.5 on two: 0.875 stages more.
    size, width = of(found, "C2.set_size"), of(found, "C3.set_width")
    assert size.estimate == pytest.approx((6 * 1 + 2 * 0.5) / 8)
    assert (size.unit, size.conclusion) == ("stages", "refuted")
    # A scale of four stages has three steps.
    assert size.estimate == pytest.approx(3 * (width.estimate or 0))
    assert size.lower == pytest.approx(3 * (width.lower or 0))
    assert size.p == pytest.approx(width.p)
    # Nobody was asked for a probability.
    lost = of(found, "C4.confidence")
    assert (lost.conclusion, lost.confirmatory) == ("not testable here", True)
    # One family for Holm: the three that have a p.
    tested = (share, size, width)
    adjusted = holm([one.p or 0.0 for one in tested])
    assert [one.p_adjusted for one in tested] == pytest.approx(adjusted)
    assert [row.claim_key for row in headlines(found)][:3] == [
        "C1.abstain_share",
        "C2.set_size",
        "C3.set_width",
    ]


def test_a_contrast_that_was_planned_too_late_explores(database: str) -> None:
    lab = Lab(database)
    one_judge_that_may_abstain(lab)
    plan = contrasts({"figure": "abstain_share", "direction": "above", "margin": 0.1})
    late = of(findings(lab, plan, datetime(2100, 1, 1, tzinfo=UTC)), "C1.abstain_share")
    assert (late.conclusion, late.kind) == ("supported", "exploratory")


def test_a_contrast_has_the_scope_that_is_planned(database: str) -> None:
    lab = Lab(database)
    one_judge_that_may_abstain(lab)
    lab.own(BETA, [[1, 2]] * 8, abstain=False, **MAY)
    lab.own(BETA, [[1, 2]] * 8, abstain=True, **MAY)
    share = {"figure": "abstain_share", "direction": "above", "margin": 0.0}
    plan = contrasts(share, share | {"scope": {"judge": BETA}}, share | {"scope": {"judge": "x"}})
    found = findings(lab, plan, EARLY)
    judges = {
        key: [one.scope["judge"] for one in found if one.hypothesis == f"{key}.abstain_share"]
        for key in ("C1", "C2", "C3")
    }
    assert judges == {"C1": [ALPHA, BETA], "C2": [BETA], "C3": ["x"]}
    # The second judge never abstained, which is no reason to leave out that it was planned.
    never = of(found, "C2.abstain_share")
    assert never.conclusion == "not testable here"
    assert never.reason == "no answer of its two sides is an abstention"
    lost = of(found, "C3.abstain_share")
    assert (lost.conclusion, lost.scope["from"]) == ("not testable here", False)
    assert "differ in abstain alone" in lost.reason


def test_a_judge_without_an_answer_is_no_judge_that_never_abstains(database: str) -> None:
    lab = Lab(database)
    lab.documents([None] * 2)
    lab.own(ALPHA, [["failed"]] * 2, abstain=False, **MAY)
    lab.own(ALPHA, [[1]] * 2, abstain=True, **MAY)
    plan = contrasts({"figure": "abstain_share", "direction": "above", "margin": 0.0})
    lost = of(findings(lab, plan, EARLY), "C1.abstain_share")
    assert (lost.conclusion, lost.confirmatory) == ("not testable here", True)
    assert lost.reason == "its side false has no readable answer"


def test_jitter_and_broken_sets_are_contrasted_item_by_item(database: str) -> None:
    lab = Lab(database)
    lab.documents([None] * 3)
    lab.own(ALPHA, [[1, 4], [2, 3], [1, 1]], abstain=False, **MAY)
    lab.own(ALPHA, [[(1, 2), (1, 2)], [(2, 4), 3], [(1, 4), 4]], abstain=True, **MAY)
    plan = contrasts(
        {"figure": "jitter", "direction": "below", "margin": 0.0},
        {"figure": "adjacent_share", "direction": "above", "margin": 0.0},
    )
    found = findings(lab, plan, EARLY)
    # Replicates are 3, 1 and 0 stages apart, then 0, 0 and 1.5, of three steps.
    apart = of(found, "C1.jitter")
    assert apart.estimate == pytest.approx((-3 - 1 + 1.5) / 3 / 3)
    # No set of several stages at the first level.
    assert of(found, "C2.adjacent_share").conclusion == "not testable here"
