"""What a sweep file plans beside its experiments: swaps, hypotheses, a budget, the parts to run."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    Field,
    StrictBool,
    StrictFloat,
    StrictInt,
    StrictStr,
    model_validator,
)

from judge_gym.counting import counted
from judge_gym.design.axes import written
from judge_gym.design.config import Placed, read_model, read_tree
from judge_gym.design.fields import Frozen, Legal, Slug
from judge_gym.design.frozen import MOMENT, Registration
from judge_gym.seeds import canonical_json


class Budget(Placed):
    """Limits that end a sweep early. After one is reached, no new chunk starts.

    Chunks in flight finish, so a run may exceed a limit by at most `workers` chunks.
    """

    max_cost_usd: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """US dollars; only for models with a known price."""
    max_calls: int | None = Field(default=None, ge=1)
    """Calls, whatever their outcome; retries after a failure are not counted."""
    max_failures_share: float | None = Field(default=None, ge=0, le=1)
    """Failed calls as a share of finished calls; checked from the 20th call on."""


class ApprovalBound(Frozen):
    """When a person has to approve the cost of a run before it spends."""

    approve_over_usd: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """US dollars: a run that is expected to cost more waits for approval; 0 for every run that
    costs something."""


Name = Annotated[str, Field(min_length=1, max_length=200)]


class MostDivergent(Frozen):
    """The pairs that disagree most, chosen on items that are excluded from the swap."""

    most_divergent: int = Field(ge=1, le=1000)
    """Number of pairs."""
    held_out: float = Field(default=0.5, gt=0, lt=1)
    """Share of items used for the choice. Choosing and measuring on the same items would count
    chance as divergence."""


class SwapPlan(Frozen):
    """The swap arm of a sweep."""

    pairs: Annotated[
        Literal["all"] | tuple[tuple[Name, Name], ...] | MostDivergent,
        Legal("all, a list of [judge, rival] pairs or {most_divergent: COUNT, held_out: SHARE}"),
    ] = "all"
    """Pairs of judge and rival, each a model or a family."""
    sham: bool = False
    """Also score with the judge's own rubric drawn again, as a control for the rival's rubric."""

    @model_validator(mode="after")
    def _check(self) -> "SwapPlan":
        if isinstance(self.pairs, tuple):
            for judge, rival in self.pairs:
                if judge == rival:
                    raise ValueError(f"{judge} cannot be its own rival; for that, use sham: true")
            if len(set(self.pairs)) < len(self.pairs):
                raise ValueError("a pair is given twice")
        if self.pairs == () and not self.sham:
            raise ValueError("no pairs and no sham leave nothing to do")
        return self


HypothesisKey = Literal[
    "H1",
    "H2",
    "H3",
    "H4.polarization",
    "H4.distance",
    "V1.polarization",
    "V1.reference",
    "V2",
    "V3.chance",
    "V3.published",
    "V4.variance",
    "V4.icc",
    "V5",
]
KEYS: tuple[str, ...] = get_args(HypothesisKey)
_KEY_LIST = "a list of " + ", ".join(KEYS)


class Margin(Frozen):
    """The smallest distance from the reference that counts, in the unit of the figure."""

    hypothesis: HypothesisKey
    """The hypothesis or check."""
    margin: float = Field(ge=-1, le=1)
    """The distance, from -1 to 1."""
    why: str = Field(min_length=1, max_length=500)
    """Why a smaller distance would not matter."""


class PrimaryOutcome(Frozen):
    """A figure that decides a hypothesis, identified by parts of its scope."""

    hypothesis: HypothesisKey
    """The hypothesis or check that it decides."""
    scope: Annotated[dict[str, str], Legal("a mapping of texts, such as concept: fascism")] = Field(
        default_factory=dict
    )
    """The fixed parts of the scope; figures that differ in one of them are not primary."""

    def matches(self, scope: Mapping[str, object]) -> bool:
        """Whether a figure of this scope has the fixed parts."""
        return has_parts(scope, self.scope)


ContrastFigureName = Literal[
    "score",
    "expected_stage",
    "confidence",
    "abstain_share",
    "middle_mass",
    "singleton_share",
    "set_width",
    "adjacent_share",
    "jitter",
    "set_size",
]
IN_STAGES = {"expected_stage": "score", "set_size": "set_width"}
"""Figures in stages → the same on 0 to 1, which scales of another length have too."""
OF_SETS = ("singleton_share", "set_width", "adjacent_share", "set_size")
"""Figures of verdicts that may name several stages."""
Level = StrictBool | StrictInt | StrictFloat | StrictStr


class PlannedContrast(Frozen):
    """What changing one axis is expected to do to a figure of the same judge on the same items."""

    axis: str = Field(min_length=1, max_length=80)
    """The axis; concept, and presentation for the order and letters of stages, count as axes."""
    levels: Annotated[
        tuple[Level, Level], Legal("the level before and the level after, such as [false, true]")
    ]
    """The level before and the level after, as the sweep file writes them."""
    figure: ContrastFigureName
    """The figure that changes: `score`, `set_width` and `jitter` are on 0 to 1, `expected_stage`
    and `set_size` in stages, the others shares or probabilities."""
    direction: Literal["above", "below", "within"]
    """The side of the margin on which the change is expected; within: no change beyond it."""
    margin: float = Field(ge=-20, le=20)
    """The smallest change that matters, in the unit of the figure."""
    why: str = Field(min_length=1, max_length=500)
    """Why a smaller change would not matter."""
    scope: Annotated[dict[str, str], Legal("a mapping of texts, such as concept: fascism")] = Field(
        default_factory=dict
    )
    """Fixed parts of the scope, such as the judge; each contrast that has them is planned."""
    item_sd: float | None = Field(default=None, gt=0, le=20, allow_inf_nan=False)
    """Standard deviation over items of a judge's change, from a pilot; for the power alone."""

    @model_validator(mode="after")
    def _check(self) -> "PlannedContrast":
        if self.direction == "within" and self.margin <= 0:
            raise ValueError("the margin of direction within is an equivalence and lies above 0")
        if self.figure not in IN_STAGES and abs(self.margin) >= 1:
            raise ValueError(f"the margin of {self.figure} lies between -1 and 1")
        if self.levels[0] == self.levels[1]:
            raise ValueError("the two levels are the same")
        return self

    @property
    def written_levels(self) -> tuple[str, str]:
        """The level before and the level after, as text."""
        return written(self.levels[0]), written(self.levels[1])

    def matches(self, scope: Mapping[str, object]) -> bool:
        """Whether a contrast of this scope is the planned one."""
        ends = tuple(written(scope[end]) if end in scope else "" for end in ("from", "to"))
        return (
            scope.get("axis") == self.axis
            and ends == self.written_levels
            and has_parts(scope, self.scope)
        )


def has_parts(scope: Mapping[str, object], parts: Mapping[str, str]) -> bool:
    """Whether a scope has these parts."""
    return all(
        value in (str(scope.get(name)), written(scope.get(name))) for name, value in parts.items()
    )


class AnalysisPlan(Frozen):
    """Margins, primary outcomes, contrasts and the confirmatory family of one sweep."""

    name: Slug
    """What it is called: small letters, digits and hyphens."""
    sweep: Annotated[str, Legal("the name of a sweep")] = Field(pattern=r"^[a-z0-9-]{1,80}$")
    """The sweep that it is the plan of."""
    description: str = Field(min_length=1, max_length=2000)
    """What is planned, and whether the judges are simulated."""
    margins: tuple[Margin, ...] = Field(default=(), min_length=1)
    """The margins of hypotheses, where the usual ones do not fit."""
    primary: tuple[PrimaryOutcome, ...] = Field(default=(), min_length=1)
    """The figures that decide; everything else explores."""
    confirmatory: Annotated[tuple[HypothesisKey, ...], Legal(_KEY_LIST)] = Field(
        default=(), min_length=1
    )
    """Hypotheses tested together; Holm's correction covers their primary outcomes and all
    `contrasts`."""
    contrasts: tuple[PlannedContrast, ...] = Field(default=(), min_length=1)
    """Changes of one axis, each a primary outcome."""
    contestation: tuple[str, ...] = ()
    """Concepts in the order of contestation, the most contested first (for V2)."""

    @model_validator(mode="after")
    def _complete(self) -> "AnalysisPlan":
        if not self.confirmatory and not self.contrasts:
            raise ValueError(
                "nothing is planned: give contrasts, or margins, primary and confirmatory"
            )
        given = [one.hypothesis for one in self.margins]
        if twice := sorted({key for key in given if given.count(key) > 1}):
            raise ValueError(f"margins gives {', '.join(twice)} twice")
        if twice := sorted({key for key in self.confirmatory if self.confirmatory.count(key) > 1}):
            raise ValueError(f"confirmatory lists {', '.join(twice)} twice")
        primary = {one.hypothesis for one in self.primary}
        for key in self.confirmatory:
            if key not in given:
                raise ValueError(f"confirmatory lists {key}, which margins does not give")
            if key not in primary:
                raise ValueError(f"confirmatory lists {key}, which has no primary outcome")
        if any(one.hypothesis == "V3.published" and one.margin <= 0 for one in self.margins):
            raise ValueError("the margin of V3.published is an equivalence and lies above 0")
        if "V2" in self.confirmatory and len(self.contestation) < 2:
            raise ValueError("V2 needs the order of two concepts in contestation")
        return self

    @property
    def content(self) -> dict[str, Any]:
        """The plan as data, without the parts that it does not have."""
        given = self.model_dump(mode="json")
        parts = ("margins", "primary", "confirmatory", "contrasts")
        return {key: value for key, value in given.items() if value or key not in parts}

    @property
    def sha256(self) -> str:
        """64 hex digits over the content, without comments, order of keys and line breaks.

        Values at their default are left out, so a new key does not change older plans.
        """
        content = self.model_dump(mode="json", exclude_defaults=True)
        return hashlib.sha256(canonical_json(content).encode()).hexdigest()

    @property
    def keyed_contrasts(self) -> dict[str, PlannedContrast]:
        """Key → contrast, as findings name it, such as `C1.abstain_share`."""
        return {f"C{number}.{one.figure}": one for number, one in enumerate(self.contrasts, 1)}

    @property
    def margin_of(self) -> dict[str, float]:
        """The margin of each hypothesis in the plan."""
        return {one.hypothesis: one.margin for one in self.margins}

    def is_primary(self, hypothesis: str, scope: Mapping[str, object]) -> bool:
        """Whether a figure of this scope is a primary outcome of the confirmatory family."""
        return hypothesis in self.confirmatory and any(
            one.hypothesis == hypothesis and one.matches(scope) for one in self.primary
        )


@dataclass(frozen=True)
class StoredPlan:
    """A stored plan: its digest, and when it was stored."""

    sha256: str
    stored_at: datetime


class PlanState(StrEnum):
    """What a plan makes of the primary outcomes of its sweep."""

    NO_PLAN = "no_plan"
    NOT_HELD = "not_held"
    """The sweep was frozen, and the frozen plan does not hold."""
    NOT_IN_TIME = "not_in_time"
    """The plan was not stored before the first judgement."""
    CONFIRMATORY = "confirmatory"
    REDESIGNED = "redesigned"
    """Confirmatory, but the sweep's design was changed after judgements."""
    PLANNED = "planned"
    """Confirmatory by a frozen plan that holds."""


@dataclass(frozen=True)
class DesignChange:
    """The first change of a sweep's design after judgements, whose number is that before it."""

    at: datetime
    judgements: int

    def as_json(self) -> dict[str, Any]:
        """Return it as the database keeps it."""
        return {"at": self.at.isoformat(), "judgements": self.judgements}

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "DesignChange":
        """Return what `as_json` was made of."""
        return cls(datetime.fromisoformat(stored["at"]), stored["judgements"])


@dataclass(frozen=True)
class Standing:
    """Whether the primary outcomes of a plan are confirmatory, with the reason."""

    state: PlanState
    reason: str
    frozen: str = ""
    """Digest of the frozen plan that the sweep follows; empty without one that holds."""

    @property
    def confirmatory(self) -> bool:
        return self.state in (PlanState.CONFIRMATORY, PlanState.REDESIGNED, PlanState.PLANNED)


def standing(
    plan: AnalysisPlan | None,
    stored: StoredPlan | None,
    first_judgement: datetime | None,
    frozen: Registration | None = None,
    changed: DesignChange | None = None,
) -> Standing:
    """Return whether the plan was stored, and frozen, before the first judgement of its sweep.

    Only outcomes of a frozen plan that holds are planned; one that does not hold makes all of
    them exploratory. `first_judgement` is None if there are no judgements, `changed` if the design
    is that of the first one.
    """
    if frozen and (objection := frozen.objection(first_judgement)):
        reason = f"exploratory: the sweep was frozen on {frozen.when}, {objection}"
        return Standing(PlanState.NOT_HELD, reason)
    if plan is None:
        return Standing(PlanState.NO_PLAN, "exploratory: there is no analysis plan")
    if stored is None:
        return _late(f"{plan.name} was never stored")
    if stored.sha256 != plan.sha256:
        return _late(f"{plan.name} is not the one that was stored")
    at = f"{plan.name} was stored on {stored.stored_at.astimezone(UTC):{MOMENT}}"
    if first_judgement is not None and stored.stored_at >= first_judgement:
        return _late(f"{at}, when judging had begun")
    if frozen:
        return Standing(
            PlanState.PLANNED,
            f"planned: the sweep was frozen on {frozen.when} (SHA-256 {frozen.sha256}), before "
            "the first judgement, and has not changed since",
            frozen.sha256,
        )
    reason = f"confirmatory: the plan {at}, before the first judgement"
    if changed:
        count = counted(changed.judgements, "judgement")
        reason += (
            f"; the design was changed on {changed.at.astimezone(UTC):{MOMENT}}, after {count}"
        )
        return Standing(PlanState.REDESIGNED, reason)
    return Standing(PlanState.CONFIRMATORY, reason)


def _late(fault: str) -> Standing:
    return Standing(PlanState.NOT_IN_TIME, f"exploratory: the plan {fault}")


def load_plan(path: Path) -> AnalysisPlan:
    """Read a plan file; raises `ConfigError` with file, line, key, value and what is legal."""
    return read_model(AnalysisPlan, read_tree(path))
