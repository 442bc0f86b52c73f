"""Approval of costs: what a run still spends, and how much of that nobody has approved."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from sqlalchemy.orm import Session

from judge_gym.design.sweep import Sweep
from judge_gym.lab.planning import plan_sweep
from judge_gym.llm.providers import Providers
from judge_gym.store.decisions import Approved, SpendingDecision, approved, save_spending
from judge_gym.store.spending import Spent, spending_scope, spent


@dataclass(frozen=True)
class SpendingLine:
    """A part of a plan with calls left."""

    part: str
    what: str
    provider: str
    calls: int
    """At most."""
    cost_usd: float | None
    """The expected cost; None where the price is not known."""


@dataclass(frozen=True)
class SpendingPlan:
    """What a run is expected to spend, and what was approved before."""

    called: str
    """What runs, such as "Sweep quick"."""
    subject: str
    """What decisions about it are stored under: a sweep's name, or a kind and a name."""
    over_usd: float
    """Unapproved US dollars from which on a person is asked, exclusive."""
    lines: tuple[SpendingLine, ...]
    judges: tuple[str, ...]
    unpriced: tuple[str, ...]
    """Models of the plan without a price."""
    spent: Spent
    approved: Approved

    @property
    def calls(self) -> int:
        """Calls left, at most."""
        return sum(line.calls for line in self.lines)

    @property
    def spent_usd(self) -> float:
        """The known cost of what was answered."""
        return self.spent.cost_usd

    @property
    def left_usd(self) -> float:
        """The expected cost of the calls left whose price is known."""
        return sum(line.cost_usd or 0.0 for line in self.lines)

    @property
    def unapproved_usd(self) -> float:
        """The part of `left_usd` that no approval covers.

        An approval covers what was spent until then and what was left: a run that resumes after a
        crash needs no second one, and what a changed file adds does.
        """
        return max(0.0, min(self.left_usd, self.spent_usd + self.left_usd - self.approved.usd))

    @property
    def needs_approval(self) -> bool:
        """Whether a person has to approve before the run goes on."""
        is_unknown = any(line.cost_usd is None for line in self.lines)
        unknown = is_unknown and bool(set(self.unpriced) - self.approved.unpriced)
        return bool(self.calls) and (self.unapproved_usd > self.over_usd or unknown)

    @property
    def details(self) -> dict[str, Any]:
        """What is stored with a decision about this plan."""
        return {
            "calls": self.calls,
            "cost_usd": self.left_usd,
            "spent_usd": self.spent_usd,
            "unpriced": list(self.unpriced),
            "approve_over_usd": self.over_usd,
        }


def lowest(*bounds: float | None) -> float | None:
    """Return the lowest of the bounds that are set; None without any."""
    return min((bound for bound in bounds if bound is not None), default=None)


def plan_spending(
    session: Session,
    sweep: Sweep,
    providers: Providers,
    over_usd: float,
    only: Collection[str] | None = None,
) -> SpendingPlan:
    """Return what a run of a stored sweep, or of `only` some parts of it, still spends."""
    plan = plan_sweep(session, sweep, providers)
    return SpendingPlan(
        called=f"Sweep {sweep.name}",
        subject=sweep.name,
        over_usd=over_usd,
        lines=tuple(
            SpendingLine(line.workflow, line.what, line.provider, line.to_do, line.left.cost_usd)
            for line in plan.lines
            if line.to_do and (only is None or line.workflow in only)
        ),
        judges=tuple(sorted({group.experiment.model for group in sweep.alike(["model"])})),
        unpriced=tuple(plan.unpriced),
        spent=spent(session, spending_scope(session, sweep.name)),
        approved=approved(session, sweep.name),
    )


def save_decision(
    session: Session,
    plan: SpendingPlan,
    decision: SpendingDecision,
    person: str,
    reason: str = "",
    up_to_usd: float | None = None,
    **where: str,
) -> None:
    """Store a decision about a plan; `where` says where it was made, such as the flow run.

    An approval covers `up_to_usd` US dollars from now on, by default the expected cost.
    """
    left = plan.left_usd if up_to_usd is None else up_to_usd
    details = plan.details | {"approved_usd": plan.spent_usd + left} | where
    save_spending(session, plan.subject, decision, person, reason, details)
