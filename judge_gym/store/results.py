"""Analysis plans and runs: figures and findings are written once per run, read by reports."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

import sqlalchemy as sa
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session, aliased

from judge_gym.design.frozen import Registration
from judge_gym.design.plans import AnalysisPlan, DesignChange, Standing, StoredPlan, standing
from judge_gym.errors import StoreError
from judge_gym.metrics.estimate import Remark, reason_of, remark_from
from judge_gym.seeds import canonical_json
from judge_gym.store import tables as t
from judge_gym.store.units import OF_EXPERIMENTS, Unit, in_sweep

EXPLORATORY = "exploratory"
_ROUNDING = 1e-9


@dataclass(frozen=True)
class Planned:
    """The plan of a sweep as its file has it now, its row, and what its outcomes are."""

    plan: AnalysisPlan | None
    plan_id: int | None
    standing: Standing


@dataclass(frozen=True)
class PlanOfRun:
    """The analysis plan that an analysis run followed."""

    name: str
    sha256: str
    stored_at: datetime


def plan_of_run(session: Session, run_id: int) -> PlanOfRun | None:
    """Return the plan of an analysis run; None when it had none."""
    row = session.execute(
        sa.select(t.PlanVersion.content, t.PlanVersion.sha256, t.PlanVersion.stored_at)
        .join(t.AnalysisRun, t.AnalysisRun.plan_id == t.PlanVersion.id)
        .where(t.AnalysisRun.id == run_id)
    ).one_or_none()
    if row is None:
        return None
    content, sha256, stored_at = row
    return PlanOfRun(content["name"], sha256, stored_at)


def register_plan(session: Session, sweep: str, plan: AnalysisPlan | None) -> None:
    """Make `plan` the plan of a stored sweep; a plan that is stored already keeps its time."""
    sha256 = plan.sha256 if plan else None
    sweep_id = session.scalars(
        sa.update(t.Sweep).where(t.Sweep.name == sweep).values(plan=sha256).returning(t.Sweep.id)
    ).one()
    if plan is not None:
        values = {"sweep_id": sweep_id, "sha256": sha256, "content": plan.content}
        statement = insert(t.PlanVersion).values(values)
        session.execute(statement.on_conflict_do_nothing())


def registration_of(session: Session, sweep: str) -> Registration | None:
    """Return the frozen plan that a sweep was last run with; None without one."""
    stored = session.scalar(sa.select(t.Sweep.frozen).where(t.Sweep.name == sweep))
    return Registration.from_json(stored) if stored else None


def register_frozen(session: Session, sweep: str, frozen: Registration | None) -> None:
    """Make `frozen` the frozen plan of a stored sweep."""
    session.execute(
        sa.update(t.Sweep)
        .where(t.Sweep.name == sweep)
        .values(frozen=frozen.as_json() if frozen else None)
    )


def planned(session: Session, sweep: str) -> Planned:
    """Return the plan of a sweep, and whether it was fixed before the sweep's first judgement."""
    frozen = registration_of(session, sweep)
    row = session.scalars(
        sa.select(t.PlanVersion)
        .join(
            t.Sweep,
            sa.and_(t.Sweep.id == t.PlanVersion.sweep_id, t.Sweep.plan == t.PlanVersion.sha256),
        )
        .where(t.Sweep.name == sweep)
    ).one_or_none()
    if row is None:
        return Planned(None, None, standing(None, None, None, frozen))
    # An answer that was reused was known when its first call ended; a failed call had none.
    reused = aliased(t.Call)
    first = session.scalar(
        sa.select(sa.func.min(sa.func.least(t.Sample.created_at, reused.finished_at)))
        .outerjoin(t.Call, t.Call.id == t.Sample.call_id)
        .outerjoin(reused, reused.id == t.Call.cached_from)
        .join(t.Arm, t.Arm.id == t.Sample.arm_id)
        .where(in_sweep(t.Arm.experiment_id, sweep), t.Sample.status != "failed")
    )
    plan = AnalysisPlan.model_validate(row.content)
    stored = StoredPlan(row.sha256, row.stored_at)
    redesigned = session.scalar(sa.select(t.Sweep.redesigned).where(t.Sweep.name == sweep))
    changed = DesignChange.from_json(redesigned) if redesigned else None
    return Planned(plan, row.id, standing(plan, stored, first, frozen, changed))


@dataclass(frozen=True)
class ResultRow:
    """One figure; its fields mean what they do in `metrics.estimate.Estimate`.

    `scope` says what it is about, `p_adjusted` is p corrected as `method` says, `simulated`
    whether any call behind it was answered by the simulator, `imported` whether any judgement
    behind it was imported.

    Of simulated judges, `planted` names the parameters behind the figure, and `expected` is what it
    should come to by them; both are empty where no closed form gives it.
    """

    metric: str
    scope: dict[str, Any]
    estimate: float | None
    lower: float | None
    upper: float | None
    n: int
    n_items: int
    floor: float | None
    p: float | None
    p_adjusted: float | None
    unit: str
    method: str
    simulated: bool
    imported: bool = False
    because: str = ""
    remarks: tuple[Remark, ...] = ()
    items_lower: float | None = None
    items_upper: float | None = None
    df: float | None = None
    planted: str = ""
    expected: float | None = None

    @property
    def holds_expected(self) -> bool | None:
        """Whether the interval holds the expected value; None without an interval or a value."""
        if self.expected is None or self.lower is None or self.upper is None:
            return None
        return self.lower - _ROUNDING <= self.expected <= self.upper + _ROUNDING

    @property
    def reason(self) -> str:
        """Why there is no estimate or no interval, as a sentence; empty when neither is missing."""
        return reason_of(self.estimate, self.because)

    @cached_property
    def scope_key(self) -> str:
        """The one text of the scope: with the metric, the identity of the figure in its run."""
        return canonical_json(self.scope)


@dataclass(frozen=True)
class RunInfo:
    """One pass of the analysis over a sweep."""

    id: int
    sweep: str
    version: str
    simulated: bool
    created_at: datetime
    data_digest: str = ""
    standing: str = ""
    """Whether the primary outcomes of its plan are confirmatory, and why."""
    plan_state: str = ""
    """The same as a `PlanState`; empty where nothing was asked of a plan."""
    frozen: str = ""
    """Digest of the frozen plan that it follows; empty without one that holds."""


@dataclass(frozen=True)
class FindingRow:
    """The conclusion about a hypothesis in one scope; the figures mean what they do above.

    The claim is that the value less `reference` lies on the side `direction` of `margin`.
    """

    hypothesis: str
    statement: str
    estimand: str
    scope: dict[str, Any]
    direction: str
    margin: float
    reference: float
    estimate: float | None
    lower: float | None
    upper: float | None
    n: int
    n_items: int
    unit: str
    p: float | None
    p_adjusted: float | None
    conclusion: str
    reason: str
    confirmatory: bool
    simulated: bool
    imported: bool = False
    items_lower: float | None = None
    items_upper: float | None = None
    planned: bool = False
    """Whether it is confirmatory by a frozen plan that holds."""

    @property
    def kind(self) -> str:
        """`planned`, `confirmatory` (by a plan that was not frozen) or `exploratory`."""
        if self.planned:
            return "planned"
        return "confirmatory" if self.confirmatory else EXPLORATORY


def save_run(
    session: Session,
    sweep: str,
    version: str,
    simulated: bool,
    rows: Sequence[ResultRow],
    *,
    findings: Sequence[FindingRow] = (),
    plan: Planned | None = None,
    data_digest: str = "",
) -> int:
    """Store an analysis run with its figures and findings; returns its id.

    `data_digest` identifies the data they were computed from. Raises `StoreError` when there is no
    such sweep.
    """
    sweep_id = session.scalar(sa.select(t.Sweep.id).where(t.Sweep.name == sweep))
    if sweep_id is None:
        raise StoreError(f"There is no sweep {sweep!r}.")
    run = t.AnalysisRun(
        sweep_id=sweep_id,
        version=version,
        simulated=simulated,
        data_digest=data_digest,
        plan_id=plan.plan_id if plan else None,
        standing=plan.standing.reason if plan else "",
        plan_state=plan.standing.state if plan else "",
        frozen=plan.standing.frozen if plan else "",
    )
    session.add(run)
    session.flush()
    if rows:
        columns = [field.name for field in fields(ResultRow)]
        session.execute(
            sa.insert(t.AnalysisResult),
            [
                {
                    **{name: getattr(row, name) for name in columns},
                    "remarks": [asdict(remark) for remark in row.remarks],
                    "scope_key": row.scope_key,
                    "run_id": run.id,
                }
                for row in rows
            ],
        )
    if findings:
        session.execute(
            sa.insert(t.AnalysisFinding),
            [
                {**asdict(finding), "scope_key": canonical_json(finding.scope), "run_id": run.id}
                for finding in findings
            ],
        )
    return run.id


def load_findings(session: Session, run_id: int) -> list[FindingRow]:
    """Return the findings of a run in the order they were written; none for an unknown run."""
    columns = [getattr(t.AnalysisFinding, field.name) for field in fields(FindingRow)]
    rows = session.execute(
        sa.select(*columns).where(t.AnalysisFinding.run_id == run_id).order_by(t.AnalysisFinding.id)
    )
    return [FindingRow(*row) for row in rows]


@dataclass(frozen=True)
class Conclusions:
    """What an analysis run came to."""

    sweep: str
    simulated: bool
    conclusions: dict[str, int]
    """Conclusion → how many findings have it."""


def conclusions_of(session: Session, run_id: int) -> Conclusions:
    """Return what an analysis run came to; raises `StoreError` when there is none of this id."""
    run, findings = run_info(session, run_id), load_findings(session, run_id)
    counts = Counter(finding.conclusion for finding in findings)
    return Conclusions(run.sweep, run.simulated, dict(sorted(counts.items())))


def load_results(session: Session, run_id: int) -> list[ResultRow]:
    """Return the figures of a run in the order they were written; none for an unknown run."""
    columns = [getattr(t.AnalysisResult, field.name) for field in fields(ResultRow)]
    rows = session.execute(
        sa.select(*columns).where(t.AnalysisResult.run_id == run_id).order_by(t.AnalysisResult.id)
    )
    stored = (dict(zip(row._fields, row, strict=True)) for row in rows)
    return [
        ResultRow(**{**values, "remarks": tuple(map(remark_from, values["remarks"]))})
        for values in stored
    ]


def run_info(session: Session, run_id: int) -> RunInfo:
    """Return an analysis run; raises `StoreError` when there is none of this id."""
    row = session.execute(_RUNS.where(t.AnalysisRun.id == run_id)).one_or_none()
    if row is None:
        raise StoreError(
            f"There is no analysis run {run_id}.", "judge-gym analyse figures SWEEP makes one."
        )
    return _info(row)


def latest_run(session: Session, sweep: str) -> RunInfo | None:
    """Return the newest analysis run of a sweep, or None when it was never analysed."""
    newest = _RUNS.where(t.Sweep.name == sweep).order_by(t.AnalysisRun.id.desc()).limit(1)
    row = session.execute(newest).one_or_none()
    return _info(row) if row else None


def is_analysed(session: Session, sweep: str) -> bool:
    """Whether a sweep has an analysis run that is later than its judgements, probes and marks.

    Those of the replicates that its file declares: another sweep may have added others.
    """
    run = latest_run(session, sweep)
    if run is None:
        return False
    return not any(_is_later(session, unit, sweep, run.created_at) for unit in OF_EXPERIMENTS)


def _is_later(session: Session, unit: Unit, sweep: str, than: datetime) -> bool:
    """Whether a sweep has a piece of this work that is later."""
    # Mostly none, of any sweep: PostgreSQL would look at every piece of the sweep by itself.
    later = sa.select(unit.table.id).where(unit.table.created_at > than).cte("later")
    found = sa.select(later.prefix_with("MATERIALIZED").c.id)
    query = unit.rows(unit.table.id, sweep=sweep).where(unit.table.id.in_(found))
    return bool(session.scalar(sa.select(query.exists())))


_RUNS = sa.select(
    t.AnalysisRun.id,
    t.Sweep.name,
    t.AnalysisRun.version,
    t.AnalysisRun.simulated,
    t.AnalysisRun.created_at,
    t.AnalysisRun.data_digest,
    t.AnalysisRun.standing,
    t.AnalysisRun.plan_state,
    t.AnalysisRun.frozen,
).join(t.Sweep, t.Sweep.id == t.AnalysisRun.sweep_id)


def _info(row: sa.Row[tuple[int, str, str, bool, datetime, str, str, str, str]]) -> RunInfo:
    run = RunInfo(*row)
    return replace(run, created_at=run.created_at.astimezone(UTC))
