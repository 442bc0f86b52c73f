"""The state of a panel's run: one complete, frozen `PanelState` after every step.

`model_dump_json()` returns it as JSON. It has the ids of the document and of its items, but neither
title nor text. Comments are the raters' own words and may quote the document.
"""

from collections.abc import Iterable
from typing import Literal

from judge_gym.answers.readability import Answers, answers_by_judge, too_few_readable
from judge_gym.design.fields import Frozen
from judge_gym.errors import JudgeGymError
from judge_gym.records.panels import Tier

Status = Literal["waiting", "running", "done", "error", "spared"]
"""A rater is spared (not called) if the panel escalates and the first raters agree."""
Level = Literal["strong", "moderate", "weak"]

SPARED = "not asked, as the others agree"
"""The status of a spared rater in reports."""
IDLE, TOGETHER, CONSENSUS, DONE, ERROR = "idle", "raters", "consensus", "done", "error"
"""Phases in addition to the raters' names; in `TOGETHER`, all raters are called at once."""


class ItemReview(Frozen):
    """A rater's score and comment for one item."""

    id: str
    score: int
    comment: str


class Review(Frozen):
    """A rater's review of a document: each shown item once, in the document's order."""

    items: tuple[ItemReview, ...]
    overall_score: int
    overall_comment: str


class ArbiterVerdict(Frozen):
    """The arbiter's verdict."""

    final_score: int
    """`raw_score`, limited to the range of the reviews' overall scores."""
    raw_score: int
    """The score in the arbiter's answer."""
    rationale: str


class Step(Frozen):
    """One question of the panel and its status; a question may take several calls."""

    status: Status = "waiting"
    model: str
    tier: Tier | None = None
    """How the answer was requested: JSON schema, JSON mode or text; None without an answer."""
    error: str | None = None
    """The reason if the status is `error`."""
    latency_ms: float | None = None
    """From the request to its end, also for failures; for a stored answer, its original latency."""
    call_ids: tuple[int, ...] = ()
    """Rows of `llm_calls`, in the order of the calls."""
    kept: bool = False
    """Whether the answer is stored from an earlier run, so no call was made."""
    simulated: bool = False
    """Whether the answer or its input is from the simulator."""


class RaterState(Step):
    """A rater and its progress."""

    name: str
    """rater_a, rater_b, …; also the phase while it is called."""
    label: str
    review: Review | None = None
    """Set when, and only when, the status is `done`."""


class ConsensusState(Step):
    """The arbiter and its progress."""

    verdict: ArbiterVerdict | None = None
    """Set when, and only when, the status is `done`."""


class ScoreAgreement(Frozen):
    """How far reviews agree, computed from their scores."""

    scores: tuple[int, ...]
    """In the order of the raters that gave a review."""
    mean: float
    """To one decimal, halves up."""
    median: float
    spread: int
    """The highest score less the lowest."""
    level: Level


class ItemAgreement(ScoreAgreement):
    """How far reviews agree on one item."""

    id: str


class PanelState(Frozen):
    """The state of a run after one of its steps."""

    sequence: int
    """0 for the first state of a run, and 1 more each."""
    phase: str
    """`idle`, then the name of each rater (or `raters` when all are asked at once), `consensus`,
    and `done` or `error`."""
    panel: str
    """The panel's name."""
    document: str
    """The document's id."""
    items: tuple[str, ...]
    """The ids of the items that raters see."""
    was_truncated: bool
    """Whether the document has more items than raters see."""
    lowest: int
    """The lowest score there is, and the highest."""
    highest: int
    raters: tuple[RaterState, ...]
    agreement: ScoreAgreement | None = None
    """Of the overall scores, once every rater has ended and two or more gave a review."""
    item_agreement: tuple[ItemAgreement, ...] = ()
    """For each item, under the same condition."""
    consensus: ConsensusState
    error: str | None = None
    """Why the run has no consensus, when the phase is `error`."""

    @property
    def has_ended(self) -> bool:
        return self.phase in (DONE, ERROR)

    @property
    def reviewed(self) -> tuple[RaterState, ...]:
        """The raters that gave a review."""
        return tuple(rater for rater in self.raters if rater.review is not None)

    @property
    def share_ended(self) -> float:
        """The share of the run that has ended, from 0 to 1; raters and arbiter weigh the same."""
        if self.has_ended:
            return 1.0
        ended = sum(rater.status in ("done", "error", "spared") for rater in self.raters)
        return ended / (len(self.raters) + 1)

    @property
    def summary(self) -> str:
        """The run in one line, without text of the raters or of the document."""
        failed = sum(rater.status == "error" for rater in self.raters)
        reviews = f"{len(self.reviewed)} of {len(self.raters)} reviews"
        spared = sum(rater.status == "spared" for rater in self.raters)
        parts = [reviews, *([f"{failed} failed"] if failed else [])]
        parts += [f"{spared} spared"] if spared else []
        if self.consensus.verdict is not None:
            parts.append(f"consensus {self.consensus.verdict.final_score}")
        return f"{self.phase}: {', '.join(parts)}"

    @property
    def simulated(self) -> bool:
        """Whether any step is simulated."""
        return any(step.simulated for step in (*self.raters, self.consensus))

    @property
    def call_ids(self) -> tuple[int, ...]:
        """The calls of all steps."""
        return tuple(call for step in (*self.raters, self.consensus) for call in step.call_ids)


class NoConsensusError(JudgeGymError):
    """A panel's run ended in phase `error`; stored answers are reused by the next run."""


def no_consensus(state: PanelState) -> NoConsensusError | None:
    """Return the error of a run that has ended without a consensus, None of any other."""
    if state.phase != ERROR:
        return None
    failed = [f"{rater.name}: {rater.error}" for rater in state.raters if rater.error is not None]
    problems = "; ".join([f"Panel {state.panel} on {state.document}: {state.error}", *failed])
    return NoConsensusError(
        f"{problems}.",
        "Fix the cause and rerun the command: reviews are stored, and only failed calls are made "
        "again.",
    )


def failure_of(state: PanelState) -> JudgeGymError | None:
    """Return the error of a failed run: no consensus, or too few readable answers."""
    return no_consensus(state) or too_few_readable(answers_of([state]))


def answers_of(states: Iterable[PanelState]) -> list[Answers]:
    """Count the readable answers of raters and arbiter; steps that were not called are left out."""
    steps = (
        (name, step)
        for state in states
        for name, step in [
            *((rater.name, rater) for rater in state.raters),
            ("arbiter", state.consensus),
        ]
    )
    return answers_by_judge(
        (f"{name} ({step.model})", step.error, 1)
        for name, step in steps
        if step.status in ("done", "error")
    )
