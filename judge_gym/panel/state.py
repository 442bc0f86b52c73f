"""What a panel's run looks like from outside: after every step one whole picture, and no other.

A `PanelState` never changes, has all that is known so far, and is JSON by `model_dump_json()`. It
has the document's id and the ids of its items, and neither its title nor its text; comments are the
raters' own words, which may quote it.
"""

from collections.abc import Iterable
from typing import Literal

from judge_gym.answers.readability import Answers, answers_by_judge, too_few_readable
from judge_gym.design.fields import Frozen
from judge_gym.errors import JudgeGymError
from judge_gym.records.panels import Tier

Status = Literal["waiting", "running", "done", "error", "spared"]
"""A rater is spared, and not asked, where the first raters agree and the panel escalates."""
"""How an answer was asked for: by a JSON schema, in JSON mode, or as plain text."""
Level = Literal["strong", "moderate", "weak"]

SPARED = "not asked, as the others agree"
"""What people are told of such raters."""
IDLE, TOGETHER, CONSENSUS, DONE, ERROR = "idle", "raters", "consensus", "done", "error"
"""Phases beside the names of the raters; `TOGETHER` is that of raters asked at once."""


class ItemReview(Frozen):
    """What a rater says of one item."""

    id: str
    score: int
    comment: str


class Review(Frozen):
    """What a rater says of a document; every item shown is in it once, in the document's order."""

    items: tuple[ItemReview, ...]
    overall_score: int
    overall_comment: str


class Verdict(Frozen):
    """What the arbiter says."""

    final_score: int
    """From the lowest to the highest overall score of the reviews, whatever the arbiter said."""
    raw_score: int
    """What the arbiter said."""
    rationale: str


class Step(Frozen):
    """One question of the panel, from waiting to its end; a question may take several calls."""

    status: Status = "waiting"
    model: str
    tier: Tier | None = None
    """Which way of asking gave the answer; None without one."""
    error: str | None = None
    """Why there is no answer, when the status is `error`."""
    latency_ms: float | None = None
    """From asking to the end, failures too; when kept, what it took then."""
    call_ids: tuple[int, ...] = ()
    """Rows of `llm_calls`, in the order they were asked."""
    kept: bool = False
    """Whether it is from an earlier run of the same, and nobody was asked."""
    simulated: bool = False
    """Whether the simulator answers, or what it is about is the simulator's."""


class RaterState(Step):
    """A rater and how far it is."""

    name: str
    """rater_a, rater_b, …; also the phase while it is asked."""
    label: str
    review: Review | None = None
    """Set when, and only when, the status is `done`."""


class ConsensusState(Step):
    """The arbiter and how far it is."""

    verdict: Verdict | None = None
    """Set when, and only when, the status is `done`."""


class Agreement(Frozen):
    """How far reviews agree, computed from their scores."""

    scores: tuple[int, ...]
    """In the order of the raters that gave a review."""
    mean: float
    """To one decimal, halves up."""
    median: float
    spread: int
    """The highest score less the lowest."""
    level: Level


class ItemAgreement(Agreement):
    """How far reviews agree on one item."""

    id: str


class PanelState(Frozen):
    """All that is known of a run after one of its steps."""

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
    agreement: Agreement | None = None
    """Of the overall scores, once every rater has ended and two or more gave a review."""
    item_agreement: tuple[ItemAgreement, ...] = ()
    """Of each item, then too."""
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
        """How much of the run is over, from 0 to 1: raters and arbiter count alike."""
        if self.has_ended:
            return 1.0
        ended = sum(rater.status in ("done", "error", "spared") for rater in self.raters)
        return ended / (len(self.raters) + 1)

    @property
    def in_short(self) -> str:
        """The run in one line, without a word of the raters or of the document."""
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
        """Whether a simulated model had a part in it."""
        return any(step.simulated for step in (*self.raters, self.consensus))

    @property
    def call_ids(self) -> tuple[int, ...]:
        """Every call of it."""
        return tuple(call for step in (*self.raters, self.consensus) for call in step.call_ids)


class NoConsensusError(JudgeGymError):
    """A panel's run ended in phase `error`; what was learnt is kept."""


def no_consensus(state: PanelState) -> NoConsensusError | None:
    """Return the error of a run that has ended without a consensus, None of any other."""
    if state.phase != ERROR:
        return None
    failed = [f"{one.name}: {one.error}" for one in state.raters if one.error is not None]
    said = "; ".join([f"Panel {state.panel} on {state.document}: {state.error}", *failed])
    return NoConsensusError(
        f"{said}.",
        "Mend what can be mended and run it again: what was reviewed is kept, and only what failed "
        "is asked again.",
    )


def failure_of(state: PanelState) -> JudgeGymError | None:
    """Return why a run that has ended is no success: no consensus, or a rater without an answer."""
    return no_consensus(state) or too_few_readable(answers_of([state]))


def answers_of(states: Iterable[PanelState]) -> list[Answers]:
    """Count the answers of raters and arbiter that can be read; who was not asked has none."""
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
