"""What the analysis computed, and what was planned before it."""

from datetime import date, datetime
from typing import Any

from sqlalchemy import CheckConstraint, Integer, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from judge_gym.store.tables.base import Base, created, new_id, one_of, reference

CONCLUSIONS = ("supported", "refuted", "inconclusive", "not testable here")


class PlanVersion(Base):
    """Margins and primary outcomes of a sweep as they were fixed, and when."""

    __tablename__ = "analysis_plans"
    id: Mapped[int] = new_id()
    sweep_id: Mapped[int] = reference("sweeps.id")
    sha256: Mapped[str]
    """64 hex digits over the content."""
    content: Mapped[dict[str, Any]]
    """The plan: margins, primary outcomes and the confirmatory family."""
    stored_at: Mapped[datetime] = created()
    """When this plan was first stored with the sweep."""
    __table_args__ = (UniqueConstraint("sweep_id", "sha256"),)


class AnalysisRun(Base):
    """One pass of the analysis flow over the experiments of a sweep."""

    __tablename__ = "analysis_runs"
    id: Mapped[int] = new_id()
    sweep_id: Mapped[int] = reference("sweeps.id", index=True)
    version: Mapped[str]
    """Version of judge-gym that computed the figures."""
    simulated: Mapped[bool]
    data_digest: Mapped[str] = mapped_column(server_default="")
    """Of the data behind the figures; empty for runs that did not store it."""
    plan_id: Mapped[int | None] = reference("analysis_plans.id", on_delete="SET NULL")
    standing: Mapped[str] = mapped_column(server_default="")
    """Whether its primary outcomes are confirmatory, and why."""
    plan_state: Mapped[str] = mapped_column(server_default="")
    """The same as one word: no_plan, not_held, not_in_time, confirmatory, redesigned or
    planned."""
    frozen: Mapped[str] = mapped_column(server_default="")
    """Digest of the frozen plan that its planned findings follow; empty without one that holds."""
    created_at: Mapped[datetime] = created()


class StudyPoint(Base):
    """One period of a rolling study: its sweep, and the analysis run that its figures are from."""

    __tablename__ = "study_points"
    id: Mapped[int] = new_id()
    study: Mapped[str]
    first_day: Mapped[date]
    last_day: Mapped[date]
    sweep_id: Mapped[int] = reference("sweeps.id", index=True)
    run_id: Mapped[int] = reference("analysis_runs.id", index=True)
    created_at: Mapped[datetime] = created()
    __table_args__ = (
        UniqueConstraint("study", "first_day", "last_day"),
        CheckConstraint("last_day >= first_day", name="days_in_order"),
    )


class AnalysisResult(Base):
    """One figure with its uncertainty, or the reason why there is none."""

    __tablename__ = "analysis_results"
    id: Mapped[int] = new_id()
    run_id: Mapped[int] = reference("analysis_runs.id")
    metric: Mapped[str]
    scope: Mapped[dict[str, Any]]
    scope_key: Mapped[str]
    """The scope as canonical JSON."""
    estimate: Mapped[float | None]
    lower: Mapped[float | None]
    upper: Mapped[float | None]
    n: Mapped[int] = mapped_column(Integer)
    n_items: Mapped[int] = mapped_column(Integer)
    floor: Mapped[float | None]
    p: Mapped[float | None]
    p_adjusted: Mapped[float | None]
    unit: Mapped[str]
    method: Mapped[str]
    because: Mapped[str]
    """Why there is no estimate or no interval, as the end of a sentence."""
    remarks: Mapped[list[Any]] = mapped_column(server_default="[]")
    """What a reader must know: kind, number, advised and names of each `Remark`."""
    items_lower: Mapped[float | None]
    items_upper: Mapped[float | None]
    """The interval over items alone, where `lower` and `upper` are of the total error."""
    df: Mapped[float | None]
    """Degrees of freedom of the total error."""
    planted: Mapped[str] = mapped_column(server_default="")
    """Of simulated judges: the parameters behind the figure."""
    expected: Mapped[float | None]
    """What it should come to by these."""
    simulated: Mapped[bool]
    imported: Mapped[bool] = mapped_column(server_default="false")
    __table_args__ = (
        UniqueConstraint("run_id", "metric", "scope_key"),
        CheckConstraint("estimate IS NOT NULL OR because <> ''", name="reason_when_not_estimable"),
        CheckConstraint("p BETWEEN 0 AND 1", name="p_range"),
        CheckConstraint("p_adjusted BETWEEN 0 AND 1", name="p_adjusted_range"),
    )


class AnalysisFinding(Base):
    """What the data say about a hypothesis or a validity check, decided from an interval."""

    __tablename__ = "analysis_findings"
    id: Mapped[int] = new_id()
    run_id: Mapped[int] = reference("analysis_runs.id")
    hypothesis: Mapped[str]
    statement: Mapped[str]
    estimand: Mapped[str]
    scope: Mapped[dict[str, Any]]
    scope_key: Mapped[str]
    """The scope as canonical JSON."""
    direction: Mapped[str]
    margin: Mapped[float]
    reference: Mapped[float]
    estimate: Mapped[float | None]
    lower: Mapped[float | None]
    upper: Mapped[float | None]
    items_lower: Mapped[float | None]
    items_upper: Mapped[float | None]
    n: Mapped[int] = mapped_column(Integer)
    n_items: Mapped[int] = mapped_column(Integer)
    unit: Mapped[str]
    p: Mapped[float | None]
    p_adjusted: Mapped[float | None]
    conclusion: Mapped[str]
    reason: Mapped[str]
    confirmatory: Mapped[bool]
    planned: Mapped[bool] = mapped_column(server_default="false")
    """Whether a plan that was frozen before the first judgement, and holds, names it."""
    simulated: Mapped[bool]
    imported: Mapped[bool] = mapped_column(server_default="false")
    __table_args__ = (
        UniqueConstraint("run_id", "hypothesis", "scope_key"),
        one_of("conclusion", CONCLUSIONS),
        one_of("direction", ("above", "below", "within")),
        CheckConstraint("p BETWEEN 0 AND 1", name="p_range"),
        CheckConstraint("p_adjusted BETWEEN 0 AND 1", name="p_adjusted_range"),
    )
